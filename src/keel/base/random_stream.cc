#include "keel/base/random_stream.h"

#include <pthread.h>
#include <string.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/base/internal/chacha20.h"

namespace keel {
namespace internal {

constinit std::atomic<std::uint32_t> forks{0};

}  // namespace internal
namespace {

// RFC 8439 §2.3: the constant words at the beginning of a state; the key follows, then the counter and the nonce.
constexpr std::uint32_t constants[] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

void count_forks() {
  static const int failed =
      ::pthread_atfork(nullptr, nullptr, [] { internal::forks.fetch_add(1, std::memory_order_relaxed); });
  KEEL_CHECK(failed == 0, "there must be memory to register the handler that runs after a fork");
}

}  // namespace

RandomStream::RandomStream(Host& host) : host_(host) {
  count_forks();
  take_key();
}

RandomStream::~RandomStream() {
  ::explicit_bzero(key_, sizeof key_);
  ::explicit_bzero(values_, sizeof values_);
}

void RandomStream::take_key() noexcept {
  forks_ = internal::forks.load(std::memory_order_relaxed);
  host_.secret(std::as_writable_bytes(std::span(key_)));
}

// Each key is used for only one set of blocks, so the counter may always begin at 0 and the nonce may be 0.
void RandomStream::refill() noexcept {
  if (forks_ != internal::forks.load(std::memory_order_relaxed)) take_key();
  std::uint32_t state[internal::chacha20_state_words] = {};
  std::copy(std::begin(key_), std::end(key_), std::copy(std::begin(constants), std::end(constants), state));
  std::uint32_t out[internal::chacha20_state_words * internal::chacha20_blocks];
  static_assert(sizeof out == sizeof key_ + sizeof values_);
  internal::best_chacha20_kernel().compute(std::span(state), std::span(out));
  std::memcpy(key_, out, sizeof key_);
  std::memcpy(values_, out + std::size(key_), sizeof values_);
  left_ = std::size(values_);
  ::explicit_bzero(state, sizeof state);
  ::explicit_bzero(out, sizeof out);
}

}  // namespace keel
