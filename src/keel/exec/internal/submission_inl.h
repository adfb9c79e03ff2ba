// How a submitted job, its handle and its listener interact: the bodies of BasicSubmission.

#pragma once

#include <utility>

#include "keel/base/host.h"
#include "keel/exec/submitted.h"

namespace keel::internal {

template <class Atomics>
constinit typename BasicSubmission<Atomics>::Listener BasicSubmission<Atomics>::nobody{nullptr};

template <class Atomics>
void BasicSubmission<Atomics>::run_it(Job& job) noexcept {
  auto& self = static_cast<BasicSubmission&>(job);
  if (self.claim()) {
    if (Executor::discards()) [[unlikely]] {
      self.end_with(Error(Code::Cancelled, "the executor was stopped before the job began"));
    } else {
      self.run_claimed();
    }
  }
  self.release();
}

template <class Atomics>
void BasicSubmission<Atomics>::run_claimed() noexcept {
  take_(*this, Step::Run);
  complete();
}

template <class Atomics>
void BasicSubmission<Atomics>::end_with(Error&& error) noexcept {
  set_error(std::move(error));
  take_(*this, Step::Drop);
  complete();
}

template <class Atomics>
void BasicSubmission<Atomics>::complete() noexcept {
  Listener* const listener = listener_.exchange(&nobody, std::memory_order_acq_rel);
  if (listener != nullptr) listener->done(*listener);
}

template <class Atomics>
void BasicSubmission<Atomics>::release() noexcept {
  if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) take_(*this, Step::Free);
}

template <class Atomics>
bool BasicSubmission<Atomics>::cancel() noexcept {
  if (is_claimed_.load(std::memory_order_relaxed) || !claim()) return false;
  end_with(std::move(error_));
  return true;
}

template <class Atomics>
void BasicSubmission<Atomics>::refuse(Error&& reason) noexcept {
  KEEL_CHECK(claim(), "a job can be rejected only before it has begun");
  end_with(std::move(reason));
  release();
}

template <class Atomics>
bool BasicSubmission<Atomics>::listen(Listener& listener) noexcept {
  Listener* expected = nullptr;
  if (listener_.compare_exchange_strong(expected, &listener, std::memory_order_acq_rel, std::memory_order_acquire))
    return true;
  KEEL_CHECK(expected == &nobody, "only one caller at a time can wait for a submitted job");
  return false;
}

template <class Atomics>
bool BasicSubmission<Atomics>::forget(Listener& listener) noexcept {
  Listener* expected = &listener;
  return listener_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel, std::memory_order_acquire);
}

template <class Atomics>
bool BasicSubmission<Atomics>::help() noexcept {
  const Instant at = helps_at();
  if (at.is_never() || (at != Instant() && Host::current().precise_now() < at) || !claim()) return false;
  run_claimed();
  return true;
}

template <class Atomics>
Instant BasicSubmission<Atomics>::helps_at() const noexcept {
  if (Executor::current() != executor_ || is_claimed_.load(std::memory_order_relaxed)) return Instant::never();
  return take_(const_cast<BasicSubmission&>(*this), Step::Due);
}

}  // namespace keel::internal
