// Each test crashes a process of its own, made by fork(): there are no other threads here.

#include "keel/app/crash.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/sanitizers.h"
#include "keel/exec/thread_pool.h"
#include "keel/io/runtime.h"
#include "keel/observe/flight_recorder.h"
#include "keel/observe/log.h"
#include "keel/observe/log_ring.h"
#include "keel/telemetry/log_writer.h"

namespace keel::app::crash_test {
namespace {

#define SKIP_WHEN_FAULTS_ARE_THE_SANITIZERS() \
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer reports faults"

constexpr int survived = 99;

std::string read_all(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return std::move(text).str();
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class Crashes : public ::testing::Test {
 protected:
  Crashes() {
    std::string pattern = (std::filesystem::temp_directory_path() / "keel-crash-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Crashes() override { std::filesystem::remove_all(folder_); }

  struct World {
    std::unique_ptr<CrashHandler> handler;
    std::unique_ptr<telemetry::LogWriter> logs;
  };
  // What goes into the process besides the file sink; `first` is a sink before it.
  struct With {
    bool handler = true;
    std::optional<telemetry::LogSink> first = {};
    std::optional<bool> core_memory = {};  // None: no core dump.
  };

  // Runs `scenario` in a new process and waits for its end. The log's writer sleeps for an hour at a time: what is
  // recorded reaches the file when somebody asks for it, and not by itself.
  void run(const std::function<void(World&)>& scenario, With with) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const rlim_t core_bytes = with.core_memory ? 1 << 30 : 0;
      const rlimit cores{core_bytes, core_bytes};
      if (setrlimit(RLIMIT_CORE, &cores) != 0 || ::chdir(folder_.c_str()) != 0) ::_exit(survived);
      std::freopen((folder_ + "/errors").c_str(), "w", stderr);
      World world;
      if (with.handler) {
        world.handler =
            CrashHandler::install(
                {.name = "victim", .file = folder_ + "/crash", .core_memory = with.core_memory.value_or(false)})
                .value();
      }
      telemetry::LogWriterOptions options;
      options.flush_interval = 1_h;
      if (with.first) options.sinks.push_back(std::move(*with.first));
      telemetry::LogSink file;
      file.to = telemetry::LogSink::To::File;
      file.path = folder_ + "/log";
      file.format = telemetry::LineFormat::Text;
      options.sinks.push_back(std::move(file));
      world.logs = telemetry::LogWriter::make(std::move(options)).value();
      if (with.handler) world.handler->set_logs(world.logs.get());
      scenario(world);
      ::_exit(survived);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    signal_ = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    errors_ = read_all(folder_ + "/errors");
    log_ = read_all(folder_ + "/log");
  }
  void run(const std::function<void(World&)>& scenario) { run(scenario, {}); }

  // What the process left; empty: it left none.
  std::string core() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with("core")) return read_all(entry.path());
    }
    return {};
  }
  // The part of the report that has the names of the stack.
  std::string names() const {
    const std::size_t at = errors_.find("stack with names:\n");
    return at == std::string::npos ? "" : errors_.substr(at);
  }

  std::string folder_;
  int signal_ = 0;
  std::string errors_;
  std::string log_;
};

void record(std::string_view text) {
  static const log::Logger log("test");
  log.info("line", log::field("text", text));
}

[[gnu::noinline]] void write_to_null() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
  asm volatile("" ::: "memory");
}

// What a worker runs, on a thread with a log ring of its own.
void on_worker(const std::function<void()>& f) {
  auto runtime = io::Runtime::make({.workers = 1, .engine = io::EngineKind::Epoll}).value();
  (void)runtime->start();
  runtime->each([&f](io::Loop&) {
    const log::Ring ring;
    f();
  });
}

TEST_F(Crashes, on_a_worker_are_reported_with_the_stack_and_the_last_log_lines) {
  SKIP_WHEN_FAULTS_ARE_THE_SANITIZERS();
  run([](World&) {
    on_worker([] {
      record("before the crash");
      write_to_null();
    });
  });

  EXPECT_EQ(signal_, SIGSEGV);
  EXPECT_TRUE(
      errors_.starts_with("victim crashed: SIGSEGV (no memory is mapped at this address, at 0x0)\n  thread worker-0 ("))
      << errors_;
  EXPECT_TRUE(contains(errors_, "stack, innermost first:\n  #0 0x")) << errors_;
  EXPECT_TRUE(contains(errors_, "(program)+0x")) << errors_;
  EXPECT_TRUE(contains(names(), "#0 keel::app::crash_test::(anonymous namespace)::write_to_null()")) << errors_;
  EXPECT_TRUE(contains(log_, "before the crash")) << log_;
  EXPECT_TRUE(contains(log_, "FATAL crash: crashed signal=SIGSEGV")) << log_;
  EXPECT_EQ(read_all(folder_ + "/crash"), errors_) << "the file has the same";
}

TEST_F(Crashes, leave_the_memory_of_the_process_out_of_the_core_dump) {
  SKIP_WHEN_FAULTS_ARE_THE_SANITIZERS();
  if (const std::string pattern = read_all("/proc/sys/kernel/core_pattern"); !pattern.starts_with("core")) {
    GTEST_SKIP() << "core dumps go elsewhere: " << pattern;
  }
  const std::string begin = "what a client sent: ";  // Whole on the heap alone.
  const auto holds_a_body = [&](World&) {
    std::string body = begin;
    for (int i = 0; i < 1000; ++i) body += "4929";
    asm volatile("" ::"r"(body.data()) : "memory");
    write_to_null();
  };

  run(holds_a_body, {.core_memory = true});
  ASSERT_TRUE(
      core().starts_with("\x7f"
                         "ELF"));
  EXPECT_TRUE(contains(core(), begin + "49294929")) << "the control";
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(entry.path());

  run(holds_a_body, {.core_memory = false});
  EXPECT_TRUE(
      core().starts_with("\x7f"
                         "ELF"));
  EXPECT_FALSE(contains(core(), begin + "49294929"));
  EXPECT_LT(core().size(), 1u << 20);
}

TEST_F(Crashes, leave_the_filter_of_core_dumps_as_it_was_when_the_handler_goes) {
  const std::string before = read_all("/proc/self/coredump_filter");
  if (before.empty()) GTEST_SKIP() << "this kernel has none";
  auto handler = CrashHandler::install({.name = "a guest"}).value();
  EXPECT_EQ(read_all("/proc/self/coredump_filter"), "00000010\n");
  handler.reset();
  EXPECT_EQ(read_all("/proc/self/coredump_filter"), before);

  handler = CrashHandler::install({.name = "a guest", .core_memory = true}).value();
  EXPECT_EQ(read_all("/proc/self/coredump_filter"), before);
}

TEST_F(Crashes, tell_the_request_in_progress_and_the_last_ones) {
  run([](World&) {
    on_worker([] {
      const FlightRecorder recorder(0);
      flight::Entry request;
      request.verb = "GET";
      request.object = "/users/{id}";
      request.outcome = 204;
      request.trace = {0xabc, 0xdef};
      flight::note(request);
      const flight::Doing doing([](const void*) { return flight::Activity{"POST", "/orders", {1, 2}}; }, nullptr);
      std::abort();
    });
  });

  EXPECT_EQ(signal_, SIGABRT);
  EXPECT_TRUE(contains(errors_, "\nhandling POST /orders, trace 00000000000000010000000000000002\n")) << errors_;
  EXPECT_TRUE(contains(errors_, "\nrequests of worker 0, newest first:\n  GET /users/{id} 204, took 0 us, began "))
      << errors_;
  EXPECT_TRUE(contains(errors_, "trace 0000000000000abc0000000000000def\n")) << errors_;
}

TEST_F(Crashes, put_their_key_facts_on_one_line_of_the_log) {
  run([](World&) {
    on_worker([] {
      const FlightRecorder recorder(3);
      const flight::Doing doing([](const void*) { return flight::Activity{"POST", "/orders/{id}", {1, 2}}; }, nullptr);
      KEEL_CHECK(log::Logger("x").is_on(Level::Trace), "every order has an id");
    });
  });

  const std::size_t begin = log_.find("FATAL crash: crashed signal=SIGABRT ");
  ASSERT_NE(begin, std::string::npos) << log_;
  const std::string line = log_.substr(begin, log_.find('\n', begin) - begin);
  for (const std::string& fact :
       {std::string(" place=(program)+0x"), " build=" + CrashHandler::build_id(), std::string(" thread=worker-0"),
        std::string(" worker=3"), std::string(" request=\"POST /orders/{id}\""),
        std::string(": every order has an id\""), std::string(" trace=00000000000000010000000000000002")}) {
    EXPECT_TRUE(contains(line, fact)) << fact << "\n" << line;
  }
}

std::atomic<std::uint64_t> turns = 0;

TEST_F(Crashes, stop_the_other_threads_before_the_report) {
  if (KEEL_THREAD_SANITIZER) GTEST_SKIP() << "it keeps a signal back until the thread calls something that it knows";
  telemetry::LogSink watching;
  watching.to = telemetry::LogSink::To::Function;
  watching.write = [](std::string_view lines) {
    if (lines.find("crashed") == std::string_view::npos) return;
    const std::uint64_t before = turns.load();
    ::usleep(50'000);
    std::fprintf(stderr, "turns meanwhile: %d\n", static_cast<int>(turns.load() - before));
    std::fflush(stderr);
  };
  run(
      [](World&) {
        // Some compute, others wait inside the kernel; the main thread waits for all of them.
        auto runtime = io::Runtime::make({.workers = 2}).value();
        (void)runtime->start();
        std::vector<std::thread> busy;
        for (int i = 0; i < 4; ++i) {
          busy.emplace_back([] {
            for (;;) turns.fetch_add(1, std::memory_order_relaxed);
          });
        }
        busy.emplace_back([] { ::usleep(1'000'000'000); });
        while (turns.load() < 1000) std::this_thread::yield();
        std::thread([] { std::abort(); }).join();
      },
      {.first = std::move(watching)});

  EXPECT_EQ(signal_, SIGABRT);
  EXPECT_TRUE(contains(errors_, "turns meanwhile: 0\n")) << errors_;
  EXPECT_FALSE(contains(errors_, "had not stopped in time")) << errors_;
  EXPECT_TRUE(errors_.starts_with("victim crashed: SIGABRT")) << errors_;
}

TEST_F(Crashes, do_not_wait_long_for_a_thread_that_does_not_stop) {
  run([](World&) {
    std::atomic<bool> is_deaf = false;
    std::thread deaf([&is_deaf] {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, nullptr);
      is_deaf = true;
      for (;;) ::pause();
    });
    while (!is_deaf) std::this_thread::yield();
    std::abort();
  });

  EXPECT_EQ(signal_, SIGABRT);
  EXPECT_TRUE(errors_.starts_with("1 other threads had not stopped in time\nvictim crashed: SIGABRT")) << errors_;
}

TEST_F(Crashes, escape_what_an_exception_and_a_request_say) {
  run([](World&) {
    std::thread([] {
      const flight::Doing doing([](const void*) { return flight::Activity{"GET\x1b", "/a\nb", {1, 2}}; }, nullptr);
      throw std::runtime_error("no\nvictim crashed: \x1b[2Jforged \xff");
    }).join();
  });

  EXPECT_EQ(signal_, SIGABRT);
  EXPECT_TRUE(contains(errors_, R"(std::runtime_error: no\nvictim crashed: \u{001b}[2Jforged \xff)")) << errors_;
  EXPECT_TRUE(contains(errors_, R"(handling GET\u{001b} /a\nb, trace )")) << errors_;
  EXPECT_FALSE(contains(errors_ + log_, "\x1b"));
  EXPECT_TRUE(contains(log_, R"(request="GET\u{001b} /a\nb")")) << log_;
}

TEST_F(Crashes, leave_nothing_in_the_log_without_the_handler) {
  // The control of the test above: neither report nor log lines come by themselves.
  run(
      [](World&) {
        on_worker([] {
          record("before the crash");
          std::abort();
        });
      },
      {.handler = false});

  EXPECT_EQ(signal_, SIGABRT);
  EXPECT_EQ(errors_, "");
  EXPECT_EQ(log_, "");
}

TEST_F(Crashes, of_a_pool_thread_are_reported_with_its_name) {
  run([](World&) {
    ThreadPool pool({.name = "images", .threads = 1});
    struct Aborts : Job {
      Aborts()
          : Job([](Job&) noexcept {
              record("before the abort");
              std::abort();
            }) {}
    } job;
    pool.post(job);
    pool.stop();
  });

  EXPECT_EQ(signal_, SIGABRT);
  EXPECT_TRUE(contains(errors_, "victim crashed: SIGABRT (aborted)\n  thread images-0 (")) << errors_;
  EXPECT_TRUE(contains(names(), "keel::ThreadPool::work")) << errors_;
  EXPECT_TRUE(contains(log_, "before the abort")) << log_;
}

TEST_F(Crashes, by_a_failed_check_are_reported_with_its_sentence) {
  run([](World&) { on_worker([] { KEEL_CHECK(log::Logger("x").is_on(Level::Trace), "every request has a name"); }); });

  EXPECT_EQ(signal_, SIGABRT);
  EXPECT_TRUE(contains(errors_, "  because ")) << errors_;
  EXPECT_TRUE(contains(errors_, "crash_test.cc:")) << errors_;
  EXPECT_TRUE(contains(errors_, ": every request has a name\nstack, innermost first:")) << errors_;
  EXPECT_TRUE(contains(names(), "keel::check_failed(")) << errors_;
  EXPECT_TRUE(contains(log_, "every request has a name")) << log_;
}

// Not a tail call, and nothing that an optimizer could turn into a loop.
[[gnu::noinline]] int recurse(int depth) {
  volatile char frame[512];
  frame[0] = static_cast<char>(depth);
  return depth == 0 ? 0 : recurse(depth - 1) + frame[0];
}

TEST_F(Crashes, by_stack_overflow_are_called_so) {
  SKIP_WHEN_FAULTS_ARE_THE_SANITIZERS();
  const auto overflow = [](World&) {
    record("before the overflow");
    volatile int result = recurse(1 << 30);
    (void)result;
  };
  run(overflow);

  EXPECT_EQ(signal_, SIGSEGV);
  EXPECT_TRUE(contains(errors_, "SIGSEGV (stack overflow, at 0x")) << errors_;
  EXPECT_TRUE(contains(names(), "#0 keel::app::crash_test::(anonymous namespace)::recurse(int)")) << errors_;
  EXPECT_TRUE(contains(errors_, "… and more")) << errors_;
  EXPECT_TRUE(contains(log_, "before the overflow")) << log_;

  // On another thread than the main one, which has a signal stack too.
  run([&overflow](World& world) { on_worker([&] { overflow(world); }); });

  EXPECT_EQ(signal_, SIGSEGV);
  EXPECT_TRUE(contains(errors_, "SIGSEGV (stack overflow, at 0x")) << errors_;
}

TEST_F(Crashes, by_an_exception_are_reported_with_its_type_and_text) {
  run([](World&) {
    record("before the exception");
    std::thread([] { throw std::out_of_range("no such page"); }).join();
  });

  EXPECT_EQ(signal_, SIGABRT);
  EXPECT_TRUE(contains(errors_, "  because uncaught exception of type std::out_of_range: no such page\n")) << errors_;
  EXPECT_TRUE(contains(log_, "before the exception")) << log_;
}

TEST_F(Crashes, of_a_null_function_name_its_caller) {
  SKIP_WHEN_FAULTS_ARE_THE_SANITIZERS();
  run([](World&) {
    struct Caller {
      [[gnu::noinline]] static void call_nobody() {
        void (*volatile nobody)() = nullptr;
        nobody();
        asm volatile("" ::: "memory");
      }
    };
    Caller::call_nobody();
  });

  EXPECT_EQ(signal_, SIGSEGV);
  EXPECT_TRUE(contains(names(), "call_nobody()")) << errors_;
}

TEST_F(Crashes, flush_a_ring_that_is_full) {
  run([](World&) {
    log::set_ring_options({.bytes = 64 * 1024, .overflow = log::Overflow::DropNewest});
    const log::Ring ring;
    // The writer is woken when half of it is full, so fill it until some are lost while the writer is behind.
    for (int i = 0; i < 1'000'000 && log::dropped() == 0; ++i) record("filling");
    for (int i = 0; i < 3; ++i) record("the very last");
    std::abort();
  });

  EXPECT_EQ(signal_, SIGABRT);
  EXPECT_TRUE(contains(log_, "filling"));
  EXPECT_TRUE(contains(log_, "FATAL crash: crashed"))
      << log_.substr(log_.size() - std::min<std::size_t>(log_.size(), 500));
  EXPECT_TRUE(log_.ends_with("\n"));
}

bool sink_has_crashed = false;

TEST_F(Crashes, of_the_log_writer_still_write_what_waited) {
  SKIP_WHEN_FAULTS_ARE_THE_SANITIZERS();
  telemetry::LogSink crashing;
  crashing.to = telemetry::LogSink::To::Function;
  crashing.write = [](std::string_view) {
    if (std::exchange(sink_has_crashed, true)) return;
    write_to_null();
  };
  run(
      [](World& world) {
        const log::Ring ring;
        record("in the ring");
        // Only its own thread calls the sinks here.
        (void)world.logs->flush_from_signal(1_h, []() noexcept {});
      },
      {.first = std::move(crashing)});

  EXPECT_EQ(signal_, SIGSEGV);
  EXPECT_TRUE(contains(errors_, "thread keel-log (")) << errors_;
  EXPECT_TRUE(contains(names(), "write_to_null()")) << errors_;
  EXPECT_TRUE(contains(log_, "in the ring")) << errors_ << log_;
}

TEST_F(Crashes, inside_the_report_go_on_with_the_next_part) {
  SKIP_WHEN_FAULTS_ARE_THE_SANITIZERS();
  run([](World& world) {
    world.handler->set_logs(reinterpret_cast<telemetry::LogWriter*>(8));  // Faults when it is flushed.
    write_to_null();
  });

  EXPECT_EQ(signal_, SIGSEGV);
  EXPECT_TRUE(contains(errors_, "stack, innermost first:")) << errors_;
  EXPECT_TRUE(contains(names(), "write_to_null()")) << errors_;
  EXPECT_EQ(errors_.find("crashed: "), errors_.rfind("crashed: ")) << "one report: " << errors_;
}

TEST_F(Crashes, of_two_threads_are_one_report) {
  run([](World&) {
    std::thread other([] { std::abort(); });
    std::abort();
  });

  EXPECT_EQ(signal_, SIGABRT);
  EXPECT_EQ(errors_.find("crashed: "), errors_.rfind("crashed: ")) << errors_;
}

TEST_F(Crashes, sent_from_outside_say_by_whom) {
  SKIP_WHEN_FAULTS_ARE_THE_SANITIZERS();
  run([](World&) {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(survived);
    if (::fork() == 0) {
      char byte = 0;
      ::_exit(::read(ends[0], &byte, 1) == 1 ? ::kill(::getppid(), SIGBUS) : 1);
    }
    // Only now: inside fork() the heap is locked.
    if (::write(ends[1], "x", 1) != 1) ::_exit(survived);
    for (;;) ::pause();
  });

  EXPECT_EQ(signal_, SIGBUS);
  EXPECT_TRUE(contains(errors_, "SIGBUS (sent by a process, by ")) << errors_;
}

TEST_F(Crashes, in_the_heap_are_named_all_the_same) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "the sanitizer has a heap of its own";
  run([](World&) {
    void* volatile block = std::malloc(24);
    void* volatile again = block;
    std::free(block);
    std::free(again);
  });

  EXPECT_EQ(signal_, SIGABRT);
  EXPECT_TRUE(contains(names(), "Crashes_in_the_heap_are_named_all_the_same")) << errors_;
}

TEST_F(Crashes, find_another_handler_untouched) {
  run([](World& world) {
    world.handler.reset();
    struct sigaction mine = {};
    mine.sa_handler = [](int) { ::_exit(7); };
    sigaction(SIGILL, &mine, nullptr);
    world.handler = CrashHandler::install({.name = "victim"}).value();
    struct sigaction now;
    sigaction(SIGILL, nullptr, &now);
    if (now.sa_handler != mine.sa_handler) std::abort();
  });

  EXPECT_EQ(signal_, 0) << errors_;
}

TEST_F(Crashes, need_a_file_that_opens) {
  const auto made = CrashHandler::install({.name = "victim", .file = folder_ + "/none/crash"});

  ASSERT_FALSE(made);
  EXPECT_TRUE(contains(made.error().describe(), "crash file " + folder_ + "/none/crash")) << made.error().describe();
  // And the next attempt may be better.
  EXPECT_TRUE(CrashHandler::install({.name = "victim"}));
}

TEST(BuildId, is_the_one_that_the_linker_wrote) {
  const std::string id = CrashHandler::build_id();

  EXPECT_EQ(id.size(), 40u) << id;
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
}

}  // namespace
}  // namespace keel::app::crash_test
