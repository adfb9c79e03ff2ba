#include "keel/http/server/body_writer.h"

#include <new>
#include <utility>

#include "keel/base/bug.h"
#include "keel/base/pool.h"
#include "keel/http/server/body_transform.h"
#include "keel/http/server/internal/pending_exchange.h"

namespace keel::http {

struct StreamedBody::Made {
  Callable write;
  std::optional<std::uint64_t> length;
  BodyTransform* transforms;
};

StreamedBody::StreamedBody(Callable write)
    : made_(new(pool_allocate(sizeof(Made))) Made{std::move(write), std::nullopt, nullptr}) {}

void StreamedBody::free() noexcept {
  for (BodyTransform* at = made_->transforms; at != nullptr;) std::exchange(at, at->next_)->release();
  made_->~Made();
  pool_free(made_, sizeof(Made));
}

Task<> StreamedBody::write(BodyWriter& out) const { return made_->write(out); }
std::optional<std::uint64_t> StreamedBody::length() const noexcept { return made_->length; }
void StreamedBody::set_length(std::uint64_t bytes) noexcept { made_->length = bytes; }
void StreamedBody::add(BodyTransform& transform) noexcept {
  BodyTransform** end = &made_->transforms;
  while (*end != nullptr) end = &(*end)->next_;
  *end = &transform;
}
BodyTransform* StreamedBody::transforms() const noexcept { return made_->transforms; }

BodyRead BodyWriter::read_body() noexcept { return exchange_->request().read_body(); }

Event::Wait BodyWriter::until_drain() noexcept { return exchange_->until_drain(); }

bool BodyWriter::transform(std::string_view piece, bool is_last) noexcept {
  if (failure_) return false;
  if (tail().empty()) {
    changed_.clear();
    changed_queued_ = 0;
  }
  try {
    int step = 0;
    for (BodyTransform* at = transforms_; at != nullptr; at = at->next_, ++step) {
      Buffer& out = at->next_ == nullptr ? changed_ : between_[step % 2];
      if (at->next_ != nullptr) out.clear();
      Result<> result = piece.empty() ? Result<>() : at->write(piece, out);
      if (result && is_last) result = at->end(out);
      if (!result) {
        failure_ = std::move(result).error();
        return false;
      }
      piece = out.view();
    }
  } catch (...) {
    failure_ = Error::from_exception();
  }
  return !failure_;
}

Result<> BodyWriter::end() noexcept {
  if (transforms_ == nullptr) return {};
  if (!transform({}, true)) return failure_->clone();
  queued_ += tail().size();
  return {};
}

bool BodyWriter::Write::start() {
  KEEL_EXPECT_AT(writer_.waiting_ == nullptr,
                 "write() is awaited while another task waits in it: only one task may write at a time", place());
  if (writer_.length_ && rest_.size() > *writer_.length_ - writer_.written()) {
    too_long_ = true;
    return true;
  }
  if (go_on()) return true;
  writer_.waiting_ = this;
  return false;
}

// Returns true if the write is complete or the connection has ended.
bool BodyWriter::Write::go_on() noexcept {
  if (writer_.transforms_ == nullptr) return writer_.exchange_->write(rest_);
  constexpr std::size_t transformed_at_once = 64 * 1024;
  while (true) {
    // The tail may contain the rest of a cancelled write; that rest is sent as well, because a transform cannot be
    // undone.
    std::string_view changed = writer_.tail();
    const bool is_done = changed.empty() || writer_.exchange_->write(changed);
    writer_.changed_queued_ = writer_.changed_.size() - changed.size();
    if (!changed.empty()) return is_done;
    const std::string_view piece = rest_.substr(0, transformed_at_once);
    if (piece.empty() || !writer_.transform(piece, false)) return true;
    writer_.transformed_ += piece.size();
    rest_.remove_prefix(piece.size());
  }
}

void BodyWriter::Write::cancel(Leaf& leaf) noexcept {
  auto& self = static_cast<Write&>(leaf);
  self.writer_.waiting_ = nullptr;
  self.cancelled_ = true;
  self.wake();
}

Result<> BodyWriter::Write::take() noexcept {
  if (too_long_) {
    return Error::from_bug(Bug("write() is given more bytes than the announced length of the body allows", place()));
  }
  if (writer_.failure_) return writer_.failure_->clone();
  if (cancelled_) return fail(Code::Cancelled, "writing the body was cancelled");
  if (!rest_.empty() || !writer_.tail().empty())
    return fail(Code::Unavailable, "the connection ended before the body was sent");
  return {};
}

}  // namespace keel::http
