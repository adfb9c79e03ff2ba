// What the tests of the blocking API share: addresses and connected streams, of TCP and of Unix sockets.

#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "keel/net/blocking/listener.h"

namespace keel::blocking::internal {

// Bytes in which a lost, repeated or moved piece can be detected.
inline std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 12345;
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

// Everything up to the end.
inline std::string rest(Stream& stream) {
  std::string text;
  for (;;) {
    const Result<Chunk> chunk = stream.receive(10_s);
    if (!chunk || chunk->empty()) return text;
    text += *chunk;
  }
}

// The parameter is true for Unix sockets, and false for TCP and UDP.
class BlockingTest : public ::testing::TestWithParam<bool> {
 public:
  bool is_unix() const { return GetParam(); }
  // Nobody has it.
  Address free_address() {
    if (!is_unix()) return Address::parse("127.0.0.1:0").value();
    paths_.push_back(::testing::TempDir() + "keel_blocking_" + std::to_string(getpid()) + '_' +
                     std::to_string(paths_.size()) + ".sock");
    return Address::parse("unix:" + paths_.back()).value();
  }
  struct Pair {
    Stream client;
    Stream server;
  };
  Pair pair() {
    Listener listener = Listener::bind(free_address()).value();
    Stream client = Stream::connect(listener.address(), 10_s).value();
    return {std::move(client), listener.accept(10_s).value()};
  }

 protected:
  void TearDown() override {
    for (const std::string& path : paths_) std::remove(path.c_str());
  }
  std::vector<std::string> paths_;
};

inline auto tcp_and_unix() { return ::testing::Bool(); }
inline std::string name_of_kind(const ::testing::TestParamInfo<bool>& kind) { return kind.param ? "unix" : "inet"; }

}  // namespace keel::blocking::internal
