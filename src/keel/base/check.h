// keel/base/check.h — assertions that stay active in release builds.
//
// KEEL_CHECK(condition, "the sentence that should have been true") prints the sentence with file and line to standard
// error and aborts. Use KEEL_CHECK only for bugs; failures caused by input or the environment are returned as a Result
// (base/result.h). For a mistake that code inside a request can make, use a Bug instead, which ends that request and
// not the process (base/bug.h). KEEL_DCHECK does the same as KEEL_CHECK in builds without NDEBUG, and has no effect in
// other builds: use it for invariants that are expensive to check.
//
// Cost: one predicted branch.

#pragma once

#include <source_location>

namespace keel {

// Throws a Bug (base/bug.h); declared here for templates in headers.
[[noreturn, gnu::cold, gnu::noinline]] void throw_bug(const char* sentence, std::source_location place);

// Prints "file:line: check failed: condition: sentence" and aborts.
[[noreturn, gnu::cold, gnu::noinline]] void check_failed(const char* file, int line, const char* condition,
                                                         const char* sentence) noexcept;

// The reason why this process is about to end: the text that check_failed() printed, or a text that was set before
// abort() was called. Empty before. The first reason is kept, up to 1 KiB of it. Any thread; reading is
// async-signal-safe.
const char* last_words() noexcept;
void set_last_words(const char* text) noexcept;

}  // namespace keel

#define KEEL_CHECK(condition, sentence)                               \
  do {                                                                \
    if (!(condition)) [[unlikely]]                                    \
      ::keel::check_failed(__FILE__, __LINE__, #condition, sentence); \
  } while (false)

#ifdef NDEBUG
#define KEEL_DCHECK(condition, sentence) \
  do {                                   \
  } while (false && (condition))
#else
#define KEEL_DCHECK(condition, sentence) KEEL_CHECK(condition, sentence)
#endif
