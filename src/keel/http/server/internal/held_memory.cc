#include "keel/http/server/internal/held_memory.h"

#include <algorithm>
#include <utility>

#include "keel/http/server/internal/connection.h"
#include "keel/http/server/internal/server_worker.h"

namespace keel::http {
namespace {

constexpr Duration memory_look_pause = 1_s;

std::uint64_t bytes_of(std::uint16_t units) noexcept { return std::uint64_t{units} * Held::unit; }

}  // namespace

void HeldMemory::change(const Held& before, const Held& after) noexcept {
  auto& counts = worker_.counts;
  counts.response_bytes.add(bytes_of(after.responses));
  counts.response_bytes.subtract(bytes_of(before.responses));
  counts.received_bytes.add(bytes_of(after.received));
  counts.received_bytes.subtract(bytes_of(before.received));
  if (after.responses > before.responses && !timer_.is_running() &&
      counts.response_bytes.get() >= counts.response_bytes_max.get() / 2) {
    worker_.loop().start_timer(timer_, worker_.loop().now() + memory_look_pause);
  }
  // The connections are reset later, because the caller may be one of them.
  if (after.received > before.received && !relief_.is_running() &&
      counts.received_bytes.get() > counts.received_bytes_max.get()) {
    worker_.loop().start_timer(relief_, worker_.loop().now());
  }
}

void HeldMemory::end() noexcept {
  worker_.loop().stop_timer(timer_);
  worker_.loop().stop_timer(relief_);
}

bool HeldMemory::takes_large_response() noexcept {
  auto& counts = worker_.counts;
  if (counts.response_bytes.get() < counts.response_bytes_max.get()) return true;
  has_rejected_ = true;
  counts.responses_refused.add();
  return false;
}

void HeldMemory::look() {
  std::vector<Seen> before;
  std::swap(before, seen_);
  auto& counts = worker_.counts;
  if (counts.response_bytes.get() < counts.response_bytes_max.get() / 2) {
    has_rejected_ = false;
    return;
  }
  worker_.connections().for_each([&](Connection& connection) {
    if (connection.held().responses != 0) seen_.push_back({&connection, connection.bytes_taken()});
  });
  std::ranges::sort(seen_, {}, &Seen::connection);
  worker_.loop().start_timer(timer_, worker_.loop().now() + memory_look_pause);
  if (has_rejected_) end_slowest(before);
}

// Among the connections that existed at the previous check, resets those that received least since then.
void HeldMemory::end_slowest(const std::vector<Seen>& before) {
  struct Candidate {
    Connection* connection;
    std::uint64_t taken;  // Bytes that the client received since the previous check.
  };
  std::vector<Candidate> candidates;
  for (const Seen& now : seen_) {
    const auto then = std::ranges::lower_bound(before, now.connection, {}, &Seen::connection);
    // If fewer bytes were received than at the previous check, the connection is new, and has the memory address of an
    // earlier one.
    if (then == before.end() || then->connection != now.connection || now.taken < then->taken) continue;
    candidates.push_back({now.connection, now.taken - then->taken});
  }
  std::ranges::sort(candidates, {}, &Candidate::taken);
  auto& counts = worker_.counts;
  std::uint64_t held = counts.response_bytes.get();
  const std::uint64_t wanted = counts.response_bytes_max.get() / 4 * 3;
  std::vector<Connection*> gone;
  for (const Candidate& candidate : candidates) {
    if (held <= wanted) break;
    held -= bytes_of(candidate.connection->held().responses);
    counts.responses_reset.add();
    gone.push_back(candidate.connection);
    candidate.connection->reset();
  }
  if (gone.empty()) return;
  has_rejected_ = false;
  std::ranges::sort(gone);
  std::erase_if(seen_, [&](const Seen& one) { return std::ranges::binary_search(gone, one.connection); });
}

void HeldMemory::end_oldest() {
  auto& counts = worker_.counts;
  if (counts.received_bytes.get() <= counts.received_bytes_max.get()) return;
  struct Candidate {
    Connection* connection;
    Instant since;
  };
  std::vector<Candidate> candidates;
  worker_.connections().for_each([&](Connection& connection) {
    if (connection.held().received != 0) candidates.push_back({&connection, connection.waits_since()});
  });
  std::ranges::sort(candidates, {}, &Candidate::since);
  std::uint64_t held = counts.received_bytes.get();
  const std::uint64_t wanted = counts.received_bytes_max.get() / 8 * 7;
  for (const Candidate& candidate : candidates) {
    if (held <= wanted) break;
    held -= bytes_of(candidate.connection->held().received);
    counts.received_reset.add();
    candidate.connection->reset();
  }
}

}  // namespace keel::http
