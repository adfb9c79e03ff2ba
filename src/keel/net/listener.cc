#include "keel/net/listener.h"

#include <cerrno>
#include <deque>
#include <new>
#include <optional>

#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/base/member.h"
#include "keel/io/loop.h"
#include "keel/observe/metric.h"

namespace keel {
namespace {

constexpr Duration retry_pause = 50_ms;
// How many accepted connections may wait in the listener.
constexpr std::size_t accepted_waiting_max = 256;

}  // namespace

struct Listener::State {
  State(io::Loop& l, int fd) : loop(l), engine(l.engine()) { accept.fd = fd; }

  // An io_uring accept takes all queued connections, however many there are. Therefore, queued connections are accepted
  // one by one while there is room, and the io_uring accept starts only when the queue is empty. With a shared socket,
  // each listener accepts the connections that it is woken for.
  void listen() noexcept {
    if (accept.pending || retry.is_running() || failed() || is_stopped) return;
    int fd = accept.shared ? -1 : 0;
    while (fd >= 0 && waiting.size() < accepted_waiting_max) {
      fd = engine.try_accept(accept.fd);
      if (fd >= 0 && !keep(fd)) return try_later();
    }
    if (fd < 0) engine.submit(accept);  // If try_accept() met an error, the submitted Accept reports that error.
    if (!waiting.empty()) wake_taker();
  }
  // Keeps an accepted connection for accept(). False: there is no memory, and the connection is closed.
  bool keep(int fd) noexcept {
    try {
      waiting.push_back(fd);
      return true;
    } catch (const std::bad_alloc&) {
      engine.close(fd);
      return false;
    }
  }
  // Passes a waiting connection to `to`. False: there is no connection, or no memory, so `to` has to wait.
  bool complete(Accept& to) noexcept {
    if (waiting.empty()) return failed();
    try {
      to.stream_.emplace(waiting.front());
    } catch (const std::bad_alloc&) {
      try_later();
      return false;
    }
    waiting.pop_front();
    return true;
  }
  void wake_taker() noexcept {
    if (taker != nullptr && complete(*taker)) std::exchange(taker, nullptr)->wake();
  }
  void try_later() noexcept { loop.start_timer(retry, loop.now() + retry_pause); }
  void try_again() noexcept {
    wake_taker();
    listen();
  }
  bool failed() const noexcept { return final_result < 0; }
  void accepted() noexcept {
    const int result = accept.result;
    if (result >= 0) {
      keep(result);
      if (waiting.size() >= accepted_waiting_max) engine.cancel(accept);
    } else if (orphaned) {
      free();
      return;
    } else if (is_stopped) {
      final_result = -ESHUTDOWN;
    } else if (io::is_exhaustion(-result)) {
      return try_later();
    } else if (result == -ECANCELED) {
      // Accepting had stopped, because too many connections were waiting. If a task waits in accept(), no connection
      // waits any more, so the listener listens again now; otherwise a later call of accept() makes the listener listen
      // again.
      if (taker != nullptr) listen();
      return;
    } else {
      final_result = result;
    }
    wake_taker();
  }
  void stop() noexcept {
    is_stopped = true;
    loop.stop_timer(retry);
    if (accept.pending) return engine.cancel(accept);
    final_result = -ESHUTDOWN;
    wake_taker();
  }
  void free() noexcept {
    loop.stop_timer(retry);
    for (const int fd : waiting) engine.close(fd);
    engine.close(accept.fd);
    delete this;
  }

  io::Loop& loop;
  io::Engine& engine;
  Member<io::Accept, State, &State::accepted> accept{*this};
  Member<Timer, State, &State::try_again> retry{*this};
  std::deque<int> waiting;
  std::optional<metrics::Counter> accepted_total;
  Accept* taker = nullptr;
  int final_result = 0;
  bool orphaned = false;
  bool is_stopped = false;
};

Result<Listener> Listener::bind(const Address& address, const io::ListenOptions& options) {
  io::Loop* loop = io::Loop::current();
  KEEL_EXPECT(loop != nullptr,
              "a Listener can be made only on a worker: first co_await resume_on() with the loop of a worker");
  KEEL_TRY(int fd, loop->engine().open_listener(address, options));
  auto* const state = new State(*loop, fd);
  state->accept.shared = options.shared;
  return Listener(*state);
}

void Listener::count_accepted(const metrics::Counter& counter) noexcept { state_->accepted_total = counter; }

Listener::~Listener() {
  if (state_ == nullptr) return;
  KEEL_CHECK(state_->taker == nullptr, "a listener can be destroyed only when no task waits for it");
  state_->orphaned = true;
  if (state_->accept.pending) {
    state_->engine.cancel(state_->accept);
  } else {
    state_->free();
  }
}

Listener::Accept Listener::accept() noexcept { return Accept(*state_); }
void Listener::stop() noexcept {
  if (!state_->is_stopped) state_->stop();
}
int Listener::native_handle() const noexcept { return state_->accept.fd; }
Address Listener::address() const noexcept { return state_->engine.local_address(state_->accept.fd); }

bool Listener::Accept::start() {
  if (state_.complete(*this)) return true;
  KEEL_EXPECT_AT(state_.taker == nullptr,
                 "accept() is awaited while another task waits in accept(): only one task may accept at a time",
                 place());
  state_.listen();
  if (state_.complete(*this)) return true;
  state_.taker = this;
  return false;
}

void Listener::Accept::cancel(Leaf& leaf) noexcept {
  auto& self = static_cast<Accept&>(leaf);
  self.state_.taker = nullptr;
  self.cancelled_ = true;
  self.wake();
}

Result<Stream> Listener::Accept::take() noexcept {
  if (cancelled_) return fail(Code::Cancelled, "accept was cancelled");
  if (!stream_ && state_.is_stopped) return fail(Code::Unavailable, "the listener was stopped");
  if (!stream_) return Error::from_errno("accept", -state_.final_result);
  if (state_.accepted_total) state_.accepted_total->add();
  return *std::move(stream_);
}

}  // namespace keel
