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
// Result:    the next message. Its body points into `bytes` if the message arrived whole, else into the reader's own
//            memory.
// Errors:    Protocol, from_environment(): a type that no server sends; a length that is below 4 (the size of the
//            length field itself), above message_bytes_max, or above the limit for the type of the message
//            (short_bytes_max for types that carry neither data nor text). After an error every call returns the same
//            error again.
// Lifetime:  a body is valid until the next call, but not longer than `bytes`.
// Threads:   one.
// Memory:    at most one message that arrived in pieces. It grows with the bytes received, never by a length that was
//            only announced, and memory above kept_bytes is freed after the message.
// Cost:      a message that arrived whole is not copied; no allocation in steady state.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"

namespace keel::db::postgres {

// The types of the messages that a server sends, by their bytes on the wire.
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
// "DataRow"; empty for a byte that is not a type.
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
    // The maximum size of a message, including its length field; it bounds the memory of a row. The server's own limit
    // is 1 GiB.
    std::size_t message_bytes_max = 64 * 1024 * 1024;
  };

  Reader() noexcept : Reader(Options{}) {}
  explicit Reader(Options options) noexcept : message_bytes_max_(options.message_bytes_max) {}

  // Consumes one message from the front of `bytes`, or all of them if the message is incomplete.
  Result<std::optional<Message>> next(std::string_view& bytes);

  // A fast path of next(). True: the front of `bytes` was a whole row, or a whole message without data, and is
  // consumed.
  // False: nothing was consumed; call next().
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

  // Whether a message is incomplete: if the connection ends now, the data was truncated.
  bool is_within_message() const noexcept { return !partial_.empty() && !is_delivered_; }

  // The response to an SSLRequest: true if the server continues with TLS. Protocol: the byte is neither 'S' nor 'N'; or
  // bytes follow an 'S', which an attacker may have inserted before the TLS handshake (CVE-2021-23222). `bytes` must
  // not be empty.
  static Result<bool> encryption_response(std::string_view& bytes);

 private:
  Result<std::size_t> size_of(const char* head);
  Error failed(std::string_view text);

  Buffer partial_;
  std::size_t message_bytes_max_;
  std::size_t size_ = 0;       // The size of the message in partial_; 0 while its head is incomplete.
  bool is_delivered_ = false;  // The message in partial_ was returned; the next call drops it.
  std::optional<Error> error_;
};

}  // namespace keel::db::postgres
