// SIGHUP: the real program takes over what changed in its file, or nothing at all, and responds to every request
// meanwhile.

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <vector>

#include "client.h"
#include "service.h"

namespace e2e::reload_test {
namespace {

using namespace keel;

class Reload : public ::testing::Test {
 protected:
  void start(const std::string& yaml) {
    write(yaml);
    std::vector<std::string> flags = usual_flags(folder_);
    // The log is the file's business here.
    std::erase_if(flags, [](const std::string& flag) { return flag.starts_with("--logging."); });
    flags.push_back("--config=" + file());
    service_ = std::make_unique<Service>(flags, std::vector<std::string>());
    ASSERT_TRUE(service_->is_ready()) << service_->errors();
  }
  std::string file() const { return folder_ / "service.yaml"; }
  void write(const std::string& yaml) const { folder_.write("service.yaml", yaml); }
  std::string sink() const { return "logging: {sinks: [{type: file, path: '" + folder_ / "service.log" + "'}]}\n"; }
  std::string log() const { return read_file(folder_ / "service.log"); }

  // The value behind `name` in the metrics; -1: none.
  double metric(const std::string& name) const {
    const std::string text = call(service_->admin(), "GET", "/metrics").body;
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
  }
  double reloads() const {
    return metric("config_reloads_total{result=\"ok\"}") + metric("config_reloads_total{result=\"failed\"}");
  }
  // Writes the file, sends SIGHUP, and waits until the service has dealt with it.
  void reload(const std::string& yaml) {
    const double before = reloads();
    write(yaml);
    service_->signal(SIGHUP);
    for (int i = 0; i < 2000 && reloads() == before; ++i) pause();
    ASSERT_EQ(reloads(), before + 1);
  }
  // Whether the log has a line with `what`, soon.
  bool is_told(const std::string& what) const {
    for (int i = 0; i < 1000; ++i) {
      if (log().find(what) != std::string::npos) return true;
      pause();
    }
    return false;
  }
  int status_of_body(std::size_t bytes) const {
    return call(service_->address(), "POST", "/api/data", "{\"a\":\"" + std::string(bytes - 8, 'a') + "\"}").status;
  }
  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

  Folder folder_;
  std::unique_ptr<Service> service_;
};

TEST_F(Reload, of_a_bad_file_changes_nothing_and_says_why_with_file_and_line) {
  const std::string good = sink() + "network: {http: {max_body: 1KiB}}\n";
  start(good);
  ASSERT_EQ(status_of_body(1000), 201);

  const struct {
    const char* yaml;
    const char* line;
    const char* problem;
  } rows[] = {
      {"common:\n  log_level: error\nnetwork:\n  http:\n    max_body: 10B\n    max_bdy: 1B\n",
       ":6: ", "network.http.max_bdy: unknown key; did you mean network.http.max_body?"},
      {"common:\n  log_level: error\nnetwork:\n  http:\n    max_body: 10\n",
       ":5: ", "network.http.max_body: 10 has no unit"},
      {"common:\n  log_level: loud\n",
       ":2: ", "common.log_level: \\\"loud\\\" is not known: expected one of trace, debug"},
      {"common:\n  log_level: [error\n", ":2: ", "is not valid YAML: [ is not closed"},
  };
  for (const auto& row : rows) {
    reload(row.yaml);
    EXPECT_TRUE(
        is_told("\"level\":\"error\",\"component\":\"app\",\"message\":\"the configuration was not reloaded; nothing "
                "has changed\",\"problem\":\"" +
                file() + row.line + row.problem))
        << row.yaml << log();
    EXPECT_EQ(status_of_body(1000), 201) << row.yaml;
    EXPECT_EQ(metric("config_last_reload_successful"), 0);
  }
  std::filesystem::remove(file());
  service_->signal(SIGHUP);
  EXPECT_TRUE(is_told(file() + ": cannot be opened: No such file or directory")) << log();

  reload(good);
  EXPECT_EQ(metric("config_last_reload_successful"), 1);
  EXPECT_EQ(metric("config_reloads_total{result=\"failed\"}"), 5);
  EXPECT_EQ(service_->stop(), 0) << service_->errors();
}

TEST_F(Reload, under_load_changes_level_and_limits_without_failing_a_request) {
  start(sink());
  std::atomic<bool> enough = false;
  std::atomic<int> answered = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([&] {
      while (!enough) {
        Connection connection(service_->address());
        for (int n = 0; n < 20 && !enough; ++n) {
          const bool sent = connection.send(request("GET", "/api/users/1")) &&
                            connection.send(request("POST", "/api/data", "{\"a\":1}"));
          const auto read = sent ? connection.receive() : std::nullopt;
          const auto written = read ? connection.receive() : std::nullopt;
          if (read && read->status == 200 && written && written->status == 201) {
            ++answered;
          } else {
            ++failed;
            return;
          }
        }
      }
    });
  }
  for (int i = 0; i < 12; ++i) {
    const bool even = i % 2 == 0;
    reload(sink() + (even ? "common: {log_level: debug}\nnetwork: {http: {max_body: 100B, max_connections: 2}}\n"
                          : "common: {log_level: warn}\nnetwork: {http: {max_body: 1KiB, idle_timeout_sec: 5}}\n"));
    EXPECT_EQ(status_of_body(200), even ? 413 : 201);
  }
  enough = true;
  for (std::thread& client : clients) client.join();

  EXPECT_EQ(failed, 0);
  EXPECT_GT(answered, 0);
  EXPECT_EQ(metric("config_reloads_total{result=\"ok\"}"), 12);
  EXPECT_TRUE(is_told(R"("message":"setting changed","key":"common.log_level","before":"info","now":"debug")"));
  EXPECT_TRUE(is_told(R"("key":"common.log_level","before":"debug","now":"warn","origin":")" + file() + ":2\""));
  std::printf("%d pairs of requests while 12 reloads changed their limits\n", answered.load());
  EXPECT_EQ(service_->stop(), 0) << service_->errors();
}

TEST_F(Reload, that_cannot_be_applied_is_rolled_back) {
  start(sink() + "network: {http: {max_body: 1KiB}}\n");

  reload("logging: {sinks: [{type: file, path: '" + folder_ / "service.log" + "/x.log'}]}\n" +
         "network: {http: {max_body: 100B}}\n");

  EXPECT_TRUE(is_told(R"("problem":"logging.sinks: creating the folder ')")) << log();
  EXPECT_EQ(status_of_body(1000), 201);
  const std::string page = call(service_->admin(), "GET", "/admin/config").body;
  EXPECT_NE(page.find("    max_body: 1KiB                        # " + file() + ":2, reloadable\n"), std::string::npos)
      << page;
  EXPECT_EQ(service_->stop(), 0) << service_->errors();
}

TEST_F(Reload, says_what_needs_a_restart_and_applies_the_rest) {
  start(sink());

  reload("database: {pool_size: 3}\n" + sink() + "network: {http: {max_body: 100B, port: 1}}\n");

  // The port is given by a flag, which wins over the file.
  EXPECT_TRUE(is_told(
      R"("message":"a changed setting needs a restart","key":"database.pool_size","now":"2","after_restart":"3",)"
      R"("origin":")" +
      file() + ":1\""))
      << log();
  EXPECT_EQ(log().find("\"key\":\"network.http.port\""), std::string::npos) << log();
  EXPECT_EQ(status_of_body(1000), 413);
  const Reply page = call(service_->admin(), "GET", "/admin/config");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.field("Content-Type"), "application/yaml");
  EXPECT_TRUE(page.body.starts_with("# database.pool_size waits for a restart: 3 (" + file() + ":1)\n")) << page.body;

  // What the page shows is a configuration.
  folder_.write("page.yaml", page.body);
  Service again({"--config=" + folder_ / "page.yaml", "--check-config"}, {});
  EXPECT_EQ(again.wait(10_s), 0) << again.errors();
  EXPECT_EQ(service_->stop(), 0) << service_->errors();
}

TEST_F(Reload, templates_of_the_examples_are_good_configurations) {
  for (const char* name : {"high-throughput", "database-heavy", "low-latency"}) {
    Service service({std::string("--config=" KEEL_E2E_EXAMPLES "/config/") + name + ".yaml", "--check-config"}, {});
    EXPECT_EQ(service.wait(10_s), 0) << service.errors();
    EXPECT_EQ(service.output(), "the configuration is valid\n");
  }
}

}  // namespace
}  // namespace e2e::reload_test
