// Requests that are wrong, too large or too slow, sent to the real program.

#include <gtest/gtest.h>

#include "client.h"
#include "service.h"

#include "keel/base/host.h"

namespace e2e::malformed_test {
namespace {

using namespace keel;

class Malformed : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
    service_ = std::make_unique<Service>(
        folder_, std::vector<std::string>{
                     "--network.engine=" + GetParam(), "--network.http.max_body=1KiB", "--network.http.max_header=2KiB",
                     "--network.http.max_header_line=1KiB", "--network.http.max_request_line=512B",
                     "--network.http.max_header_count=20", "--network.http.header_timeout_sec=0.15",
                     "--network.http.body_timeout_sec=0.2", "--network.http.idle_timeout_sec=0.4"});
    ASSERT_TRUE(service_->is_ready()) << service_->errors();
  }
  void TearDown() override {
    if (service_ == nullptr) return;
    EXPECT_EQ(call(service_->address(), "GET", "/health").status, 200) << "and others are served";
    EXPECT_EQ(service_->stop(), 0) << service_->errors();
  }
  // Answered with `status` and a problem, then closed; what is sent behind it is not looked at.
  void expect_refused(int status, const std::string& wire) {
    Connection connection(service_->address());
    connection.send(wire + request("GET", "/health"));
    const auto reply = connection.receive();
    ASSERT_TRUE(reply.has_value()) << wire;
    EXPECT_EQ(reply->status, status) << wire << "\n" << reply->body;
    EXPECT_TRUE(reply->closes()) << wire;
    EXPECT_EQ(reply->field("Content-Type"), "application/problem+json");
    EXPECT_TRUE(members(reply->body).has_value()) << reply->body;
    EXPECT_TRUE(connection.ends_silently(5_s)) << wire;
  }

  Folder folder_;
  std::unique_ptr<Service> service_;
};

INSTANTIATE_TEST_SUITE_P(Engines, Malformed, ::testing::Values("uring", "epoll"),
                         [](auto& test) { return test.param; });

TEST_P(Malformed, ambiguous_requests_are_400_and_the_connection_ends) {
  for (const char* wire : {
           "GET /health\r\n\r\n",
           "GET  /health HTTP/1.1\r\nHost: a\r\n\r\n",
           "G\x01T /health HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET /health HTTP/1.1\r\n\r\n",
           "GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
           "GET /health HTTP/1.1\nHost: a\n\n",
           "GET /health HTTP/1.1\r\nHost : a\r\n\r\n",
           "GET /health HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
           "GET /health HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
           "POST /api/data HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
           "POST /api/data HTTP/1.1\r\nHost: a\r\nContent-Length: +2\r\n\r\n{}",
           "POST /api/data HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "POST /api/data HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n",
           "POST /api/data HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n",
       }) {
    expect_refused(400, wire);
  }
  expect_refused(505, "GET /health HTTP/2.0\r\nHost: a\r\n\r\n");
}

TEST_P(Malformed, what_is_too_large_is_refused_by_its_kind) {
  const std::string much(1024, 'x');

  expect_refused(413, request("POST", "/api/data", R"({"x":")" + much + "\"}"));
  expect_refused(413, "POST /api/data HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n");
  expect_refused(413, "POST /api/data HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n");
  expect_refused(414, "GET /" + much + " HTTP/1.1\r\nHost: a\r\n\r\n");
  expect_refused(431, "GET /health HTTP/1.1\r\nHost: a\r\nX: " + much + "\r\n\r\n");
  std::string fields;
  for (int i = 0; i < 21; ++i) fields += "X: y\r\n";
  expect_refused(431, "GET /health HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n");
  fields.clear();
  for (int i = 0; i < 5; ++i) fields += "X: " + std::string(500, 'y') + "\r\n";
  expect_refused(431, "GET /health HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n");
}

TEST_P(Malformed, what_fits_exactly_is_served) {
  const std::string body = R"({"x":")" + std::string(1024 - 8, 'x') + "\"}";
  ASSERT_EQ(body.size(), 1024u);

  EXPECT_EQ(call(service_->address(), "POST", "/api/data", body).status, 201);
}

TEST_P(Malformed, what_is_too_slow_is_408) {
  const Instant began = Host::system().now();
  Connection head(service_->address());
  Connection body(service_->address());
  Connection silent(service_->address());
  head.send("GET /health HTTP/1.1\r\nHo");
  body.send("POST /api/data HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{");

  const auto late_head = head.receive();
  ASSERT_TRUE(late_head.has_value());
  EXPECT_EQ(late_head->status, 408);
  EXPECT_TRUE(late_head->closes());
  EXPECT_GE(Host::system().now() - began, 150_ms);
  EXPECT_TRUE(head.ends_silently(5_s));

  const auto late_body = body.receive();
  ASSERT_TRUE(late_body.has_value());
  EXPECT_EQ(late_body->status, 408);
  EXPECT_TRUE(body.ends_silently(5_s));

  EXPECT_TRUE(silent.ends_silently(5_s)) << "a connection that says nothing is closed without a word";
  EXPECT_GE(Host::system().now() - began, 400_ms);
  EXPECT_LT(Host::system().now() - began, 5_s);
}

}  // namespace
}  // namespace e2e::malformed_test
