// Every form of a request over every engine, whole, cut anywhere and byte by byte.

#include "keel/http/server/server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "keel/http/testing/internal/server_fixture.h"

namespace keel::http::server_forms_test {
namespace {

using namespace internal;
using namespace std::string_literals;

using ServersOfForms = Servers;
INSTANTIATE_TEST_SUITE_P(, ServersOfForms, io::testing::every_engine(), io::testing::name_of_engine);

struct Vector {
  std::string wire;
  std::vector<int> statuses;
  bool closes = false;     // The request after it gets no response.
  bool announced = false;  // The client has announced itself that no request follows.
  std::string with_marker() const { return announced ? wire : wire + get("/n/99"); }
};

std::vector<Vector> vectors() {
  const auto head = [](const std::string& fields) {
    return "GET /plaintext HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n";
  };
  const auto chunked = [](const std::string& body) {
    return "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
  };
  const auto chunked_later = [](const std::string& body) {
    return "POST /echo-later HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body;
  };
  const auto length = [](const std::string& value) {
    return "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: " + value + "\r\n\r\nhello";
  };
  const auto host = [](const std::string& value) { return "GET /plaintext HTTP/1.1\r\nHost: " + value + "\r\n\r\n"; };
  std::vector<Vector> list;
  const auto good = [&](const std::string& wire, std::vector<int> statuses = {200}) {
    list.push_back({wire, statuses});
  };
  const auto last = [&](const std::string& wire, std::vector<int> statuses) { list.push_back({wire, statuses, true}); };
  const auto announced = [&](const std::string& wire) { list.push_back({wire, {200}, true, true}); };

  good(get("/plaintext"));
  good(get("/later"));
  good("\r\n" + get("/plaintext"));
  good(get("/n/7?a=b&c=%20"));
  good(get("/n/%37"));
  good(get("/nowhere"), {404});
  good("GET http://a/plaintext HTTP/1.1\r\nHost: a\r\n\r\n");
  good(head("X: \t a \t\r\nY:\r\nx_y: 1\r\n"));
  good(head("X: caf\xc3\xa9\r\n"));
  good(get("/n/1") + get("/t/2") + get("/n/3"), {200, 200, 200});
  good(post("/echo", "hello") + post("/echo-later", "hello"), {200, 200});
  good(post("/echo", ""));
  good(post("/echo-later", ""));
  good(post("/nowhere", "hello"), {404});
  good(post("/plaintext", "hello"), {405});
  good("GET /plaintext HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
  good("DELETE /n/1 HTTP/1.1\r\nHost: a\r\n\r\n", {204});
  good("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", {204});
  good(chunked("0\r\n\r\n"));
  good(chunked("5\r\nhello\r\n0\r\n\r\n"));
  good(chunked("0000000005;name=value;x=\"q\\\"\"\r\nhello\r\n0\r\nTrailer: 1\r\nContent-Length: 9\r\n\r\n"));
  good(chunked_later("2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"));
  good(chunked_later("A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"));
  good("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello");
  good(
      "POST /echo-later HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
  announced(get("/plaintext", "Connection: close\r\n"));
  announced("GET /plaintext HTTP/1.0\r\n\r\n");
  announced(post("/echo-later", "hello", "Connection: close\r\n"));

  // 1: both lengths. 2: transfer codings.
  last("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400});
  last("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", {400});
  for (const char* coding :
       {" chunked, chunked", " chunked, gzip", "\tchunked", " \"chunked\"", " chunked;q=1", " ,chunked", ""}) {
    last("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:" + std::string(coding) + "\r\n\r\n0\r\n\r\n", {400});
  }
  last("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", {501});
  last("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400});
  // 3 to 5: field lines.
  for (const char* line : {"X : b", "X Y: b", "X", ": b", "X(Y): b", "X: b\r\n folded", "X: b\rY: c", "X: b\nY: c",
                           "X: \x01", "X: \x7f"}) {
    last(head(std::string(line) + "\r\n"), {400});
  }
  last(head("X: a\0b\r\n"s), {400});
  last("GET /plaintext HTTP/1.1\nHost: a\n\n", {400});
  last("\r\n\r\n" + get("/plaintext"), {400});
  // 6 to 8: chunks.
  for (const char* body :
       {"g\r\n", "-1\r\nx\r\n0\r\n\r\n", "+1\r\nx\r\n0\r\n\r\n", "0x1\r\nx\r\n0\r\n\r\n", " 1\r\nx\r\n0\r\n\r\n",
        "1 \r\nx\r\n0\r\n\r\n", "1_0\r\n", "00000000000000001\r\nx\r\n0\r\n\r\n", "1\nx\r\n0\r\n\r\n",
        "1\r\nxy\r\n0\r\n\r\n", "1;a\nb\r\nx\r\n0\r\n\r\n", "1;a=\"\n\"\r\nx\r\n0\r\n\r\n", "0\r\nBad Name: 1\r\n\r\n",
        "0\r\nno colon\r\n\r\n", "0\r\nX: a\rb\r\n\r\n"}) {
    last(chunked(body), {400});
  }
  last(chunked_later("5\r\nhello\r\n-1\r\n"), {400});
  // 9: lengths.
  for (const char* value : {"5, 5", "5 5", "+5", "-5", "0x5", "", "18446744073709551616", "5.0"})
    last(length(value), {400});
  last("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", {400});
  // 9 and 11: above the limit, announced.
  last(length("1001"), {413});
  last(length("18446744073709551615"), {413});
  last(chunked("3e9\r\nhello"), {413});
  last(chunked("3\r\nabc\r\n3e8\r\nhello"), {413});
  last(chunked_later("ffffffffffffffff\r\nhello"), {413});
  // 10: head limits.
  last(get("/" + std::string(120, 'a')), {414});
  last(head("X: " + std::string(120, 'b') + "\r\n"), {431});
  last(head("A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\nE: 1\r\nF: 1\r\nG: 1\r\nH: 1\r\n"), {431});
  // 13: nothing behind an error is parsed, what is before it is answered.
  last(get("/n/1") + get("/t/2") + "BAD\r\n\r\n", {200, 200, 400});
  last(post("/echo-later", "hello") + "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", {200, 400});
  // 16: hosts and targets.
  for (const char* value : {"", "a,b", "a b", "a/b", "user@a", "a:b"}) last(host(value), {400});
  last("GET /plaintext HTTP/1.1\r\n\r\n", {400});
  last("GET /plaintext HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", {400});
  last("GET http://a/plaintext HTTP/1.1\r\nHost: b\r\n\r\n", {400});
  last("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", {400});
  last("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", {400});
  last("GET plaintext HTTP/1.1\r\nHost: a\r\n\r\n", {400});
  last("GET /plaintext HTTP/2.0\r\nHost: a\r\n\r\n", {505});
  last("GET  /plaintext HTTP/1.1\r\nHost: a\r\n\r\n", {400});
  // 31: expectations.
  last("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: a-miracle\r\nContent-Length: 5\r\n\r\nhello", {417});
  return list;
}

Limits small_limits() {
  Limits limits;
  limits.head = {.request_line_bytes_max = 100, .field_line_bytes_max = 100, .head_bytes_max = 400, .fields_max = 8};
  limits.body_bytes_max = 1000;
  return limits;
}

TEST_P(ServersOfForms, answer_every_form_as_the_standard_says) {
  start(small_limits());
  for (const Vector& vector : vectors()) {
    const bool is_of_another_scheme = server_layers != nullptr && vector.wire.find("http://") != std::string::npos;
    if (is_of_another_scheme) continue;  // Misdirected.
    const auto list = ask(vector.with_marker());
    std::vector<int> statuses;
    for (const Reply& reply : list) statuses.push_back(reply.status);
    std::vector<int> expected = vector.statuses;
    if (!vector.closes) expected.push_back(200);
    ASSERT_EQ(statuses, expected) << ::testing::PrintToString(vector.wire);
    EXPECT_EQ(list.back().closes(), vector.closes) << ::testing::PrintToString(vector.wire);
    if (!vector.closes) {
      EXPECT_EQ(list.back().body, "n=99") << ::testing::PrintToString(vector.wire);
    }
  }
}

TEST_P(ServersOfForms, answer_the_same_when_a_request_is_cut_at_any_byte) {
  start(small_limits());
  for (const Vector& vector : vectors()) {
    const std::string wire = vector.with_marker();
    const std::string whole = canonical(exchange(wire));
    for (std::size_t cut = 1; cut < wire.size(); ++cut) peer().send(wire.substr(0, cut));
    ASSERT_TRUE(
        until([&] { return std::ranges::all_of(peers_, [](auto& p) { return p->is_connected() && p->is_sent(); }); }));
    settle();
    for (std::size_t cut = 1; cut < wire.size(); ++cut) {
      peers_[cut - 1]->send(wire.substr(cut));
      peers_[cut - 1]->finish_writing();
    }
    ASSERT_TRUE(until([&] { return std::ranges::all_of(peers_, [](auto& p) { return p->has_ended(); }); }))
        << ::testing::PrintToString(wire);
    for (std::size_t cut = 1; cut < wire.size(); ++cut) {
      ASSERT_EQ(canonical(peers_[cut - 1]->wire()), whole)
          << "cut at " << cut << " of " << ::testing::PrintToString(wire);
      ASSERT_EQ(peers_[cut - 1]->error(), 0);
    }
    close_all();
  }
}

TEST_P(ServersOfForms, answer_the_same_byte_by_byte) {
  start(small_limits());
  const auto list = vectors();
  std::vector<std::string> whole;
  for (const Vector& vector : list) whole.push_back(canonical(exchange(vector.with_marker())));
  for (std::size_t i = 0; i < list.size(); ++i) peer();
  std::size_t longest = 0;
  for (const Vector& vector : list) longest = std::max(longest, vector.with_marker().size());
  for (std::size_t at = 0; at < longest; ++at) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string wire = list[i].with_marker();
      if (at < wire.size()) peers_[i]->send(wire.substr(at, 1));
      if (at + 1 == wire.size()) peers_[i]->finish_writing();
    }
    if (simulation_ == nullptr) {
      loop_->turn(Host::system().now());
    } else {
      pass(500_us);
    }
  }
  ASSERT_TRUE(until([&] { return std::ranges::all_of(peers_, [](auto& p) { return p->has_ended(); }); }));
  for (std::size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(canonical(peers_[i]->wire()), whole[i]) << ::testing::PrintToString(list[i].wire);
  }
}

}  // namespace
}  // namespace keel::http::server_forms_test
