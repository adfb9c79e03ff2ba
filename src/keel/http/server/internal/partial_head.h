// keel/http/server/internal/partial_head.h — finds the head of a request in bytes that may be divided anywhere.
//
// Internal to http. Nearly every head arrives complete, and is parsed in place into an object of the caller. An
// incomplete head is kept in the worker's pool, together with the limits that applied when the head began.
//
// Threads: the worker.

#pragma once

#include <string_view>
#include <utility>

#include "keel/base/pool.h"
#include "keel/http/message/parser.h"

namespace keel::http {

class PartialHead {
 public:
  PartialHead() = default;
  PartialHead(const PartialHead&) = delete;
  PartialHead& operator=(const PartialHead&) = delete;
  ~PartialHead() { clear(); }

  // Whether a part of a head has arrived.
  bool has_begun() const noexcept { return kept_ != nullptr; }
  // Parses the head at the front of `received`, which begins with the bytes of earlier calls. The result is in `head`;
  // if there is a kept head, `head` is changed to point to the kept head.
  HeadResult parse(std::string_view received, const HeadLimits& limits, RequestHead*& head) {
    if (kept_ == nullptr) [[likely]]
      return parse_head(received, limits, *head);
    head = &kept_->head;
    return resume_head(received, kept_->limits, *head);
  }
  // Call this function when the head was incomplete: `head` is kept. Returns true for the first part of a head.
  bool keep(const RequestHead& head, const HeadLimits& limits) {
    if (kept_ != nullptr) return false;
    kept_ = new (pool_allocate(sizeof(Kept))) Kept{head, limits};
    return true;
  }
  void clear() noexcept {
    if (kept_ != nullptr) pool_free(std::exchange(kept_, nullptr), sizeof(Kept));
  }

 private:
  struct Kept {
    RequestHead head;
    HeadLimits limits;
  };
  Kept* kept_ = nullptr;
};

}  // namespace keel::http
