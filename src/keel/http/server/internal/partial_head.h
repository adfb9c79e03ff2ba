// keel/http/server/internal/partial_head.h — the head of a request, found in bytes that may have been cut anywhere.
//
// Internal to http. A head that is whole when it comes, as nearly all are, is parsed in place into one that its caller
// has; one that was cut is kept in the worker's pool, with the limits that it began under.
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

  // Some of a head has come.
  bool has_begun() const noexcept { return kept_ != nullptr; }
  // Looks for a head at the front of `received`, which begins with what of it has been looked at before. It is parsed
  // into `head`, or where one was kept into that, which `head` then is.
  HeadResult parse(std::string_view received, const HeadLimits& limits, RequestHead*& head) {
    if (kept_ == nullptr) [[likely]]
      return parse_head(received, limits, *head);
    head = &kept_->head;
    return resume_head(received, kept_->limits, *head);
  }
  // It was incomplete: `head` is kept. True: it begins with this.
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
