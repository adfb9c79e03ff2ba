// keel/io/internal/system_engine.h — the common part of the engines that use the kernel: sockets, file operations on
// threads, wake-ups, and operations that are ready.
//
// Threads: the loop's thread; wake() on any thread.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "keel/io/datagrams.h"
#include "keel/io/internal/file_pool.h"
#include "keel/io/internal/sockets.h"
#include "keel/io/internal/turn_share.h"
#include "keel/io/internal/unix_connects.h"
#include "keel/io/internal/wake_up.h"

namespace keel::io {

class SystemEngine : public Engine {
 public:
  ~SystemEngine() override;

  void wake() noexcept final;

  Result<int> open_listener(const Address& address, const ListenOptions& options) override;
  Result<int> open_stream(int family, const ConnectOptions& options) override;
  Result<int> open_datagram(const DatagramOptions& options) override;
  Result<> set_options(int fd, const SocketOptions& options) final;
  SocketOptions options(int fd) final;
  Result<> set_member(int fd, const Address& group, std::uint32_t interface, bool member) final;
  void turn_away(int listener) noexcept final;
  int try_accept(int listener) noexcept override;
  void shutdown_write(int fd) noexcept final;
  void shutdown(int fd) noexcept final;
  Address local_address(int fd) noexcept final;
  Address peer_address(int fd) noexcept final;
  std::optional<std::uint64_t> acknowledged(int fd) noexcept final;
  std::uint64_t unacknowledged(int fd) noexcept final;
  Duration last_came(int fd) noexcept final;
  bool has_unread(int fd) noexcept final;

  std::uint64_t system_calls() const noexcept final {
    return system_calls_ + wakes_.count.load(std::memory_order_relaxed);
  }

 protected:
  SystemEngine() = default;

  // Opens the eventfd(2) descriptor to which wake() writes. Call it once.
  Result<> open_wake(int flags);

  void make_ready(Op& op) noexcept {
    if (!op.linked()) ready_.push_back(op);
  }
  static void finish(Op& op, int result) noexcept {
    op.result = result;
    op.more = false;
    op.pending = false;
    op.cancelling = false;
    if (op.linked()) op.unlink();  // `op` is in the list of ready operations if its own done() has called resume().
    op.done(op);
  }

  // Prepares a file operation before it is executed.
  static void begin_file(FileOp& op) noexcept;
  // Submits the operation to the threads. If no thread can be started, the operation is ready immediately, and its
  // result is the error of starting the thread.
  void submit_to_threads(FileOp& op) noexcept;
  // Call it after a wake-up: finishes the operations that the threads have completed, and returns their number.
  int collect_files() noexcept;
  // Allocates the batch for receiving several datagrams at a time.
  void need_datagrams();

  std::unique_ptr<FilePool> files_;
  std::unique_ptr<DatagramBatch> datagrams_;  // Set after need_datagrams().
  List<Op> ready_;
  UnixConnects unix_connects_{ready_};
  std::int64_t share_ = turn_share;
  std::uint64_t system_calls_ = 0;
  int wake_ = -1;
  // Shared, because this engine may end while a wake-up message for it still waits in another engine.
  const std::shared_ptr<WakeUp<>> wake_up_ = std::make_shared<WakeUp<>>();

 private:
  ListenerFiles listener_files_;
  // Other threads write this object, so it has a whole cache line, which no member of a derived class shares.
  struct alignas(cache_line) Wakes {
    std::atomic<std::uint64_t> count{0};
  } wakes_;
};

}  // namespace keel::io
