// keel/io/testing.h — for tests: one suite on every engine, tasks on a loop of the calling thread.
//
//   class FileTest : public testing::LoopTest {};
//   TEST_P(FileTest, …) { EXPECT_EQ(*run(read_some()), 5u); }
//   INSTANTIATE_TEST_SUITE_P(, FileTest, testing::every_engine(), testing::name_of_engine);

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "keel/io/loop.h"
#include "keel/io/sim.h"
#include "keel/task/start.h"
#include "keel/task/task.h"
#include "keel/task/timing.h"

namespace keel::io::testing {

enum class Which { Uring, Epoll, Sim };

inline auto every_engine() { return ::testing::Values(Which::Uring, Which::Epoll, Which::Sim); }
inline std::string name_of_engine(const ::testing::TestParamInfo<Which>& which) {
  constexpr const char* names[] = {"uring", "epoll", "sim"};
  return names[static_cast<int>(which.param)];
}

// Bytes in which a lost, repeated or moved piece shows.
inline std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 12345;
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

class LoopTest : public ::testing::TestWithParam<Which> {
 protected:
  void SetUp() override {
    if (is_sim()) {
      sim::SimOptions options;
      options.seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed()) + 1;
      simulation_ = std::make_unique<sim::Simulation>(options);
      loop_ = &simulation_->add_loop();
    } else {
      auto engine = make_engine(GetParam() == Which::Uring ? EngineKind::Uring : EngineKind::Epoll);
      if (!engine) GTEST_SKIP() << engine.error().describe();
      use(*std::move(engine));
    }
    entered_ = std::make_unique<Loop::Entered>(*loop_);
  }
  void TearDown() override {
    if (loop_ == nullptr) return;
    settle();  // What was closed lives on until its operations have ended.
    if (HasFailure() && simulation_ != nullptr) std::printf("%s\n", simulation_->replay().c_str());
    entered_.reset();
  }
  void use(std::unique_ptr<Engine> engine) {
    owned_ = std::make_unique<Loop>(std::move(engine), Host::system());
    loop_ = owned_.get();
  }

  bool is_sim() const { return GetParam() == Which::Sim; }
  Loop& loop() { return *loop_; }
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

  std::unique_ptr<sim::Simulation> simulation_;
  std::unique_ptr<Loop> owned_;
  Loop* loop_ = nullptr;
  std::unique_ptr<Loop::Entered> entered_;
};

}  // namespace keel::io::testing
