// What the bytes of an attacker may cost a reader of CBOR or MessagePack, for the tests of both.

#pragma once

#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/arena.h"
#include "keel/base/sanitizers.h"
#include "keel/data/binary_reader.h"
#include "keel/data/json_value.h"
#include "keel/data/violations.h"

namespace keel::binary::testing {

inline std::string unhex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

// Bytes that were sent to make a reader reserve, nest or loop.
struct Attack {
  const char* what;
  std::string bytes;
};

struct Tree {
  int number = 0;
  std::vector<Tree> children;
  std::map<std::string, std::string> names;
};

// `read` reads a value of one of the formats, as cbor::read does. What that takes and leaves: an error within a
// microsecond for each byte, and 1 KB in the arena and in the value.
template <class T, class Read>
void holds_nothing_of(const Attack& attack, Read read, std::size_t value_bytes_max = 1024) {
  using Clock = std::chrono::steady_clock;
  Arena arena;
  Violations wrong;
  T value{};
  const std::size_t before = mallinfo2().uordblks;
  const Clock::time_point begin = Clock::now();
  EXPECT_FALSE(read(value, attack.bytes, arena, wrong)) << attack.what;
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
  const std::size_t after = mallinfo2().uordblks;
  EXPECT_LE(static_cast<std::size_t>(took), attack.bytes.size() + 1000) << attack.what;
  EXPECT_LE(arena.statistics().high_water, 1024u) << attack.what;
  EXPECT_TRUE(KEEL_SANITIZED || after <= before + value_bytes_max) << attack.what << ": " << after - before;
}

// `child`: the bytes of a map whose only member "children" is an array of one element, without that element.
template <class Read>
void holds_nothing_of(std::span<const Attack> attacks, const std::string& child, Read read) {
  for (const Attack& attack : attacks) {
    holds_nothing_of<Tree>(attack, read);
    holds_nothing_of<json::Value>(attack, read);
    holds_nothing_of<std::vector<std::string>>(attack, read);
    holds_nothing_of<std::vector<std::byte>>(attack, read);
  }
  Attack deep{"children of children", {}};
  for (int i = 0; i < 10'000; ++i) deep.bytes += child;
  // The structs that were read before the limit of depth, each in the list of another one.
  holds_nothing_of<Tree>(deep, read, ReaderOptions().depth_max / 2 * (sizeof(Tree) + 32));
  holds_nothing_of<json::Value>(deep, read);
}

}  // namespace keel::binary::testing
