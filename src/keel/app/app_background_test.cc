// Background work of a whole App: before it listens, beside its requests, and until after the last of them.

#include <algorithm>
#include <atomic>
#include <mutex>

#include "keel/app/internal/app_testing.h"
#include "keel/io/loop.h"
#include "keel/task/leaf.h"

namespace keel::app::app_background_test {
namespace {

class Backgrounds : public Apps {
 public:
  void note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    order_.push_back(what);
  }
  std::vector<std::string> order() {
    const std::lock_guard lock(mutex_);
    return order_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> order_;
};

TEST_F(Backgrounds, runs_from_before_the_service_listens_until_after_the_last_request) {
  std::atomic<int> repeated = 0;
  std::atomic<int> consumed = 0;
  std::atomic<bool> is_on_first_worker = true;
  prepare = [&](App& app) {
    app.module({.name = "cache", .stop = [&] { note("cache stopped"); }});
    app.at_start("warm", [&]() -> Task<> {
      co_await sleep_for(20_ms);
      EXPECT_EQ(status_of(ask(service_, get("/"))), 0) << "nobody listens yet";
      note("warm");
    });
    app.every(5_ms, "repeat", [&]() -> Task<> {
      if (io::Loop::current()->index() != 0) is_on_first_worker = false;
      ++repeated;
      co_return;
    });
    app.background("consume", [&]() -> Task<> {
      struct Ends {
        Backgrounds& test;
        ~Ends() { test.note("consume ended"); }
      } ends{*this};
      while (true) {
        co_await sleep_for(1_ms);
        ++consumed;
      }
    });
  };
  std::string page, text, metrics;
  std::thread late;

  const int code = run({"--network.workers=2"}, [&] {
    for (int i = 0; i < 5000 && (repeated < 5 || consumed < 5); ++i) ::usleep(1000);
    page = ask(admin_, get("/admin/background"));
    text = ask(admin_, get("/admin/background?format=text"));
    metrics = ask(admin_, get("/metrics"));
    // It is in progress when SIGTERM comes.
    late = std::thread([&] {
      const int status = status_of(ask(service_, get("/slow")));
      note("answered " + std::to_string(status));
    });
    ::usleep(50'000);
  });
  late.join();

  EXPECT_EQ(code, 0);
  EXPECT_GE(repeated.load(), 5);
  EXPECT_GE(consumed.load(), 5);
  EXPECT_TRUE(is_on_first_worker.load());
  const auto seen = order();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen.front(), "warm");
  EXPECT_NE(std::find(seen.begin(), seen.end(), "answered 200"), seen.end());
  const auto place_of = [&](const char* what) { return std::find(seen.begin(), seen.end(), what) - seen.begin(); };
  EXPECT_LT(place_of("consume ended"), place_of("cache stopped")) << "what was there before it outlives it";
  EXPECT_NE(page.find(R"("name":"repeat","kind":"every","state":)"), std::string::npos) << page;
  EXPECT_NE(page.find(R"("name":"warm","kind":"at start","state":"ended","runs":1)"), std::string::npos) << page;
  EXPECT_NE(text.find("consume"), std::string::npos) << text;
  EXPECT_NE(metrics.find("background_runs_total{work=\"repeat\"}"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("background_running{work=\"consume\"} 1"), std::string::npos) << metrics;
}

TEST_F(Backgrounds, that_fails_at_the_start_prevents_it_and_says_which) {
  prepare = [&](App& app) {
    app.at_start("warm", []() -> Task<> { co_await fail(Code::Unavailable, "the catalogue does not respond"); });
  };

  EXPECT_EXIT(run({}, {}), ::testing::ExitedWithCode(1),
              "at_start \"warm\": the catalogue does not respond \\(module \"background\" failed");
}

TEST_F(Backgrounds, is_not_waited_for_when_the_start_is_interrupted) {
  prepare = [&](App& app) {
    app.at_start("warm", []() -> Task<> {
      ::kill(::getpid(), SIGTERM);
      co_await sleep_for(1_h);
    });
  };
  const Instant began = Host::system().now();

  EXPECT_EQ(run_interrupted(), 0);

  EXPECT_LT(Host::system().now() - began, 8_s);
}

// Nothing completes it.
class Never : public Leaf {
 public:
  using Value = void;
  bool start() noexcept { return false; }
  Result<> take() noexcept { return {}; }
};

TEST_F(Backgrounds, that_does_not_end_is_named_and_bounded_by_the_stop_timeout) {
  std::atomic<bool> has_begun = false;
  prepare = [&](App& app) {
    app.background("deaf", [&]() -> Task<> {
      has_begun = true;
      co_await Never();
    });
  };

  EXPECT_EXIT(run({"--common.stop_timeout_sec=0.4", "--network.http.drain_timeout_sec=0.2"},
                  [&] {
                    while (!has_begun) ::usleep(1000);
                    ::kill(::getpid(), SIGTERM);
                    while (true) ::pause();  // Nobody joins this thread: one that had ended would be a leak.
                  }),
              ::testing::ExitedWithCode(1), "module \"background\" was still stopping after");

  EXPECT_NE(log().find(R"("message":"background work has not stopped yet","work":"deaf")"), std::string::npos) << log();
}

}  // namespace
}  // namespace keel::app::app_background_test
