#include "keel/net/run.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "keel/net/listener.h"
#include "keel/task/group.h"
#include "keel/task/timing.h"

namespace keel {
namespace {

class Run : public testing::TestWithParam<io::EngineKind> {
 protected:
  void SetUp() override {
    if (!io::choose_engine(GetParam())) GTEST_SKIP() << "this engine is not to be had here";
  }
};
INSTANTIATE_TEST_SUITE_P(, Run, testing::Values(io::EngineKind::Uring, io::EngineKind::Epoll), [](const auto& kind) {
  return std::string(kind.param == io::EngineKind::Uring ? "uring" : "epoll");
});

Task<> converses(std::string& heard) {
  Listener listener = co_await Listener::bind(*Address::parse("127.0.0.1:0"));
  auto ends = co_await all(listener.accept(), Stream::connect(listener.address()));
  auto& [server, client] = ends;
  co_await client.write("hello");
  heard = std::string(co_await server.receive());
}
TEST_P(Run, ends_with_its_task) {
  std::string heard;
  EXPECT_TRUE(run(converses(heard), GetParam()).is_ok());
  EXPECT_EQ(heard, "hello");
}

Task<> ends_at_once(bool well) {
  if (!well) co_await fail(Code::Conflict, "not well");
}
TEST_P(Run, tells_the_error_of_its_task) {
  EXPECT_TRUE(run(ends_at_once(true), GetParam()).is_ok());
  EXPECT_EQ(run(ends_at_once(false), GetParam()).error().code(), Code::Conflict);
}

Task<> waits_for_a_peer(int signal, bool& cleaned_up) {
  struct CleanUp {
    bool& done;
    ~CleanUp() { done = true; }
  } clean_up{cleaned_up};
  Listener listener = co_await Listener::bind(*Address::parse("127.0.0.1:0"));
  Stream client = co_await Stream::connect(listener.address());
  co_await sleep_for(1_ms);
  ::raise(signal);
  co_await client.receive();
}
TEST_P(Run, a_signal_stops_the_task_and_is_no_error) {
  for (const int signal : {SIGINT, SIGTERM}) {
    bool cleaned_up = false;
    EXPECT_TRUE(run(waits_for_a_peer(signal, cleaned_up), GetParam()).is_ok());
    EXPECT_TRUE(cleaned_up);
  }
}

Task<> fails_when_stopped() {
  ::raise(SIGINT);
  const Result<> slept = co_await attempt(sleep_for(1_h));
  if (!slept) co_await fail(Code::Internal, "the end went wrong");
}
TEST_P(Run, an_error_at_the_end_is_told_though_a_signal_came) {
  EXPECT_EQ(run(fails_when_stopped(), GetParam()).error().code(), Code::Internal);
}

Task<> raises_twice() {
  ::raise(SIGINT);
  const Result<> slept = co_await attempt(sleep_for(1_h));
  if (!slept) ::raise(SIGINT);
}
TEST_P(Run, a_second_signal_does_what_it_did_before) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT((void)run(raises_twice(), GetParam()).is_ok(), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace keel
