// The peer's requests whose handlers must not begin before earlier responses are sent.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/list.h"
#include "keel/base/time.h"
#include "keel/net/messages/frame.h"

namespace keel::messages::internal {

class HeldRequests {
 public:
  struct Request : Link {
    Frame frame;
    Buffer payload;  // The bytes to which the frame's payload refers.
    Instant deadline = Instant::never();
  };

  HeldRequests() = default;
  HeldRequests(const HeldRequests&) = delete;
  HeldRequests& operator=(const HeldRequests&) = delete;
  ~HeldRequests() {
    while (in_order_.pop_front() != nullptr) continue;
  }

  bool empty() const noexcept { return in_order_.empty(); }
  bool has(std::uint32_t id) const noexcept { return id < by_id_.size() && by_id_[id] != nullptr; }
  std::size_t bytes() const noexcept { return bytes_; }

  // Copies the frame. No request that is already held may have the id of `frame`.
  void push(const Frame& frame, Instant now) {
    if (frame.id >= by_id_.size()) by_id_.resize(frame.id + 1);
    auto request = std::make_unique<Request>();
    request->frame = frame;
    request->payload.append(frame.payload);
    request->frame.payload = request->payload.view();
    if (frame.time_left) request->deadline = now + *frame.time_left;
    bytes_ += frame.payload.size();
    in_order_.push_back(*request);
    by_id_[frame.id] = std::move(request);
  }
  // Removes and returns the oldest request, which must exist.
  std::unique_ptr<Request> pop() noexcept {
    Request* const oldest = in_order_.pop_front();
    bytes_ -= oldest->payload.size();
    return std::move(by_id_[oldest->frame.id]);
  }
  // Drops a request. `id` must be that of a held request.
  void remove(std::uint32_t id) noexcept {
    const std::unique_ptr<Request> request = std::move(by_id_[id]);
    in_order_.remove(*request);
    bytes_ -= request->payload.size();
  }

 private:
  std::vector<std::unique_ptr<Request>> by_id_;
  List<Request> in_order_;
  std::size_t bytes_ = 0;  // The sum of the sizes of all payloads.
};

}  // namespace keel::messages::internal
