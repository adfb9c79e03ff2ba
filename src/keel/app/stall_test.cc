#include "keel/app/stall.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>

#include "keel/http/server/router.h"
#include "keel/http/server/server.h"
#include "keel/observe/flight_recorder.h"
#include "keel/telemetry/log_writer.h"
#include "keel/telemetry/prometheus.h"

namespace keel::app::stall_test {
namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
int occurrences(const std::string& text, std::string_view part) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

// One worker, its watch, and what was logged.
class World {
 public:
  explicit World(Duration bound) {
    telemetry::LogWriterOptions options;
    options.mode = telemetry::LogWriterOptions::Mode::Manual;
    options.sinks.emplace_back();
    options.sinks[0].to = telemetry::LogSink::To::Function;
    options.sinks[0].format = telemetry::LineFormat::Text;
    options.sinks[0].write = [this](std::string_view lines) { log_.append(lines); };
    logs_ = telemetry::LogWriter::make(std::move(options)).value();
    runtime_ = io::Runtime::make({.workers = 1}).value();
    if (!runtime_->start()) std::abort();
    stalls_ = std::make_unique<StallLog>(*runtime_, bound, registry);
  }
  ~World() {
    stalls_.reset();
    runtime_->stop();
  }

  io::Runtime& runtime() { return *runtime_; }
  StallLog& stalls() { return *stalls_; }
  const std::string& log() {
    logs_->flush();
    return log_;
  }
  // Whether `part` was logged `times`, waiting for it as long as a busy machine needs.
  bool logs(std::string_view part, int times = 1) {
    for (int i = 0; i < 30'000 && occurrences(log(), part) < times; ++i) ::usleep(1000);
    return occurrences(log(), part) >= times;
  }

  metrics::Registry registry;

 private:
  std::string log_;
  std::unique_ptr<telemetry::LogWriter> logs_;
  std::unique_ptr<io::Runtime> runtime_;
  std::unique_ptr<StallLog> stalls_;
};

std::atomic<bool> may_go_on = false;

// In naps, for ThreadSanitizer hands signals over at such calls only.
[[gnu::noinline]] void stall_in_here() {
  while (!may_go_on) ::usleep(100);
  asm volatile("" ::: "memory");
}

struct Stalls : Job {
  Stalls() : Job([](Job&) noexcept { stall_in_here(); }) { may_go_on = false; }
};

TEST(StallLog, logs_a_stalled_worker_with_its_stack_and_its_end) {
  World world(20_ms);
  Stalls job;
  world.runtime().loop(0).post(job);

  ASSERT_TRUE(world.logs("worker stalled worker=0")) << world.log();
  EXPECT_TRUE(contains(world.log(), "stall_in_here()")) << world.log();
  EXPECT_TRUE(contains(world.log(), " < ")) << world.log();
  EXPECT_FALSE(contains(world.log(), "a worker runs again after a stall")) << world.log();
  may_go_on = true;

  EXPECT_TRUE(world.logs("a worker runs again after a stall worker=0")) << world.log();
}

TEST(StallLog, counts_a_stall_once_and_repeats_it_at_doubling_times) {
  World world(10_ms);
  Stalls job;
  world.runtime().loop(0).post(job);

  ASSERT_TRUE(world.logs("worker stalled", 4)) << world.log();
  may_go_on = true;
  ASSERT_TRUE(world.logs("a worker runs again after a stall")) << world.log();

  Buffer text;
  telemetry::Prometheus(world.registry).render(text);
  EXPECT_TRUE(contains(std::string(text.view()), "\nworker_stalls_total 1\n")) << text.view();
  EXPECT_TRUE(contains(std::string(text.view()), "\nworker_stall_seconds_count 1\n")) << text.view();
  // 10, 20, 40 and 80 ms at least.
  EXPECT_TRUE(contains(std::string(text.view()), "\nworker_stall_seconds_bucket{le=\"0.067108864\"} 0\n"))
      << text.view();
}

TEST(StallLog, says_nothing_of_workers_that_wait) {
  World world(5_ms);
  ::usleep(100'000);

  EXPECT_EQ(world.log(), "");
}

TEST(StallLog, names_the_request_that_is_being_handled) {
  World world(20_ms);
  world.runtime().each([](io::Loop& loop) {
    thread_local std::unique_ptr<FlightRecorder> recorder;
    recorder = std::make_unique<FlightRecorder>(loop.index());
  });
  may_go_on = false;
  http::Router router;
  router.get("/fast/{id}", [](http::Request&) { return http::Response::text(http::Status::Ok, "fast"); });
  router.post("/stalls", [](http::Request&) {
    stall_in_here();
    return http::Response::text(http::Status::Ok, "at last");
  });
  http::ServerOptions options;
  options.address = Address::parse("127.0.0.1:0").value();
  options.access_log = false;
  http::Server server(router, std::move(options));
  ASSERT_TRUE(server.start(world.runtime()));
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(fd, server.address().system(), server.address().system_size()), 0);
  const std::string wire =
      "GET /fast/7 HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /stalls?key=secret HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
  ASSERT_EQ(::send(fd, wire.data(), wire.size(), MSG_NOSIGNAL), static_cast<ssize_t>(wire.size()));

  ASSERT_TRUE(world.logs("worker stalled")) << world.log();
  may_go_on = true;

  EXPECT_TRUE(contains(world.log(), "method=POST path=/stalls ")) << world.log();
  EXPECT_TRUE(contains(world.log(), "trace=")) << world.log();
  EXPECT_TRUE(contains(world.log(), "GET /fast/{id} 200 ")) << world.log();
  EXPECT_FALSE(contains(world.log(), "secret")) << world.log();
  ASSERT_TRUE(world.logs("a worker runs again after a stall"));
  server.stop();
  ::close(fd);
}

TEST(StallLog, tells_where_every_worker_is_when_asked) {
  World world(1_h);
  Stalls job;
  world.runtime().loop(0).post(job);
  while (world.runtime().loop(0).busy_since() == Instant()) ::usleep(100);

  // The turn has begun; its job may be a moment away.
  for (int i = 0; i < 1000 && !contains(world.log(), "stall_in_here()"); ++i) world.stalls().report_all();
  may_go_on = true;

  EXPECT_TRUE(contains(world.log(), "worker worker=0")) << world.log();
  EXPECT_TRUE(contains(world.log(), "stall_in_here()")) << world.log();
  EXPECT_FALSE(contains(world.log(), "worker stalled"));
}

TEST(StallLog, does_not_count_time_in_which_the_process_was_stopped) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    World world(4_s);
    Stalls job;
    world.runtime().loop(0).post(job);
    while (world.runtime().loop(0).busy_since() == Instant()) ::usleep(100);
    const Instant began = Host::system().now();
    if (::write(ends[1], "x", 1) != 1) ::_exit(2);
    // Stopped about here, for longer than the bound, and than is waited below.
    while (Host::system().now() < began + 5_s) ::usleep(1000);
    // For the look that the watch was late for.
    ::usleep(300'000);
    ::_exit(world.log().empty() ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  ::kill(child, SIGSTOP);
  ::usleep(5'100'000);
  ::kill(child, SIGCONT);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::close(ends[0]);
  ::close(ends[1]);

  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "it was reported as stalled";
}

}  // namespace
}  // namespace keel::app::stall_test
