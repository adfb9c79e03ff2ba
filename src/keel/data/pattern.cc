#include "keel/data/pattern.h"

#include <re2/re2.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "keel/base/bug.h"
#include "keel/data/rules.h"

namespace keel {
namespace {

// One compiled pattern for each literal, in a hash table that only grows; its size is limited by the number of literals
// in the program.
struct Compiled {
  std::string_view text;
  const RE2* expression;
  const Compiled* next;
};
constexpr std::size_t slot_count = 256;
constinit std::atomic<const Compiled*> slots[slot_count];
constinit std::mutex compiling;

std::atomic<const Compiled*>& slot_of(std::string_view text) noexcept {
  return slots[(reinterpret_cast<std::uintptr_t>(text.data()) * 0x9E3779B97F4A7C15u) >> 56];
}

// Looks for the pattern by the address of the literal.
const RE2* find(const std::atomic<const Compiled*>& slot, std::string_view text) noexcept {
  for (const Compiled* one = slot.load(std::memory_order_acquire); one != nullptr; one = one->next) {
    if (one->text.data() == text.data() && one->text == text) return one->expression;
  }
  return nullptr;
}

// Looks for a pattern that was compiled from another literal with the same text.
const RE2* find_equal(std::string_view text) noexcept {
  for (const auto& slot : slots) {
    for (const Compiled* one = slot.load(std::memory_order_acquire); one != nullptr; one = one->next) {
      if (one->text == text) return one->expression;
    }
  }
  return nullptr;
}

[[gnu::cold, gnu::noinline]] const RE2& compile(const Pattern& pattern) {
  const std::lock_guard lock(compiling);
  auto& slot = slot_of(pattern.text());
  const RE2* expression = find(slot, pattern.text());
  if (expression != nullptr) return *expression;
  expression = find_equal(pattern.text());
  if (expression == nullptr) {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_never_capture(true);
    auto made = std::make_unique<RE2>(std::string(pattern.text()), options);
    if (!made->ok()) {
      throw_bug("the pattern \"" + std::string(pattern.text()) + "\" at " + pattern.file() + ":" +
                    std::to_string(pattern.line()) + " is not a regular expression: " + made->error(),
                std::source_location::current());
    }
    expression = made.release();
  }
  slot.store(new Compiled{pattern.text(), expression, slot.load(std::memory_order_relaxed)}, std::memory_order_release);
  return *expression;
}

const RE2& expression_of(const Pattern& pattern) {
  const RE2* const expression = find(slot_of(pattern.text()), pattern.text());
  return expression != nullptr ? *expression : compile(pattern);
}

}  // namespace

// The text is passed as a pointer and a size, because the RE2 of Debian 13 does not accept a std::string_view.
bool Pattern::matches(std::string_view text) const {
  return RE2::FullMatch({text.data(), text.size()}, expression_of(*this));
}

bool Pattern::is_in(std::string_view text) const {
  return RE2::PartialMatch({text.data(), text.size()}, expression_of(*this));
}

// Defined in this file, so that programs whose rules have no pattern do not load RE2. The pattern is compiled even if
// there is no text to match, so that an invalid pattern is noticed whatever the input.
void Check::judge_pattern(const void* field, const std::string_view* text, const Pattern& pattern,
                          std::string_view words) {
  const bool is_right = pattern.matches(text != nullptr ? *text : std::string_view());
  if (text == nullptr || is_right) return;
  if (words.empty()) {
    violated(field, "must match " + std::string(pattern.text()), "pattern");
  } else {
    violated(field, words, "pattern");
  }
}

}  // namespace keel
