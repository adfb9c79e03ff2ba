// What the tests of streams and listeners share: a loop of each engine, and two connected streams on it.

#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "keel/io/loop.h"
#include "keel/io/sim.h"
#include "keel/net/listener.h"
#include "keel/net/stream.h"
#include "keel/task/start.h"
#include "keel/task/timing.h"

namespace keel::internal {

enum class Which { Uring, Epoll, Sim, UringUnix, EpollUnix, SimUnix };

// TCP on every engine.
inline auto every_engine() { return testing::Values(Which::Uring, Which::Epoll, Which::Sim); }
// And Unix sockets on every engine.
inline auto every_kind() {
  return testing::Values(Which::Uring, Which::Epoll, Which::Sim, Which::UringUnix, Which::EpollUnix, Which::SimUnix);
}
inline std::string name_of_engine(const testing::TestParamInfo<Which>& which) {
  constexpr const char* names[] = {"uring", "epoll", "sim", "uring_unix", "epoll_unix", "sim_unix"};
  return names[static_cast<int>(which.param)];
}

// Bytes in which a lost, repeated or moved piece shows.
inline std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 12345;
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}
inline Address any_port() { return Address::parse("127.0.0.1:0").value(); }

inline Task<> write(Stream& stream, std::string text) { co_await stream.write(text); }

class NetTest : public testing::TestWithParam<Which> {
 protected:
  void SetUp() override {
    if (GetParam() == Which::Sim || GetParam() == Which::SimUnix) {
      sim::SimOptions options;
      options.seed = static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed()) + 1;
      simulation_ = std::make_unique<sim::Simulation>(options);
      loop_ = &simulation_->add_loop();
    } else {
      auto engine = io::make_engine(
          GetParam() == Which::Uring || GetParam() == Which::UringUnix ? io::EngineKind::Uring : io::EngineKind::Epoll);
      if (!engine) GTEST_SKIP() << engine.error().describe();
      owned_ = std::make_unique<io::Loop>(*std::move(engine), Host::system());
      loop_ = owned_.get();
    }
    entered_ = std::make_unique<io::Loop::Entered>(*loop_);
  }
  void TearDown() override {
    if (loop_ == nullptr) return;
    settle();  // Closed streams live on until their operations have ended.
    settle();
    if (HasFailure() && simulation_ != nullptr) std::printf("%s\n", simulation_->replay().c_str());
    entered_.reset();
    for (const std::string& path : paths_) std::remove(path.c_str());
  }

  bool is_unix() const {
    return GetParam() == Which::UringUnix || GetParam() == Which::EpollUnix || GetParam() == Which::SimUnix;
  }
  // Where nobody listens yet.
  Address free_address() {
    if (!is_unix()) return any_port();
    paths_.push_back(testing::TempDir() + "keel_net_" + std::to_string(getpid()) + '_' + std::to_string(paths_.size()) +
                     ".sock");
    return Address::parse("unix:" + paths_.back()).value();
  }

  Instant now() { return simulation_ != nullptr ? simulation_->now() : Host::system().now(); }
  template <class F>
  bool until(F done, Duration limit = 10_s) {
    if (simulation_ != nullptr) return simulation_->run_until(done, limit * 100);
    const Instant end = Host::system().now() + limit;
    while (!done()) {
      if (Host::system().now() >= end) return false;
      loop_->turn(Host::system().now() + 2_ms);
    }
    return true;
  }
  // Lets everything happen that is on its way.
  void settle() {
    if (simulation_ != nullptr) {
      simulation_->run_until([] { return false; }, 5_ms);
      return;
    }
    for (int quiet = 0; quiet < 2;) quiet = loop_->turn(Host::system().now() + 500_us) == 0 ? quiet + 1 : 0;
  }

  // Runs a task to its end.
  template <class T>
  Result<T> run(Task<T>&& task) {
    Start<T> start;
    if (!start.begin(std::move(task), [](StartCore&) noexcept {})) {
      EXPECT_TRUE(until([&] { return start.has_ended(); }, 20_s));
    }
    return start.take();
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
    return {std::move(client), *accepting.take()};
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

  std::unique_ptr<sim::Simulation> simulation_;
  std::unique_ptr<io::Loop> owned_;
  io::Loop* loop_ = nullptr;
  std::unique_ptr<io::Loop::Entered> entered_;
  std::vector<std::string> paths_;  // Of Unix sockets.

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
