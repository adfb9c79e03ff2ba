// Writes a Record as text and JSON, and reads it from JSON. record_binary.cc does the same for the binary forms.

#include <charconv>
#include <cmath>
#include <string>

#include "keel/base/ascii.h"
#include "keel/base/buffer.h"
#include "keel/data/base64.h"
#include "keel/data/internal/record_forms.h"
#include "keel/data/json_reader.h"
#include "keel/data/json_writer.h"
#include "keel/data/record.h"

namespace keel {

struct Record::Forms::JsonSink {
  static constexpr bool is_ordered = false;
  json::Writer& out;

  void begin(bool is_record, std::size_t) {
    if (is_record) {
      out.begin_object();
    } else {
      out.begin_array();
    }
  }
  void end(bool is_record) {
    if (is_record) {
      out.end_object();
    } else {
      out.end_array();
    }
  }
  void name(const Value& key) { out.key(key.text()); }
  void scalar(const Value& value) {
    switch (value.kind()) {
      case Kind::Null:
        out.null();
        break;
      case Kind::Boolean:
        out.boolean(value.payload<std::uint64_t>() != 0);
        break;
      case Kind::Float:
      case Kind::Double:
        out.number(value.payload<double>());
        break;
      case Kind::String:
        out.string(value.text());
        break;
      case Kind::Bytes:
        out.string(base64::encode(*value.get_bytes({}), base64::Form::Url));
        break;
      case Kind::Time:
        out.string(value.payload<Timestamp>().text());
        break;
      case Kind::Uuid:
        out.string(value.payload<keel::Uuid>().text());
        break;
      default:
        if (value.kind() <= Kind::Int64) {
          out.integer(value.payload<std::int64_t>());
        } else {
          out.unsigned_integer(value.payload<std::uint64_t>());
        }
    }
  }
};

struct Record::Forms::TextSink {
  static constexpr bool is_ordered = false;
  std::string& out;
  int depth = 0;
  bool is_first = true;

  void separate() {
    if (!is_first) out += ", ";
    is_first = false;
  }
  void begin(bool is_record, std::size_t) {
    if (depth++ != 0) {
      if (!is_named) separate();
      out += is_record ? '{' : '[';
    }
    is_named = false;
    is_first = true;
  }
  void end(bool is_record) {
    if (--depth != 0) out += is_record ? '}' : ']';
    is_first = false;
  }
  bool is_named = false;
  void name(const Value& key) {
    const std::string_view name = key.text();
    separate();
    bool is_word = !name.empty();
    for (const char c : name) {
      is_word = is_word && (ascii::is_alphanumeric(c) || c == '_' || c == '-' || static_cast<unsigned char>(c) >= 0x80);
    }
    if (is_word) {
      out += name;
    } else {
      quote(name);
    }
    out += ": ";
    is_named = true;
  }
  void quote(std::string_view text) {
    Buffer quoted;
    json::Writer(quoted).string(text);
    out += quoted.view();
  }
  void scalar(const Value& value) {
    if (!is_named) separate();
    is_named = false;
    switch (value.kind()) {
      case Kind::Null:
        out += "null";
        break;
      case Kind::Boolean:
        out += value.payload<std::uint64_t>() != 0 ? "true" : "false";
        break;
      case Kind::Float:
      case Kind::Double: {
        char digits[32];
        const auto number = value.payload<double>();
        const char* const end = value.kind() == Kind::Float
                                    ? std::to_chars(digits, digits + sizeof digits, static_cast<float>(number)).ptr
                                    : std::to_chars(digits, digits + sizeof digits, number).ptr;
        const std::string_view written(digits, end);
        out += written;
        if (std::isfinite(number) && written.find_first_of(".e") == written.npos) out += ".0";
        break;
      }
      case Kind::String:
        quote(value.text());
        break;
      case Kind::Bytes:
        out += "h'";
        for (const char c : value.text()) {
          out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
          out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
        }
        out += '\'';
        break;
      case Kind::Time:
        out += std::string_view(value.payload<Timestamp>().text());
        break;
      case Kind::Uuid:
        out += std::string_view(value.payload<keel::Uuid>().text());
        break;
      default:
        out += value.kind() <= Kind::Int64 ? std::to_string(value.payload<std::int64_t>())
                                           : std::to_string(value.payload<std::uint64_t>());
    }
  }
};

struct Record::Forms::JsonBuilder {
  json::Reader& in;
  Arena* arena;
  int depth = 0;

  void object(Block*& block) {
    const json::Reader::Mark mark = in.mark();
    if (!in.begin_object()) return;
    while (const auto key = in.next_key()) {
      block = Storage::grow(block, true, arena);
      Value* const to = block->values() + block->value_count();
      Storage::set_text(*::new (to) Value(), Kind::String, *key, arena);
      ::new (to + 1) Value();
      if (block->size != 0 && block->is_sorted) {
        block->is_sorted = Block::is_before(block->name(block->size - 1), to->text());
      }
      ++block->size;
      value(to[1]);
    }
    if (in.failed() || block == nullptr) return;
    const std::size_t second = block->seal();
    if (second == block->size || !in.rewind(mark)) return;
    in.begin_object();
    for (std::size_t i = 0; i < second; ++i) {
      in.next_key();
      in.skip();
    }
    in.next_key();
    in.peek();
    in.fail_malformed("is given twice");
  }

  void value(Value& to) {
    switch (in.peek()) {
      case json::Kind::Null:
        in.null();
        break;
      case json::Kind::Boolean:
        to.set(Kind::Boolean, std::uint64_t{in.boolean()});
        break;
      case json::Kind::Number:
        number(to);
        break;
      case json::Kind::String:
        Storage::set_text(to, Kind::String, in.string(), arena);
        break;
      case json::Kind::Array:
      case json::Kind::Object: {
        const bool is_record = in.peek() == json::Kind::Object;
        if (depth == depth_max - 1) return in.fail_malformed("nested too deeply");
        ++depth;
        Block* block = nullptr;
        if (is_record) {
          object(block);
        } else {
          in.begin_array();
          while (in.next_element()) value(Storage::push_back(block, arena));
        }
        to.set(is_record ? Kind::Record : Kind::Array, block);
        --depth;
        break;
      }
      case json::Kind::None:
        in.skip();  // Reports the problem.
    }
  }

  void number(Value& to) {
    const std::string_view text = in.number_text();
    if (in.failed()) return;
    const char* const end = text.data() + text.size();
    // -0 is stored as a double, because an integer has no negative zero.
    if (text.find_first_of(".eE") == text.npos && text != "-0") {
      std::int64_t whole = 0;
      if (std::from_chars(text.data(), end, whole).ec == std::errc()) return to.set(Kind::Int64, whole);
      std::uint64_t large = 0;
      if (std::from_chars(text.data(), end, large).ec == std::errc()) return to.set(Kind::Uint64, large);
    }
    double real = 0;
    if (std::from_chars(text.data(), end, real).ec != std::errc() || !std::isfinite(real)) {
      return in.fail("number out of range", nullptr, "format");
    }
    to.set(Kind::Double, real);
  }
};

void Record::read(json::Reader& in) {
  clear();
  Forms::JsonBuilder{in, arena_}.object(fields_);
  if (in.failed()) clear();
}
void Record::write(json::Writer& out) const { Forms::write(*this, Forms::JsonSink{out}); }

std::string Record::text() const {
  std::string out;
  Forms::write(*this, Forms::TextSink{out});
  return out;
}

}  // namespace keel
