#include "keel/http/message/body_decoder.h"

#include <algorithm>

namespace keel::http {

ChunkStep BodyDecoder::feed(std::string_view received) noexcept {
  ChunkStep step;
  if (over_) {
    step.state = ChunkState::Done;
  } else if (chunked_) {
    step = chunks_.feed(received);
    if (step.state != ChunkState::Refused && chunks_.announced() > bytes_max_) {
      step.state = ChunkState::Refused;
      step.status = Status::ContentTooLarge;
      step.reason = "the body is larger than this server accepts";
      step.data = {};
    }
    over_ = step.state == ChunkState::Done;
  } else if (!received.empty()) {
    step.state = ChunkState::Data;
    step.consumed = static_cast<std::size_t>(std::min<std::uint64_t>(received.size(), left_));
    step.data = received.substr(0, step.consumed);
    left_ -= step.consumed;
    delivered_ += step.consumed;
    over_ = left_ == 0;
  }
  return step;
}

std::pair<std::size_t, bool> BodyDecoder::look_ahead(std::string_view received) const noexcept {
  BodyDecoder ahead = *this;
  std::size_t used = 0;
  while (!ahead.over_) {
    const ChunkStep step = ahead.feed(received.substr(used));
    used += step.consumed;
    if (step.state == ChunkState::Need || step.state == ChunkState::Refused) return {received.size(), false};
  }
  return {used, true};
}

}  // namespace keel::http
