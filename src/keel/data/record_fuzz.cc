// Record and Stream: what a Record is read from is well-formed, and written and read again equal in each format; a
// change by a path is found there; what a Stream says of bytes in pieces is what a Reader says of them whole, and what
// they are detected as.

#include <cstdlib>
#include <string>
#include <string_view>

#include "keel/data/binary_stream.h"
#include "keel/data/cbor.h"
#include "keel/data/format.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"
#include "keel/data/message_pack.h"
#include "keel/data/record.h"

namespace {

using namespace keel;

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Reader>
bool is_well_formed(std::string_view bytes) {
  Arena arena;
  Reader in(bytes, arena);
  in.skip();
  return in.finish().is_ok();
}

bool has_nan(const Record::Value& value) {
  if (value.kind() == Record::Kind::Float) return *value.get<float>() != *value.get<float>();
  if (value.kind() == Record::Kind::Double) return *value.get<double>() != *value.get<double>();
  for (const Record::Value& element : value.elements()) {
    if (has_nan(element)) return true;
  }
  for (const Record::Field field : value) {
    if (has_nan(field.value)) return true;
  }
  return false;
}
bool has_nan(const Record& record) {
  for (const Record::Field field : record) {
    if (has_nan(field.value)) return true;
  }
  return false;
}

void check_record(const Record& record) {
  const std::string bytes = cbor::write(record);
  const Result<Record> again = cbor::parse<Record>(bytes);
  require(again.is_ok() && cbor::write(*again) == bytes);
  require(has_nan(record) || *again == record);
  const std::string packed = message_pack::write(record);
  const Result<Record> unpacked = message_pack::parse<Record>(packed);
  require(unpacked.is_ok() && message_pack::write(*unpacked) == packed);
  const std::string text = json::write(record);
  const Result<Record> parsed = json::parse<Record>(text);
  require(parsed.is_ok() && json::write(*parsed) == text);
  for (const Record::Field field : record) {
    require(record.find(field.name) == &field.value);
  }
  static_cast<void>(record.text());
  Arena arena;
  Record changed(record, arena);
  require(changed.size() == record.size());
  require(changed.set("fuzz.b[0].c", bytes).is_ok() || changed.contains("fuzz"));
  if (const auto found = changed.get<std::string_view>("fuzz.b[0].c")) require(*found == bytes);
  changed.merge(record);
  for (const Record::Field field : record)
    require(changed.remove(field.name) || field.name.find_first_of(".[\\") != std::string_view::npos ||
            field.name.empty());
}

template <class Stream, class Reader>
void check_stream(std::string_view bytes, std::size_t piece) {
  Stream in;
  int depth = 0;
  bool has_long_key = false;
  for (std::size_t i = 0; i < bytes.size() && !in.failed(); i += piece) {
    in.feed(bytes.substr(i, piece));
    while (const auto* const event = in.next()) {
      using Type = typename Stream::Type;
      if (event->type == Type::BeginObject || event->type == Type::BeginArray) ++depth;
      if (event->type == Type::EndObject || event->type == Type::EndArray) --depth;
      require(depth == in.depth());
    }
  }
  const Result<> end = in.finish();
  if (end) {
    require(depth == 0 && in.offset() == bytes.size() && is_well_formed<Reader>(bytes));
  } else {
    const std::string_view message = end.error().message();
    has_long_key = message.starts_with("a key that is");  // What only a Stream asks.
    require(has_long_key || !is_well_formed<Reader>(bytes));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t piece = size == 0 ? 1 : 1 + data[0] % 7u;
  check_stream<cbor::Stream, cbor::Reader>(bytes, piece);
  check_stream<message_pack::Stream, message_pack::Reader>(bytes, piece);
  const Result<Record> record = cbor::parse<Record>(bytes);
  if (record) {
    require(is_well_formed<cbor::Reader>(bytes));
    check_record(*record);
  }
  const Result<Record> unpacked = message_pack::parse<Record>(bytes);
  if (unpacked) {
    require(is_well_formed<message_pack::Reader>(bytes));
    check_record(*unpacked);
  }
  const Result<Record> parsed = json::parse<Record>(bytes);
  if (parsed) check_record(*parsed);
  const data::Format format = data::detect(bytes);
  if (parsed) require(format == data::Format::Json);
  if (format == data::Format::Unknown) require(!record && !unpacked && !parsed);
  return 0;
}
