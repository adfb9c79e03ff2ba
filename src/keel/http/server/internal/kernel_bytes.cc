#include "keel/http/server/internal/kernel_bytes.h"

#include <algorithm>

#include "keel/http/server/internal/connection.h"
#include "keel/http/server/internal/server_worker.h"

namespace keel::http {
namespace {

// Counting a connection takes one or two system calls.
constexpr std::uint64_t connections_per_turn = 256;

}  // namespace

std::uint64_t KernelBytes::ask() noexcept {
  // While is_asked_ is true, the job is in use by the worker and must not be posted again.
  if (!is_asked_.exchange(true, std::memory_order_acquire)) worker_.loop().post(job_);
  return found_.load(std::memory_order_relaxed);
}

std::uint64_t KernelBytes::look() noexcept { return look_at(worker_.open_connections()); }

void KernelBytes::sweep() noexcept {
  if (left_ == 0) {
    bytes_ = 0;
    left_ = worker_.open_connections();
  }
  const std::uint64_t count = std::min(left_, connections_per_turn);
  bytes_ += look_at(count);
  left_ = worker_.connections().empty() ? 0 : left_ - count;
  if (left_ != 0) return worker_.loop().post(job_);
  found_.store(bytes_, std::memory_order_relaxed);
  is_asked_.store(false, std::memory_order_release);
}

std::uint64_t KernelBytes::look_at(std::uint64_t count) noexcept {
  std::uint64_t bytes = 0;
  List<Connection>& connections = worker_.connections();
  for (; count != 0 && !connections.empty(); --count) {
    Connection& connection = *connections.pop_front();
    connections.push_back(connection);
    bytes += connection.unread_bytes();
  }
  return bytes;
}

}  // namespace keel::http
