#include "keel/http/server/body_writer.h"

#include <new>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/http/message/content_coder.h"
#include "keel/http/server/internal/connection.h"
#include "keel/http/server/request.h"

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
  if (go_on()) return true;
  writer_.waiting_ = this;
  return false;
}

// True: it is complete, or the connection has ended.
bool BodyWriter::Write::go_on() noexcept {
  if (writer_.coder_ == nullptr) return writer_.connection_->push_body(rest_);
  while (true) {
    // What one that was cancelled has left, too: a coder cannot go back.
    std::string_view coded = writer_.coded_.view().substr(writer_.coded_queued_);
    const bool is_done = coded.empty() || writer_.connection_->push_body(coded);
    writer_.coded_queued_ = writer_.coded_.size() - coded.size();
    if (!coded.empty()) return is_done;
    if (rest_.empty() || !encode_some()) return true;
  }
}

bool BodyWriter::Write::encode_some() noexcept {
  constexpr std::size_t coded_at_once = 64 * 1024;
  const std::string_view piece = rest_.substr(0, coded_at_once);
  writer_.coded_.clear();
  writer_.coded_queued_ = 0;
  try {
    writer_.coder_failed_ = writer_.coder_failed_ || !writer_.coder_->write(piece, writer_.coded_);
  } catch (const std::bad_alloc&) {
    writer_.coder_failed_ = true;
  }
  if (writer_.coder_failed_) return false;
  writer_.coded_from_ += piece.size();
  rest_.remove_prefix(piece.size());
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
  if (writer_.coder_failed_) return fail(Code::ResourceExhausted, BodyWriter::no_memory_to_compress);
  if (cancelled_) return fail(Code::Cancelled, "writing a body was ended early");
  if (!rest_.empty() || writer_.coded_queued_ != writer_.coded_.size())
    return fail(Code::Unavailable, "the connection ended before the body was sent");
  return {};
}

}  // namespace keel::http
