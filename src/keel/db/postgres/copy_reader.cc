#include "keel/db/postgres/copy_reader.h"

#include <algorithm>

#include "keel/db/postgres/internal/wire.h"

namespace keel::db::postgres {
namespace {

constexpr std::string_view signature("PGCOPY\n\377\r\n\0", 11);
constexpr std::size_t header_size = 11 + 4 + 4;  // The signature, the flags, and the size of the header extension.
constexpr std::uint32_t critical_flags = 0xffff'0000;

}  // namespace

Result<std::size_t> CopyReader::size_of_part(std::string_view bytes) const {
  switch (phase_) {
    case Phase::Header: {
      const std::size_t known = std::min(bytes.size(), signature.size());
      if (bytes.substr(0, known) != signature.substr(0, known)) {
        return wire::broken("the data of a COPY does not begin with the signature of the binary format");
      }
      return bytes.size() < header_size ? 0 : header_size;
    }
    case Phase::Extension:
      return bytes.size() < extension_ ? 0 : extension_;
    case Phase::Ended:
      return wire::broken("the server sent more data after the end of a COPY");
    case Phase::Tuples:
      break;
  }
  if (bytes.size() < 2) return 0;
  const auto columns = wire::load<std::int16_t>(bytes.data());
  if (columns < -1) return wire::broken("a row of a COPY has a negative number of columns");
  std::size_t size = 2;
  for (int i = 0; i < columns; ++i) {
    if (bytes.size() < size + 4) return 0;
    const auto length = wire::load<std::int32_t>(bytes.data() + size);
    if (length < -1) return wire::broken("a value of a COPY has a negative length");
    size += 4 + (length > 0 ? static_cast<std::size_t>(length) : 0);
    if (size > tuple_bytes_max_) {
      return Error(Code::ResourceExhausted, "a row of a COPY is larger than the limit").from_environment();
    }
  }
  return bytes.size() < size ? 0 : size;
}

Result<> CopyReader::take_part(std::string_view part, Columns& columns, Rows& rows) {
  switch (phase_) {
    case Phase::Header: {
      const auto flags = wire::load<std::uint32_t>(part.data() + signature.size());
      if ((flags & critical_flags) != 0) return wire::broken("a COPY has unknown flags");
      extension_ = wire::load<std::uint32_t>(part.data() + signature.size() + 4);
      if (extension_ > tuple_bytes_max_) return wire::broken("the header of a COPY is larger than the limit for a row");
      phase_ = extension_ == 0 ? Phase::Tuples : Phase::Extension;
      return {};
    }
    case Phase::Extension:
      phase_ = Phase::Tuples;
      return {};
    case Phase::Tuples:
      if (wire::load<std::int16_t>(part.data()) == -1) {
        phase_ = Phase::Ended;
        return {};
      }
      return columns.append(part, rows);
    case Phase::Ended:
      break;
  }
  return {};
}

Result<> CopyReader::receive(std::string_view bytes, Columns& columns, Rows& rows) {
  const bool is_held = !held_.empty();
  if (is_held) {
    held_.append(bytes);
    bytes = held_.view();
  }
  while (!bytes.empty()) {
    KEEL_TRY(const std::size_t size, size_of_part(bytes));
    if (size == 0) break;
    KEEL_TRY_VOID(take_part(bytes.substr(0, size), columns, rows));
    bytes.remove_prefix(size);
  }
  if (is_held) {
    held_.consume(held_.size() - bytes.size());
  } else {
    held_.append(bytes);
  }
  if (held_.empty()) held_.release();
  return {};
}

}  // namespace keel::db::postgres
