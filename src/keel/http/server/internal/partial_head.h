// keel/http/server/internal/partial_head.h — finds the head of a request in bytes that may be divided anywhere.
//
// Internal to http. A head that arrives complete, as nearly all do, is parsed in place into an object of the caller; an
// incomplete one is kept in the worker's pool, with the limits that applied when it began.
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

  // A part of a head has arrived.
  bool has_begun() const noexcept { return kept_ != nullptr; }
  // Looks for a head at the front of `received`, which begins with the bytes of earlier calls. It is parsed into
  // `head`, or into the kept head if there is one, to which `head` then points.
  HeadResult parse(std::string_view received, const HeadLimits& limits, RequestHead*& head) {
    if (kept_ == nullptr) [[likely]]
      return parse_head(received, limits, *head);
    head = &kept_->head;
    return resume_head(received, kept_->limits, *head);
  }
  // The head was incomplete: `head` is kept. True: this is the first part of the head.
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
