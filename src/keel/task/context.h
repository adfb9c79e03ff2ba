// keel/task/context.h — stop request, deadline and span, inherited by everything a task awaits.
//
// Tasks that await each other form a chain, which shares one Context; with_timeout, all, any, Scope::spawn and Start
// make nested Contexts. stop() is a request: it marks the context and all contexts below it, and cancels the operation
// for which the tasks of each context wait. stop() never resumes a task inside the call; the tasks end later, and their
// owners wait for them.
//
//   StopSource shutting_down;                       // whoever decides
//   start.begin(serve(), &done, {.stop = &shutting_down});
//   shutting_down.request_stop();                   // operations below end with Code::Cancelled
//
// Errors:   an operation that is awaited after a stop fails with the reason (Cancelled or DeadlineExceeded).
// Threads:  a context belongs to the executor it was made on, its home; is_stopped(), reason() and StopToken may be
//           read on any thread. A task that has gone to a pool (resume_on) is not interrupted there.
// Lifetime: a context outlives the tasks below it; a StopSource outlives the tasks that begin below it.
// Cost:     no allocation; stop() visits every context below this one.

#pragma once

#include <cstdint>

#include "keel/base/error.h"
#include "keel/base/list.h"
#include "keel/base/time.h"
#include "keel/exec/executor.h"

namespace keel {

class Leaf;
struct Span;

class Context : public Link {  // The stop request, deadline and span of a task, linked into its parent's list.
 public:
  Context() = default;
  ~Context();

  // Links this context below `parent` (null: no parent), with the earlier of the two deadlines and the parent's span.
  // Call this function on the home executor of `parent`.
  void open(Context* parent, Instant deadline) noexcept;
  // Leaves the parent and detaches the contexts below this one. The detached contexts belong to scopes and groups in a
  // frame that has ended but is not destroyed yet.
  void close() noexcept;
  // Used by StopSource. The context has no home until the first executor uses it; that executor becomes its home.
  void open_source() noexcept;

  // `reason` is Cancelled or DeadlineExceeded; the first reason is kept.
  void stop(Code reason) noexcept;
  bool is_stopped() const noexcept { return __atomic_load_n(&reason_, __ATOMIC_ACQUIRE) != running; }
  // True when the task is stopped or past its deadline, so that no operation may begin.
  bool refuses() const noexcept { return is_stopped() || (!deadline_.is_never() && is_late()); }
  // The reason why refuses() is true.
  Error reason() const noexcept;

  Instant deadline() const noexcept { return deadline_; }
  // The span of this context's tasks while they run; null: no span was set.
  const Span* span() const noexcept { return span_; }
  void set_span(const Span* span) noexcept { span_ = span; }
  Executor* home() const noexcept { return home_; }
  // Throws a Bug (base/bug.h) if the caller is not on this context's home, which is the only executor on which contexts
  // below this one may be opened.
  void expect_home(std::source_location place) const {
    if (home_ != nullptr && home_ != Executor::current()) [[unlikely]]
      is_away(place);
  }

  // Used by Start: records the coroutine that plain code starts in this context, so that reports of waiting tasks can
  // show it. `code` is an address in the coroutine's code.
  void set_code(const void* code) noexcept { code_ = code; }
  void note_waiting() noexcept {
    if (!linked() && home_ != nullptr) home_->waiting().push_back(*this);
  }
  // Records that a task in this context holds something, such as a transaction. `number`, from 1 to numbers_max, is
  // chosen by the caller and identifies what is held; a later call replaces the number. The tasks along a chain of
  // awaits share the number, also through with_timeout, all and any: an awaited task also holds whatever the awaiting
  // task holds, and the awaiting task also holds whatever the awaited task began to hold. A task of a Scope shares
  // nothing that it holds with the declaring task or with other tasks of the Scope.
  static constexpr std::uint32_t numbers_max = 0xfffffffe;
  void note_held(std::uint32_t number) noexcept { held_ = number; }
  bool holds(std::uint32_t number) const noexcept;

  // The context below which this one was opened; null: none.
  Context* parent() const noexcept { return parent_; }
  // The next three functions are for reports, which call them on the home executor. code() is the coroutine (null for a
  // scope or group), leaf() is the operation that its chain waits for, and each_below() visits the contexts below this
  // one.
  const void* code() const noexcept { return code_; }
  const Leaf* leaf() const noexcept { return leaf_; }
  template <class F>
  void each_below(F&& f) {
    below_.for_each(f);
  }

 private:
  friend class Leaf;
  friend class StartCore;
  friend class Scope;
  static constexpr std::uint8_t running = 0xff;
  static constexpr std::uint32_t held_apart = numbers_max + 1;
  [[noreturn, gnu::cold]] static void is_away(std::source_location place);
  bool is_late() const noexcept;
  void stop_below(Code reason) noexcept;

  List<Context> below_;
  Leaf* leaf_ = nullptr;  // The operation that the chain of tasks waits for on its home loop.
  const void* code_ = nullptr;
  Context* parent_ = nullptr;
  Executor* home_ = nullptr;
  Instant deadline_ = Instant::never();
  const Span* span_ = nullptr;
  bool is_source_ = false;
  bool is_below_source_ = false;  // Whether its parent is a StopSource.
  // Used by a Start: whether its task has begun and not ended. The flag is stored in Context and not in Start, because
  // Context has room for it.
  bool is_running_ = false;
  // Accessed by atomic builtins, because including <atomic> would make up a third of the compile time of this header.
  std::uint8_t reason_ = running;
  // held_apart: tasks below this context and tasks above it do not share what they hold.
  std::uint32_t held_ = 0;
};

// A view of a task's stop request, for polling in long computations: valid on any thread while the task runs.
class StopToken {
 public:
  explicit StopToken(const Context& context) noexcept : context_(&context) {}
  bool stop_requested() const noexcept { return context_->is_stopped(); }

 private:
  const Context* context_;
};

// Asks tasks to stop.
class StopSource {
 public:
  StopSource() noexcept { context_.open_source(); }
  // Call request_stop() on the home executor; other threads post a Job that calls request_stop(). Idempotent.
  void request_stop(Code reason = Code::Cancelled) noexcept { context_.stop(reason); }
  bool stop_requested() const noexcept { return context_.is_stopped(); }
  StopToken token() const noexcept { return StopToken(context_); }
  Context& context() noexcept { return context_; }

 private:
  Context context_;
};

}  // namespace keel
