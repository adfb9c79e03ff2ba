// keel/io/testing/loop_test.h — for tests: one suite on every engine, tasks on a loop of the calling thread.
//
//   class FileTest : public testing::LoopTest {};
//   TEST_P(FileTest, …) { EXPECT_EQ(*run(read_some()), 5u); }
//   INSTANTIATE_TEST_SUITE_P(, FileTest, testing::every_engine(), testing::name_of_engine);

#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "keel/base/check.h"
#include "keel/io/internal/sockets.h"
#include "keel/io/loop.h"
#include "keel/io/testing/simulation.h"
#include "keel/task/start.h"
#include "keel/task/task.h"
#include "keel/task/timing.h"

namespace keel::io::testing {

// The engine that a test runs on.
enum class Which {
  Uring,
  Epoll,
  Sim,
  UringWithTinyRings,     // They overflow all the time.
  UringWithoutFiles,      // As on a kernel that has no operations for files.
  UringWithoutDatagrams,  // As on a kernel that does not receive them many times.
  SimWithFaults,          // Delays, cuts and stalls.
  UringUnix,              // Unix sockets where the others have TCP; see net_test.h.
  EpollUnix,
  SimUnix,
  UringLayered,  // Transports have a layer; see net/testing/test_layer.h.
  EpollLayered,
  SimLayered,
};

// The parameters of a test that runs on each engine.
inline auto every_engine() { return ::testing::Values(Which::Uring, Which::Epoll, Which::Sim); }
// The name of a test's parameter.
inline std::string name_of_engine(const ::testing::TestParamInfo<Which>& which) {
  constexpr const char* names[] = {"uring",
                                   "epoll",
                                   "sim",
                                   "uring_with_tiny_rings",
                                   "uring_without_files",
                                   "uring_without_datagrams",
                                   "sim_with_faults",
                                   "uring_unix",
                                   "epoll_unix",
                                   "sim_unix",
                                   "uring_layered",
                                   "epoll_layered",
                                   "sim_layered"};
  return names[static_cast<int>(which.param)];
}

// Bytes in which a lost, repeated or moved piece shows.
inline std::string pattern(std::size_t size, std::uint64_t state = 12345) {
  std::string text(size + 8, '\0');
  for (std::size_t i = 0; i < size; i += 8) {
    state = state * 6364136223846793005 + 1442695040888963407;
    const std::uint64_t word = state ^ state >> 29;
    std::memcpy(text.data() + i, &word, 8);
  }
  text.resize(size);
  return text;
}

// What --gtest_random_seed gives; else 0, and not GoogleTest's own choice by the time of day: a test fails today as it
// failed yesterday.
inline int seed_of_test() { return GTEST_FLAG_GET(random_seed); }

// While it lives there is no descriptor to be had.
class NoDescriptors {
 public:
  NoDescriptors() {
    KEEL_CHECK(getrlimit(RLIMIT_NOFILE, &before_) == 0, "a process may ask for its limits");
    // None is free below the limit: the next lowest number is above it.
    const int lowest = dup(0);
    ::close(lowest);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(lowest);
    KEEL_CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0, "a process may lower its limits");
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

// While it lives `count` descriptors may be open, if the system grants that.
class ManyDescriptors {
 public:
  explicit ManyDescriptors(rlim_t count) {
    KEEL_CHECK(getrlimit(RLIMIT_NOFILE, &before_) == 0, "a process may ask for its limits");
    rlimit many = before_;
    many.rlim_cur = std::max(before_.rlim_cur, count);
    granted_ = many.rlim_cur <= many.rlim_max && setrlimit(RLIMIT_NOFILE, &many) == 0;
  }
  ~ManyDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  ManyDescriptors(const ManyDescriptors&) = delete;
  ManyDescriptors& operator=(const ManyDescriptors&) = delete;

  bool are_granted() const { return granted_; }

 private:
  rlimit before_{};
  bool granted_ = false;
};

class LoopTest : public ::testing::TestWithParam<Which> {
 protected:
  void SetUp() override {
    if (is_sim()) {
      simulation_ = std::make_unique<sim::Simulation>(options());
      loop_ = &simulation_->add_loop();
    } else {
      auto engine = make();
      if (!engine) {
        ASSERT_EQ(engine.error().code(), Code::Unsupported) << engine.error().describe();
        GTEST_SKIP() << engine.error().describe();
      }
      owned_ = std::make_unique<Loop>(*std::move(engine), Host::system());
      loop_ = owned_.get();
    }
    entered_ = std::make_unique<Loop::Entered>(*loop_);
  }
  void TearDown() override {
    if (loop_ == nullptr) return;
    settle();  // What was closed lives on until its operations have ended.
    if (HasFailure() && simulation_ != nullptr) {
      std::printf("%.*s%s\nrun again with --gtest_random_seed=%d\n", static_cast<int>(simulation_->trace_text().size()),
                  simulation_->trace_text().data(), simulation_->replay().c_str(), seed_of_test());
    }
    entered_.reset();
  }

  bool is_sim() const {
    return GetParam() == Which::Sim || GetParam() == Which::SimWithFaults || GetParam() == Which::SimUnix ||
           GetParam() == Which::SimLayered;
  }
  bool is_layered() const {
    return GetParam() == Which::UringLayered || GetParam() == Which::EpollLayered || GetParam() == Which::SimLayered;
  }
  bool is_unix() const {
    return GetParam() == Which::UringUnix || GetParam() == Which::EpollUnix || GetParam() == Which::SimUnix;
  }
  Loop& loop() { return *loop_; }
  Engine& engine() { return loop_->engine(); }
  Instant now() { return simulation_ != nullptr ? simulation_->now() : Host::system().now(); }
  template <class F>
  bool until(F done, Duration limit = 20_s) {
    if (simulation_ != nullptr) return simulation_->run_until(done, limit * 100);
    const Instant end = Host::system().now() + limit;
    while (!done()) {
      if (Host::system().now() >= end) return false;
      loop_->turn(Host::system().now() + 2_ms);
    }
    return true;
  }
  void pass(Duration time) {
    if (simulation_ != nullptr) {
      simulation_->run_until([] { return false; }, time);
      return;
    }
    const Instant end = now() + time;
    until([&] { return now() >= end; }, time * 2);
  }
  // Lets time pass; returns the longest time that the loop did not run meanwhile. Nothing in virtual time.
  Duration longest_pause_of(Duration time) {
    Duration longest;
    Instant last = now();
    const Instant end = last + time;
    if (is_sim()) pass(time);
    while (now() < end) {
      loop_->turn(std::min(end, now() + 1_ms));
      const Instant at = now();
      longest = std::max(longest, at - last);
      last = at;
    }
    return longest;
  }
  // Lets everything happen that is on its way.
  void settle() {
    if (simulation_ != nullptr) return pass(5_ms);
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

  std::unique_ptr<sim::Simulation> simulation_;
  std::unique_ptr<Loop> owned_;
  Loop* loop_ = nullptr;
  std::unique_ptr<Loop::Entered> entered_;

 private:
  Result<std::unique_ptr<Engine>> make() const {
    if (GetParam() == Which::Epoll || GetParam() == Which::EpollUnix || GetParam() == Which::EpollLayered) {
      return make_epoll_engine();
    }
    KEEL_TRY_VOID(choose_engine(EngineKind::Uring));
    UringOptions options;
    if (GetParam() == Which::UringWithTinyRings) options = {.submission_entries = 4, .completion_entries = 8};
    options.files = GetParam() != Which::UringWithoutFiles;
    options.datagrams = GetParam() != Which::UringWithoutDatagrams;
    return make_uring_engine(options);
  }
  sim::SimOptions options() const {
    sim::SimOptions options;
    options.trace_bytes_max = 4096;
    options.seed = static_cast<std::uint64_t>(seed_of_test()) + 1;
    if (GetParam() == Which::SimWithFaults) {
      options.short_delivery = 0.1;
      options.long_delay = 0.002;
      options.stall = 0.002;
      options.clock_jump = 0.1;
    }
    return options;
  }
};

}  // namespace keel::io::testing
