#include "keel/telemetry/live_tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "keel/task/event.h"
#include "keel/task/scope.h"
#include "keel/task/start.h"
#include "keel/telemetry/log_writer.h"

namespace keel::telemetry::live_tasks_test {
namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
int occurrences(const std::string& text, std::string_view part) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

Task<> guest(Event& event) { co_await event.wait(); }
Task<> host(Event& event, int guests) {
  Scope scope;
  for (int i = 0; i < guests; ++i) scope.spawn(guest(event));
  co_await scope.join();
}

// Two workers; on the second one `begin` leaves a task with children, which wait until the end.
class LiveTasksTest : public ::testing::Test {
 protected:
  LiveTasksTest() : runtime_(io::Runtime::make({.workers = 2}).value()) {
    if (!runtime_->start()) std::abort();
    tasks_.emplace(*runtime_);
  }
  ~LiveTasksTest() override {
    on_second([this] { event_.set(); });
    // Woken tasks continue within that call, or as jobs that stand before the next one.
    on_second([this] { EXPECT_FALSE(host_.is_running()); });
    runtime_->stop();
  }

  void begin(int guests) {
    on_second([&] { host_.begin(host(event_, guests), [](StartCore&) noexcept {}); });
  }
  template <class F>
  void on_second(F&& f) {
    runtime_->each([&](io::Loop& loop) {
      if (loop.index() == 1) f();
    });
  }
  std::string text() {
    Buffer out;
    tasks_->write_text(out);
    return without_places(out.view());
  }
  std::string json() {
    Buffer out;
    tasks_->write_json(out);
    return without_places(out.view());
  }
  // Asks again on a machine that is so busy that a worker does not get to run for a second.
  std::string text_of_both() {
    std::string answer = text();
    while (contains(answer, "does not respond")) answer = text();
    return answer;
  }
  std::string json_of_both() {
    std::string answer = json();
    while (contains(answer, R"("responds":false)")) answer = json();
    return answer;
  }
  // Which are there when built with debug information.
  static std::string without_places(std::string_view text) {
    std::string left(text);
    for (std::size_t at; (at = left.find(" (")) != left.npos;) left.erase(at, left.find(')', at) + 1 - at);
    return left;
  }

  std::unique_ptr<io::Runtime> runtime_;
  std::optional<LiveTasks> tasks_;
  Event event_;
  Start<void> host_;
};

TEST_F(LiveTasksTest, are_shown_for_each_worker_as_a_tree) {
  begin(2);

  const std::string tree = text_of_both();

  EXPECT_TRUE(
      tree.starts_with("worker 0: 0 tasks\nworker 1: 3 tasks\n  telemetry::live_tasks_test::host: Scope::Join for "))
      << tree;
  EXPECT_EQ(occurrences(tree, "\n    telemetry::live_tasks_test::guest: Event::Wait for "), 2) << tree;
  EXPECT_EQ(occurrences(tree, "\n"), 5) << tree;
}

TEST_F(LiveTasksTest, are_written_as_json_with_their_depth) {
  begin(1);

  const std::string page = json_of_both();

  EXPECT_TRUE(page.starts_with(
      R"({"workers":[{"worker":0,"responds":true,"live":0,"tasks":[]},)"
      R"({"worker":1,"responds":true,"live":2,"tasks":[{"depth":0,"task":"telemetry::live_tasks_test::host",)"
      R"("state":"waits","operation":"Scope::Join","seconds":)"))
      << page;
  EXPECT_TRUE(contains(page, R"("stopped":false},{"depth":1,"task":"telemetry::live_tasks_test::guest",)"
                             R"("state":"waits","operation":"Event::Wait","seconds":)"))
      << page;
}

TEST_F(LiveTasksTest, are_bounded_and_the_first_to_begin_are_shown) {
  const int many = static_cast<int>(LiveTasks::shown_max) + 10;
  begin(many);

  const std::string tree = text_of_both();

  EXPECT_TRUE(contains(tree, "worker 1: 1011 tasks\n  telemetry::live_tasks_test::host: ")) << tree.substr(0, 200);
  EXPECT_EQ(occurrences(tree, "    telemetry::live_tasks_test::guest: "), 999);
  EXPECT_TRUE(tree.ends_with("\n  … and 11 more\n")) << tree.substr(tree.size() - 200);
}

TEST_F(LiveTasksTest, go_to_the_log_one_line_each) {
  std::string lines;
  LogWriterOptions options;
  options.mode = LogWriterOptions::Mode::Manual;
  options.sinks.emplace_back();
  options.sinks[0].to = LogSink::To::Function;
  options.sinks[0].format = LineFormat::Text;
  options.sinks[0].write = [&lines](std::string_view more) { lines.append(more); };
  const auto logs = LogWriter::make(std::move(options)).value();
  begin(200);

  do {
    lines.clear();
    tasks_->log();
    logs->flush();
  } while (contains(lines, "responds=false"));

  EXPECT_TRUE(contains(lines, "tasks worker=0 responds=true live=0\n"));
  EXPECT_TRUE(contains(lines, "tasks worker=1 responds=true live=201\n"));
  EXPECT_EQ(occurrences(lines, " task worker=1 task="), static_cast<int>(LiveTasks::logged_max));
  EXPECT_TRUE(contains(without_places(lines), "task=\"  telemetry::live_tasks_test::guest: Event::Wait for "))
      << lines.substr(0, 500);
}

TEST_F(LiveTasksTest, of_a_worker_that_does_not_come_back_are_not_waited_for_long) {
  struct Stall : Job {
    Stall() : Job([](Job& job) noexcept { static_cast<Stall&>(job).go_on.wait(false); }) {}
    std::atomic<bool> go_on = false;
  } stall;
  runtime_->loop(1).post(stall);

  std::string tree = text();
  while (tree.starts_with("worker 0: does not")) tree = text();
  EXPECT_EQ(tree, "worker 0: 0 tasks\nworker 1: does not respond\n");
  EXPECT_TRUE(json().ends_with(R"({"worker":1,"responds":false}]})"));
  stall.go_on = true;
  stall.go_on.notify_one();

  // The question that it was left with is answered first, and then it is asked anew.
  begin(0);
  on_second([this] { event_.set(); });
  EXPECT_EQ(text_of_both(), "worker 0: 0 tasks\nworker 1: 0 tasks\n");
}

TEST_F(LiveTasksTest, may_be_asked_for_by_several_threads_at_once) {
  begin(3);
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 10; ++round) good += occurrences(text_of_both(), "guest: Event::Wait") == 3;
      });
    }
  }
  EXPECT_EQ(good, 40);
}

}  // namespace
}  // namespace keel::telemetry::live_tasks_test
