#include "keel/net/sessions/internal/packet.h"

#include <algorithm>
#include <cstring>

namespace keel::sessions::internal {
namespace {

constexpr Duration heartbeat_max = 24_h;
constexpr Duration expiry_max = 24_h * 366;

template <class Int>
void put(Buffer& out, Int value) {
  char bytes[sizeof value];
  for (std::size_t i = 0; i < sizeof value; ++i) bytes[i] = static_cast<char>(value >> (8 * (sizeof value - 1 - i)));
  out.append({bytes, sizeof bytes});
}
void put(Buffer& out, Kind kind) { out.push_back(static_cast<char>(kind)); }
void put(Buffer& out, const Token& token) {
  put(out, token.number);
  out.append({token.secret.data(), token.secret.size()});
}
void put(Buffer& out, const Point& point) {
  put(out, point.seen);
  put(out, point.handled);
}
void put(Buffer& out, const Window& window) {
  put(out, window.messages);
  put(out, window.bytes);
}
void put_text(Buffer& out, std::string_view text, std::size_t max) {
  text = text.substr(0, max);
  put(out, static_cast<std::uint16_t>(text.size()));
  out.append(text);
}

// Takes the fields from the front; when a field is missing, all further fields are zero, and the fault is remembered.
class Fields {
 public:
  explicit Fields(std::string_view bytes) noexcept : left_(bytes) {}

  template <class Int>
  Int take() noexcept {
    const std::string_view bytes = take_bytes(sizeof(Int));
    Int value = 0;
    for (const char byte : bytes) value = static_cast<Int>(value << 8 | static_cast<unsigned char>(byte));
    return value;
  }
  std::uint8_t take_byte() noexcept {
    const std::string_view byte = take_bytes(1);
    return byte.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(byte[0]);
  }
  std::string_view take_bytes(std::size_t count) noexcept {
    if (left_.size() < count) {
      is_short_ = true;
      left_ = {};
      return {};
    }
    const std::string_view bytes = left_.substr(0, count);
    left_.remove_prefix(count);
    return bytes;
  }
  std::string_view take_text() noexcept { return take_bytes(take<std::uint16_t>()); }
  std::string_view take_rest() noexcept { return std::exchange(left_, std::string_view()); }
  Token take_token() noexcept {
    Token token;
    token.number = take<std::uint64_t>();
    const std::string_view secret = take_bytes(token.secret.size());
    if (!secret.empty()) std::memcpy(token.secret.data(), secret.data(), secret.size());
    return token;
  }
  Point take_point() noexcept {
    const auto seen = take<std::uint64_t>();
    return {seen, take<std::uint64_t>()};
  }
  Window take_window() noexcept {
    const auto messages = take<std::uint32_t>();
    return {messages, take<std::uint32_t>()};
  }
  bool is_short() const noexcept { return is_short_; }
  bool is_whole() const noexcept { return !is_short_ && left_.empty(); }

 private:
  std::string_view left_;
  bool is_short_ = false;
};

Result<> expect_whole(const Fields& fields) {
  if (fields.is_short()) return fail(Code::Protocol, "a packet of the session is truncated");
  if (!fields.is_whole()) return fail(Code::Protocol, "a packet of the session is longer than its fields");
  return {};
}
Result<Fields> fields_of(std::string_view bytes, Kind kind) {
  if (bytes.empty() || bytes[0] != static_cast<char>(kind)) {
    return fail(Code::Protocol, "a packet of the session is of an unexpected kind");
  }
  return Fields(bytes.substr(1));
}
// Zero has a special meaning, so a short time must not become zero.
std::uint32_t milliseconds(Duration heartbeat) noexcept {
  if (heartbeat <= Duration()) return 0;
  return static_cast<std::uint32_t>(std::clamp(heartbeat, 1_ms, heartbeat_max).count_ms());
}

}  // namespace

void write(Buffer& out, const Hello& hello) {
  put(out, Kind::Hello);
  put(out, hello.version_min);
  put(out, hello.version_max);
  put(out, hello.token);
  put(out, hello.attempt);
  put(out, hello.point);
  put(out, milliseconds(hello.heartbeat));
  put(out, hello.window);
  put_text(out, hello.name, name_bytes_max);
  put_text(out, hello.credentials, credentials_bytes_max);
}

void write(Buffer& out, const Welcome& welcome) {
  put(out, Kind::Welcome);
  put(out, welcome.version);
  put(out, static_cast<std::uint8_t>(welcome.is_resumed));
  put(out, welcome.token);
  put(out, welcome.point);
  put(out, milliseconds(welcome.heartbeat));
  put(out, static_cast<std::uint64_t>(std::clamp(welcome.expiry, Duration(), expiry_max).count_ms()));
  put(out, welcome.window);
}

void write(Buffer& out, const Bye& bye) {
  put(out, Kind::Bye);
  put(out, static_cast<std::uint8_t>(bye.code));
  out.append(bye.text.substr(0, reason_bytes_max));
}

void write(Buffer& out, const Packet& packet) {
  put(out, packet.kind);
  if (packet.kind != Kind::Skip) put(out, packet.acknowledged);
  if (packet.kind == Kind::Data || packet.kind == Kind::Skip) put(out, packet.number);
  if (packet.kind != Kind::Data) return;
  put(out, packet.type);
  out.append(packet.payload);
}

Result<Kind> kind_of(std::string_view bytes) {
  if (bytes.empty()) return fail(Code::Protocol, "a packet of the session is empty");
  return static_cast<Kind>(bytes[0]);
}

Result<Hello> read_hello(std::string_view bytes) {
  KEEL_TRY(Fields fields, fields_of(bytes, Kind::Hello));
  Hello hello;
  hello.version_min = fields.take_byte();
  hello.version_max = fields.take_byte();
  if (!fields.is_short() && (hello.version_min > version || hello.version_max < version)) {
    return fail(Code::Unsupported,
                "there is no common version of the session protocol: this side speaks only version 1");
  }
  hello.token = fields.take_token();
  hello.attempt = fields.take<std::uint64_t>();
  hello.point = fields.take_point();
  hello.heartbeat = Duration::milliseconds(fields.take<std::uint32_t>());
  hello.window = fields.take_window();
  hello.name = fields.take_text();
  hello.credentials = fields.take_text();
  KEEL_TRY_VOID(expect_whole(fields));
  if (hello.version_min == 0) return fail(Code::Protocol, "there is no version 0 of the session protocol");
  if (hello.point.handled > hello.point.seen)
    return fail(Code::Protocol, "the peer acknowledges as handled a message that it has not received yet");
  if (hello.heartbeat > heartbeat_max) return fail(Code::Protocol, "the heartbeat's period is longer than a day");
  if (hello.window.messages == 0 || hello.window.bytes == 0)
    return fail(Code::Protocol, "the window of the session has no room for a message");
  if (hello.name.size() > name_bytes_max) return fail(Code::Protocol, "a name must have at most 256 bytes");
  if (hello.credentials.size() > credentials_bytes_max) {
    return fail(Code::Protocol, "credentials must have at most 4096 bytes");
  }
  return hello;
}

Result<Welcome> read_welcome(std::string_view bytes) {
  KEEL_TRY(Fields fields, fields_of(bytes, Kind::Welcome));
  Welcome welcome;
  welcome.version = fields.take_byte();
  const std::uint8_t resumed = fields.take_byte();
  welcome.is_resumed = resumed != 0;
  welcome.token = fields.take_token();
  welcome.point = fields.take_point();
  welcome.heartbeat = Duration::milliseconds(fields.take<std::uint32_t>());
  const auto expiry_ms = fields.take<std::uint64_t>();
  welcome.window = fields.take_window();
  KEEL_TRY_VOID(expect_whole(fields));
  if (welcome.version != version)
    return fail(Code::Unsupported,
                "there is no common version of the session protocol: this side speaks only version 1");
  if (resumed > 1) return fail(Code::Protocol, "the flag for a resumed session is neither 0 nor 1");
  if (welcome.token.number == 0) return fail(Code::Protocol, "the number of the session is 0");
  if (welcome.point.handled > welcome.point.seen) {
    return fail(Code::Protocol, "the peer acknowledges as handled a message that it has not received yet");
  }
  if (welcome.heartbeat > heartbeat_max) return fail(Code::Protocol, "the heartbeat's period is longer than a day");
  if (expiry_ms > static_cast<std::uint64_t>(expiry_max.count_ms())) {
    return fail(Code::Protocol, "the expiry of a session must be at most a year");
  }
  welcome.expiry = Duration::milliseconds(static_cast<std::int64_t>(expiry_ms));
  if (welcome.window.messages == 0 || welcome.window.bytes == 0)
    return fail(Code::Protocol, "the window of the session has no room for a message");
  return welcome;
}

Result<Bye> read_bye(std::string_view bytes) {
  KEEL_TRY(Fields fields, fields_of(bytes, Kind::Bye));
  const std::uint8_t code = fields.take_byte();
  if (fields.is_short()) return fail(Code::Protocol, "a packet of the session is truncated");
  if (code >= code_count) return fail(Code::Protocol, "the code of a goodbye is unknown");
  const std::string_view text = fields.take_rest();
  if (text.size() > reason_bytes_max) return fail(Code::Protocol, "a reason must have at most 512 bytes");
  return Bye{static_cast<Code>(code), text};
}

Result<Packet> read_packet(std::string_view bytes) {
  KEEL_TRY(const Kind kind, kind_of(bytes));
  Fields fields(bytes.substr(1));
  Packet packet{.kind = kind};
  switch (kind) {
    case Kind::Data:
      packet.acknowledged = fields.take<std::uint64_t>();
      packet.number = fields.take<std::uint64_t>();
      packet.type = fields.take<std::uint16_t>();
      packet.payload = fields.take_rest();
      break;
    case Kind::Skip:
      packet.number = fields.take<std::uint64_t>();
      break;
    case Kind::Ack:
    case Kind::Ping:
    case Kind::Pong:
      packet.acknowledged = fields.take<std::uint64_t>();
      break;
    case Kind::Hello:
    case Kind::Welcome:
    case Kind::Bye:
      return fail(Code::Protocol, "a packet of the session is of an unexpected kind");
    default:
      return fail(Code::Protocol, "a packet of the session is of an unknown kind");
  }
  KEEL_TRY_VOID(expect_whole(fields));
  return packet;
}

}  // namespace keel::sessions::internal
