#include "keel/net/outbox.h"

#include <utility>

#include "keel/base/bug.h"
#include "keel/base/check.h"

namespace keel {
namespace {

constexpr std::size_t flight_parts_max = 16;

}  // namespace

// The bytes that are being written: the first blocks of the queue, which do not move while more bytes are pushed after
// them.
class Outbox::Flight : public StreamOutput {
 public:
  explicit Flight(Outbox& outbox) noexcept : StreamOutput(*outbox.stream_.state_), outbox_(outbox) {}
  bool start() noexcept {
    const std::size_t count = outbox_.queue_.gather(parts_);
    for (std::size_t i = 0; i < count; ++i) bytes_ += parts_[i].iov_len;
    return send(parts_, count);
  }
  Result<> take() noexcept {
    auto result = StreamOutput::take();
    if (result) outbox_.queue_.consume(std::exchange(bytes_, 0));
    return result;
  }

 private:
  Outbox& outbox_;
  std::size_t bytes_ = 0;
  iovec parts_[flight_parts_max];
};

// Lives while run() is running. However run() ends, the destructor ends the outbox, so that nothing is written
// afterwards.
class Outbox::Running {
 public:
  explicit Running(Outbox& outbox) noexcept : outbox_(outbox) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { outbox_.end(); }

 private:
  Outbox& outbox_;
};

Outbox::~Outbox() { KEEL_CHECK(!began_ || ended_, "an outbox must outlive its run()"); }

Result<> Outbox::admits(std::size_t bytes) const noexcept {
  if (closed_) return fail(Code::FailedPrecondition, "the outbox is closed");
  if (ended_) return fail(Code::Unavailable, "the outbox no longer sends its bytes: its connection has ended");
  if (bytes > options_.bytes_max - queued_bytes()) return fail(Code::ResourceExhausted, "the outbox is full");
  return {};
}

Result<> Outbox::push(std::string_view bytes) {
  KEEL_TRY_VOID(admits(bytes.size()));
  if (bytes.empty()) return {};
  queue_.append(bytes);
  more_.set();
  return {};
}

Result<> Outbox::push(Buffer&& bytes) {
  KEEL_TRY_VOID(admits(bytes.size()));
  if (bytes.empty()) return {};
  queue_.append(std::move(bytes));
  more_.set();
  return {};
}

Outbox::Wait Outbox::below_low() noexcept { return {*this, waiting_low_, options_.low_bytes}; }
Outbox::Wait Outbox::drained() noexcept { return {*this, waiting_drained_, 0}; }

Task<> Outbox::run() {
  KEEL_EXPECT(!began_, "run() of an Outbox was awaited a second time");
  began_ = true;
  Running running(*this);
  while (true) {
    if (queue_.empty()) {
      if (closed_) co_return;
      more_.reset();
      co_await more_.wait();
      continue;
    }
    co_await Flight(*this);
    if (queued_bytes() <= options_.low_bytes) waiting_low_.wake_all();
    if (queue_.empty()) waiting_drained_.wake_all();
  }
}

void Outbox::close() noexcept {
  closed_ = true;
  more_.set();
}

void Outbox::end() noexcept {
  ended_ = true;
  waiting_low_.wake_all();
  waiting_drained_.wake_all();
}

Result<> Outbox::Wait::take() noexcept {
  if (is_cancelled()) return taken();
  if (outbox_.ended_ && outbox_.queued_bytes() > level_) {
    return fail(Code::Unavailable, "the outbox no longer sends its bytes: its connection has ended");
  }
  return {};
}

}  // namespace keel
