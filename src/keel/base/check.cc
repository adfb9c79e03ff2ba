#include "keel/base/check.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace keel {
namespace {

constexpr std::size_t words_max = 1024;
char words[words_max];
std::atomic<bool> words_taken = false;
std::atomic<bool> words_set = false;

}  // namespace

const char* last_words() noexcept { return words_set.load(std::memory_order_acquire) ? words : ""; }

void set_last_words(const char* text) noexcept {
  if (words_taken.exchange(true)) return;
  std::strncpy(words, text, words_max - 1);
  words_set.store(true, std::memory_order_release);
}

void check_failed(const char* file, int line, const char* condition, const char* sentence) noexcept {
  // Calls write(2) instead of using stdio, because the thread that failed may hold the lock of the stdio stream.
  char text[words_max];
  std::snprintf(text, sizeof text - 1, "%s:%d: check failed: %s: %s", file, line, condition, sentence);
  set_last_words(text);
  const std::size_t bytes = std::strlen(text);
  text[bytes] = '\n';
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, bytes + 1);
  std::abort();
}

}  // namespace keel
