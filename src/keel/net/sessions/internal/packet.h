// The packets between the two sides of a session, as bytes: each packet is the payload of one frame.
//
// A connection begins with Hello, to which the reply is Welcome or Bye. After Welcome, both sides send Data, Skip, Ack,
// Ping, Pong and Bye. Numbers have the most significant byte first. Version 1:
//
//   Hello    'h' versions:1+1 number:8 secret:16 attempt:8 point:16 heartbeat_ms:4 window:8 name:2+n
//            credentials:2+n
//   Welcome  'w' version:1 resumed:1 number:8 secret:16 point:16 heartbeat_ms:4 expiry_ms:8 window:8
//   Data     'd' acknowledged:8 number:8 type:2 payload
//   Skip     's' number:8                     messages up to this one are lost
//   Ack      'a' acknowledged:8
//   Ping     'p' acknowledged:8    Pong 'q' acknowledged:8
//   Bye      'b' code:1 text
//
// Threads: functions.
// Cost:    a copy of each field; views in a packet that was read refer to the bytes from which it was read.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/error.h"
#include "keel/base/result.h"
#include "keel/base/time.h"

namespace keel::sessions::internal {

inline constexpr std::uint8_t version = 1;  // The only version so far.

// Identifies a session, and proves that the sender was given this token.
struct Token {
  std::uint64_t number = 0;  // 0: no session.
  std::array<char, 16> secret = {};
  bool operator==(const Token&) const = default;
};

// How far one side has received and handled the messages of the other side.
struct Point {
  std::uint64_t seen = 0;     // The number of the last message that has arrived.
  std::uint64_t handled = 0;  // The number of the last message that was handled; the space of that message is free.
  bool operator==(const Point&) const = default;
};

// The number of unhandled messages and bytes that one side accepts.
struct Window {
  std::uint32_t messages = 0;
  std::uint32_t bytes = 0;
  bool operator==(const Window&) const = default;
};

struct Hello {
  std::uint8_t version_min = version;
  std::uint8_t version_max = version;
  Token token = {};  // The token of the session to resume; if its number is 0, the client asks for a new session.
  // This number grows with each connection of the client, so that a delayed hello cannot take a session from a newer
  // connection.
  std::uint64_t attempt = 0;
  Point point = {};
  Duration heartbeat = {};  // The interval that this side requests; zero: none.
  Window window = {};
  std::string_view name = {};
  std::string_view credentials = {};
};

struct Welcome {
  std::uint8_t version = internal::version;
  // False: a new session has begun, for example because the session to be resumed no longer exists.
  bool is_resumed = false;
  Token token = {};
  Point point = {};
  Duration heartbeat = {};  // The interval that both sides use; zero: no heartbeats.
  Duration expiry = {};     // How long the session is kept without a connection.
  Window window = {};
};

struct Bye {
  Code code = Code::Cancelled;
  std::string_view text;
};

enum class Kind : char {
  Hello = 'h',
  Welcome = 'w',
  Data = 'd',
  Skip = 's',
  Ack = 'a',
  Ping = 'p',
  Pong = 'q',
  Bye = 'b',
};

// The common form of Data, Skip, Ack, Ping and Pong.
struct Packet {
  Kind kind = Kind::Ack;
  std::uint64_t acknowledged = 0;
  std::uint64_t number = 0;       // The sequence number of Data and Skip.
  std::uint16_t type = 0;         // The type of the message; set only for Data.
  std::string_view payload = {};  // Set for Data; a view into the packet.
};

inline constexpr std::size_t data_head_bytes = 19;
inline constexpr std::size_t name_bytes_max = 256;
inline constexpr std::size_t credentials_bytes_max = 4096;
inline constexpr std::size_t reason_bytes_max = 512;

// The functions below append the packet. Names, credentials and reasons that exceed their maximum are truncated, so the
// caller must check them first.
void write(Buffer& out, const Hello& hello);
void write(Buffer& out, const Welcome& welcome);
void write(Buffer& out, const Bye& bye);
void write(Buffer& out, const Packet& packet);

// The kind of a packet, even if that kind is unknown. Protocol: the packet is empty.
Result<Kind> kind_of(std::string_view bytes);

// Protocol: the packet is truncated, too long or of another kind, or a field has an impossible value; the message says
// which. Unsupported: a Hello names no version that this side supports.
Result<Hello> read_hello(std::string_view bytes);
Result<Welcome> read_welcome(std::string_view bytes);
Result<Bye> read_bye(std::string_view bytes);
Result<Packet> read_packet(std::string_view bytes);

}  // namespace keel::sessions::internal
