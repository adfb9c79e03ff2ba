// A restart by hand-over with TLS: sessions that the process before has begun continue in its successor.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/testing/certificates.h"
#include "service.h"

namespace e2e::handover_tls_test {
namespace {

using namespace keel;

// What a request was answered, over a connection of its own, and whether its session was an earlier one.
struct Answer {
  std::string text;
  bool is_resumed = false;
};

Answer ask(const tls::ClientContext& context, const Address& to) {
  Answer answer;
  const int fd = ::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  tls::Records records(context, "127.0.0.1");
  char plain[tls::Records::plain_bytes_max];
  char bytes[4096];
  std::string_view wire;
  bool has_asked = false;
  ssize_t got = ::connect(fd, to.system(), to.system_size()) == 0 ? 1 : 0;
  while (got > 0) {
    const auto read = records.read(wire, plain);
    if (!read) answer.text += read.error().describe();
    if (!read || records.has_peer_finished()) break;
    answer.text.append(plain, *read);
    if (*read != 0) continue;
    if (records.is_established() && !has_asked) {
      has_asked = true;
      answer.is_resumed = records.is_resumed();
      EXPECT_TRUE(records.write("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
    }
    const Buffer out = std::exchange(records.output(), Buffer());
    EXPECT_EQ(::send(fd, out.data(), out.size(), MSG_NOSIGNAL), static_cast<ssize_t>(out.size()));
    got = ::recv(fd, bytes, sizeof bytes, 0);
    wire = {bytes, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }
  ::close(fd);
  return answer;
}

struct Case {
  std::string engine;
  tls::Version version;
};

class TlsRestart : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam().engine)) GTEST_SKIP() << "this machine has no " << GetParam().engine;
    const tls::KeyPair pair = root_.issue({.addresses = {"127.0.0.1"}});
    std::ofstream(folder_ / "shop.pem") << pair.certificate_pem << pair.key_pem;
    std::ofstream(folder_ / "root.pem") << root_.pem();
  }
  std::unique_ptr<Service> start(std::vector<std::string> more = {}) {
    more.push_back("--network.engine=" + GetParam().engine);
    more.push_back("--network.handover.path=" + (folder_ / "control"));
    more.push_back("--network.https.certificate=" + (folder_ / "shop.pem"));
    more.push_back("--network.https.port=0");
    return std::make_unique<Service>(folder_, std::move(more));
  }
  static Address secure_address(const Service& service) {
    const std::string& text = service.output();
    const std::size_t at = text.find("https://");
    const std::size_t begin = at == std::string::npos ? text.size() : at + std::string_view("https://").size();
    return Address::parse(text.substr(begin, text.find('\n', begin) - begin)).value_or(Address());
  }
  Answer ask(const Address& to) { return handover_tls_test::ask(client_, to); }

  Folder folder_;
  tls::testing::Authority root_{"Test Root"};
  tls::ClientContext client_ =
      tls::ClientContext::make({.trust = {.pem = root_.pem()}, .version_max = GetParam().version}).value();
};

INSTANTIATE_TEST_SUITE_P(Engines, TlsRestart,
                         ::testing::Values(Case{"uring", tls::Version::Tls13}, Case{"epoll", tls::Version::Tls13},
                                           Case{"epoll", tls::Version::Tls12}),
                         [](auto& test) {
                           return test.param.engine + (test.param.version == tls::Version::Tls13 ? "_tls13" : "_tls12");
                         });

TEST_P(TlsRestart, resumes_the_sessions_of_the_process_before) {
  auto running = start();
  ASSERT_TRUE(running->is_ready()) << running->errors();
  const Address at = secure_address(*running);
  const Answer first = ask(at);
  EXPECT_TRUE(first.text.starts_with("HTTP/1.1 200 ")) << first.text;
  EXPECT_FALSE(first.is_resumed);
  for (int i = 0; i < 3; ++i) {
    auto successor = start();
    ASSERT_TRUE(successor->is_ready()) << successor->errors();
    EXPECT_EQ(secure_address(*successor), at);
    EXPECT_EQ(running->wait(30_s), 0) << running->errors();
    running = std::move(successor);

    const Answer next = ask(at);

    EXPECT_TRUE(next.text.starts_with("HTTP/1.1 200 ")) << next.text;
    EXPECT_TRUE(next.is_resumed) << i;
  }
  EXPECT_EQ(running->stop(), 0) << running->errors();
}

TEST_P(TlsRestart, begins_anew_where_clients_have_certificates) {
  auto running = start();
  ASSERT_TRUE(running->is_ready()) << running->errors();
  EXPECT_FALSE(ask(secure_address(*running)).is_resumed);
  auto successor =
      start({"--network.https.client_certificates=optional", "--network.https.client_roots=" + (folder_ / "root.pem")});
  ASSERT_TRUE(successor->is_ready()) << successor->errors();
  EXPECT_EQ(running->wait(30_s), 0) << running->errors();

  const Answer next = ask(secure_address(*successor));

  EXPECT_TRUE(next.text.starts_with("HTTP/1.1 200 ")) << next.text;
  EXPECT_FALSE(next.is_resumed);
  EXPECT_EQ(successor->stop(), 0) << successor->errors();
}

}  // namespace
}  // namespace e2e::handover_tls_test
