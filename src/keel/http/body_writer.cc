#include "keel/http/body_writer.h"

#include <new>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/http/connection.h"
#include "keel/http/content_coder.h"
#include "keel/http/request.h"

namespace keel::http {

struct StreamedBody::Made {
  Callable write;
  std::optional<std::uint64_t> length;
  ContentCoders::Lease coder = {};
};

StreamedBody::StreamedBody(Callable write)
    : made_(new(pool_allocate(sizeof(Made))) Made{std::move(write), std::nullopt, {}}) {}

void StreamedBody::free() noexcept {
  made_->~Made();
  pool_free(made_, sizeof(Made));
}

Task<> StreamedBody::write(BodyWriter& out) const { return made_->write(out); }
std::optional<std::uint64_t> StreamedBody::length() const noexcept { return made_->length; }
void StreamedBody::set_length(std::uint64_t bytes) noexcept { made_->length = bytes; }
void StreamedBody::encode(ContentCoder& coder, ContentCoders& lender) noexcept {
  made_->coder = ContentCoders::Lease(&coder, {&lender});
}
ContentCoder* StreamedBody::coder() const noexcept { return made_->coder.get(); }

BodyRead BodyWriter::read_body() noexcept { return request_->read_body(); }

bool BodyWriter::Write::start() noexcept {
  KEEL_CHECK(writer_.waiting_ == nullptr, "one task at a time writes a body");
  if (writer_.length_ && rest_.size() > *writer_.length_ - writer_.written()) {
    too_long_ = true;
    return true;
  }
  if (writer_.coder_ != nullptr && !encode()) {
    no_memory_ = true;
    return true;
  }
  if (writer_.connection_->push_body(rest_)) return true;
  writer_.waiting_ = this;
  return false;
}

// Behind what a write that was cancelled has left.
bool BodyWriter::Write::encode() noexcept {
  try {
    if (!writer_.coder_->write(rest_, writer_.coded_)) return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  writer_.coded_from_ += rest_.size();
  rest_ = writer_.coded_.view();
  return true;
}

void BodyWriter::Write::cancel(Leaf& leaf) noexcept {
  auto& self = static_cast<Write&>(leaf);
  self.writer_.waiting_ = nullptr;
  self.cancelled_ = true;
  self.wake();
}

Result<> BodyWriter::Write::take() noexcept {
  if (too_long_) return fail(Code::OutOfRange, "a body is not longer than the length that was announced for it");
  if (no_memory_) return fail(Code::ResourceExhausted, BodyWriter::no_memory_to_compress);
  if (writer_.coder_ != nullptr) writer_.coded_.consume(writer_.coded_.size() - rest_.size());
  if (cancelled_) return fail(Code::Cancelled, "writing a body was ended early");
  if (!rest_.empty()) return fail(Code::Unavailable, "the connection ended before the body was sent");
  return {};
}

}  // namespace keel::http
