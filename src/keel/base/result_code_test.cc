// What the compiler makes of a Result: the same instructions as of code that is written without its verbs. Read from
// this program, which is compiled with -O2, by objdump.

#include "keel/base/result.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <filesystem>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace keel::result_code_test {
namespace {

Result<int> triple(int value) {
  if (value > 1000) return fail(Code::OutOfRange, "above a thousand");
  return value * 3;
}
int add_one(int value) { return value + 1; }

}  // namespace

// --- What is called is inlined ---

[[gnu::noinline, gnu::used]] int inlined_verbs(int value) asm("inlined_verbs");
int inlined_verbs(int value) { return triple(value).and_then(triple).map(add_one).value_or(-1); }

[[gnu::noinline, gnu::used]] int inlined_by_hand(int value) asm("inlined_by_hand");
// A value, and beside it whether there is one.
int inlined_by_hand(int value) {
  bool is_ok = value <= 1000;
  if (is_ok) {
    value *= 3;
    is_ok = value <= 1000;
    if (is_ok) value = value * 3 + 1;
  }
  return is_ok ? value : -1;
}

// GCC gives these their -1 in two instructions of their own, behind the others instead of before them.
[[gnu::noinline, gnu::used]] int inlined_with_returns(int value) asm("inlined_with_returns");
int inlined_with_returns(int value) {
  if (value > 1000) return -1;
  const int once = value * 3;
  if (once > 1000) return -1;
  return once * 3 + 1;
}

// --- Across calls that are none of the compiler's business; both sides return the same type ---

[[gnu::noinline, gnu::used]] Result<int> elsewhere(int value) {
  asm volatile("" : "+r"(value));
  return triple(value);
}

[[gnu::noinline, gnu::used]] Result<int> calls_with_try(int value) asm("calls_with_try");
Result<int> calls_with_try(int value) {
  KEEL_TRY(const int once, elsewhere(value));
  KEEL_TRY(const int twice, elsewhere(once));
  return twice + 1;
}

[[gnu::noinline, gnu::used]] Result<int> calls_by_hand(int value) asm("calls_by_hand");
Result<int> calls_by_hand(int value) {
  Result<int> once = elsewhere(value);
  if (!once.has_value()) [[unlikely]]
    return std::unexpected<Error>(std::move(once).std::expected<int, Error>::error());
  Result<int> twice = elsewhere(*once);
  if (!twice.has_value()) [[unlikely]]
    return std::unexpected<Error>(std::move(twice).std::expected<int, Error>::error());
  return *twice + 1;
}

// --- A move ---

[[gnu::noinline, gnu::used]] void moves(Result<int>& from, void* to) asm("moves");
void moves(Result<int>& from, void* to) { std::construct_at(static_cast<Result<int>*>(to), std::move(from)); }

// What a Result<int> is made of: where it holds an Error, a word that is 0 once it was moved from.
struct Parts {
  union {
    int value;
    std::uint64_t error;
  };
  bool is_ok;
};
static_assert(sizeof(Parts) == sizeof(Result<int>));

[[gnu::noinline, gnu::used]] void moves_by_hand(Parts& from, Parts* to) asm("moves_by_hand");
void moves_by_hand(Parts& from, Parts* to) {
  to->is_ok = from.is_ok;
  if (from.is_ok) {
    to->value = from.value;
  } else {
    to->error = std::exchange(from.error, 0);
  }
}

// --- And what is not the same, so that the comparison is known to see a difference ---

[[gnu::noinline, gnu::used]] int inlined_differently(int value) asm("inlined_differently");
int inlined_differently(int value) {
  if (value > 1000) return -1;
  return value * 3 + 1;
}

namespace {

// The instructions of a function of this program, in their order. What depends on where they lie is left out: their
// addresses, those of the data, and what fills up to the next address that is a multiple of something.
std::vector<std::string> instructions(const std::string& function) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command =
      KEEL_OBJDUMP " --no-show-raw-insn --disassemble=" + function + " '" + program + "' 2>/dev/null";
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  char part[4096];
  while (const std::size_t size = std::fread(part, 1, sizeof part, pipe)) text.append(part, size);
  if (pclose(pipe) != 0) return {};

  static const std::regex line(R"(^ +[0-9a-f]+:\t([^#\n]*))", std::regex::ECMAScript | std::regex::multiline);
  static const std::regex address(R"(\b[0-9a-f]+ (?=<))");
  static const std::regex data(R"(-?(0x)?[0-9a-f]+\(%rip\))");
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at) {
    std::string one = std::regex_replace((*at)[1].str(), address, "");
    one = std::regex_replace(one, data, "(%rip)");
    for (std::size_t own; (own = one.find('<' + function)) != std::string::npos;) one.erase(own + 1, function.size());
    one.erase(one.find_last_not_of(' ') + 1);
    if (!one.starts_with("nop") && one.find("data16") == std::string::npos) found.push_back(one);
  }
  return found;
}

std::string why_not() {
#ifndef __x86_64__
  return "objdump's text is read as that for x86-64";
#endif
  return "";
}

TEST(ResultCode, of_a_chain_that_is_inlined_is_what_one_writes_by_hand) {
  if (!why_not().empty()) GTEST_SKIP() << why_not();
  ASSERT_EQ(inlined_verbs(7), inlined_by_hand(7));
  ASSERT_EQ(inlined_verbs(334), inlined_by_hand(334));
  ASSERT_EQ(inlined_verbs(1001), inlined_by_hand(1001));

  EXPECT_EQ(instructions("inlined_verbs"), instructions("inlined_by_hand"));
  EXPECT_LE(instructions("inlined_verbs").size(), instructions("inlined_with_returns").size());
}

TEST(ResultCode, of_TRY_across_calls_is_what_one_writes_by_hand) {
  if (!why_not().empty()) GTEST_SKIP() << why_not();
  ASSERT_EQ(calls_with_try(7).value(), calls_by_hand(7).value());
  ASSERT_EQ(calls_with_try(334).error().code(), calls_by_hand(334).error().code());

  EXPECT_EQ(instructions("calls_with_try"), instructions("calls_by_hand"));
}

TEST(ResultCode, of_a_move_copies_a_flag_and_one_word_behind_one_branch) {
  if (!why_not().empty()) GTEST_SKIP() << why_not();
  Result<int> full = 42;
  Result<int> failed = fail(Code::NotFound, "no such user");
  alignas(Result<int>) unsigned char places[2][sizeof(Result<int>)];
  auto* const to = reinterpret_cast<Result<int>*>(places);
  moves(full, to);
  moves(failed, to + 1);
  ASSERT_EQ(to[0].value(), 42);
  ASSERT_EQ(to[1].error().code(), Code::NotFound);
  std::destroy_n(to, 2);

  const std::vector<std::string> code = instructions("moves");
  EXPECT_EQ(code, instructions("moves_by_hand"));
  // Two for the flag, two to look at it; then two and a return for a value, three and a return for an error.
  EXPECT_EQ(code.size(), 11u);
  EXPECT_EQ(std::ranges::count_if(code, [](const std::string& one) { return one.starts_with('j'); }), 1);
}

TEST(ResultCode, that_differs_is_seen_to_differ) {
  if (!why_not().empty()) GTEST_SKIP() << why_not();

  EXPECT_GT(instructions("inlined_by_hand").size(), 4u);
  EXPECT_NE(instructions("inlined_by_hand"), instructions("inlined_differently"));
  EXPECT_TRUE(instructions("no_such_function").empty());
}

}  // namespace
}  // namespace keel::result_code_test
