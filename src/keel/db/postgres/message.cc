#include "keel/db/postgres/message.h"

#include <string>

#include "keel/base/ascii.h"
#include "keel/db/postgres/internal/wire.h"

namespace keel::db::postgres {
namespace {

using wire::Cursor;

Error is_malformed(const char* message) {
  return wire::broken(std::string(message) +
                      " of the server is malformed: its counts and lengths do not match its bytes");
}

constexpr std::size_t column_size = 4 + 2 + 4 + 2 + 4 + 2;  // The size of the fields after the column's name.

bool is_format(std::uint16_t number) noexcept { return number <= 1; }

// Whether a tag ends with the number of rows that the statement changed.
bool counts_rows(std::string_view tag) noexcept {
  switch (tag.empty() ? '\0' : tag[0]) {
    case 'I':
      return tag.starts_with("INSERT ");
    case 'U':
      return tag.starts_with("UPDATE ");
    case 'D':
      return tag.starts_with("DELETE ");
    case 'M':
      return tag.starts_with("MERGE ");
    case 'C':
      return tag.starts_with("COPY ");
    default:
      return false;
  }
}

}  // namespace

Result<RowDescription> RowDescription::read(std::string_view body) {
  Cursor cursor(body);
  const auto columns = cursor.take<std::int16_t>();
  const std::string_view rest = cursor.rest();
  for (int i = 0; i < columns && !cursor.is_broken(); ++i) {
    cursor.take_text();
    const std::string_view column = cursor.take_bytes(column_size);
    if (!cursor.is_broken() && !is_format(wire::load<std::uint16_t>(column.data() + column_size - 2))) {
      return is_malformed("RowDescription");
    }
  }
  if (columns < 0 || !cursor.is_whole()) return is_malformed("RowDescription");
  return RowDescription(rest, columns);
}

void RowDescription::Iterator::take() noexcept {
  Cursor cursor(rest_);
  column_.name = cursor.take_text();
  column_.table = cursor.take<Oid>();
  column_.number = cursor.take<std::int16_t>();
  column_.type = cursor.take<Oid>();
  column_.type_size = cursor.take<std::int16_t>();
  column_.type_modifier = cursor.take<std::int32_t>();
  column_.format = static_cast<Format>(cursor.take<std::uint16_t>());
  rest_ = cursor.rest();
}

RowDescription::Iterator& RowDescription::Iterator::operator++() noexcept {
  if (--left_ != 0) take();
  return *this;
}

Result<DataRow> DataRow::read(std::string_view body) {
  Cursor cursor(body);
  const auto columns = cursor.take<std::int16_t>();
  // Each column takes at least the four bytes of its length field.
  if (cursor.is_broken() || columns < 0 || static_cast<std::size_t>(columns) > cursor.rest().size() / 4) [[unlikely]] {
    return is_malformed("DataRow");
  }
  return DataRow(cursor.rest(), columns);
}

Error DataRow::malformed() { return is_malformed("DataRow"); }

Result<Cell> DataRow::next() {
  if (left_ == 0 || rest_.size() < 4) [[unlikely]]
    return is_malformed("DataRow");
  const auto size = wire::load<std::int32_t>(rest_.data());
  if (size < 0) {
    if (size != -1) [[unlikely]]
      return is_malformed("DataRow");
    rest_.remove_prefix(4);
    --left_;
    return Cell{{}, true};
  }
  if (static_cast<std::size_t>(size) > rest_.size() - 4) [[unlikely]]
    return is_malformed("DataRow");
  const Cell cell{rest_.substr(4, static_cast<std::size_t>(size)), false};
  rest_.remove_prefix(4 + static_cast<std::size_t>(size));
  --left_;
  return cell;
}

Result<> DataRow::end() const {
  if (left_ != 0 || !rest_.empty()) [[unlikely]]
    return is_malformed("DataRow");
  return {};
}

Result<ParameterDescription> ParameterDescription::read(std::string_view body) {
  Cursor cursor(body);
  const std::size_t count = cursor.take<std::uint16_t>();
  const std::string_view types = cursor.take_bytes(4 * count);
  if (!cursor.is_whole()) return is_malformed("ParameterDescription");
  return ParameterDescription(types);
}

Oid ParameterDescription::type(int index) const noexcept {
  return wire::load<Oid>(types_.data() + 4 * static_cast<std::size_t>(index));
}

Result<CommandComplete> CommandComplete::read(std::string_view body) {
  Cursor cursor(body);
  CommandComplete complete;
  complete.tag = cursor.take_text();
  if (!cursor.is_whole()) return is_malformed("CommandComplete");
  if (!counts_rows(complete.tag)) return complete;
  const std::string_view digits = complete.tag.substr(complete.tag.rfind(' ') + 1);
  bool is_number = !digits.empty();
  for (const char c : digits) {
    is_number = is_number && ascii::is_digit(c) && !__builtin_mul_overflow(complete.changes, 10, &complete.changes) &&
                !__builtin_add_overflow(complete.changes, c - '0', &complete.changes);
  }
  if (!is_number) return is_malformed("CommandComplete");
  return complete;
}

Result<ErrorResponse> ErrorResponse::read(std::string_view body) {
  Cursor cursor(body);
  ErrorResponse error;
  bool has_untranslated = false;
  while (!cursor.is_broken()) {
    const char field = cursor.take<char>();
    if (field == '\0') break;
    const std::string_view text = cursor.take_text();
    switch (field) {
      case 'S':
        if (!has_untranslated) error.severity = text;
        break;
      case 'V':
        error.severity = text;
        has_untranslated = true;
        break;
      case 'C':
        error.sqlstate = text;
        break;
      case 'M':
        error.message = text;
        break;
      case 'D':
        error.detail = text;
        break;
      case 'H':
        error.hint = text;
        break;
      case 'W':
        error.where = text;
        break;
      case 's':
        error.schema = text;
        break;
      case 't':
        error.table = text;
        break;
      case 'c':
        error.column = text;
        break;
      case 'd':
        error.data_type = text;
        break;
      case 'n':
        error.constraint = text;
        break;
      case 'P':
        error.position = 0;
        for (const char c : text) {
          if (!ascii::is_digit(c) || error.position > 100'000'000) break;
          error.position = error.position * 10 + (c - '0');
        }
        break;
      default:  // The server's file, line and routine, and fields that later versions may add.
        break;
    }
  }
  if (!cursor.is_whole()) return is_malformed("ErrorResponse");
  return error;
}

Result<ParameterStatus> ParameterStatus::read(std::string_view body) {
  Cursor cursor(body);
  ParameterStatus status;
  status.name = cursor.take_text();
  status.value = cursor.take_text();
  if (!cursor.is_whole()) return is_malformed("ParameterStatus");
  return status;
}

Result<BackendKeyData> BackendKeyData::read(std::string_view body) {
  Cursor cursor(body);
  BackendKeyData key;
  key.process = cursor.take<std::uint32_t>();
  key.secret = cursor.take<std::uint32_t>();
  if (!cursor.is_whole()) return is_malformed("BackendKeyData");
  return key;
}

Result<ReadyForQuery> ReadyForQuery::read(std::string_view body) {
  if (body != "I" && body != "T" && body != "E") return is_malformed("ReadyForQuery");
  return ReadyForQuery{static_cast<TransactionStatus>(body[0])};
}

Result<NotificationResponse> NotificationResponse::read(std::string_view body) {
  Cursor cursor(body);
  NotificationResponse notification;
  notification.process = cursor.take<std::uint32_t>();
  notification.channel = cursor.take_text();
  notification.payload = cursor.take_text();
  if (!cursor.is_whole()) return is_malformed("NotificationResponse");
  return notification;
}

Result<CopyResponse> CopyResponse::read(std::string_view body) {
  Cursor cursor(body);
  CopyResponse copy;
  const auto format = cursor.take<std::uint8_t>();
  const auto columns = cursor.take<std::int16_t>();
  if (columns < 0 || !is_format(format)) return is_malformed("CopyResponse");
  copy.format = static_cast<Format>(format);
  copy.columns = columns;
  for (int i = 0; i < columns && !cursor.is_broken(); ++i) {
    if (!is_format(cursor.take<std::uint16_t>())) return is_malformed("CopyResponse");
  }
  if (!cursor.is_whole()) return is_malformed("CopyResponse");
  return copy;
}

Result<Authentication> Authentication::read(std::string_view body) {
  Cursor cursor(body);
  Authentication request;
  const auto kind = cursor.take<std::uint32_t>();
  if (cursor.is_broken()) return is_malformed("Authentication");
  request.kind = static_cast<Kind>(kind);
  request.data = cursor.rest();
  switch (request.kind) {
    case Kind::Ok:
    case Kind::KerberosV5:
    case Kind::CleartextPassword:
    case Kind::Gss:
    case Kind::Sspi:
      if (!request.data.empty()) return is_malformed("Authentication");
      return request;
    case Kind::Md5Password:
      if (request.data.size() != 4) return is_malformed("Authentication");
      return request;
    case Kind::Sasl: {
      // The list of names ends with an empty name.
      while (!cursor.is_broken() && !cursor.take_text().empty()) {
      }
      if (!cursor.is_whole()) return is_malformed("Authentication");
      request.data.remove_suffix(1);
      return request;
    }
    case Kind::GssContinue:
    case Kind::SaslContinue:
    case Kind::SaslFinal:
      return request;
  }
  return Error::text(Code::Unsupported,
                     "the server asks for authentication of kind " + std::to_string(kind) + ", which is not supported")
      .from_environment();
}

bool Authentication::offers(std::string_view mechanism) const noexcept {
  Cursor cursor(data);
  while (!cursor.rest().empty()) {
    if (cursor.take_text() == mechanism) return true;
  }
  return false;
}

Result<NegotiateProtocolVersion> NegotiateProtocolVersion::read(std::string_view body) {
  Cursor cursor(body);
  NegotiateProtocolVersion version;
  // Servers up to version 17 send the whole version number, such as 196608 for 3.0, although the documentation says
  // that they send the minor version.
  version.minor = cursor.take<std::uint32_t>() & 0xffff;
  version.options = cursor.take<std::int32_t>();
  if (version.options < 0) return is_malformed("NegotiateProtocolVersion");
  for (int i = 0; i < version.options && !cursor.is_broken(); ++i) {
    const std::string_view option = cursor.take_text();
    if (i == 0) version.first_option = option;
  }
  if (!cursor.is_whole()) return is_malformed("NegotiateProtocolVersion");
  return version;
}

}  // namespace keel::db::postgres
