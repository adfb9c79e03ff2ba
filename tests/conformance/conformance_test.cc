// The server as bytes on a wire show it, on both engines: what is accepted, rejected, waited for and survived.
//
//   KEEL_TESTS_OVER_TLS=1 conformance_test   the same over TLS, each piece in records of its own

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <thread>
#include <unordered_set>

#include "keel/base/host.h"
#include "keel/db/testing/folder.h"
#include "keel/io/engine.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/testing/certificates.h"
#include "process.h"
#include "vectors.h"
#include "wire.h"

namespace conformance::conformance_test {
namespace {

using namespace keel;
using db::testing::Folder;

bool has_engine(const std::string& engine) {
  return io::choose_engine(engine == "uring" ? io::EngineKind::Uring : io::EngineKind::Epoll).has_value();
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

std::vector<std::filesystem::path> files(const std::string& folder) {
  std::vector<std::filesystem::path> list;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(KEEL_CORPORA + ("/" + folder), absent)) {
    list.push_back(entry.path());
  }
  std::sort(list.begin(), list.end());
  return list;
}

// One server for each engine, for all tests; at the end it must still be well.
class Servers : public ::testing::Environment {
 public:
  void SetUp() override {
    if (std::getenv("KEEL_TESTS_OVER_TLS") == nullptr) return;
    tls::testing::Authority authority("Test Root");
    const tls::KeyPair pair = authority.issue({.names = {"localhost"}});
    folder_.write("service.pem", pair.certificate_pem + pair.key_pem);
    certificate_ = folder_ / "service.pem";
    speak_tls(tls::ClientContext::make({.trust = {.pem = authority.pem()}}).value());
  }
  Process& get(const std::string& engine) {
    auto& process = running_[engine];
    if (process == nullptr) process = std::make_unique<Process>(engine, folder_ / engine, certificate_);
    return *process;
  }
  // Empty: the servers speak no TLS.
  const std::string& certificate() const { return certificate_; }
  void TearDown() override {
    for (auto& [engine, process] : running_) {
      process->signal(SIGTERM);
      EXPECT_EQ(process->wait(20_s), 0) << engine << ": " << read_file(folder_ / engine + ".log");
    }
  }

 private:
  Folder folder_;
  std::string certificate_;
  std::map<std::string, std::unique_ptr<Process>> running_;
};
Servers& servers = *static_cast<Servers*>(::testing::AddGlobalTestEnvironment(new Servers));

class Conformance : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
    ASSERT_TRUE(server().is_ready());
  }
  void TearDown() override {
    if (IsSkipped() || HasFatalFailure()) return;
    EXPECT_EQ(call("GET /live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").status, 200) << "others are served";
  }
  Process& server() const { return servers.get(GetParam()); }
  Exchange send(std::string_view bytes, bool finishes = false) const {
    return exchange(server().port(), bytes, finishes);
  }
  // The only reply on a connection that ends.
  Reply call(std::string_view bytes) const {
    const Exchange one = send(bytes);
    const auto all = replies(one.received);
    EXPECT_EQ(all.size(), 1u) << bytes.substr(0, 200) << one.received.substr(0, 200);
    EXPECT_TRUE(one.ended);
    return all.size() == 1 ? all[0] : Reply();
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, Conformance, ::testing::Values("uring", "epoll"),
                         [](auto& test) { return test.param; });

// One vector, with the last request behind it, and what is wrong with what came back; "" when nothing is.
struct Vector {
  const Accepted* accepted = nullptr;
  const Refused* refused = nullptr;
  std::string wire;
  const std::string& name() const { return accepted != nullptr ? accepted->name : refused->name; }
  std::size_t own_bytes() const { return wire.size() - last_request.size(); }
};

// The same for a server with TLS: a target that is a whole URL has the other scheme, and its port.
std::string with_other_scheme(std::string wire) {
  const std::size_t line_end = wire.find("\r\n");
  const std::size_t at = wire.find("://");
  if (at == std::string::npos || at == 0 || at > line_end) return wire;
  if (wire[at - 1] == 's') return wire.erase(at - 1, 1);
  wire.insert(at, "s");
  if (const std::size_t port = wire.find(":80/"); port < line_end) wire.replace(port, 3, ":443");
  return wire;
}

std::vector<Vector> vectors() {
  const auto wire_of = [](const std::string& wire) {
    return (servers.certificate().empty() ? wire : with_other_scheme(wire)) + std::string(last_request);
  };
  std::vector<Vector> all;
  for (const Accepted& one : accepted()) all.push_back({&one, nullptr, wire_of(one.wire)});
  for (const Refused& one : refused()) all.push_back({nullptr, &one, wire_of(one.wire)});
  return all;
}

std::string complaint(const Vector& vector, const Exchange& one) {
  // RFC 9112 §9.6: a client that asks for the end sends nothing more; when it does, the end may be a reset.
  const bool may_reset = vector.accepted != nullptr && vector.accepted->closes;
  if (one.reset && !may_reset) return "the connection was reset";
  if (!one.ended && !one.reset) return "the connection stayed open";
  std::vector<bool> to_head;
  if (vector.accepted != nullptr) {
    for (const Answer& answer : vector.accepted->answers) to_head.push_back(answer.to_head);
  }
  std::string_view rest;
  const std::vector<Reply> got = replies(one.received, to_head, &rest);
  if (!rest.empty()) return "there is more than replies: " + std::string(rest.substr(0, 100));
  if (vector.refused != nullptr) {
    if (got.size() != 1) return std::to_string(got.size()) + " replies to what must be refused";
    if (got[0].status != vector.refused->status) return "status " + std::to_string(got[0].status) + ": " + got[0].body;
    if (!got[0].closes()) return "no Connection: close";
    if (got[0].field("Content-Type") != "application/problem+json") return "not a problem";
    return "";
  }
  const auto& want = vector.accepted->answers;
  const std::size_t last = vector.accepted->closes ? 0 : 1;
  if (got.size() != want.size() + last) {
    return std::to_string(got.size()) + " replies; the first: " + (got.empty() ? "" : got[0].head + got[0].body);
  }
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (got[i].status != want[i].status) return "status " + std::to_string(got[i].status) + ": " + got[i].body;
    if (got[i].closes() != (last == 0 && i + 1 == want.size())) return "Connection: close in the wrong place";
    if (want[i].status == 200 && got[i].head.find("octet-stream") != std::string::npos && got[i].body != want[i].body) {
      return "another body: " + got[i].body.substr(0, 100);
    }
  }
  if (last == 1 && (got.back().status != 200 || got.back().body != last_answer)) return "the last request was misread";
  return "";
}

// Sends vectors in pieces and judges what comes back, some megabytes at a time.
class Trials {
 public:
  Trials(std::uint16_t port, const Pace& pace) : port_(port), pace_(pace) {}
  ~Trials() { judge(); }
  Trials(const Trials&) = delete;
  Trials& operator=(const Trials&) = delete;

  // What `pieces` view outlives the trials.
  void add(const Vector& vector, std::string how, std::vector<std::string_view> pieces) {
    names_.push_back(vector.name() + how);
    vectors_.push_back(&vector);
    all_.push_back({.pieces = std::move(pieces)});
    bytes_ += vector.wire.size();
    ++count_;
    if (bytes_ >= bytes_at_once) judge();
  }
  std::size_t count() const { return count_; }

 private:
  static constexpr std::size_t bytes_at_once = std::size_t{32} << 20;
  static constexpr int told_max = 20;

  void judge() {
    exchange(port_, all_, pace_);
    for (std::size_t i = 0; i < all_.size() && told_ < told_max; ++i) {
      const std::string text = complaint(*vectors_[i], all_[i]);
      if (text.empty()) continue;
      ADD_FAILURE() << names_[i] << ": " << text;
      ++told_;
    }
    names_.clear();
    vectors_.clear();
    all_.clear();
    bytes_ = 0;
  }

  std::uint16_t port_;
  Pace pace_;
  std::vector<std::string> names_;
  std::vector<const Vector*> vectors_;
  std::vector<Exchange> all_;
  std::size_t bytes_ = 0;
  std::size_t count_ = 0;
  int told_ = 0;
};

// Every place to cut the first `own_bytes` of a wire, but those whose surroundings another cut of it has already had:
// of what repeats itself, the first, the sizes that buffers have and their neighbours, and the end.
std::vector<std::size_t> places_to_cut(std::string_view wire, std::size_t own_bytes) {
  // More than any reader looks at in one step; of what is too large to come in one piece, less.
  const std::size_t edge = wire.size() > 65'536 ? 4 : 33;
  std::vector<std::size_t> places;
  std::unordered_set<std::string_view> seen;
  for (std::size_t cut = 1; cut <= own_bytes; ++cut) {
    const std::size_t from = cut < edge ? 0 : cut - edge;
    const bool is_new = seen.insert(wire.substr(from, cut + edge - from)).second;
    const bool is_size = std::has_single_bit(cut - 1) || std::has_single_bit(cut) || std::has_single_bit(cut + 1);
    if (is_new || is_size || cut + edge > own_bytes) places.push_back(cut);
  }
  return places;
}

TEST(Vectors, are_many) {
  EXPECT_GE(accepted().size(), 60u);
  EXPECT_GE(refused().size(), 100u);
}

// The judge itself: each way in which a server can be wrong has a name.
TEST(Vectors, are_judged) {
  const Refused bad{"bad", "", 400};
  const Accepted good{"good", "", {{200, "abc"}}};
  const Vector refusal{nullptr, &bad, std::string(last_request)};
  const Vector success{&good, nullptr, std::string(last_request)};
  const auto judge = [](const Vector& vector, std::string received, bool ended = true) {
    return complaint(vector, {.received = std::move(received), .ended = ended});
  };
  const auto reply = [](int status, const std::string& body, const std::string& fields) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\n" + fields + "Content-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  };
  const std::string octets = "Content-Type: application/octet-stream\r\n";
  const std::string refused_fields = "Content-Type: application/problem+json\r\nConnection: close\r\n";
  const std::string right = reply(400, "{}", refused_fields);
  const std::string end = reply(200, std::string(last_answer), "Connection: close\r\n");

  EXPECT_EQ(judge(refusal, right), "");
  EXPECT_NE(judge(refusal, right, false), "") << "stays open";
  EXPECT_NE(judge(refusal, right + end), "") << "goes on behind the error";
  EXPECT_NE(judge(refusal, right + "x"), "") << "more than a reply";
  EXPECT_NE(judge(refusal, reply(500, "{}", refused_fields)), "") << "another status";
  EXPECT_NE(judge(refusal, reply(400, "{}", "Content-Type: application/problem+json\r\n")), "") << "no close";
  EXPECT_NE(judge(refusal, ""), "");
  EXPECT_NE(complaint(refusal, {.received = right, .reset = true}), "");
  EXPECT_EQ(judge(success, reply(200, "abc", octets) + end), "");
  EXPECT_NE(judge(success, reply(200, "abd", octets) + end), "") << "another body";
  EXPECT_NE(judge(success, reply(200, "abc", octets)), "") << "the last request unanswered";
  EXPECT_NE(judge(success, reply(200, "abc", octets) + reply(200, "", "Connection: close\r\n")), "") << "misread";
  EXPECT_NE(judge(success, reply(200, "abc", octets + "Connection: close\r\n") + end), "") << "a close too early";
  EXPECT_NE(judge(success, right), "");
}

TEST(Vectors, have_the_scheme_of_their_server) {
  EXPECT_EQ(with_other_scheme("GET http://a/x HTTP/1.1\r\n\r\n"), "GET https://a/x HTTP/1.1\r\n\r\n");
  EXPECT_EQ(with_other_scheme("GET http://a:80/ HTTP/1.1\r\n\r\n"), "GET https://a:443/ HTTP/1.1\r\n\r\n");
  EXPECT_EQ(with_other_scheme("GET https://a/ HTTP/1.1\r\n\r\n"), "GET http://a/ HTTP/1.1\r\n\r\n");
  EXPECT_EQ(with_other_scheme("GET / HTTP/1.1\r\nHost: http://a\r\n\r\n"), "GET / HTTP/1.1\r\nHost: http://a\r\n\r\n");
}

TEST(Vectors, are_cut_wherever_it_matters) {
  const std::string run = "ab" + std::string(200, 'y') + "\r\n";
  const std::vector<std::size_t> of_run = places_to_cut(run, run.size());
  EXPECT_LT(of_run.size(), 120u) << "a run is not cut at each of its bytes";
  for (const std::size_t cut : {1u, 2u, 3u, 34u, 64u, 127u, 128u, 129u, 171u, 201u, 202u, 203u, 204u})
    EXPECT_EQ(std::ranges::count(of_run, cut), 1) << cut;
  std::string same;
  for (int i = 0; i < 90; ++i) same += "X: y\r\n";
  EXPECT_LT(places_to_cut(same, same.size()).size(), 120u) << "nor is what repeats itself";
  std::string fields;
  for (int i = 0; i < 90; ++i) fields += "X: " + std::to_string(i) + "\r\n";
  EXPECT_EQ(places_to_cut(fields, fields.size()).size(), fields.size()) << "but everything else is";
}

TEST_P(Conformance, accepts_what_is_right_and_refuses_what_is_not) {
  const std::vector<Vector> list = vectors();
  Trials trials(server().port(), {});
  for (const Vector& vector : list) trials.add(vector, "", {vector.wire});
}

TEST_P(Conformance, a_cut_anywhere_changes_nothing) {
  const std::vector<Vector> list = vectors();
  Trials trials(server().port(), {.pause = 1_ms});
  for (const Vector& vector : list) {
    const std::string_view wire = vector.wire;
    for (const std::size_t cut : places_to_cut(wire, vector.own_bytes())) {
      trials.add(vector, ", cut at " + std::to_string(cut), {wire.substr(0, cut), wire.substr(cut)});
    }
  }
  EXPECT_GT(trials.count(), 20'000u);
}

// The head of a request has five seconds to come: of longer ones, a_cut_anywhere_changes_nothing has all there is.
TEST_P(Conformance, byte_by_byte_changes_nothing) {
  constexpr std::size_t bytes_max = 400;
  const std::vector<Vector> list = vectors();
  Trials trials(server().port(), {.pause = Duration::microseconds(200)});
  for (const Vector& vector : list) {
    if (vector.own_bytes() > bytes_max) continue;
    const std::string_view wire = vector.wire;
    std::vector<std::string_view> pieces;
    for (std::size_t at = 0; at < wire.size(); ++at) pieces.push_back(wire.substr(at, 1));
    trials.add(vector, ", byte by byte", std::move(pieces));
  }
}

TEST_P(Conformance, cuts_at_random_change_nothing) {
  constexpr unsigned seed = 7;
  std::minstd_rand random(seed);
  const std::vector<Vector> list = vectors();
  Trials trials(server().port(), {.pause = 1_ms});
  for (const Vector& vector : list) {
    const std::string_view wire = vector.wire;
    for (int i = 0; i < 4; ++i) {
      std::size_t cuts[] = {0, random() % wire.size(), random() % wire.size(), random() % wire.size(), wire.size()};
      std::sort(std::begin(cuts), std::end(cuts));
      std::vector<std::string_view> pieces;
      for (int piece = 0; piece < 4; ++piece) {
        pieces.push_back(wire.substr(cuts[piece], cuts[piece + 1] - cuts[piece]));
      }
      trials.add(vector, ", in four pieces, seed " + std::to_string(seed), std::move(pieces));
    }
  }
}

// RFC 9112 §9.5, and the promise of five seconds. Both engines run at the same time, because the waiting takes time.
TEST(Conformance, what_is_not_whole_is_waited_for_and_then_ended) {
  const std::string slow_head = "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(100, 'y');
  std::vector<std::thread> threads;
  std::map<std::string, std::vector<Exchange>> results;
  for (const std::string engine : {"uring", "epoll"}) {
    if (!has_engine(engine)) continue;
    std::vector<Exchange>& all = results[engine];
    for (const Incomplete& one : incomplete()) all.push_back({.pieces = {one.wire}});
    // A byte now and then does not buy time: the limit counts from the first.
    all.emplace_back();
    for (int i = 0; i < 10; ++i) all.back().pieces.push_back(std::string_view(slow_head).substr(i * 10, 10));
    const std::uint16_t port = servers.get(engine).port();
    threads.emplace_back([&all, port] { exchange(port, all, {.pause = 450_ms, .patience = 4_s}); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& [engine, all] : results) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string name = engine + ": " + (i < incomplete().size() ? incomplete()[i].name : "a slow head");
      EXPECT_TRUE(all[i].ended) << name;
      EXPECT_GE(all[i].took, 4900_ms) << name << all[i].received;
      EXPECT_LE(all[i].took, 6_s + 500_ms) << name;
      const auto got = replies(all[i].received);
      if (i < incomplete().size() && incomplete()[i].silent) {
        EXPECT_EQ(all[i].received, "") << name;
      } else {
        ASSERT_EQ(got.size(), 1u) << name;
        EXPECT_EQ(got[0].status, 408) << name;
        EXPECT_TRUE(got[0].closes()) << name;
      }
    }
  }
}

TEST_P(Conformance, what_is_not_whole_and_will_never_be_is_not_answered_as_if_it_were) {
  std::vector<Exchange> all;
  for (const Incomplete& one : incomplete()) all.push_back({.pieces = {one.wire}, .finishes = true});

  exchange(server().port(), all, {.patience = 3_s});

  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(all[i].ended || all[i].reset) << incomplete()[i].name;
    for (const Reply& reply : replies(all[i].received)) EXPECT_GE(reply.status, 400) << incomplete()[i].name;
  }
}

TEST_P(Conformance, a_thousand_requests_in_one_write_are_answered_in_order) {
  std::string wire;
  for (int i = 0; i < 1000; ++i)
    wire += "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n" + std::to_string(1000 + i);
  wire += last_request;

  const Exchange one = send(wire);

  const auto got = replies(one.received);
  ASSERT_EQ(got.size(), 1001u);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(got[i].body, std::to_string(1000 + i));
  EXPECT_TRUE(one.ended);
}

TEST_P(Conformance, an_error_ends_a_pipeline_behind_the_answers_before_it) {
  const std::string good = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

  const Exchange one = send(good + good + "GET / HTTP/1.1\r\nHost : a\r\n\r\n" + good + std::string(last_request));

  const auto got = replies(one.received);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].status, 200);
  EXPECT_EQ(got[1].status, 200);
  EXPECT_EQ(got[2].status, 400);
  EXPECT_TRUE(got[2].closes());
  EXPECT_TRUE(one.ended);
}

// RFC 9110 §10.1.1: a client that waits gets 100, or the final response, after which its bytes are not read as a
// request.
TEST_P(Conformance, who_expects_is_told_to_continue) {
  const std::string head =
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 3\r\n\r\n";
  std::vector<Exchange> all(1);
  all[0].pieces = {head, "abc"};

  exchange(server().port(), all, {.pause = 50_ms});

  EXPECT_TRUE(all[0].received.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")) << all[0].received;
  EXPECT_TRUE(all[0].received.ends_with("\r\n\r\nabc"));
}

TEST_P(Conformance, a_body_that_was_refused_is_never_a_request) {
  const std::string head = "DELETE /items HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 200\r\n\r\n";
  std::vector<Exchange> all(1);
  all[0].pieces = {head, last_request};

  exchange(server().port(), all, {.pause = 50_ms});

  const auto got = replies(all[0].received);
  ASSERT_EQ(got.size(), 1u) << all[0].received;
  EXPECT_EQ(got[0].status, 405);
  EXPECT_TRUE(got[0].closes());
}

// Some clients read their socket once.
TEST_P(Conformance, head_and_small_body_arrive_together) {
  const std::string body(1000, 'x');
  const std::string wire = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n" + body;
  for (int i = 0; i < 50; ++i) {
    const Exchange one = send(wire);
    EXPECT_TRUE(one.received.ends_with("\r\n\r\n" + body));
    EXPECT_EQ(one.first_bytes, one.received.size());
  }
}

TEST_P(Conformance, a_value_is_reflected_only_when_it_is_one_line) {
  EXPECT_EQ(call("GET /reflect?v=a%20b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").field("X-Reflect"), "a b");
  const Reply split = call("GET /reflect?v=a%0d%0aEvil:%20b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(split.status, 500);
  EXPECT_EQ(split.head.find("Evil"), std::string::npos);
}

TEST_P(Conformance, cookies_are_listed) {
  const auto cookies = [&](const std::string& field) {
    return call("GET /cookie HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: " + field + "\r\n\r\n");
  };
  EXPECT_EQ(cookies("a=1; b=x=y; c=").body, "a=1\nb=x=y\nc=\n");
  EXPECT_EQ(cookies("===;;;").body, "");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "c" + std::to_string(i) + "=v;";
  EXPECT_EQ(cookies(many).status, 400) << "more than anybody reads";
}

TEST_P(Conformance, uploads_are_taken_apart) {
  const auto upload = [&](const std::string& body, const std::string& type) {
    return call("POST /upload HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: " + type +
                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  };
  const std::string type = "multipart/form-data; boundary=b";
  const std::string form =
      "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nxyz\r\n"
      "--b\r\nContent-Disposition: form-data; name=f; filename=\"f.bin\"\r\nContent-Type: image/png\r\n\r\n" +
      std::string(100'000, 'p') + "\r\n--b--\r\n";

  EXPECT_EQ(upload(form, type).body, R"([{"name":"a","content_type":"text/plain","bytes":3},)"
                                     R"({"name":"f","filename":"f.bin","content_type":"image/png","bytes":100000}])");
  EXPECT_EQ(upload(form, "text/plain").status, 415);
  EXPECT_EQ(upload(form, "multipart/form-data").status, 400);
  EXPECT_EQ(upload(form.substr(0, 200), type).status, 400) << "no last boundary";
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "--b\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n";
  EXPECT_EQ(upload(many + "--b--", type).status, 400);
}

TEST_P(Conformance, files_are_served_whole_in_part_or_not_again) {
  const auto get = [&](const std::string& target, const std::string& fields = "") {
    return call("GET " + target + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + fields + "\r\n");
  };
  const Reply whole = get("/static/x");
  ASSERT_EQ(whole.status, 200);
  EXPECT_EQ(whole.body.size(), 4000u);
  EXPECT_EQ(whole.field("Last-Modified"), "Sun, 06 Nov 1994 08:49:37 GMT");
  const std::string etag = whole.field("ETag");

  EXPECT_EQ(get("/static/x", "If-None-Match: " + etag + "\r\n").status, 304);
  EXPECT_EQ(get("/static/x", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n").status, 304);
  const Reply part = get("/static/x", "Range: bytes=100-199\r\nIf-Range: " + etag + "\r\n");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, whole.body.substr(100, 100));
  EXPECT_EQ(get("/static/x", "Range: bytes=4000-\r\n").status, 416);
  EXPECT_EQ(get("/static/x", "Range: bytes=0-,0-,0-,0-\r\n").body.size(), 4000u) << "never more than there is";
  EXPECT_EQ(get("/static/y").status, 404);
  for (const char* target :
       {"/static/../conformance.db", "/static/%2e%2e/uring", "/static/..%2furing", "/static/..%5cx",
        "/static//etc/passwd", "/static/%2fetc%2fpasswd", "/static/.", "/static/"}) {
    EXPECT_EQ(get(target).status, 404) << target;
  }
  EXPECT_EQ(get("/static/x%00").status, 400);
  EXPECT_EQ(call("POST /static/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").status, 405);

  const Exchange head = send("HEAD /static/big HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_NE(head.received.find("Content-Length: 8388608\r\n"), std::string::npos) << head.received.substr(0, 500);
  EXPECT_TRUE(head.received.ends_with("\r\n\r\n"));
  const Reply big = get("/static/big");
  EXPECT_EQ(big.body.size(), 8u << 20);
  EXPECT_TRUE(big.body.starts_with(whole.body)) << "both are the same letters";
}

TEST_P(Conformance, what_was_understood_is_described) {
  const Exchange one =
      exchange(server().describe_port(), "PUT /a?b HTTP/1.0\r\nX:  y \r\nContent-Length: 2\r\n\r\n\xff\n");

  const auto got = replies(one.received);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].body, R"({"method":"UFVU","uri":"L2E/Yg==","version":"SFRUUC8xLjA=","body":"/wo=",)"
                         R"("headers":[["WA==","eQ=="],["Q29udGVudC1MZW5ndGg=","Mg=="]]})");
}

TEST_P(Conformance, metrics_and_health_are_served) {
  for (const char* path : {"/metrics", "/live", "/ready"}) {
    const Reply reply = call(std::string("GET ") + path + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(reply.status, 200) << path;
    EXPECT_FALSE(reply.body.empty()) << path;
  }
}

// y_ is JSON, n_ is not; i_ is either, and answered.
TEST_P(Conformance, json_is_what_the_standard_says) {
  const auto list = files("JSONTestSuite/test_parsing");
  if (list.empty()) GTEST_SKIP() << "JSONTestSuite is not beside the repository";
  std::vector<std::string> wires;
  for (const auto& path : list) {
    const std::string body = read_file(path);
    wires.push_back("POST /json HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: " +
                    std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  std::vector<Exchange> all(wires.size());
  for (std::size_t i = 0; i < wires.size(); ++i) all[i].pieces = {wires[i]};

  exchange(server().port(), all, {});

  int judged = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string name = list[i].filename();
    const auto got = replies(all[i].received);
    ASSERT_EQ(got.size(), 1u) << name;
    const bool may_be_json = !name.starts_with("n_");
    const bool may_be_wrong = !name.starts_with("y_");
    EXPECT_TRUE((may_be_json && got[0].status == 200) || (may_be_wrong && got[0].status == 400))
        << name << " " << got[0].status;
    judged += may_be_json != may_be_wrong;
  }
  EXPECT_EQ(judged, 283);
}

TEST_P(Conformance, survives_what_fuzzers_found) {
  const auto list = files("fuzz/http1");
  if (list.empty()) GTEST_SKIP() << "the fuzz seeds are not beside the repository";
  std::vector<std::string> seeds;
  for (const auto& path : list) seeds.push_back(read_file(path));
  std::vector<Exchange> whole;
  std::vector<Exchange> halves;
  for (const std::string_view seed : seeds) {
    whole.push_back({.pieces = {seed}, .finishes = true});
    halves.push_back({.pieces = {seed.substr(0, seed.size() / 2), seed.substr(seed.size() / 2)}, .finishes = true});
  }

  exchange(server().port(), whole, {.patience = 3_s});
  exchange(server().port(), halves, {.pause = 1_ms, .patience = 3_s});

  const auto statuses = [](const Exchange& one) {
    std::vector<int> list_of_them;
    for (const Reply& reply : replies(one.received)) list_of_them.push_back(reply.status);
    return list_of_them;
  };
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    EXPECT_TRUE(whole[i].ended || whole[i].reset) << list[i];
    if (!whole[i].reset && !halves[i].reset) {
      EXPECT_EQ(statuses(whole[i]), statuses(halves[i])) << list[i];
    }
  }
}

class Restart : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!has_engine(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
  }
  Folder folder_;
};
INSTANTIATE_TEST_SUITE_P(Engines, Restart, ::testing::Values("uring", "epoll"), [](auto& test) { return test.param; });

TEST_P(Restart, an_item_that_was_acknowledged_survives_a_kill) {
  const std::string data = folder_ / "items";
  {
    Process server(GetParam(), data, servers.certificate());
    ASSERT_TRUE(server.is_ready());
    const Exchange one = exchange(server.port(),
                                  "POST /items HTTP/1.1\r\nHost: a\r\nContent-Length: 13\r\nConnection: close\r\n\r\n"
                                  R"({"key":"a/b"})");
    ASSERT_EQ(replies(one.received).at(0).status, 201);
    server.signal(SIGKILL);
    ASSERT_EQ(server.wait(10_s), 128 + SIGKILL);
  }

  Process server(GetParam(), data, servers.certificate());
  ASSERT_TRUE(server.is_ready());
  const Exchange one = exchange(server.port(), "GET /items/a%2Fb HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");

  const auto got = replies(one.received);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].status, 200);
  EXPECT_EQ(got[0].body, R"({"key":"a/b"})");
}

TEST_P(Restart, a_request_that_has_begun_is_answered_before_the_end) {
  Process server(GetParam(), folder_ / "items", servers.certificate());
  ASSERT_TRUE(server.is_ready());
  std::vector<Exchange> all(1);
  all[0].pieces = {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na", "bc"};
  std::thread stopping([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    server.signal(SIGTERM);
  });

  exchange(server.port(), all, {.pause = 300_ms});
  stopping.join();

  const auto got = replies(all[0].received);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].body, "abc");
  EXPECT_TRUE(got[0].closes());
  EXPECT_TRUE(all[0].ended);
  EXPECT_EQ(server.wait(10_s), 0);
}

}  // namespace
}  // namespace conformance::conformance_test
