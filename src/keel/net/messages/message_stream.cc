#include "keel/net/messages/message_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "keel/base/bug.h"
#include "keel/net/messages/internal/connection.h"
#include "keel/net/messages/internal/stream_state.h"

namespace keel::messages {
namespace internal {
namespace {

std::uint32_t number_at(std::string_view bytes) noexcept {
  std::uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
  return number;
}

}  // namespace

class StreamState::Pinned {
 public:
  explicit Pinned(StreamState& state) noexcept : state_(state) { ++state.pins_; }
  ~Pinned() {
    --state_.pins_;
    state_.settle();
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  StreamState& state_;
};

StreamState::StreamState(Connection& connection, std::uint32_t id, bool is_opener, std::uint32_t credit) noexcept
    : connection_(&connection), id_(id), is_opener_(is_opener), credit_(credit), allowed_(connection.stream_bytes()) {}

void StreamState::put(FrameKind kind, std::string_view payload) noexcept {
  if (connection_ == nullptr) return;
  connection_->queue({.kind = kind, .from_opener = is_opener_, .id = id_, .payload = payload});
}

const char* StreamState::data(std::string_view payload) {
  if (in_ended_) return "the peer sent a message in a stream after its end";
  if (allowed_ <= 0) return "the peer sent a message in a stream for which it has no credit";
  allowed_ -= cost(payload.size());
  if (has_abandoned_) return nullptr;
  const auto size = static_cast<std::uint32_t>(payload.size());
  char head[sizeof size];
  std::memcpy(head, &size, sizeof size);
  in_.append({head, sizeof head});
  in_.append(payload);
  if (StreamReceiveCore* const receiver = std::exchange(receiver_, nullptr)) receiver->wake();
  return nullptr;
}

const char* StreamState::credit(std::string_view payload) noexcept {
  if (payload.size() != 4) return "the credit of a stream is not a number";
  credit_ += number_at(payload);
  if (credit_ > std::int64_t{UINT32_MAX}) return "the credit of a stream is larger than its maximum";
  retry_send();
  return nullptr;
}

const char* StreamState::end(std::string_view payload) noexcept {
  if (in_ended_) return "the peer ended a stream twice";
  const Pinned pinned(*this);
  in_ended_ = true;
  if (!payload.empty()) in_error_.emplace(parse_error(payload));
  if (StreamReceiveCore* const receiver = std::exchange(receiver_, nullptr)) receiver->wake();
  return nullptr;
}

// Closes this side's direction, because the peer waits for its end.
void StreamState::abandoned() noexcept {
  const Pinned pinned(*this);
  is_abandoned_ = true;
  finish(nullptr);
  if (StreamSendCore* const sender = std::exchange(sender_, nullptr)) {
    sender->error_.emplace(Error(Code::Cancelled, "the peer no longer receives from the stream").from_environment());
    sender->wake();
  }
}

void StreamState::lost() noexcept {
  const Pinned pinned(*this);
  const Error why = connection_->why_ended();
  connection_ = nullptr;
  out_ended_ = true;
  if (!std::exchange(in_ended_, true)) in_error_.emplace(why.clone());
  StreamSendCore* const sender = std::exchange(sender_, nullptr);
  StreamReceiveCore* const receiver = std::exchange(receiver_, nullptr);
  if (sender != nullptr) sender->error_.emplace(why.clone());
  if (sender != nullptr) sender->wake();
  if (receiver != nullptr) receiver->wake();
}

void StreamState::finish(const Error* error) noexcept {
  if (out_ended_) return;
  out_ended_ = true;
  Buffer payload;
  if (error != nullptr) put_error(payload, *error);
  if (connection_ == nullptr) return;
  const Frame end{.kind = FrameKind::End, .from_opener = is_opener_, .id = id_, .payload = payload.view()};
  return is_opener_ ? connection_->queue(end) : connection_->queue_response(end);
}

void StreamState::abandon() noexcept {
  if (in_ended_ || std::exchange(has_abandoned_, true)) return;
  put(FrameKind::Abandon);
  in_.clear();
}

void StreamState::let_go() noexcept {
  has_handle_ = false;
  if (!is_handled_) {
    // After the end of the peer's direction, dropping the stream is not an error.
    const Error dropped(Code::Cancelled, "the stream was dropped");
    finish(in_ended_ && !in_error_ ? nullptr : &dropped);
    abandon();
  }
  settle();
}

void StreamState::handled(const Error* error) noexcept {
  is_handled_ = false;
  finish(error);
  abandon();
  settle();
}

void StreamState::settle() noexcept {
  if (out_ended_ && in_ended_ && connection_ != nullptr) {
    connection_->release(*this);
    connection_ = nullptr;
  }
  if (connection_ == nullptr && !has_handle_ && !is_handled_ && pins_ == 0) delete this;
}

std::uint32_t StreamState::first_size() const noexcept {
  char head[sizeof(std::uint32_t)];
  in_.copy_to(head);
  std::uint32_t size = 0;
  std::memcpy(&size, head, sizeof size);
  return size;
}

std::string_view StreamState::first_message() {
  const std::size_t bytes = sizeof(std::uint32_t) + first_size();
  if (in_.front().size() >= bytes) return in_.front().substr(sizeof(std::uint32_t), bytes - sizeof(std::uint32_t));
  scratch_.clear();
  in_.copy_to({scratch_.reserve(bytes), bytes});
  scratch_.commit(bytes);
  return scratch_.view().substr(sizeof(std::uint32_t));
}

bool StreamState::try_send(StreamSendCore& send) noexcept {
  if (connection_ == nullptr || out_ended_) {
    if (is_abandoned_) {
      send.error_.emplace(Error(Code::Cancelled, "the peer no longer receives from the stream").from_environment());
    } else if (connection_ == nullptr && in_error_) {
      send.error_.emplace(in_error_->clone());
    } else {
      send.error_.emplace(Code::FailedPrecondition, "the stream was finished");
    }
    return true;
  }
  if (send.payload_.size() > connection_->payload_max()) {
    send.error_.emplace(Code::OutOfRange, "the message is larger than the peer accepts (frame_bytes_max)");
    return true;
  }
  if (credit_ <= 0 || connection_->is_above_high()) return false;
  credit_ -= cost(send.payload_.size());
  put(FrameKind::Data, send.payload_.view());
  return true;
}

void StreamState::retry_send() noexcept {
  if (sender_ == nullptr || !try_send(*sender_)) return;
  std::exchange(sender_, nullptr)->wake();
}

bool StreamSendCore::start() {
  KEEL_EXPECT_AT(
      state_.sender_ == nullptr,
      "a message is sent in a MessageStream while another task waits to send: only one task may send at a time",
      place());
  if (state_.try_send(*this)) return true;
  if (Result<> waits = wait_.begin(*state_.connection_, context()); !waits) {
    error_.emplace(std::move(waits).error());
    return true;
  }
  state_.sender_ = this;
  return false;
}
Result<> StreamSendCore::take() noexcept {
  if (error_) return std::move(*error_);
  return {};
}
void StreamSendCore::cancel(Leaf& leaf) noexcept {
  auto& send = static_cast<StreamSendCore&>(leaf);
  send.state_.sender_ = nullptr;
  send.error_.emplace(Code::Cancelled, "a wait to send was cancelled");
  send.wake();
}

bool StreamReceiveCore::start() {
  KEEL_EXPECT_AT(state_.receiver_ == nullptr,
                 "a task receives from a MessageStream while another task waits for a message: only one task may "
                 "receive at a time",
                 place());
  if (state_.has_message() || state_.in_ended_) return true;
  if (Result<> waits = wait_.begin(*state_.connection_, context()); !waits) {
    error_.emplace(std::move(waits).error());
    return true;
  }
  state_.receiver_ = this;
  return false;
}
Result<std::optional<std::string_view>> StreamReceiveCore::front() noexcept {
  if (error_) return std::move(*error_);
  if (state_.has_message()) return std::optional<std::string_view>(state_.first_message());
  if (state_.in_error_) return state_.in_error_->clone();
  return std::optional<std::string_view>();
}
void StreamReceiveCore::taken() noexcept {
  const std::uint32_t size = state_.first_size();
  state_.in_.consume(sizeof size + size);
  state_.scratch_.release();
  state_.taken_ += StreamState::cost(size);
  if (state_.in_ended_ || state_.connection_ == nullptr) return;
  if (state_.taken_ * 2 < std::int64_t{state_.connection_->stream_bytes()}) return;
  const auto more = static_cast<std::uint32_t>(std::min<std::int64_t>(std::exchange(state_.taken_, 0), UINT32_MAX));
  state_.allowed_ += more;
  const char number[] = {static_cast<char>(more >> 24), static_cast<char>(more >> 16), static_cast<char>(more >> 8),
                         static_cast<char>(more)};
  state_.put(FrameKind::Credit, {number, sizeof number});
}
void StreamReceiveCore::cancel(Leaf& leaf) noexcept {
  auto& receive = static_cast<StreamReceiveCore&>(leaf);
  receive.state_.receiver_ = nullptr;
  receive.error_.emplace(Code::Cancelled, "a wait for a message was cancelled");
  receive.wake();
}

}  // namespace internal

MessageStream::MessageStream(internal::StreamState& state) noexcept : state_(&state) { state.has_handle_ = true; }
void MessageStream::reset() noexcept {
  if (internal::StreamState* const state = std::exchange(state_, nullptr)) state->let_go();
}
// In both finish() functions, settle() cannot free the stream, because the handle still exists.
void MessageStream::finish() {
  state_->finish(nullptr);
  state_->settle();
}
void MessageStream::finish(Error error) {
  state_->finish(&error);
  state_->settle();
}
Peer* MessageStream::peer() const noexcept { return state_->connection_; }

}  // namespace keel::messages
