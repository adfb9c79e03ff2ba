// keel/task/frame.h — how tasks are run: the part of every coroutine frame that does not depend on its type.
//
// Users need only Task (task.h), Scope and Start. This file is for authors of other coroutine types.
//
// Symmetric transfer is not used, because GCC 12.2 compiles it to a real call at -O0 and under AddressSanitizer, and a
// loop of awaits that complete immediately would then overflow the stack. In place of symmetric transfer, a child is
// started inside its parent's await_ready. If the child ends inside await_ready, the parent never suspends. If the
// child does not end inside await_ready, the parent suspends; when the child ends, the child is put into the thread's
// slot, and the loop around resume() (Trampoline::drain) resumes the parent. When a child ends with an error, its
// parent ends too, without being resumed, and the error is passed upward. A frame is never destroyed from inside
// itself: its owner destroys it afterwards.
//
// A parent has a home, the executor on which it awaits. A child that ends on another executor posts its Job to the
// parent's executor. A serial executor runs the child's Job only when the parent has suspended; on a pool, parent and
// child synchronize with one atomic exchange.
//
// Coroutines may change threads, so thread-local state is touched only in functions that are not inlined.

#pragma once

#include <bit>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <utility>

#include "keel/base/error.h"
#include "keel/base/pool.h"
#include "keel/exec/executor.h"

namespace keel {

class Context;
class Frame;
class Leaf;
class Scope;
class StartCore;

// Runs the frames of a thread that are ready, one after the other.
class Trampoline {
 public:
  // While a Deferring exists on a thread, no task is resumed on that thread: woken tasks are posted.
  class Deferring {
   public:
    Deferring() noexcept;
    ~Deferring();
  };

  // The frame whose body runs on this thread, or null.
  [[gnu::noinline]] static Frame* current() noexcept;
  // Runs the task that `leaf` woke: either now, or in the next iteration of the trampoline further down the stack.
  // False: the leaf must be posted.
  [[gnu::noinline]] static bool queue(Leaf& leaf) noexcept;
  // Continues the frame from a posted job.
  [[gnu::noinline]] static void arrive(Leaf& leaf) noexcept;

 private:
  friend class Frame;
  struct State;
  static State& state() noexcept;
  static void drain(State& state) noexcept;
};

namespace internal {

// The pointer inside a std::source_location. If the whole std::source_location were stored, GCC 12 would enlarge the
// coroutine's frame for each await.
#ifdef __clang__
using PlaceOfAwait = std::source_location;
// The default argument for the place of an await.
#define KEEL_PLACE_OF_AWAIT std::source_location::current()
#else
using PlaceOfAwait = const void*;
#define KEEL_PLACE_OF_AWAIT __builtin_source_location()
#endif

// A source location of half the size, stored as the distance from a location in Keel's own code. A place more than 2
// GiB away, such as one in a loaded library, is unknown.
class ShortPlace {
 public:
  void set(PlaceOfAwait place) noexcept {
    const std::ptrdiff_t distance = std::bit_cast<const char*>(place) - &origin;
    distance_ = static_cast<std::int32_t>(distance);
    if (distance_ != distance) [[unlikely]]
      distance_ = 0;
  }
  // The line is 0 if the place is unknown.
  std::source_location get() const noexcept {
    static_assert(sizeof(std::source_location) == sizeof(void*), "a source location must be a single pointer");
    return distance_ == 0 ? std::source_location() : std::bit_cast<std::source_location>(&origin + distance_);
  }

 private:
  static const char origin;
  std::int32_t distance_ = 0;
};

}  // namespace internal

class Frame : public Job {
 public:
  Frame() noexcept : Job(&run_settled) {}
  ~Frame() {
    if (outcome_ == Outcome::Failed || outcome_ == Outcome::Ending) error_.~Error();
  }

  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept { pool_free(frame, bytes); }

  bool has_value() const noexcept { return outcome_ == Outcome::Value; }
  bool has_error() const noexcept { return outcome_ == Outcome::Failed; }
  Error& error() noexcept { return error_; }
  Context& context() const noexcept { return *context_; }
  // An address inside the coroutine's own function; the address identifies the function (base/stack.h). Must not be
  // called at the final suspension.
  const void* code() const noexcept { return *static_cast<void* const*>(handle().address()); }
  // The frame that awaits this frame; null: plain code started this frame.
  const Frame* awaiting() const noexcept { return up_is_frame_ ? static_cast<const Frame*>(up_) : nullptr; }
  bool has_scopes() const noexcept { return scopes_ != nullptr; }
  void destroy() noexcept { handle().destroy(); }

  // Starts this frame for a parent that is in its await_ready. True: this frame has ended. `keeps_errors`: the parent
  // handles the error itself.
  [[gnu::noinline]] bool start_for(Frame& parent, bool keeps_errors) noexcept;
  // Starts this frame for plain code. True: this frame has ended.
  [[gnu::noinline]] bool start_for(StartCore& owner, Context& context) noexcept;

  // Called by the parent's await_suspend, after start_for() has returned false. False: the child has ended in the
  // meantime, on another thread.
  bool suspends() noexcept;
  // Called by await_suspend of a leaf before the leaf can complete; returns the former value.
  bool set_suspended(bool suspended) noexcept { return std::exchange(suspended_, suspended); }

  // The place in the source where this frame awaits.
  void set_place(internal::PlaceOfAwait place) noexcept { place_.set(place); }
  std::source_location place() const noexcept { return place_.get(); }
  // The awaiter that receives the operation's result, while this frame waits for it.
  void set_waiting(void* await) noexcept { await_ = await; }
  void* waiting() const noexcept { return await_; }

  // Called at the final suspension of the coroutine.
  [[gnu::noinline]] void end() noexcept;
  // Ends a suspended frame that will not be resumed; its scopes are stopped and joined before the error is passed
  // upward.
  [[gnu::noinline]] void fail(Error&& error) noexcept;
  // Called by the trampoline when the awaited leaf is complete.
  [[gnu::noinline]] void resume() noexcept;

  // Called when the body has ended, with its outcome.
  void set_value() noexcept { outcome_ = Outcome::Value; }
  void set_error(Error&& error) noexcept;
  void set_exception() noexcept;  // Stores Error::from_exception(); call this in a catch block.

 private:
  friend class Trampoline;
  friend class Scope;
  enum class Outcome : std::uint8_t { Running, Ending, Value, Failed };
  enum class Meeting : std::uint8_t { Open, ParentSuspended, ChildEnded };

  // A Frame is at the beginning of the promise. GCC and Clang both place the promise directly after two pointers if the
  // promise has the alignment that Promise demands.
  std::coroutine_handle<> handle() const noexcept {
    char* const promise = reinterpret_cast<char*>(const_cast<Frame*>(this));
    return std::coroutine_handle<>::from_address(promise - 2 * sizeof(void*));
  }
  Meeting meet(Meeting arrival) noexcept;
  bool start(Trampoline::State& state) noexcept;
  void settle() noexcept;
  void settle_at_home() noexcept;
  void end_with_scopes() noexcept;
  void end_after_scopes() noexcept;
  void scopes_joined() noexcept;
  static void run_settled(Job& job) noexcept;
  static void run_end_with_scopes(Job& job) noexcept;

  void* up_ = nullptr;  // The awaiting Frame, or the StartCore.
  Context* context_ = nullptr;
  Scope* scopes_ = nullptr;  // The Scopes that the body has declared, innermost first.
  union {
    Error error_;     // While the outcome is Ending or Failed: the error.
    Executor* home_;  // While the frame awaits a child: the executor on which it awaits.
    void* await_;     // While the frame awaits an operation: the awaiter.
  };
  Outcome outcome_ = Outcome::Running;
  Meeting meeting_ = Meeting::Open;  // Accessed by meet(), atomically.
  bool suspended_ = false;           // The frame has returned to a loop, so the trampoline handles its end.
  bool up_is_frame_ : 1 = false;
  bool up_keeps_errors_ : 1 = false;
  internal::ShortPlace place_;
};

}  // namespace keel
