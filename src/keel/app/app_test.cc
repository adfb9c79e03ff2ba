#include "keel/app/app.h"

#include <fcntl.h>
#include <malloc.h>
#include <sched.h>

#include <atomic>
#include <exception>
#include <sstream>

#include "keel/app/internal/app_testing.h"
#include "keel/base/bug.h"
#include "keel/base/sanitizers.h"
#include "keel/config/version.h"
#include "keel/db/sqlite/database.h"
#include "keel/telemetry/process.h"

namespace keel::app::app_test {
namespace {

TEST_F(Apps, serve_until_a_signal_and_give_0) {
  const int code = run({}, [&] {
    EXPECT_TRUE(ask(service_, get("/")).ends_with("\r\n\r\nhello"));
    EXPECT_EQ(status_of(ask(admin_, get("/healthz"))), 200);
    EXPECT_EQ(status_of(ask(admin_, get("/readyz"))), 200);
    EXPECT_EQ(status_of(ask(admin_, get("/startupz"))), 200);
    EXPECT_NE(ask(admin_, get("/metrics")).find("\nhealth_check_up{check=\"worker 0\"} 1\n"), std::string::npos);
    EXPECT_NE(ask(admin_, get("/metrics")).find("\nhttp_requests_total{"), std::string::npos);
    EXPECT_NE(ask(admin_, get("/metrics")).find("\nhttp_requests_in_progress{server=\"http\"} 0\n"), std::string::npos);
    EXPECT_EQ(status_of(ask(service_, get("/metrics"))), 404);
  });

  EXPECT_EQ(code, 0);
  EXPECT_NE(log().find(R"("message":"ready")"), std::string::npos);
  EXPECT_NE(log().find(R"("message":"stopping","signal":"SIGTERM")"), std::string::npos);
  EXPECT_NE(log().find(R"("message":"stopped")"), std::string::npos);
}

TEST_F(Apps, say_their_version_and_that_of_keel) {
  const std::string keel(keel_version());
  const int code = run({}, [&] {
    const std::string metrics = ask(admin_, get("/metrics"));
    EXPECT_NE(metrics.find("\nkeel_build_info{version=\"" + keel + "\",compiler=\"" + std::string(keel_compiler()) +
                           "\"} 1\n"),
              std::string::npos)
        << metrics;
    EXPECT_NE(metrics.find("\napp_build_info{name=\"test\",version=\"1.4.2\"} 1\n"), std::string::npos) << metrics;
    EXPECT_NE(ask(admin_, get("/admin/start")).find(R"({"name":"test","version":"1.4.2","keel":")" + keel + R"(",)"),
              std::string::npos);
  });

  EXPECT_EQ(code, 0);
  EXPECT_NE(log().find(R"("message":"ready","version":"1.4.2","keel":")" + keel + R"(",)"), std::string::npos) << log();
}

TEST_F(Apps, run_one_after_the_other_in_one_process) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(run({}, [&] { EXPECT_EQ(status_of(ask(service_, get("/"))), 200); }), 0);
  }
  EXPECT_EQ(occurrences(log(), R"("message":"stopped")"), 3);
}

TEST_F(Apps, complete_a_request_that_is_in_progress) {
  std::string answer;
  std::thread asking;
  const int code = run({}, [&] {
    asking = std::thread([&] { answer = ask(service_, get("/slow", "")); });
    ::usleep(50'000);
  });
  asking.join();

  EXPECT_EQ(code, 0);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nslow")) << answer;
  EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos) << answer;
}

TEST_F(Apps, give_1_when_the_drain_deadline_cuts_a_request_off) {
  std::string answer = "none yet";
  std::thread asking;
  const int code = run({"--network.http.drain_timeout_sec=0.02"}, [&] {
    asking = std::thread([&] { answer = ask(service_, get("/slow", "")); });
    ::usleep(50'000);
  });
  asking.join();

  EXPECT_EQ(code, 1);
  EXPECT_EQ(answer, "");
  EXPECT_NE(log().find("requests were aborted at the drain deadline"), std::string::npos);
}

TEST_F(Apps, fail_readiness_and_go_on_serving_for_the_delay_of_the_drain) {
  int ready = 0;
  int served = 0;
  std::thread watching;
  const int code = run({"--network.http.drain_delay_sec=0.4"}, [&] {
    watching = std::thread([&] {
      for (int i = 0; i < 1000 && (ready = status_of(ask(admin_, get("/readyz")))) == 200; ++i) ::usleep(1000);
      served = status_of(ask(service_, get("/")));
    });
  });
  watching.join();

  EXPECT_EQ(code, 0);
  EXPECT_EQ(ready, 503);
  EXPECT_EQ(served, 200) << "the listener was open after readiness had failed";
}

TEST_F(Apps, run_their_checks_as_often_as_the_settings_say) {
  // The age is that of the oldest result: with the default of 10 s it would pass 0.3 s.
  EXPECT_EQ(run({"--monitoring.health.check_interval_sec=0.01", "--monitoring.health.disk_free_min=1000000MiB"},
                [&] {
                  ::usleep(300'000);
                  const std::string answer = ask(admin_, get("/readyz"));
                  EXPECT_EQ(status_of(answer), 200);
                  EXPECT_NE(answer.find(R"({"status":"degraded")"), std::string::npos) << answer;
                  const std::size_t at = answer.find(R"("age_sec":)");
                  ASSERT_NE(at, std::string::npos) << answer;
                  EXPECT_LT(std::stod(answer.substr(at + 10)), 0.3) << answer;
                }),
            0);
}

TEST_F(Apps, open_log_files_again_on_sighup) {
  const std::string before = folder_ + "/logs/app.log";
  const int code = run({}, [&] {
    std::filesystem::rename(before, folder_ + "/logs/old.log");
    ::kill(::getpid(), SIGHUP);
    for (int i = 0; i < 1000 && !std::filesystem::exists(before); ++i) ::usleep(1000);
    EXPECT_EQ(status_of(ask(service_, get("/point"))), 200);
  });

  EXPECT_EQ(code, 0);
  EXPECT_NE(log("old.log").find(R"("message":"ready")"), std::string::npos);
  EXPECT_EQ(log("old.log").find(R"("path":"/point")"), std::string::npos);
  EXPECT_NE(log().find(R"("path":"/point")"), std::string::npos);
}

// --- Modules and the start.

TEST_F(Apps, start_modules_before_the_service_listens_and_stop_them_after_the_last_answer) {
  std::atomic<int> answered_in_start = -1;
  std::atomic<int> answered_in_stop = -1;
  std::atomic<bool> stopped = false;
  prepare = [&](App& app) {
    app.module({.name = "cache",
                .needs = {"workers"},
                .start = [&]() -> Result<> {
                  answered_in_start = status_of(ask(service_, get("/")));
                  return {};
                },
                .stop =
                    [&] {
                      answered_in_stop = status_of(ask(service_, get("/")));
                      stopped = true;
                    }});
  };

  const int code = run({}, [&] {
    EXPECT_EQ(status_of(ask(service_, get("/"))), 200);
    EXPECT_FALSE(stopped);
  });

  EXPECT_EQ(code, 0);
  EXPECT_EQ(answered_in_start, 0) << "nobody listens yet";
  EXPECT_EQ(answered_in_stop, 0) << "nobody listens any more";
  EXPECT_TRUE(stopped);
}

TEST_F(Apps, tell_the_supervisor_each_step) {
  Supervisor supervisor(true);
  ::setenv("WATCHDOG_USEC", "300000", 1);
  std::vector<std::string> in_start;
  std::atomic<int> beats = 0;
  prepare = [&](App& app) {
    app.module({.name = "cache", .start = [&]() -> Result<> {
                  for (std::string one; !(one = supervisor.next(50)).empty();) in_start.push_back(one);
                  return {};
                }});
  };

  const int code = run({}, [&] {
    std::string one;
    for (int i = 0; i < 10 && !(one = supervisor.next()).starts_with("READY=1\n"); ++i) beats += one == "WATCHDOG=1";
    EXPECT_EQ(beats, 0) << "before it is ready nobody counts";
    EXPECT_EQ(one, "READY=1\nSTATUS=serving on " + service_.to_string());
    EXPECT_EQ(status_of(ask(service_, get("/"))), 200);
    EXPECT_EQ(supervisor.next(), "WATCHDOG=1");
    EXPECT_EQ(supervisor.next(), "WATCHDOG=1");
    ::kill(::getpid(), SIGHUP);
    while ((one = supervisor.next()) == "WATCHDOG=1") {
    }
    EXPECT_TRUE(one.starts_with("RELOADING=1\nMONOTONIC_USEC=")) << one;
    EXPECT_EQ(supervisor.next(), "READY=1\nSTATUS=serving on " + service_.to_string());
  });
  ::unsetenv("WATCHDOG_USEC");

  EXPECT_EQ(code, 0);
  ASSERT_FALSE(in_start.empty());
  for (const std::string& one : in_start) EXPECT_EQ(one, "EXTEND_TIMEOUT_USEC=60000000");
  std::string one;
  while ((one = supervisor.next(100)) == "WATCHDOG=1") {
  }
  EXPECT_EQ(one, "STOPPING=1\nSTATUS=draining");
  EXPECT_EQ(supervisor.next(100), "EXTEND_TIMEOUT_USEC=45000000");
}

TEST_F(Apps, end_with_0_when_a_signal_comes_while_a_module_starts) {
  std::vector<std::string> events;
  prepare = [&](App& app) {
    app.module({.name = "first",
                .start = [&]() -> Result<> {
                  events.push_back("+first");
                  return {};
                },
                .stop = [&] { events.push_back("-first"); }});
    app.module({.name = "slow",
                .needs = {"first"},
                .start = [&]() -> Result<> {
                  events.push_back("+slow");
                  ::kill(::getpid(), SIGTERM);
                  Host::system().sleep(50_ms);
                  return {};
                },
                .stop = [&] { events.push_back("-slow"); }});
    app.module({.name = "never", .needs = {"slow"}, .start = [&]() -> Result<> {
                  events.push_back("+never");
                  return {};
                }});
  };

  EXPECT_EQ(run_interrupted(), 0);

  EXPECT_EQ(events, (std::vector<std::string>{"+first", "+slow", "-slow", "-first"}));
  EXPECT_NE(log().find(R"("message":"stopped during the start","signal":"SIGTERM")"), std::string::npos) << log();
  EXPECT_EQ(log().find(R"("message":"ready")"), std::string::npos);
}

TEST_F(Apps, start_nothing_more_when_a_signal_has_come_before_run) {
  prepare = [&](App& app) {
    app.module({.name = "late", .start = []() -> Result<> {
                  ADD_FAILURE() << "a signal has come";
                  return {};
                }});
    ::kill(::getpid(), SIGINT);
  };

  EXPECT_EQ(run_interrupted(), 0);

  EXPECT_NE(log().find(R"("signal":"SIGINT")"), std::string::npos) << log();
}

// What a leak would raise.
struct Held {
  double descriptors = telemetry::process_open_descriptors();
  double resident = telemetry::process_resident_bytes();
  double heap = [] {
    const struct mallinfo2 info = ::mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
  }();
};

TEST_F(Apps, start_and_stop_a_thousand_times_without_holding_more) {
  // Freed memory is kept aside under sanitizers; LeakSanitizer looks at the end instead, after a tenth of the way.
  constexpr int cycles = KEEL_SANITIZED ? 100 : 1000;
  constexpr int warm = cycles / 5;
  Supervisor supervisor(true);
  told = &supervisor;
  prepare = [](App& app) {
    app.database();
    app.pool("images");
    app.module({.name = "cache", .needs = {"database"}, .start = [] { return Result<>(); }, .stop = [] {}});
  };
  // A Unix socket: stopping does not wait for those whose connections are on their way.
  const std::vector<std::string> flags = {"--network.http.address=unix:" + folder_ + "/app.sock",
                                          "--database.path=" + folder_ + "/app.db",
                                          "--database.migrations=", "--database.synchronous=off"};
  Held before;

  for (int i = 0; i < cycles && !HasFailure(); ++i) {
    if (i == warm) before = Held();
    ASSERT_EQ(run(flags, [&] { EXPECT_EQ(status_of(ask(service_, get("/"))), 200); }), 0) << i;
  }
  const Held after;

  EXPECT_EQ(after.descriptors, before.descriptors);
  std::printf("after %d cycles: %.3f MB of heap, %.1f MB resident; after %d: %.3f MB, %.1f MB\n", warm,
              before.heap / 1e6, before.resident / 1e6, cycles, after.heap / 1e6, after.resident / 1e6);
  if (!KEEL_SANITIZED) {
    EXPECT_LT(after.heap - before.heap, 50e3);
    EXPECT_LT(after.resident - before.resident, 2e6) << "the heap's arenas differ from one time to the other";
  }
}

TEST_F(Apps, give_a_pool_that_is_not_configured_a_thread_for_each_cpu_whatever_the_workers_are) {
  cpu_set_t usable;
  ASSERT_EQ(sched_getaffinity(0, sizeof usable, &usable), 0);
  int threads = 0;
  prepare = [&](App& app) { threads = app.pool("images").threads(); };

  EXPECT_EQ(run({"--network.workers=3"}, [] {}), 0);

  EXPECT_EQ(threads, CPU_COUNT(&usable));
}

TEST_F(Apps, log_a_handler_that_stalls_its_worker) {
  const int code = run({"--monitoring.stall_ms=20"}, [&] { EXPECT_EQ(status_of(ask(service_, get("/stall"))), 200); });

  EXPECT_EQ(code, 0);
  EXPECT_NE(log().find(R"("message":"worker stalled","worker":0,)"), std::string::npos) << log();
  EXPECT_NE(log().find(R"("method":"GET","path":"/stall","stack":")"), std::string::npos) << log();
  EXPECT_NE(log().find("::stall(keel::http::Request&)"), std::string::npos) << log();
}

TEST_F(Apps, log_where_every_worker_is_on_sigquit) {
  const int code = run({"--network.workers=2"}, [&] {
    // Again on a machine so busy that a worker has not answered in time.
    for (int i = 0; i < 1000 && log().find(R"("message":"tasks","worker":1,"responds":true,)") == std::string::npos;
         ++i) {
      if (i % 50 == 0) ::kill(::getpid(), SIGQUIT);
      ::usleep(5000);
    }
    EXPECT_EQ(status_of(ask(service_, get("/point"))), 200);
  });

  EXPECT_EQ(code, 0);
  EXPECT_NE(log().find(R"("message":"worker","worker":0,)"), std::string::npos) << log();
#if !KEEL_THREAD_SANITIZER  // Which holds signals back, and gives another stack.
  EXPECT_NE(log().find("keel::io::Loop::turn"), std::string::npos) << log();
#endif
  EXPECT_NE(log().find(R"("message":"tasks","worker":1,"responds":true,"live":)"), std::string::npos) << log();
}

TEST_F(Apps, do_not_watch_for_stalls_when_told_so) {
  const int code = run({"--monitoring.stall_ms=0"}, [&] { EXPECT_EQ(status_of(ask(service_, get("/stall"))), 200); });

  EXPECT_EQ(code, 0);
  EXPECT_EQ(log().find("worker stalled"), std::string::npos) << log();
}

// --- Each setting of network.http, seen from outside.

TEST_F(Apps, limit_what_the_settings_say) {
  const std::string post = "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ";
  const int code =
      run({"--network.http.max_body=16B", "--network.http.max_request_line=128B", "--network.http.max_header=512B",
           "--network.http.max_header_line=128B", "--network.http.max_header_count=8",
           "--network.http.header_timeout_sec=0.05", "--network.http.body_timeout_sec=0.06",
           "--network.http.idle_timeout_sec=0.07", "--network.http.request_timeout_sec=0.04"},
          [&] {
            EXPECT_EQ(status_of(ask(service_, post + "16\r\n\r\n0123456789abcdef")), 200);
            EXPECT_EQ(status_of(ask(service_, post + "17\r\n\r\n0123456789abcdefg")), 413);
            EXPECT_EQ(status_of(ask(service_, get("/" + std::string(40, 'x')))), 404);
            EXPECT_EQ(status_of(ask(service_, get("/" + std::string(128, 'x')))), 414);
            EXPECT_EQ(status_of(ask(service_, get("/", "X: " + std::string(128, 'x') + "\r\n"))), 431);
            std::string many = "Connection: close\r\n";
            for (int i = 0; i < 6; ++i) many += "X: y\r\n";
            EXPECT_EQ(status_of(ask(service_, get("/", many))), 200) << "eight with Host";
            EXPECT_EQ(status_of(ask(service_, get("/", many + "X: y\r\n"))), 431);
            std::string long_ones;
            for (int i = 0; i < 5; ++i) long_ones += "X: " + std::string(100, 'x') + "\r\n";
            EXPECT_EQ(status_of(ask(service_, get("/", long_ones))), 431);
            EXPECT_EQ(status_of(ask(service_, "GET / HT")), 408);
            EXPECT_EQ(status_of(ask(service_, post + "2\r\n\r\n{")), 408);
            EXPECT_EQ(status_of(ask(service_, get("/slow"))), 504);
            EXPECT_EQ(occurrences(ask(service_, get("/", "")), "HTTP/1.1 200"), 1) << "idle, then closed";
          });

  EXPECT_EQ(code, 0);
}

TEST_F(Apps, bound_memory_as_the_settings_say_and_show_each_bound) {
  prepare = [](App& app) {
    app.database();
    app.pool("images");
  };
  const int code = run(
      {"--network.http.max_body=48KiB", "--network.http.max_body_memory=64KiB",
       "--network.http.max_request_memory=64KiB", "--network.http.max_connections=77", "--database.queue_max=55",
       "--database.migrations=", "--database.path=" + folder_ + "/app.db"},
      [&] {
        const std::string body(40'000, 'b');
        const std::string post = "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 40000\r\n\r\n";
        const Open half(service_, post + body.substr(1));
        std::string refused;
        for (int i = 0; i < 1000 && status_of(refused = ask(service_, post + body)) == 200; ++i) ::usleep(1000);
        EXPECT_EQ(status_of(refused), 503) << "another body is held";
        EXPECT_NE(refused.find("\r\nRetry-After: 1\r\n"), std::string::npos) << refused;
        EXPECT_EQ(status_of(ask(service_, get("/hungry"))), 503);
        const std::string metrics = ask(admin_, get("/metrics"));
        for (const char* line :
             {"http_connections_max{server=\"http\"} 77", "http_body_bytes_max{server=\"http\"} 65536",
              "http_bodies_refused_total{server=\"http\"} 1", "http_requests_too_big_total{server=\"http\"} 1",
              "http_accept_pauses_total{server=\"http\",reason=\"limit\"} 0",
              "http_accept_pauses_total{server=\"http\",reason=\"descriptors\"} 0", "db_writes_queued_max 55",
              "db_reads_queued_max 1024", "pool_queued_max{pool=\"images\"} 10000",
              "pool_refused_total{pool=\"images\"} 0"}) {
          EXPECT_NE(metrics.find(std::string("\n") + line + "\n"), std::string::npos) << line << "\n" << metrics;
        }
      });

  EXPECT_EQ(code, 0);
}

TEST_F(Apps, warn_when_there_are_fewer_descriptors_than_connections_may_need) {
  EXPECT_EQ(run({"--network.http.max_connections=10000000"}, [] {}), 0);
  EXPECT_NE(log().find(R"("message":"the limit of file descriptors is too low for network.http.max_connections)"),
            std::string::npos)
      << log();
  // One worker: max_connections for the only listener, none for messages, and 144 others.
  EXPECT_NE(log().find(R"("needed":10000144,"listeners":1,"max_connections":10000000,"message_connections":0,)"),
            std::string::npos)
      << log();

  std::filesystem::remove(folder_ + "/logs/app.log");
  EXPECT_EQ(run({"--network.http.max_connections=10"}, [] {}), 0);
  EXPECT_EQ(log().find("the limit of file descriptors is too low"), std::string::npos);
}

TEST_F(Apps, close_after_as_many_requests_as_the_settings_say) {
  const std::string three = get("/", "") + get("/", "") + get("/", "");
  EXPECT_EQ(run({"--network.http.max_requests_per_connection=2"},
                [&] { EXPECT_EQ(occurrences(ask(service_, three), "HTTP/1.1 200"), 2); }),
            0);
  EXPECT_EQ(run({"--network.http.keep_alive=false"},
                [&] { EXPECT_EQ(occurrences(ask(service_, three), "HTTP/1.1 200"), 1); }),
            0);
}

TEST_F(Apps, log_requests_only_when_asked_to) {
  const auto one = [&] { EXPECT_EQ(status_of(ask(service_, get("/"))), 200); };

  EXPECT_EQ(run({"--network.http.access_log=false"}, one), 0);
  EXPECT_EQ(occurrences(log(), R"("message":"request")"), 0);
  EXPECT_EQ(occurrences(log(), R"("message":"stopped")"), 1);

  EXPECT_EQ(run({}, one), 0);
  EXPECT_EQ(occurrences(log(), R"("message":"request")"), 1);

  std::filesystem::remove(folder_ + "/logs/app.log");
  EXPECT_EQ(run({"--logging.enabled=false"}, one), 0);
  EXPECT_EQ(log(), "");
}

TEST_F(Apps, write_json_for_people_when_asked_to) {
  EXPECT_EQ(run({"--container.json.pretty_print=true"},
                [&] { EXPECT_TRUE(ask(service_, get("/point")).ends_with("{\n  \"x\": 7\n}")); }),
            0);
  EXPECT_EQ(run({}, [&] { EXPECT_TRUE(ask(service_, get("/point")).ends_with("{\"x\":7}")); }), 0);
}

// --- Ends of the process.

class AppDeathTest : public ::testing::Test {
 protected:
  AppDeathTest() { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  static void load(std::vector<std::string> words) {
    ::clearenv();
    std::fflush(stdout);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);  // Death tests look at standard error.
    words.insert(words.begin(), "test");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const auto loaded = load_or_exit({"test", "1.4.2"}, static_cast<int>(words.size()), argv.data());
    std::fprintf(stderr, "loaded: %d from %s\n", loaded->network.http.port,
                 std::string(loaded.origins().of("network.http.port")).c_str());
    ::_exit(7);
  }
  static Settings quiet() {
    Settings settings;
    settings.network.runtime.workers = 1;
    settings.logging.enabled = false;
    return settings;
  }
};

TEST_F(AppDeathTest, load_or_exit_goes_on_with_what_is_right) {
  EXPECT_EXIT(load({"--network.http.port=81"}), ::testing::ExitedWithCode(7),
              "^loaded: 81 from --network.http.port\n$");
}

TEST_F(AppDeathTest, load_or_exit_answers_questions_with_0) {
  EXPECT_EXIT(load({"--help"}), ::testing::ExitedWithCode(0), "network.http.port");
  EXPECT_EXIT(load({"-h", "--network.http.prot=1"}), ::testing::ExitedWithCode(0), "network.http.port");
  EXPECT_EXIT(load({"--print-config", "--network.http.port=81"}), ::testing::ExitedWithCode(0),
              "port: 81 +# --network.http.port");
  EXPECT_EXIT(load({"--check-config"}), ::testing::ExitedWithCode(0), "^the configuration is valid\n$");
  EXPECT_EXIT(load({"--version"}), ::testing::ExitedWithCode(0),
              "^test 1\\.4\\.2 \\(Keel [0-9.]+, [A-Z][A-Za-z]+ [0-9.]+\\)\n$");
}

TEST_F(AppDeathTest, load_or_exit_ends_with_1_where_its_answer_cannot_be_written) {
  const auto to_full = [](const char* question) {
    char* const argv[] = {const_cast<char*>("test"), const_cast<char*>(question), nullptr};
    const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
    ::dup2(full, STDOUT_FILENO);
    load_or_exit("test", 2, const_cast<char**>(argv));
    ::_exit(7);
  };

  for (const char* const question : {"--help", "--version", "--print-config", "--check-config"}) {
    EXPECT_EXIT(to_full(question), ::testing::ExitedWithCode(1), "^test: standard output: No space left on device\n$")
        << question;
  }
}

TEST_F(AppDeathTest, load_or_exit_ends_with_2_and_a_line_for_each_mistake) {
  EXPECT_EXIT(load({"--network.http.prot=1", "--thread.pool_size=many"}), ::testing::ExitedWithCode(2),
              "^test: --network.http.prot: unknown key; did you mean --network.http.port\\?\n"
              "test: --thread.pool_size: \"many\" is not an integer: [^\n]*\n$");
  EXPECT_EXIT(load({"--check-config", "--frob"}), ::testing::ExitedWithCode(2),
              "^test: --frob: unknown option: --help lists all\n$");
}

TEST_F(AppDeathTest, what_prevents_the_start_is_one_line_and_1) {
  const auto fail = [] {
    config::Reloadable<Settings> config(quiet());
    App app("test", config);
    app.fail_start(Error(Code::Unavailable, "the moon is down").because("starting"));
  };
  const auto no_database = [] {
    Settings settings = quiet();
    settings.database.path = "/dev/null/app.db";
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    app.database();
  };
  const auto no_log = [] {
    Settings settings = quiet();
    settings.logging.enabled = true;
    settings.logging.sinks[0].to = telemetry::LogSink::To::File;
    settings.logging.sinks[0].path = "/dev/null/app.log";
    config::Reloadable<Settings> config(settings);
    App app("test", config);
  };

  const auto misconfigured = [] {
    config::Reloadable<Settings> config(quiet());
    App app("test", config);
    try {
      throw Misconfigured("the key of \"ops\" is empty");
    } catch (...) {
      std::terminate();  // As for an exception that main() does not catch, which GoogleTest would.
    }
  };
  if (!KEEL_THREAD_SANITIZER) {  // It replaces the status of a process that ends before its threads were joined.
    EXPECT_EXIT(misconfigured(), ::testing::ExitedWithCode(2), "^test: the key of \"ops\" is empty\n$");
  }
  EXPECT_EXIT(fail(), ::testing::ExitedWithCode(1), "^test: starting: the moon is down\n$");
  EXPECT_EXIT(no_database(), ::testing::ExitedWithCode(1),
              "^test: database.path: creating the folder '/dev/null'[^\n]*\n$");
  EXPECT_EXIT(no_log(), ::testing::ExitedWithCode(1), "^test: logging.sinks: creating the folder '/dev/null'[^\n]*\n$");
}

TEST_F(AppDeathTest, a_module_that_does_not_start_is_one_line_and_1) {
  const auto failing = [] {
    Settings settings = quiet();
    settings.network.http.port = 0;
    settings.monitoring.enabled = false;
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    http::Router router;
    app.serve(router);
    app.module({.name = "store",
                .start = [] { return Result<>(); },
                .stop = [] { std::fprintf(stderr, "the store is closed\n"); }});
    app.module({.name = "mail", .needs = {"store"}, .start = []() -> Result<> {
                  return fail(Code::Unavailable, "no mail today");
                }});
    app.run();
  };
  const auto slow = [] {
    Settings settings = quiet();
    settings.common.stop_timeout = 20_ms;
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    app.module({.name = "mail",
                .start = []() -> Result<> {
                  Host::system().sleep(60_s);
                  return {};
                },
                .start_timeout = 30_ms});
    app.run();
  };
  const auto slow_as_configured = [] {
    Settings settings = quiet();
    settings.monitoring.enabled = false;
    settings.common.start_timeout = 500_ms;
    settings.common.stop_timeout = 20_ms;
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    app.module({.name = "mail", .start = []() -> Result<> {
                  Host::system().sleep(60_s);
                  return {};
                }});
    app.run();
  };
  const auto circle = [] {
    const Settings settings = quiet();
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    app.module({.name = "a", .needs = {"b"}, .start = [] { return Result<>(); }});
    app.module({.name = "b", .needs = {"a"}, .start = [] { return Result<>(); }});
    app.run();
  };

  EXPECT_EXIT(
      failing(), ::testing::ExitedWithCode(1),
      "^the store is closed\ntest: no mail today \\(module \"mail\" failed after [0-9.]+ ms; \"http\" waited for "
      "it\\)\n$");
  EXPECT_EXIT(slow(), ::testing::ExitedWithCode(1), "^test: module \"mail\" did not start within 30 ms[^\n]*\n$");
  EXPECT_EXIT(slow_as_configured(), ::testing::ExitedWithCode(1),
              "^test: module \"mail\" did not start within 500 ms[^\n]*\n$");
  EXPECT_EXIT(circle(), ::testing::ExitedWithCode(1),
              "^test: modules depend on each other in a cycle: \"a\" needs \"b\" needs \"a\"\n$");
}

TEST_F(AppDeathTest, a_module_that_does_not_stop_does_not_hold_the_end_up) {
  const auto stuck = [] {
    Settings settings = quiet();
    settings.monitoring.enabled = false;
    settings.common.stop_timeout = 50_ms;
    settings.network.http.drain_timeout = Duration();
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    app.module({.name = "mail", .start = [] { return Result<>(); }, .stop = [] { Host::system().sleep(60_s); }});
    std::thread([&app] {
      for (Buffer body; !app.health().ready(body);) Host::system().sleep(1_ms);
      ::kill(::getpid(), SIGTERM);
    }).detach();
    app.run();
  };

  EXPECT_EXIT(
      stuck(), ::testing::ExitedWithCode(1),
      "test: module \"mail\" was still stopping after 0\\.[0-9] s; the process exits without waiting for it\n$");
}

TEST_F(AppDeathTest, a_signal_while_main_waits_for_a_part_ends_it_with_0) {
  const auto interrupted = [] {
    const Settings settings = quiet();
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    app.module({.name = "slow",
                .start = []() -> Result<> {
                  ::kill(::getpid(), SIGTERM);
                  Host::system().sleep(50_ms);
                  return {};
                },
                .stop = [] { std::fprintf(stderr, "stopped what was slow\n"); },
                .lazy = true});
    app.ensure("slow");
    std::fprintf(stderr, "never said\n");
    ::_exit(3);
  };

  EXPECT_EXIT(interrupted(), ::testing::ExitedWithCode(0), "^stopped what was slow\n$");
}

TEST_F(AppDeathTest, a_signal_while_a_start_waits_for_a_part_ends_it_with_0) {
  const auto interrupted = [] {
    Settings settings = quiet();
    settings.monitoring.enabled = false;
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    app.module({.name = "first", .stop = [] { std::fprintf(stderr, "stopped the first\n"); }});
    app.module({.name = "slow",
                .start = []() -> Result<> {
                  ::kill(::getpid(), SIGTERM);
                  Host::system().sleep(200_ms);
                  return {};
                },
                .lazy = true});
    app.module({.name = "user", .needs = {"first"}, .start = [&]() -> Result<> {
                  app.ensure("slow");
                  return {};
                }});
    ::_exit(app.run());
  };

  EXPECT_EXIT(interrupted(), ::testing::ExitedWithCode(0), "^stopped the first\n$");
}

TEST_F(AppDeathTest, a_part_that_fails_within_a_start_ends_it_as_a_module_does) {
  const auto broken = [](auto start) {
    Settings settings = quiet();
    settings.monitoring.enabled = false;
    settings.database.path = "/dev/null/app.db";
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    app.module({.name = "first", .stop = [] { std::fprintf(stderr, "stopped the first\n"); }});
    app.module({.name = "user", .needs = {"first"}, .start = [&]() -> Result<> {
                  start(app);
                  return {};
                }});
    app.run();
  };

  EXPECT_EXIT(broken([](App& app) { app.database(); }), ::testing::ExitedWithCode(1),
              "^stopped the first\ntest: database.path: creating the folder '/dev/null'[^\n]*\n$");
  EXPECT_EXIT(broken([](App& app) { app.fail_start(Error(Code::Unavailable, "the moon is down")); }),
              ::testing::ExitedWithCode(1),
              "^stopped the first\ntest: the moon is down \\(module \"user\" failed after [0-9.]+ ms\\)\n$");
}

TEST_F(AppDeathTest, an_address_that_is_not_one_is_a_mistake_in_the_configuration) {
  const auto serve = [] {
    Settings settings = quiet();
    settings.network.http.address = "nowhere";
    config::Reloadable<Settings> config(settings);
    App app("test", config);
    http::Router router;
    app.serve(router);
  };

  EXPECT_EXIT(serve(), ::testing::ExitedWithCode(2), "^test: network.http.address: [^\n]*\n$");
}

}  // namespace
}  // namespace keel::app::app_test
