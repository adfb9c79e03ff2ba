#include "keel/http/body_writer.h"

#include <new>

#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/http/connection.h"
#include "keel/http/request.h"

namespace keel::http {

struct StreamedBody::Made {
  Callable write;
  std::optional<std::uint64_t> length;
};

StreamedBody::StreamedBody(Callable write)
    : made_(new(pool_allocate(sizeof(Made))) Made{std::move(write), std::nullopt}) {}

void StreamedBody::free() noexcept {
  made_->~Made();
  pool_free(made_, sizeof(Made));
}

Task<> StreamedBody::write(BodyWriter& out) const { return made_->write(out); }
std::optional<std::uint64_t> StreamedBody::length() const noexcept { return made_->length; }
void StreamedBody::set_length(std::uint64_t bytes) noexcept { made_->length = bytes; }

BodyRead BodyWriter::read_body() noexcept { return request_->read_body(); }

bool BodyWriter::Write::start() noexcept {
  KEEL_CHECK(writer_.waiting_ == nullptr, "one task at a time writes a body");
  if (writer_.length_ && rest_.size() > *writer_.length_ - writer_.written_) {
    too_long_ = true;
    return true;
  }
  if (writer_.connection_->push_body(rest_)) return true;
  writer_.waiting_ = this;
  return false;
}

void BodyWriter::Write::cancel(Leaf& leaf) noexcept {
  auto& self = static_cast<Write&>(leaf);
  self.writer_.waiting_ = nullptr;
  self.cancelled_ = true;
  self.wake();
}

Result<> BodyWriter::Write::take() noexcept {
  if (too_long_) return fail(Code::OutOfRange, "a body is not longer than the length that was announced for it");
  if (cancelled_) return fail(Code::Cancelled, "writing a body was ended early");
  if (!rest_.empty()) return fail(Code::Unavailable, "the connection ended before the body was sent");
  return {};
}

}  // namespace keel::http
