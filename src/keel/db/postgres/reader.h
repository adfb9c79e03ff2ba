// keel/db/postgres/reader.h — splits the bytes that a PostgreSQL server sends into messages.
//
//   Reader reader;
//   std::string_view bytes = chunk;                            // as received, in pieces of any size
//   while (true) {
//     KEEL_TRY(const std::optional<Message> message, reader.next(bytes));
//     if (!message) break;                                     // `bytes` is used up: receive more
//     KEEL_TRY_VOID(handle(*message));                         // message.h decodes it
//   }
//
// Result:    the next message. The body points into `bytes` if the message arrived in one piece, else into the reader's
//            own memory.
// Errors:    Protocol, from_environment(): a type that no server sends; a length that is below 4 (the size of the
//            length field itself), above message_bytes_max, or above the limit for the type of the message
//            (short_bytes_max for types that contain neither data nor text). After an error, every call returns the
//            same error.
// Lifetime:  a body is valid until the next call of the reader, but no longer than `bytes`.
// Threads:   one.
// Memory:    at most one message that arrived in pieces. This memory grows with the bytes that are received, not with
//            the length that a message announces; memory above kept_bytes is freed after the message.
// Cost:      a message that arrived in one piece is not copied; no allocation in steady state.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"

namespace keel::db::postgres {

// The types of the messages that a server sends; the values are the bytes on the wire.
enum class MessageType : char {
  Authentication = 'R',
  BackendKeyData = 'K',
  BindComplete = '2',
  CloseComplete = '3',
  CommandComplete = 'C',
  CopyBothResponse = 'W',
  CopyData = 'd',
  CopyDone = 'c',
  CopyInResponse = 'G',
  CopyOutResponse = 'H',
  DataRow = 'D',
  EmptyQueryResponse = 'I',
  ErrorResponse = 'E',
  FunctionCallResponse = 'V',
  NegotiateProtocolVersion = 'v',
  NoData = 'n',
  NoticeResponse = 'N',
  NotificationResponse = 'A',
  ParameterDescription = 't',
  ParameterStatus = 'S',
  ParseComplete = '1',
  PortalSuspended = 's',
  ReadyForQuery = 'Z',
  RowDescription = 'T',
};
// Returns the name of the type, such as "DataRow"; empty for a byte that is not a type.
std::string_view to_string(MessageType type) noexcept;

// A message of the server: its type and its body.
struct Message {
  MessageType type;
  std::string_view body;  // The body of the message, without type and length.
};

class Reader {
 public:
  static constexpr std::size_t short_bytes_max = 30'000;
  static constexpr std::size_t kept_bytes = 64 * 1024;

  struct Options {
    // The maximum size of a message, including its length field; it limits the memory that a row takes. The server's
    // own limit is 1 GiB.
    std::size_t message_bytes_max = 64 * 1024 * 1024;
  };

  Reader() noexcept : Reader(Options{}) {}
  explicit Reader(Options options) noexcept : message_bytes_max_(options.message_bytes_max) {}

  // Consumes one message from the front of `bytes`; if the message is incomplete, consumes all of `bytes` and returns
  // nullopt.
  Result<std::optional<Message>> next(std::string_view& bytes);

  // A fast path of next(). Returns true if a whole message was at the front of `bytes`, and was a row or another
  // frequent message; the message is then consumed. Returns false if nothing was consumed; in that case, call next().
  bool next_whole(std::string_view& bytes, Message& message) noexcept {
    if (!partial_.empty() || error_ || bytes.size() < 5) return false;
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + 1, sizeof length);
    length = __builtin_bswap32(length);
    const auto type = static_cast<MessageType>(bytes[0]);
    switch (type) {
      case MessageType::DataRow:
        if (length < 4 || length > message_bytes_max_) return false;
        break;
      case MessageType::CommandComplete:
        if (length < 4 || length > short_bytes_max || length > message_bytes_max_) return false;
        break;
      case MessageType::BindComplete:
        if (length != 4) return false;
        break;
      default:
        return false;
    }
    if (length > bytes.size() - 1) return false;
    message = {type, bytes.substr(5, length - 4)};
    bytes.remove_prefix(1 + std::size_t{length});
    return true;
  }

  // Whether a message is incomplete: if the connection ends now, data was truncated.
  bool is_within_message() const noexcept { return !partial_.empty() && !is_delivered_; }

  // Reads the response to an SSLRequest; returns true if the server continues with TLS. Protocol: the byte is neither
  // 'S' nor 'N', or bytes follow an 'S': an attacker may have inserted them before the TLS handshake (CVE-2021-23222).
  // `bytes` must not be empty.
  static Result<bool> encryption_response(std::string_view& bytes);

 private:
  Result<std::size_t> size_of(const char* head);
  Error failed(std::string_view text);

  Buffer partial_;
  std::size_t message_bytes_max_;
  std::size_t size_ = 0;       // The size of the message in partial_; 0 while the head of the message is incomplete.
  bool is_delivered_ = false;  // The message in partial_ has been returned, and the next call drops it.
  std::optional<Error> error_;
};

}  // namespace keel::db::postgres
