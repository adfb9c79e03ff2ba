#include "keel/db/postgres/reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "keel/base/bug.h"
#include "keel/db/postgres/internal/wire.h"

namespace keel::db::postgres {
namespace {

constexpr std::size_t head_size = 5;

// The size of the largest message of this type, regardless of the caller's limit; 0 if no message has this type.
std::size_t bytes_max_of(MessageType type) noexcept {
  switch (type) {
    case MessageType::CopyData:
    case MessageType::DataRow:
    case MessageType::ErrorResponse:
    case MessageType::FunctionCallResponse:
    case MessageType::NoticeResponse:
    case MessageType::NotificationResponse:
    case MessageType::RowDescription:
      return ~std::size_t{0};
    case MessageType::ParameterDescription:
      return 4 + 2 + 4 * 65'535;
    case MessageType::ReadyForQuery:
      return 5;
    case MessageType::BindComplete:
    case MessageType::CloseComplete:
    case MessageType::CopyDone:
    case MessageType::EmptyQueryResponse:
    case MessageType::NoData:
    case MessageType::ParseComplete:
    case MessageType::PortalSuspended:
      return 4;
    case MessageType::Authentication:
    case MessageType::BackendKeyData:
    case MessageType::CommandComplete:
    case MessageType::CopyBothResponse:
    case MessageType::CopyInResponse:
    case MessageType::CopyOutResponse:
    case MessageType::NegotiateProtocolVersion:
    case MessageType::ParameterStatus:
      return Reader::short_bytes_max;
  }
  return 0;
}

std::string text_of(MessageType type) {
  const std::string_view known = to_string(type);
  if (!known.empty()) return std::string(known);
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(type);
  return std::string("a message of type 0x") + digits[byte >> 4] + digits[byte & 15];
}

}  // namespace

std::string_view to_string(MessageType type) noexcept {
  switch (type) {
    case MessageType::Authentication:
      return "Authentication";
    case MessageType::BackendKeyData:
      return "BackendKeyData";
    case MessageType::BindComplete:
      return "BindComplete";
    case MessageType::CloseComplete:
      return "CloseComplete";
    case MessageType::CommandComplete:
      return "CommandComplete";
    case MessageType::CopyBothResponse:
      return "CopyBothResponse";
    case MessageType::CopyData:
      return "CopyData";
    case MessageType::CopyDone:
      return "CopyDone";
    case MessageType::CopyInResponse:
      return "CopyInResponse";
    case MessageType::CopyOutResponse:
      return "CopyOutResponse";
    case MessageType::DataRow:
      return "DataRow";
    case MessageType::EmptyQueryResponse:
      return "EmptyQueryResponse";
    case MessageType::ErrorResponse:
      return "ErrorResponse";
    case MessageType::FunctionCallResponse:
      return "FunctionCallResponse";
    case MessageType::NegotiateProtocolVersion:
      return "NegotiateProtocolVersion";
    case MessageType::NoData:
      return "NoData";
    case MessageType::NoticeResponse:
      return "NoticeResponse";
    case MessageType::NotificationResponse:
      return "NotificationResponse";
    case MessageType::ParameterDescription:
      return "ParameterDescription";
    case MessageType::ParameterStatus:
      return "ParameterStatus";
    case MessageType::ParseComplete:
      return "ParseComplete";
    case MessageType::PortalSuspended:
      return "PortalSuspended";
    case MessageType::ReadyForQuery:
      return "ReadyForQuery";
    case MessageType::RowDescription:
      return "RowDescription";
  }
  return {};
}

Error Reader::failed(std::string_view text) {
  error_.emplace(wire::broken(text));
  return error_->clone();
}

Result<std::size_t> Reader::size_of(const char* head) {
  const auto type = static_cast<MessageType>(head[0]);
  const std::size_t type_max = bytes_max_of(type);
  if (type_max == 0) [[unlikely]]
    return failed("the server sent " + text_of(type) + ", which does not exist in the protocol");
  const std::size_t length = wire::load<std::uint32_t>(head + 1);
  if (length < 4) [[unlikely]] {
    return failed(text_of(type) + " of the server has a length of " + std::to_string(length) +
                  ", less than the 4 bytes of the length itself");
  }
  const std::size_t most = std::min(message_bytes_max_, type_max);
  if (length > most) [[unlikely]] {
    return failed(text_of(type) + " of the server has a length of " + std::to_string(length) + ", above " +
                  std::to_string(most));
  }
  return 1 + length;
}

Result<std::optional<Message>> Reader::next(std::string_view& bytes) {
  if (error_) [[unlikely]]
    return error_->clone();
  if (is_delivered_) {
    is_delivered_ = false;
    size_ = 0;
    if (partial_.capacity() > kept_bytes) partial_.release();
    partial_.clear();
  }
  if (bytes.empty()) return std::optional<Message>();
  if (partial_.empty()) [[likely]] {
    if (bytes.size() >= head_size) [[likely]] {
      KEEL_TRY(const std::size_t size, size_of(bytes.data()));
      if (bytes.size() >= size) [[likely]] {
        const Message message{static_cast<MessageType>(bytes[0]), bytes.substr(head_size, size - head_size)};
        bytes.remove_prefix(size);
        return std::optional<Message>(message);
      }
      size_ = size;
    }
    partial_.append(std::exchange(bytes, {}));
    return std::optional<Message>();
  }
  const auto take_up_to = [&](std::size_t size) {
    const std::size_t more = std::min(size - partial_.size(), bytes.size());
    partial_.append(bytes.substr(0, more));
    bytes.remove_prefix(more);
    return partial_.size() == size;
  };
  if (size_ == 0) {
    if (!take_up_to(head_size)) return std::optional<Message>();
    KEEL_TRY(size_, size_of(partial_.data()));
  }
  if (!take_up_to(size_)) return std::optional<Message>();
  is_delivered_ = true;
  return std::optional<Message>(
      Message{static_cast<MessageType>(partial_.data()[0]), partial_.view().substr(head_size)});
}

Result<bool> Reader::encryption_response(std::string_view& bytes) {
  KEEL_EXPECT(!bytes.empty(), "encryption_response() is called before the response to the SSLRequest has arrived");
  const char first = bytes[0];
  if (first != 'S' && first != 'N') {
    return wire::broken(
        "the server responded to the request for TLS with neither 'S' nor 'N': it is not a PostgreSQL server, or it "
        "has failed");
  }
  bytes.remove_prefix(1);
  if (first == 'S' && !bytes.empty()) {
    return wire::broken("bytes arrived before the TLS handshake: an attacker on the network may have inserted them");
  }
  return first == 'S';
}

}  // namespace keel::db::postgres
