#include "keel/db/postgres/encoder.h"

#include <cstring>
#include <string>

#include "keel/base/bug.h"
#include "keel/db/postgres/internal/wire.h"
#include "keel/db/postgres/types.h"

namespace keel::db::postgres {
namespace {

constexpr std::size_t type_size = 1;
constexpr std::size_t length_size = 4;
constexpr std::size_t startup_bytes_max = 10'000;  // MAX_STARTUP_PACKET_LENGTH
constexpr std::uint32_t protocol_3_0 = 3 << 16;
constexpr std::uint32_t ssl_request_code = 1234 << 16 | 5679;
constexpr std::uint32_t cancel_request_code = 1234 << 16 | 5678;
constexpr std::size_t list_max = 65'535;

// Writes the type and the length of a message; returns the position of its body.
char* begin_message(Buffer& out, char type, std::size_t body) {
  char* at = out.reserve(type_size + length_size + body);
  *at = type;
  return wire::store(at + type_size, static_cast<std::uint32_t>(length_size + body));
}

void end_message(Buffer& out, const char* end) {
  out.commit(static_cast<std::size_t>(end - (out.data() + out.size())));
}

void append_empty(Buffer& out, char type) { end_message(out, begin_message(out, type, 0)); }

bool has_zero(std::string_view text) { return text.find('\0') != std::string_view::npos; }

[[gnu::cold, gnu::noinline]] Error zero_in(const char* what) {
  return Error::text(Code::InvalidArgument,
                     std::string(what) + " contains a zero byte, which the protocol cannot carry: remove it")
      .from_environment();
}

Result<> check_no_zero(std::string_view text, const char* what) {
  if (!has_zero(text)) [[likely]]
    return {};
  return zero_in(what);
}

Error too_large(std::size_t bytes_max) {
  return Error::text(Code::ResourceExhausted,
                     "the message to the database is larger than " + std::to_string(bytes_max) + " bytes")
      .from_environment();
}

// Removes the bytes that were appended, unless the message was finished.
class Unfinished {
 public:
  explicit Unfinished(Buffer& out) noexcept : out_(out), start_(out.size()) {}
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() {
    if (!is_finished_) out_.resize(start_);
  }
  std::size_t start() const noexcept { return start_; }
  std::size_t size() const noexcept { return out_.size() - start_; }
  void finish() noexcept { is_finished_ = true; }

 private:
  Buffer& out_;
  const std::size_t start_;
  bool is_finished_ = false;
};

}  // namespace

Result<> Encoder::check(std::size_t body, std::string_view text) const {
  if (body > message_bytes_max_ - length_size) return too_large(message_bytes_max_);
  return check_no_zero(text, "a name");
}

void Encoder::ssl_request() {
  char* at = out_.reserve(8);
  at = wire::store(at, std::uint32_t{8});
  end_message(out_, wire::store(at, ssl_request_code));
}

void Encoder::cancel_request(std::uint32_t process, std::uint32_t secret) {
  char* at = out_.reserve(16);
  at = wire::store(at, std::uint32_t{16});
  at = wire::store(at, cancel_request_code);
  at = wire::store(at, process);
  end_message(out_, wire::store(at, secret));
}

Result<> Encoder::startup(std::span<const StartupParameter> parameters) {
  std::size_t size = length_size + 4 + 1;
  for (const StartupParameter& parameter : parameters) {
    KEEL_TRY_VOID(check_no_zero(parameter.name, "the name of a setting"));
    KEEL_TRY_VOID(check_no_zero(parameter.value, "a setting of the connection"));
    if (parameter.name.empty()) {
      return Error(Code::InvalidArgument, "a setting of the connection has no name").from_environment();
    }
    size += parameter.name.size() + parameter.value.size() + 2;
  }
  if (size > startup_bytes_max) {
    return Error(Code::ResourceExhausted, "the settings of the connection are larger than 10000 bytes")
        .from_environment();
  }
  char* at = out_.reserve(size);
  at = wire::store(at, static_cast<std::uint32_t>(size));
  at = wire::store(at, protocol_3_0);
  for (const StartupParameter& parameter : parameters) {
    at = wire::store_text(at, parameter.name);
    at = wire::store_text(at, parameter.value);
  }
  *at++ = '\0';
  end_message(out_, at);
  return {};
}

Result<> Encoder::password(std::string_view password) {
  KEEL_TRY_VOID(check_no_zero(password, "the password"));
  KEEL_TRY_VOID(check(password.size() + 1, {}));
  end_message(out_, wire::store_text(begin_message(out_, 'p', password.size() + 1), password));
  return {};
}

Result<> Encoder::sasl_initial_response(std::string_view mechanism, std::string_view response) {
  const std::size_t body = mechanism.size() + 1 + 4 + response.size();
  KEEL_TRY_VOID(check(body, mechanism));
  char* at = wire::store_text(begin_message(out_, 'p', body), mechanism);
  at = wire::store(at, static_cast<std::uint32_t>(response.size()));
  if (!response.empty()) std::memcpy(at, response.data(), response.size());
  end_message(out_, at + response.size());
  return {};
}

Result<> Encoder::sasl_response(std::string_view response) {
  KEEL_TRY_VOID(check(response.size(), {}));
  char* at = begin_message(out_, 'p', response.size());
  if (!response.empty()) std::memcpy(at, response.data(), response.size());
  end_message(out_, at + response.size());
  return {};
}

Result<> Encoder::parse(std::string_view statement, std::string_view sql, std::span<const Oid> types) {
  KEEL_EXPECT(types.size() <= list_max, "a statement must have at most 65535 parameters");
  const std::size_t body = statement.size() + 1 + sql.size() + 1 + 2 + 4 * types.size();
  KEEL_TRY_VOID(check(body, statement));
  KEEL_TRY_VOID(check_no_zero(sql, "the text of a statement"));
  char* at = wire::store_text(begin_message(out_, 'P', body), statement);
  at = wire::store_text(at, sql);
  at = wire::store(at, static_cast<std::uint16_t>(types.size()));
  for (const Oid type : types) at = wire::store(at, type);
  end_message(out_, at);
  return {};
}

Result<> Encoder::bind(std::string_view portal, std::string_view statement, std::span<const Value> values,
                       std::span<const Oid> types, std::span<const Format> results) {
  KEEL_EXPECT(values.size() == types.size() && values.size() <= list_max && results.size() <= list_max,
              "each value needs a type, and a statement takes at most 65535 values");
  std::size_t body = portal.size() + 1 + statement.size() + 1 + 6 + 6 * values.size() + 2 * results.size();
  for (const Value& value : values) body += value.kind >= ValueKind::Text ? value.size : 0;
  if (body > message_bytes_max_ - length_size) [[unlikely]]
    return too_large(message_bytes_max_);
  if (has_zero(portal) || has_zero(statement)) [[unlikely]]
    return zero_in("a name");

  Unfinished message(out_);
  // Reserves the space for most of the message; the length is written at the end, because it is not yet known.
  char* at = begin_message(out_, 'B', body + 8 * values.size());
  at = wire::store_text(at, portal);
  at = wire::store_text(at, statement);
  const auto count = static_cast<std::uint16_t>(values.size());
  at = wire::store(at, count);
  const auto formats_at = static_cast<std::size_t>(at - out_.data());
  at = wire::store(at + 2 * values.size(), count);
  end_message(out_, at);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t size_at = out_.size();
    wire::append(out_, std::int32_t{-1});
    Format format = Format::Binary;
    if (values[i].kind == ValueKind::Integer && types[i] == oid::int8) {
      wire::append(out_, values[i].integer);
      wire::store(out_.data() + size_at, std::int32_t{8});
    } else if (values[i].kind != ValueKind::Null) {
      KEEL_TRY(format, encode(values[i], types[i], static_cast<int>(i) + 1, out_));
      if (message.size() - type_size > message_bytes_max_) return too_large(message_bytes_max_);
      wire::store(out_.data() + size_at, static_cast<std::int32_t>(out_.size() - size_at - 4));
    }
    wire::store(out_.data() + formats_at + 2 * i, static_cast<std::uint16_t>(format));
  }
  at = wire::store(out_.reserve(2 + 2 * results.size()), static_cast<std::uint16_t>(results.size()));
  for (const Format format : results) at = wire::store(at, static_cast<std::uint16_t>(format));
  end_message(out_, at);
  if (message.size() - type_size > message_bytes_max_) return too_large(message_bytes_max_);
  wire::store(out_.data() + message.start() + type_size, static_cast<std::uint32_t>(message.size() - type_size));
  message.finish();
  return {};
}

Result<> Encoder::named(char type, char kind, std::string_view name) {
  KEEL_TRY_VOID(check(name.size() + 2, name));
  char* at = begin_message(out_, type, name.size() + 2);
  *at = kind;
  end_message(out_, wire::store_text(at + 1, name));
  return {};
}

Result<> Encoder::describe_statement(std::string_view statement) { return named('D', 'S', statement); }
Result<> Encoder::describe_portal(std::string_view portal) { return named('D', 'P', portal); }
Result<> Encoder::close_statement(std::string_view statement) { return named('C', 'S', statement); }
Result<> Encoder::close_portal(std::string_view portal) { return named('C', 'P', portal); }

Result<> Encoder::execute(std::string_view portal, std::uint32_t rows_max) {
  const std::size_t body = portal.size() + 1 + 4;
  KEEL_TRY_VOID(check(body, portal));
  char* at = wire::store_text(begin_message(out_, 'E', body), portal);
  // The field is a signed number, in which zero and negative numbers mean that there is no limit.
  end_message(out_, wire::store(at, rows_max < 0x7fff'ffff ? rows_max : 0x7fff'ffff));
  return {};
}

void Encoder::sync() { append_empty(out_, 'S'); }
void Encoder::flush() { append_empty(out_, 'H'); }

Result<> Encoder::query(std::string_view sql) {
  KEEL_TRY_VOID(check(sql.size() + 1, {}));
  KEEL_TRY_VOID(check_no_zero(sql, "the text of a statement"));
  end_message(out_, wire::store_text(begin_message(out_, 'Q', sql.size() + 1), sql));
  return {};
}

Result<> Encoder::copy_data(std::string_view bytes) {
  KEEL_TRY_VOID(check(bytes.size(), {}));
  char* at = begin_message(out_, 'd', bytes.size());
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  end_message(out_, at + bytes.size());
  return {};
}

void Encoder::copy_done() { append_empty(out_, 'c'); }

Result<> Encoder::copy_fail(std::string_view reason) {
  KEEL_TRY_VOID(check(reason.size() + 1, {}));
  KEEL_TRY_VOID(check_no_zero(reason, "the reason"));
  end_message(out_, wire::store_text(begin_message(out_, 'f', reason.size() + 1), reason));
  return {};
}

void Encoder::terminate() { append_empty(out_, 'X'); }

}  // namespace keel::db::postgres
