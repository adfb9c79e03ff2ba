#include "keel/net/outbox.h"

#include <new>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/pool.h"

namespace keel {
namespace {

constexpr std::size_t block_bytes = 16 * 1024;  // Small pieces are gathered up to this size.
constexpr std::size_t flight_parts_max = 16;

}  // namespace

struct Outbox::Block {
  Buffer bytes;
  Block* next = nullptr;
};

// The blocks that are being written: the first ones of the queue.
class Outbox::Flight : public StreamOutput {
 public:
  explicit Flight(Outbox& outbox) noexcept : StreamOutput(*outbox.stream_.state_), outbox_(outbox) {}
  bool start() noexcept {
    for (Block* block = outbox_.first_; block != nullptr && count_ < flight_parts_max; block = block->next) {
      parts_[count_++] = {block->bytes.data(), block->bytes.size()};
      if (block == outbox_.open_) outbox_.open_ = nullptr;
    }
    return send(parts_, count_);
  }
  Result<> take() noexcept {
    auto result = StreamOutput::take();
    for (; result && count_ != 0; --count_) outbox_.drop_first();
    return result;
  }

 private:
  Outbox& outbox_;
  std::size_t count_ = 0;
  iovec parts_[flight_parts_max];
};

// However run() ends: nobody writes any more.
class Outbox::Running {
 public:
  explicit Running(Outbox& outbox) noexcept : outbox_(outbox) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { outbox_.end(); }

 private:
  Outbox& outbox_;
};

Outbox::~Outbox() {
  KEEL_CHECK(!began_ || ended_, "an outbox outlives its run()");
  while (first_ != nullptr) drop_first();
}

Result<> Outbox::admits(std::size_t bytes) const noexcept {
  if (closed_) return fail(Code::FailedPrecondition, "the outbox is closed");
  if (ended_) return fail(Code::Unavailable, "the outbox is no longer written: its connection has ended");
  if (bytes > options_.bytes_max - bytes_) return fail(Code::ResourceExhausted, "the outbox is full");
  return {};
}

Outbox::Block& Outbox::add_block() {
  auto* block = new (pool_allocate(sizeof(Block))) Block;
  (first_ != nullptr ? last_->next : first_) = block;
  last_ = open_ = block;
  return *block;
}

void Outbox::drop_first() noexcept {
  Block* block = first_;
  first_ = block->next;
  bytes_ -= block->bytes.size();
  block->~Block();
  pool_free(block, sizeof(Block));
}

void Outbox::added(std::size_t bytes) noexcept {
  bytes_ += bytes;
  more_.set();
}

Result<> Outbox::push(std::string_view bytes) {
  KEEL_TRY_VOID(admits(bytes.size()));
  if (bytes.empty()) return {};
  const bool fits = open_ != nullptr && open_->bytes.size() + bytes.size() <= block_bytes;
  Block& block = fits ? *open_ : add_block();
  block.bytes.append(bytes);
  added(bytes.size());
  return {};
}

Result<> Outbox::push(Buffer&& bytes) {
  KEEL_TRY_VOID(admits(bytes.size()));
  if (bytes.empty()) return {};
  const std::size_t size = bytes.size();
  add_block().bytes = std::move(bytes);
  added(size);
  return {};
}

Outbox::Wait Outbox::below_low() noexcept { return {*this, waiting_low_, options_.low_bytes}; }
Outbox::Wait Outbox::drained() noexcept { return {*this, waiting_drained_, 0}; }

Task<> Outbox::run() {
  KEEL_CHECK(!began_, "an outbox is run once");
  began_ = true;
  Running running(*this);
  while (true) {
    if (first_ == nullptr) {
      if (closed_) co_return;
      more_.reset();
      co_await more_.wait();
      continue;
    }
    co_await Flight(*this);
    if (bytes_ <= options_.low_bytes) waiting_low_.wake_all();
    if (bytes_ == 0) waiting_drained_.wake_all();
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
  if (outbox_.ended_ && outbox_.bytes_ > level_) {
    return fail(Code::Unavailable, "the outbox is no longer written: its connection has ended");
  }
  return {};
}

}  // namespace keel
