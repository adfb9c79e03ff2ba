// The program as its users meet it: exit codes, what it says, and where.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "keel/http/server/server.h"
#include "keel/io/runtime.h"
#include "keel/net/tls/layer.h"
#include "keel/net/tls/testing/certificates.h"
#include "testing.h"

namespace keel::load::load_command_test {
namespace {

using testing::Ran;

Ran run(const std::string& arguments) { return testing::run(KEEL_PROGRAM " " + arguments); }

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

http::Response hello(http::Request&) { return http::Response::text(http::Status::Ok, "Hello, World!"); }

class CommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime_ = *io::Runtime::make({.workers = 1});
    ASSERT_TRUE(runtime_->start());
    router_.get("/hello", hello);
    http::ServerOptions options;
    options.address = *Address::parse("127.0.0.1:0");
    options.access_log = false;
    server_ = std::make_unique<http::Server>(router_, options);
    ASSERT_TRUE(server_->start(*runtime_));
    url_ = "http://" + server_->address().to_string() + "/";
  }
  void TearDown() override { server_->stop(); }

  http::Router router_;
  std::unique_ptr<io::Runtime> runtime_;
  std::unique_ptr<http::Server> server_;
  std::string url_;
};

TEST_F(CommandTest, a_good_run_ends_with_0_and_a_report) {
  const std::string json = ::testing::TempDir() + "keel_load_" + std::to_string(getpid()) + ".json";

  const Ran ran = run("load " + url_ + "hello --expect-body 'Hello, World!' --duration 200ms --warmup 0s --json " +
                      json + " --server-pid " + std::to_string(getpid()));

  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_NE(ran.out.find("closed loop, 64 connections"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("errors    none"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("us CPU per request"), std::string::npos) << ran.out;
  const std::string text = read(json);
  EXPECT_NE(text.find("\"complete\": true"), std::string::npos) << text;
  std::remove(json.c_str());
}

TEST_F(CommandTest, asks_a_server_by_https_that_proves_who_it_is) {
  tls::testing::Authority authority("Test Root");
  const tls::ServerOptions secure = {.certificates = {authority.issue({.addresses = {"127.0.0.1"}})}};
  tls::Layers layers(tls::ServerContext::make(secure).value());
  http::ServerOptions options;
  options.address = *Address::parse("127.0.0.1:0");
  options.access_log = false;
  options.https = &layers;
  http::Server server(router_, options);
  ASSERT_TRUE(server.start(*runtime_));
  const std::string roots = ::testing::TempDir() + "keel_load_" + std::to_string(getpid()) + ".pem";
  std::ofstream(roots) << authority.pem();
  const std::string asked = "load https://" + server.address().to_string() +
                            "/hello --expect-body 'Hello, World!' --duration 500ms --warmup 0s --connections 4";

  const Ran good = run(asked + " --churn 3 --roots " + roots);
  EXPECT_EQ(good.code, 0) << good.out;
  EXPECT_NE(good.out.find("errors    none"), std::string::npos) << good.out;
  EXPECT_GT(server.stats().accepted, 5u);
  // Before the run it only connects, and at its end each of the four may be in a handshake.
  const auto cut = server.stats().handshakes_failed;
  EXPECT_GE(cut, 1u);
  EXPECT_LE(cut, 5u);
  const Ran unbelieving = run(asked);
  EXPECT_EQ(unbelieving.code, 1) << unbelieving.out;
  EXPECT_NE(unbelieving.out.find("the first connection that failed: "), std::string::npos) << unbelieving.out;
  EXPECT_NE(unbelieving.out.find("has an unknown issuer"), std::string::npos) << unbelieving.out;
  EXPECT_GT(server.stats().handshakes_failed, cut + 1);
  const Ran unreadable = run(asked + " --roots no/such/file");
  EXPECT_EQ(unreadable.code, 2) << unreadable.out;
  EXPECT_NE(unreadable.out.find("'no/such/file': open: No such file"), std::string::npos) << unreadable.out;
  std::remove(roots.c_str());
  server.stop();
}

TEST_F(CommandTest, wrong_answers_end_with_1) {
  const Ran ran = run("load " + url_ + "nothing --duration 1s --warmup 0s");

  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_NE(ran.out.find("4xx"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("status"), std::string::npos) << ran.out;
}

TEST_F(CommandTest, steps_are_measured_one_by_one) {
  const Ran ran = run("load " + url_ + "hello --steps 50,100 --capacity 500 --duration 200ms --warmup 0s --json -");

  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_NE(ran.out.find("\"step\": 0.5"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\"step\": 1"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\"capacity\": 500"), std::string::npos) << ran.out;
}

TEST_F(CommandTest, a_report_that_cannot_be_written_is_told_before_the_run) {
  const Ran ran = run("load " + url_ + "hello --duration 1h --json /no/such/folder/report.json");

  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(ran.out.starts_with("keel load: --json /no/such/folder/report.json: ")) << ran.out;
  EXPECT_EQ(ran.out.find('\n'), ran.out.size() - 1) << ran.out;
}

TEST_F(CommandTest, a_run_in_which_nothing_was_due_is_no_good_one) {
  const Ran ran = run("load " + url_ + "hello --rate 0.5 --duration 200ms --warmup 0s");

  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_NE(ran.out.find("no request was measured"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("p50"), std::string::npos) << ran.out;
}

TEST(Command, without_a_server_it_says_so_in_one_line) {
  const Ran ran = run("load http://127.0.0.1:1/");

  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(ran.out.starts_with("keel load: 127.0.0.1:1: ")) << ran.out;
  EXPECT_EQ(ran.out.find('\n'), ran.out.size() - 1) << ran.out;
}

TEST(Command, steps_of_a_server_that_does_not_respond_end_with_1_and_a_report) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 64), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string json = ::testing::TempDir() + "keel_load_silent_" + std::to_string(getpid()) + ".json";
  std::ofstream(json) << "a former report";

  const Ran ran = run("load http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) +
                      "/ --steps 50 --connections 4 --duration 200ms --warmup 0s --timeout 100ms --json " + json);

  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_NE(ran.out.find("the capacity could not be measured: no request got a response"), std::string::npos)
      << ran.out;
  EXPECT_TRUE(read(json).starts_with("{\n")) << read(json);
  std::remove(json.c_str());
  ::close(listener);
}

TEST_F(CommandTest, a_mistake_leaves_a_former_report_as_it_was) {
  const std::string json = ::testing::TempDir() + "keel_load_former_" + std::to_string(getpid()) + ".json";
  std::ofstream(json) << "a former report, which is longer than nothing";

  const Ran ran = run("load " + url_ + "hello --duration 1h --server-pid 4194303 --json " + json);

  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_EQ(read(json), "a former report, which is longer than nothing");
  std::remove(json.c_str());
}

TEST(Command, mistakes_end_with_2) {
  const Ran option = run("load http://127.0.0.1:1/ --durration=1s");
  EXPECT_EQ(option.code, 2);
  EXPECT_TRUE(option.out.starts_with("keel load: --durration: there is no such option")) << option.out;

  const Ran command = run("lod");
  EXPECT_EQ(command.code, 2);
  EXPECT_EQ(command.out, "keel: 'lod' is not a command; keel help lists them\n");
}

TEST(Command, helps_itself) {
  EXPECT_EQ(run("help").code, 0);
  EXPECT_NE(run("").out.find("load"), std::string::npos);
  EXPECT_EQ(run("load --help").code, 0);
  EXPECT_NE(run("load --help").out.find("--connections"), std::string::npos);
  EXPECT_TRUE(run("version").out.starts_with("keel 0."));
}

}  // namespace
}  // namespace keel::load::load_command_test
