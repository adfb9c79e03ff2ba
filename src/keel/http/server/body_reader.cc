#include "keel/http/server/body_reader.h"

#include <new>
#include <utility>

#include "keel/base/bug.h"
#include "keel/base/check.h"

namespace keel::http {

bool BodyRead::start() { return reader_ == nullptr || reader_->start(*this); }

Result<Chunk> BodyRead::take() noexcept {
  if (reader_ == nullptr) return chunk_;
  if (reader_->refusal_ != Status::Ok || reader_->lost_) return reader_->error();
  if (cancelled_) return fail(Code::Cancelled, "reading the body was cancelled");
  return std::exchange(reader_->next_, {});
}

void BodyRead::cancel(Leaf& leaf) noexcept {
  auto& self = static_cast<BodyRead&>(leaf);
  self.reader_->waiting_ = nullptr;
  self.cancelled_ = true;
  self.wake();
}

void BodyReader::begin(const BodyDecoder& decoder, std::string_view first, Wanted wanted) {
  decoder_ = decoder;
  wanted_ = wanted;
  first_.append(first);
  left_ = first_.view();
}

bool BodyReader::start(BodyRead& read) {
  KEEL_EXPECT_AT(waiting_ == nullptr,
                 "read_body() is awaited while another task waits in it: only one task may read at a time",
                 read.place());
  const bool is_ready = advance();
  const bool is_at_end = is_ready && is_over() && has_used_all();
  if (is_ready && !is_at_end) return true;
  first_.release();
  if (!is_ready) waiting_ = &read;
  wanted_(*this);
  return is_ready;
}

bool BodyReader::advance() noexcept {
  if (refusal_ != Status::Ok || lost_ || !next_.empty()) return true;
  while (true) {
    const ChunkStep step = decoder_.feed(left_);
    left_.remove_prefix(step.consumed);
    next_ = step.data;
    if (!step.trailers.empty()) [[unlikely]]
      keep_or_refuse(step.trailers);
    if (step.state == ChunkState::Done) trailers_.end();
    if (step.state == ChunkState::Refused) refuse(step.status, step.reason);
    if (step.state != ChunkState::Need) return true;
    if (!next_.empty()) return true;
    if (left_.empty()) return false;
  }
}

void BodyReader::keep_or_refuse(std::string_view trailers) noexcept {
  try {
    keep_trailers(trailers);
  } catch (const std::bad_alloc&) {
    refuse(Status::ServiceUnavailable, "out of memory for the trailers of the body");
  }
}

bool BodyReader::arrived(std::string_view bytes) noexcept {
  KEEL_CHECK(left_.empty(), "further bytes must not arrive before the previous ones have been used");
  left_ = bytes;
  return waiting_ != nullptr && advance();
}

void BodyReader::refuse(Status status, const char* reason) noexcept {
  if (refusal_ != Status::Ok) return;
  refusal_ = status;
  reason_ = reason;
  left_ = {};
}

void BodyReader::lose() noexcept { lost_ = true; }

void BodyReader::wake() noexcept {
  if (waiting_ != nullptr) std::exchange(waiting_, nullptr)->wake();
}

std::size_t BodyReader::discard_held() noexcept {
  const std::string_view held = std::exchange(left_, {});
  const std::size_t used = discard(held);
  if (refusal_ == Status::Ok) left_ = held.substr(used);
  return used;
}

std::size_t BodyReader::discard(std::string_view received) noexcept {
  std::size_t used = 0;
  while (!decoder_.is_over() && refusal_ == Status::Ok) {
    const ChunkStep step = decoder_.feed(received.substr(used));
    used += step.consumed;
    if (step.state == ChunkState::Need) break;
    if (step.state == ChunkState::Refused) refuse(step.status, step.reason);
  }
  return used;
}

Error BodyReader::error() const noexcept {
  if (refusal_ == Status::ContentTooLarge) return Error(Code::OutOfRange, reason_);
  if (refusal_ == Status::ServiceUnavailable || refusal_ == Status::TooManyRequests)
    return Error(Code::ResourceExhausted, reason_);
  if (refusal_ == Status::RequestTimeout) return Error(Code::DeadlineExceeded, reason_);
  if (refusal_ != Status::Ok) return Error(Code::Protocol, reason_);
  return Error(Code::Unavailable, "the client closed the connection before the end of the body");
}

}  // namespace keel::http
