// What the tests of streams and listeners share: a loop of each engine, and two connected streams on it.

#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "keel/io/testing/loop_test.h"
#include "keel/net/listener.h"
#include "keel/net/stream.h"
#include "keel/net/testing/test_layer.h"

namespace keel::internal {

using io::testing::every_engine;  // TCP.
using io::testing::name_of_engine;
using io::testing::pattern;
using io::testing::Which;

// TCP and Unix sockets on every engine.
inline auto every_kind() {
  return testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::UringUnix, Which::EpollUnix, Which::SimUnix);
}
// The same and a layered stream, for tests that use only pair().
inline auto every_kind_and_layered() {
  return testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::UringUnix, Which::EpollUnix, Which::SimUnix,
                         Which::UringLayered, Which::EpollLayered, Which::SimLayered);
}
inline Address any_port() { return Address::parse("127.0.0.1:0").value(); }

inline Task<> write(Stream& stream, std::string text) { co_await stream.write(text); }

class NetTest : public io::testing::LoopTest {
 protected:
  void TearDown() override {
    if (loop_ != nullptr) settle();  // A task that ends with one stream may end another stream.
    LoopTest::TearDown();
    EXPECT_EQ(TestLayer::alive, 0);
    for (const std::string& path : paths_) std::remove(path.c_str());
  }

  // An address at which no socket listens yet.
  Address free_address() {
    if (!is_unix()) return any_port();
    paths_.push_back(testing::TempDir() + "keel_net_" + std::to_string(getpid()) + '_' + std::to_string(paths_.size()) +
                     ".sock");
    return Address::parse("unix:" + paths_.back()).value();
  }

  template <class T>
  static Task<T> with_limit(Task<T>&& task, Duration limit = 5_s) {
    return limited(task.release(), limit);
  }

  Listener listen(const io::ListenOptions& options = {}) { return Listener::bind(free_address(), options).value(); }
  struct Pair {
    Stream client;
    Stream server;
  };
  Pair pair() {
    Listener listener = listen();
    Start<Stream> accepting;
    accepting.begin(accept_from(listener), [](StartCore&) noexcept {});
    Stream client = *run(Stream::connect(listener.address()));
    EXPECT_TRUE(until([&] { return accepting.has_ended(); }));
    Stream server = *accepting.take();
    if (!is_layered()) return {std::move(client), std::move(server)};
    return {Stream(*layers_.make(client.detach(), "server.test")), Stream(*layers_.make(server.detach(), ""))};
  }
  static Task<Stream> accept_from(Listener& listener) { co_return co_await listener.accept(); }
  // Receives until `count` bytes have come or the stream has ended; returns how many.
  static Task<std::size_t> read_count(Stream& stream, std::size_t count) {
    std::size_t got = 0;
    while (got < count) {
      Chunk chunk = co_await stream.receive();
      if (chunk.empty()) break;
      got += chunk.size();
    }
    co_return got;
  }

  std::vector<std::string> paths_;  // Of Unix sockets.
  TestLayers layers_{"peer"};

 private:
  template <class T>
  static Task<T> limited(Promise<T>& held, Duration limit) {
    if constexpr (std::is_void_v<T>) {
      co_await with_timeout(limit, Task<T>(held));
    } else {
      co_return co_await with_timeout(limit, Task<T>(held));
    }
  }
};

}  // namespace keel::internal
