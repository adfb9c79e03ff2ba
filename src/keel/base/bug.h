// keel/base/bug.h — a programming mistake that ends the current work, not the process.
//
//   std::string_view Cells::at(int column, std::source_location place) const {
//     KEEL_EXPECT_AT(column < count_, "column " + std::to_string(column) + " is read of a row that has fewer", place);
//     …
//   }
//
// KEEL_EXPECT throws a Bug: an exception that has the given sentence, the place in the source, and the stack. Use
// KEEL_EXPECT for mistakes in code that runs inside a request, a job or another task, where a client may be able to
// provoke the mistake. The task ends with Code::Internal (Error::is_bug()); if it was handling a request, the server
// responds with 500. The bug is logged, and everything else continues. KEEL_CHECK (base/check.h) ends the process
// instead. Use KEEL_CHECK for mistakes that code inside a task cannot cause: mistakes at start-up, and broken
// invariants of Keel itself, after which the process could harm other requests.
//
// The start() of an operation may throw a Bug before the operation has begun (task/leaf.h). Code that must not throw
// makes the Error from the Bug: Error::from_bug(Bug(…)). KEEL_DEXPECT does the same as KEEL_EXPECT in builds without
// NDEBUG, and has no effect in other builds.
//
// Threads: any.
// Cost:    one predicted branch; the sentence is made only when the condition is false. Making a Bug allocates and
//          captures the stack, which takes some microseconds. When the Bug is logged, the addresses of its stack are
//          resolved to names; stack.h states the cost.

#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

#include "keel/base/check.h"
#include "keel/base/stack.h"

namespace keel {

class Bug : public std::logic_error {
 public:
  // `sentence` says what was done wrong, to what, and what to do instead; `place` is the line that made the mistake.
  explicit Bug(const std::string& sentence, std::source_location place = std::source_location::current());

  std::source_location place() const noexcept { return place_; }
  const Stack& stack() const noexcept { return stack_; }

 private:
  std::source_location place_;
  Stack stack_;
};

// A configuration mistake that is found while a service is being assembled, such as an empty key for clients: an App
// prints the sentence and ends with exit code 2, as for the configuration mistakes that the App finds itself. A
// Misconfigured that is thrown later, inside a request, ends that request with 500.
class Misconfigured : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The overload for a literal sentence is in check.h.
[[noreturn, gnu::cold, gnu::noinline]] void throw_bug(const std::string& sentence, std::source_location place);

}  // namespace keel

// KEEL_EXPECT with a place: for functions that get the place of their caller as a default argument.
#define KEEL_EXPECT_AT(condition, sentence, place) \
  do {                                             \
    if (!(condition)) [[unlikely]]                 \
      ::keel::throw_bug(sentence, place);          \
  } while (false)
#define KEEL_EXPECT(condition, sentence) KEEL_EXPECT_AT(condition, sentence, std::source_location::current())

#ifdef NDEBUG
#define KEEL_DEXPECT(condition, sentence) \
  do {                                    \
  } while (false && (condition))
#else
#define KEEL_DEXPECT(condition, sentence) KEEL_EXPECT(condition, sentence)
#endif
