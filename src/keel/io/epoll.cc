// The epoll engine. Each descriptor is registered once, edge-triggered, and is modified only when a send has to wait
// and when that wait ends. One receive buffer serves the whole loop. File operations are done by a few threads.

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/io/internal/epoll_descriptors.h"
#include "keel/io/internal/parts.h"
#include "keel/io/internal/socket_calls.h"
#include "keel/io/internal/system_engine.h"
#include "keel/io/send_file.h"

namespace keel::io {
namespace {

constexpr std::uint32_t default_receive_bytes = 64 * 1024;
// If at most this many bytes are held, they are copied; otherwise the whole buffer is handed over.
constexpr std::uint32_t copied_bytes_max = 4096;
constexpr int events_max = 512;
// How many reads a stream may make before other streams get their turn: 128 KiB hold thousands of small requests.
constexpr int reads_per_turn = 2;
constexpr std::size_t send_bytes_max = turn_share;  // The maximum number of bytes in one system call.
constexpr int accepts_per_turn = 256;
constexpr int shared_accepts_per_turn = 8;  // After this many accepts, the other sockets get their share.

using Descriptor = EpollDescriptors::Descriptor;

class EpollEngine final : public SystemEngine {
 public:
  static Result<std::unique_ptr<Engine>> make(std::uint32_t receive_bytes) {
    std::unique_ptr<EpollEngine> engine(new EpollEngine(receive_bytes != 0 ? receive_bytes : default_receive_bytes));
    engine->epoll_ = epoll_create1(EPOLL_CLOEXEC);
    if (engine->epoll_ < 0) return Error::from_errno("epoll_create1", errno);
    KEEL_TRY_VOID(engine->open_wake(EFD_NONBLOCK));
    engine->timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (engine->timer_ < 0) return Error::from_errno("timerfd_create", errno);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = wake_key;
    if (epoll_ctl(engine->epoll_, EPOLL_CTL_ADD, engine->wake_, &event) != 0)
      return Error::from_errno("epoll_ctl", errno);
    event.data.u64 = timer_key;
    if (epoll_ctl(engine->epoll_, EPOLL_CTL_ADD, engine->timer_, &event) != 0)
      return Error::from_errno("epoll_ctl", errno);
    return std::unique_ptr<Engine>(std::move(engine));
  }
  ~EpollEngine() override {
    if (timer_ >= 0) ::close(timer_);
    if (epoll_ >= 0) ::close(epoll_);
    pool_free(buffer_, receive_bytes_);
  }

  const char* name() const noexcept override { return "epoll"; }

  bool submit(Op& op) noexcept override {
    KEEL_DCHECK(!op.pending, "an operation can be submitted again only after it is done");
    op.cancelling = false;
    op.more = false;
    if (op.kind == Kind::Send) return submit_send(static_cast<Send&>(op));
    return submit_other(op);
  }

  void cancel(Op& op) noexcept override {
    if (!op.pending || op.cancelling) return;
    op.cancelling = true;
    if (is_of_file(op.kind)) {
      if (files_->take_out(static_cast<FileOp&>(op))) {
        op.result = -ECANCELED;
        make_ready(op);
      }
      return;
    }
    if (op.kind == Kind::Connect && op.linked()) op.unlink();
    Descriptor& at = descriptors_.at(op.fd);
    if (op.kind == Kind::Ready) remove(op.fd, at);
    if (at.in == &op) at.in = nullptr;
    if (at.out == &op) {
      at.out = nullptr;
      want_out(op.fd, at, false);
    }
    if (at.shared) remove(op.fd, at);  // An arrival must not wake only this worker, which no longer accepts.
    complete_later(op, result_of_cancelled(op));
  }

  void resume(Receive& op) noexcept override {
    if (!op.paused) return;
    op.paused = false;
    if (op.pending && !op.cancelling && descriptors_.at(op.fd).readable) make_ready(op);
  }
  // No bytes are lost, because bytes that were not delivered were not read from the kernel either.
  void end_receive(Receive& op) noexcept override { cancel(op); }

  Held hold(Receive& op) noexcept override {
    const auto size = static_cast<std::uint32_t>(op.result);
    if (op.kind == Kind::Receive && size > copied_bytes_max) {
      return {std::exchange(buffer_, static_cast<char*>(pool_allocate(receive_bytes_))), size, receive_bytes_};
    }
    auto* copy = static_cast<char*>(pool_allocate(size));
    std::memcpy(copy, op.data, size);
    return {copy, size, size};
  }
  void release(Held held) noexcept override {
    if (held.data != nullptr) pool_free(held.data, held.buffer);
  }

  bool wait(Instant until) noexcept override {
    const bool waits = ready_.empty() && until > Instant();
    if (waits && until < timeout_at_) set_timeout(until);
    ++system_calls_;
    count_ = epoll_wait(epoll_, events_, events_max, waits ? -1 : 0);
    if (count_ < 0) {
      KEEL_CHECK(errno == EINTR, "epoll_wait must not fail unless it is interrupted");
      count_ = 0;
    }
    return count_ != 0 || !ready_.empty();
  }

  int dispatch() noexcept override {
    int completed = 0;
    // Handles only descriptors that are ready now; any that become ready meanwhile are left to the next dispatch().
    List<Op> ready;
    ready.splice_back(ready_);
    while (Op* op = ready.pop_front()) {
      share_ = turn_share;
      completed += run_ready(*op);
    }
    const int count = std::exchange(count_, 0);
    for (int i = 0; i < count; ++i) {
      share_ = turn_share;
      completed += handle(events_[i]);
    }
    share_ = turn_share;
    return completed;
  }

  Result<int> open_listener(const Address& address, const ListenOptions& options) override {
    KEEL_TRY(int fd, SystemEngine::open_listener(address, options));
    const int family = options.inherited >= 0 ? system_local_address(fd).family() : address.family();
    descriptors_.at(fd).family = static_cast<std::uint8_t>(family);
    descriptors_.at(fd).listens = true;
    return fd;
  }
  Result<int> open_stream(int family, const ConnectOptions& options) override {
    KEEL_TRY(int fd, SystemEngine::open_stream(family, options));
    descriptors_.at(fd).family = static_cast<std::uint8_t>(family);
    return fd;
  }
  Result<int> open_datagram(const DatagramOptions& options) override {
    need_datagrams();
    return SystemEngine::open_datagram(options);
  }
  int try_accept(int listener) noexcept override {
    const int fd = SystemEngine::try_accept(listener);
    if (fd < 0) return fd;
    if (!descriptors_.has_room_for(fd)) {
      ::close(fd);
      return -ENOMEM;
    }
    const std::uint8_t family = descriptors_.at(listener).family;
    descriptors_.at(fd).family = family;
    return fd;
  }
  void close(int fd) noexcept override {
    Descriptor& at = descriptors_.at(fd);
    KEEL_CHECK(at.in == nullptr && at.out == nullptr, "a descriptor with a pending operation cannot be closed");
    // Without remove(), epoll would still watch the socket after close() if another process shares the socket.
    if (at.listens) remove(fd, at);
    const std::uint32_t generation = at.generation + 1;
    at = Descriptor{};
    at.generation = generation;
    ++system_calls_;
    ::close(fd);
  }

 private:
  static constexpr std::uint64_t wake_key = ~std::uint64_t{0};
  static constexpr std::uint64_t timer_key = wake_key - 1;

  explicit EpollEngine(std::uint32_t receive_bytes)
      : receive_bytes_(receive_bytes), buffer_(static_cast<char*>(pool_allocate(receive_bytes))) {}

  [[gnu::noinline]] bool submit_other(Op& op) noexcept {
    if (is_of_file(op.kind)) {
      submit_file(static_cast<FileOp&>(op));
      return false;
    }
    Descriptor& at = descriptors_.at(op.fd);
    switch (op.kind) {
      case Kind::SendDatagrams:
        return submit_datagrams(static_cast<SendDatagrams&>(op), at);
      case Kind::Connect:
        return submit_connect(static_cast<Connect&>(op), at);
      case Kind::SendFile:
        return submit_send_file(static_cast<SendFile&>(op), at);
      case Kind::Ready:
        submit_ready(static_cast<Ready&>(op), at);
        return false;
      default:
        break;
    }
    op.pending = true;
    op.paused = false;
    at.in = &op;
    if (op.kind == Kind::Accept) at.shared = static_cast<Accept&>(op).shared;
    if (!at.registered) {
      // Registering a descriptor also makes epoll report it if it is already ready.
      if (const int error = add(op.fd, at)) complete_later(op, -error);
    } else if (at.readable) {
      make_ready(op);
    } else if (op.kind == Kind::Accept) {
      make_ready(op);  // After EMFILE, connections may still be waiting.
    }
    return false;
  }

  // All waits share one timer, which is moved only to an earlier time, so that the kernel need not start and stop a
  // timer for each wait. If the timer fires too early, wait() returns without a result, and the timer is set again.
  void set_timeout(Instant at) noexcept {
    timeout_at_ = at;
    itimerspec when{};
    when.it_value = {at.ns() / 1'000'000'000, at.ns() % 1'000'000'000};
    ++system_calls_;
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
  }
  static std::uint64_t key_of(int fd, const Descriptor& at) noexcept {
    return static_cast<std::uint64_t>(at.generation) << 32 | static_cast<std::uint32_t>(fd);
  }
  int control(int what, int fd, Descriptor& at) noexcept {
    epoll_event event{};
    event.events =
        EPOLLIN | EPOLLET | (at.shared ? EPOLLEXCLUSIVE : EPOLLRDHUP | EPOLLPRI) | (at.out_wanted ? EPOLLOUT : 0u);
    event.data.u64 = key_of(fd, at);
    ++system_calls_;
    return epoll_ctl(epoll_, what, fd, &event) == 0 ? 0 : errno;
  }
  int add(int fd, Descriptor& at) noexcept {
    const int error = control(EPOLL_CTL_ADD, fd, at);
    at.registered = error == 0;
    return error;
  }
  void remove(int fd, Descriptor& at) noexcept {
    if (at.registered) control(EPOLL_CTL_DEL, fd, at);
    at.registered = false;
  }
  void want_out(int fd, Descriptor& at, bool wanted) noexcept {
    if (at.out_wanted == wanted) return;
    at.out_wanted = wanted;
    if (at.registered) control(EPOLL_CTL_MOD, fd, at);
  }
  // Waits for writability of `op.fd`. Returns the errno when the descriptor cannot be registered, else 0.
  int wait_writable(Op& op, Descriptor& at) noexcept {
    at.out = &op;
    op.pending = true;
    at.out_wanted = true;
    if (!at.registered) return add(op.fd, at);
    return control(EPOLL_CTL_MOD, op.fd, at);
  }

  void submit_file(FileOp& op) noexcept {
    op.pending = true;
    begin_file(op);
    submit_to_threads(op);
  }
  // Registers the descriptor only while `op` waits: afterwards the owner may close it without notifying Keel.
  void submit_ready(Ready& op, Descriptor& at) noexcept {
    op.pending = true;
    if (at.in != nullptr || at.registered) return complete_later(op, -EBUSY);
    at.in = &op;
    epoll_event event{};
    event.events = static_cast<std::uint32_t>(op.events);  // Each EPOLL… flag equals its POLL… flag: poll(2).
    event.data.u64 = key_of(op.fd, at);
    ++system_calls_;
    at.registered = epoll_ctl(epoll_, EPOLL_CTL_ADD, op.fd, &event) == 0;
    // A descriptor that cannot be polled, such as that of a file on a disk, is always ready.
    if (!at.registered) complete_later(op, errno == EPERM ? op.events : -errno);
  }
  int finish_ready(Ready& op, Descriptor& at, std::uint32_t events) noexcept {
    remove(op.fd, at);
    at.in = nullptr;
    finish(op, static_cast<int>(events));
    return 1;
  }

  void complete_later(Op& op, int result) noexcept {
    op.result = result;
    op.cancelling = true;
    Descriptor& at = descriptors_.at(op.fd);
    if (at.in == &op) at.in = nullptr;
    if (at.out == &op) at.out = nullptr;
    make_ready(op);
  }
  int run_ready(Op& op) noexcept {
    if (op.kind == Kind::Receive && !op.paused && !op.cancelling) [[likely]]
      return receive(static_cast<Receive&>(op));
    return run_other(op);
  }
  [[gnu::noinline]] int run_other(Op& op) noexcept {
    if (op.cancelling || is_of_file(op.kind)) {
      finish(op, op.result);
      return 1;
    }
    if (op.kind == Kind::Accept) return accept(static_cast<Accept&>(op));
    if (op.kind == Kind::ReceiveDatagrams && !op.paused) return receive_datagrams(static_cast<ReceiveDatagrams&>(op));
    Descriptor& at = descriptors_.at(op.fd);
    return at.out == &op ? continue_out(at) : 0;
  }

  int handle(const epoll_event& event) noexcept {
    if (event.data.u64 == wake_key) {
      std::uint64_t count = 0;
      ++system_calls_;
      [[maybe_unused]] const ssize_t got = read(wake_, &count, sizeof count);
      wake_up_->came();
      return collect_files();
    }
    if (event.data.u64 == timer_key) {
      timeout_at_ = Instant::never();  // Edge-triggered: the timer can be set again without being read.
      return 0;
    }
    const int fd = static_cast<int>(event.data.u64 & 0xffffffff);
    Descriptor& at = descriptors_.at(fd);
    if (at.generation != event.data.u64 >> 32) return 0;
    if (at.in != nullptr && at.in->kind == Kind::Ready)
      return finish_ready(static_cast<Ready&>(*at.in), at, event.events);
    int completed = 0;
    if ((event.events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0 && at.out != nullptr) {
      completed += continue_out(at);
      if (descriptors_.known(fd).generation != event.data.u64 >> 32) return completed;
    }
    if ((event.events & (EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0) {
      Descriptor& now = descriptors_.known(fd);
      now.readable = true;
      if ((event.events & (EPOLLPRI | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != 0) now.reads_on = true;
      if (now.in != nullptr && !now.in->linked()) completed += run_ready(*now.in);
    }
    return completed;
  }

  int accept(Accept& op) noexcept {
    const int fd = op.fd;
    const int most = op.shared ? shared_accepts_per_turn : accepts_per_turn;
    for (int n = 0; n < most; ++n) {
      ++system_calls_;
      const int accepted = accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (accepted >= 0) {
        if (!descriptors_.has_room_for(accepted)) {
          ::close(accepted);
          descriptors_.at(fd).in = nullptr;
          finish(op, -ENOMEM);
          return n + 1;
        }
        Descriptor& made = descriptors_.at(accepted);
        made.family = descriptors_.at(fd).family;
        op.result = accepted;
        op.more = true;
        op.done(op);
        if (op.cancelling || !op.pending) return n + 1;
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        Descriptor& at = descriptors_.at(fd);
        at.readable = false;
        if (op.shared && n > 0) {
          // Moves this worker to the end of the queue, because the kernel always wakes the first worker of the queue.
          remove(fd, at);
          if (const int error = add(fd, at)) complete_later(op, -error);
        }
        return n;
      }
      if (is_transient_accept_error(errno)) continue;
      const int error = errno;
      descriptors_.at(fd).in = nullptr;
      finish(op, -error);
      return n + 1;
    }
    make_ready(op);
    return most;
  }

  static bool is_of_ip(const Descriptor& at) noexcept { return at.family == AF_INET || at.family == AF_INET6; }
  [[gnu::noinline]] void find_family(int fd, Descriptor& at) noexcept {
    socklen_t size = sizeof(int);
    int family = AF_UNSPEC;
    ++system_calls_;
    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size);
    at.family = static_cast<std::uint8_t>(family == 0 ? AF_UNIX : family);
  }

  int receive(Receive& op) noexcept {
    const int fd = op.fd;
    for (int n = 0; n < reads_per_turn;) {
      ++system_calls_;
      const ssize_t got = call_recv(fd, buffer_, receive_bytes_, 0);
      if (got > 0) {
        ++n;
        // A TCP read that returned fewer bytes than requested has usually emptied the socket. Two cases need a further
        // read: the end of the stream came with the data, or the read stopped before an urgent byte (reads_on).
        Descriptor& at = descriptors_.known(fd);
        if (at.family == 0) [[unlikely]]
          find_family(fd, at);
        const bool drained = static_cast<std::size_t>(got) < receive_bytes_ && is_of_ip(at) && !at.reads_on;
        if (drained) at.readable = false;
        op.data = buffer_;
        op.result = static_cast<std::int32_t>(got);
        op.more = true;
        op.done(op);
        if (drained || op.paused || op.cancelling || !op.pending) return n;
        continue;
      }
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        descriptors_.at(fd).readable = false;
        if (op.linked()) op.unlink();  // `op` was resumed inside done(), but nothing is left to read.
        return n;
      }
      const int result = got == 0 ? 0 : -errno;
      descriptors_.at(fd).in = nullptr;
      finish(op, result);
      return n + 1;
    }
    make_ready(op);
    return reads_per_turn;
  }

  int receive_datagrams(ReceiveDatagrams& op) noexcept {
    const int fd = op.fd;
    ++system_calls_;
    const int count = datagrams_->read(op);
    if (count < 0 && count != -EAGAIN) {
      descriptors_.at(fd).in = nullptr;
      finish(op, count);
      return 1;
    }
    // If there were fewer datagrams than the batch has room for, no datagram is left, and epoll reports new arrivals.
    const bool drained = count < datagrams_read_max;
    if (drained) descriptors_.at(fd).readable = false;
    int shown = 0;
    for (; shown < count && op.pending && !op.cancelling; ++shown) {
      datagrams_->show(shown, op);
      op.more = true;
      op.done(op);
    }
    if (!drained && op.pending && !op.cancelling && !op.paused) make_ready(op);
    return shown;
  }

  // Returns 0 when everything is sent; otherwise EAGAIN, share_is_used or another errno.
  [[gnu::always_inline]] int try_send(Send& op) noexcept {
    while (share_ > 0) [[likely]] {
      ++system_calls_;
      ssize_t sent = 0;
      if (op.part_count == 1) [[likely]] {
        sent = call_send(op.fd, op.parts->iov_base, std::min(op.parts->iov_len, send_bytes_max), MSG_NOSIGNAL);
      } else {
        sent = send_parts(op);
      }
      if (sent >= 0) [[likely]] {
        const auto bytes = static_cast<std::size_t>(sent);
        share_ -= share_of(bytes);
        if (op.part_count == 1 && bytes == op.parts->iov_len) [[likely]] {
          op.sent += bytes;
          return 0;
        }
        if (advance(op, bytes)) return 0;
      } else if (errno != EINTR) {
        // EINPROGRESS: the first write had no valid Fast Open cookie; the connection is being made as usual.
        return errno == EWOULDBLOCK || errno == EINPROGRESS ? EAGAIN : errno;
      }
    }
    return share_is_used;
  }
  [[gnu::noinline]] static ssize_t send_parts(Send& op) noexcept {
    if (op.parts->iov_len > send_bytes_max) {
      return call_send(op.fd, op.parts->iov_base, send_bytes_max, MSG_NOSIGNAL | MSG_MORE);
    }
    msghdr message{};
    message.msg_iov = op.parts;
    message.msg_iovlen = parts_within(op, send_bytes_max);
    return sendmsg(op.fd, &message, MSG_NOSIGNAL | (message.msg_iovlen == op.part_count ? 0 : MSG_MORE));
  }

  static bool is_to_wait(int error) noexcept { return error == EAGAIN || error == share_is_used; }
  // Continues the send when the socket has room, or in the next dispatch(). Returns 0, or the errno of wait_writable().
  int send_later(Op& op, Descriptor& at, int why) noexcept {
    if (why == EAGAIN) return at.out_wanted ? 0 : wait_writable(op, at);
    at.out = &op;
    op.pending = true;
    make_ready(op);
    return 0;
  }
  bool submit_send(Send& op) noexcept {
    op.sent = 0;
    int error = try_send(op);
    if (is_to_wait(error)) [[unlikely]] {
      Descriptor& at = descriptors_.at(op.fd);
      error = send_later(op, at, error);
      if (error == 0) return false;
      at.out = nullptr;
      op.pending = false;
    }
    op.result = error == 0 ? op.total() : -error;
    return true;
  }
  int continue_send(Send& op, Descriptor& at) noexcept {
    int error = try_send(op);
    if (is_to_wait(error)) {
      error = send_later(op, at, error);
      if (error == 0) return 0;
    }
    at.out = nullptr;
    want_out(op.fd, at, false);
    finish(op, error == 0 ? op.total() : -error);
    return 1;
  }

  static bool is_to_wait(const SendDatagrams& op, int error) noexcept {
    return error == share_is_used || (error == EAGAIN && waits_for_room(op));
  }
  bool submit_datagrams(SendDatagrams& op, Descriptor& at) noexcept {
    op.sent = 0;
    op.offset = 0;
    op.by_hand = false;
    int error = send_datagrams(op, system_calls_, share_);
    if (is_to_wait(op, error)) {
      error = send_later(op, at, error);
      if (error == 0) return false;
      at.out = nullptr;
      op.pending = false;
    }
    op.result = result_of(op, error);
    return true;
  }
  int continue_datagrams(SendDatagrams& op, Descriptor& at) noexcept {
    int error = send_datagrams(op, system_calls_, share_);
    if (is_to_wait(op, error)) {
      error = send_later(op, at, error);
      if (error == 0) return 0;
    }
    at.out = nullptr;
    want_out(op.fd, at, false);
    finish(op, result_of(op, error));
    return 1;
  }

  // Returns 0 when op.result is valid.
  int try_send_file(SendFile& op) noexcept {
    if (share_ <= 0) return share_is_used;
    const std::uint64_t before = op.sent;
    const Share share = send_share(op, system_calls_);
    share_ -= share_of(op.sent - before);
    if (share == Share::Last) return 0;
    return share == Share::Waits ? EAGAIN : share_is_used;
  }
  bool submit_send_file(SendFile& op, Descriptor& at) noexcept {
    op.sent = 0;
    int error = try_send_file(op);
    if (error == 0) return true;
    error = send_later(op, at, error);
    if (error == 0) return false;
    at.out = nullptr;
    op.pending = false;
    op.result = -error;
    return true;
  }
  int continue_send_file(SendFile& op, Descriptor& at) noexcept {
    if (int error = try_send_file(op)) {
      error = send_later(op, at, error);
      if (error == 0) return 0;
      op.result = -error;
    }
    at.out = nullptr;
    want_out(op.fd, at, false);
    finish(op, op.result);
    return 1;
  }
  int continue_out(Descriptor& at) noexcept {
    switch (at.out->kind) {
      case Kind::Send:
        return continue_send(static_cast<Send&>(*at.out), at);
      case Kind::SendFile:
        return continue_send_file(static_cast<SendFile&>(*at.out), at);
      case Kind::SendDatagrams:
        return continue_datagrams(static_cast<SendDatagrams&>(*at.out), at);
      default:
        return finish_connect(static_cast<Connect&>(*at.out), at);
    }
  }

  bool submit_connect(Connect& op, Descriptor& at) noexcept {
    ++system_calls_;
    if (op.address.is_unix()) {
      op.result = -unix_connects_.attempt(op);
      op.pending = op.result == -EAGAIN;
      if (op.pending) at.out = &op;
      return !op.pending;
    }
    int error = connect(op.fd, op.address.system(), op.address.system_size()) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      error = wait_writable(op, at);
      if (error == 0) return false;
      at.out = nullptr;
      op.pending = false;
    }
    op.result = -error;
    return true;
  }
  int finish_connect(Connect& op, Descriptor& at) noexcept {
    int error = 0;
    ++system_calls_;
    if (op.address.is_unix()) {
      error = unix_connects_.attempt(op);
      if (error == EAGAIN) return 0;
    } else {
      socklen_t size = sizeof error;
      getsockopt(op.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    at.out = nullptr;
    want_out(op.fd, at, false);
    finish(op, -error);
    return 1;
  }

  int epoll_ = -1;
  int timer_ = -1;
  int count_ = 0;
  const std::uint32_t receive_bytes_;
  char* buffer_;
  EpollDescriptors descriptors_;
  Instant timeout_at_ = Instant::never();  // The time at which the timer fires; never(): the timer is not set.
  epoll_event events_[events_max];
};

}  // namespace

Result<std::unique_ptr<Engine>> make_epoll_engine(std::uint32_t receive_bytes) {
  return EpollEngine::make(receive_bytes);
}

}  // namespace keel::io
