// The controller in virtual time, and a server whose route costs time of the processor.

#include "keel/http/server/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>

#include "keel/http/testing/internal/server_fixture.h"

namespace keel::http::admission_test {
namespace {

using namespace internal;

constexpr Duration limit = 5_ms;

// A worker in virtual time: requests come at a rate, one turn takes all that are there.
struct Worker {
  Duration cost = 60_us;
  Duration refusal = 4_us;
  Admission admission;
  Instant now = Instant() + 1_s;
  Instant arrives = now;
  std::deque<Instant> queue;
  int answered = 0;
  int refused = 0;
  Duration worst_refusal;
  Duration worst_answer;

  // `load`: of what the worker can do.
  void run(Duration time, double load) {
    const auto gap = Duration::nanoseconds(static_cast<std::int64_t>(static_cast<double>(cost.count_ns()) / load));
    const Instant end = now + time;
    arrives = std::max(arrives, now);
    answered = refused = 0;
    worst_refusal = worst_answer = Duration();
    while (now < end) {
      for (; arrives <= now; arrives = arrives + gap) queue.push_back(arrives);
      if (queue.empty()) {
        now = arrives;
        continue;
      }
      const Instant turn = now;
      for (auto left = queue.size(); left != 0; --left) {
        const Instant came = queue.front();
        queue.pop_front();
        const bool refuses = admission.refuses(turn, now, now - turn, limit);
        now = now + (refuses ? refusal : cost);
        ++(refuses ? refused : answered);
        Duration& worst = refuses ? worst_refusal : worst_answer;
        worst = std::max(worst, now - came);
      }
    }
  }
  double goodput(Duration time) const {
    return static_cast<double>(answered) * static_cast<double>(cost.count_ns()) / static_cast<double>(time.count_ns());
  }
};

TEST(Admission, refuses_nothing_below_capacity) {
  Worker worker;
  worker.run(2_s, 0.95);
  EXPECT_EQ(worker.refused, 0);
  EXPECT_FALSE(worker.admission.is_overloaded());
}

TEST(Admission, refuses_nothing_in_a_burst_that_is_worked_off) {
  Worker worker;
  worker.run(25_ms, 3);
  EXPECT_EQ(worker.refused, 0);
  worker.run(1_s, 0.2);
  EXPECT_EQ(worker.refused, 0);
  // Bursts with quiet between them are no standing queue.
  for (int i = 0; i < 10; ++i) {
    worker.run(20_ms, 3);
    EXPECT_EQ(worker.refused, 0);
    worker.run(80_ms, 0.2);
    EXPECT_EQ(worker.refused, 0);
  }
}

TEST(Admission, keeps_its_goodput_and_refuses_soon_at_120_and_200_percent) {
  for (const double load : {1.2, 2.0}) {
    Worker worker;
    worker.run(1_s, load);  // It notices, and works off what had gathered.
    worker.run(2_s, load);
    EXPECT_TRUE(worker.admission.is_overloaded());
    EXPECT_GE(worker.goodput(2_s), load == 1.2 ? 0.9 : 0.85) << load;
    EXPECT_GT(worker.refused, 0);
    EXPECT_LE(worker.worst_refusal, limit * 2 + 2_ms) << load;
    EXPECT_LE(worker.worst_answer, limit * 2 + 2_ms) << load;
  }
}

TEST(Admission, is_over_soon_after_the_overload) {
  Worker worker;
  worker.run(2_s, 2);
  ASSERT_TRUE(worker.admission.is_overloaded());
  worker.run(200_ms, 0.8);
  EXPECT_FALSE(worker.admission.is_overloaded());
  worker.run(1_s, 0.8);
  EXPECT_EQ(worker.refused, 0);
}

bool refuses(Admission& admission, Instant turn, Duration delay, Duration delay_max) {
  return admission.refuses(turn, turn + delay, delay, delay_max);
}

TEST(Admission, does_not_add_up_what_lies_far_apart) {
  Admission admission;
  const Instant first = Instant() + 1_s;
  EXPECT_FALSE(refuses(admission, first, limit * 2, limit));
  EXPECT_FALSE(refuses(admission, first + 10_s, limit * 2, limit));
  EXPECT_FALSE(refuses(admission, first + 10_s + admission_interval - 1_us, limit * 2, limit));
  EXPECT_TRUE(refuses(admission, first + 10_s + admission_interval, limit * 2, limit));
  EXPECT_FALSE(refuses(admission, first + 10_s + admission_interval, limit, limit));
}

TEST(Admission, notices_an_overload_whose_turns_are_longer_than_its_interval) {
  Admission admission;
  Instant turn = Instant() + 1_s;
  EXPECT_FALSE(refuses(admission, turn, limit + 1_us, limit));
  EXPECT_TRUE(refuses(admission, turn, limit + admission_interval + 1_us, limit));
  turn = turn + admission_interval * 3;
  EXPECT_FALSE(refuses(admission, turn, limit, limit));
}

// --- A server.

Response burn(Request&) {
  const Instant end = Host::system().now() + 1_ms;
  while (Host::system().now() < end) {
  }
  return Response::text(Status::Ok, "burnt");
}

class AdmittingServers : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    router_.get("/burn", burn).post("/burn", burn);
  }
};
INSTANTIATE_TEST_SUITE_P(, AdmittingServers, ::testing::Values(io::testing::Which::Uring, io::testing::Which::Epoll),
                         io::testing::name_of_engine);

TEST_P(AdmittingServers, answer_503_at_once_while_they_are_late_with_all) {
  Limits limits;
  limits.queue_delay_max = 2_ms;
  start(limits);
  constexpr std::size_t clients = 4;
  constexpr std::size_t each = 150;  // All that is there is work for 600 ms.
  for (std::size_t i = 0; i < clients; ++i) {
    std::string wire;
    for (std::size_t n = 0; n < each; ++n) wire += n % 8 == 0 ? post("/burn", "body") : get("/burn");
    peer().send(wire);
  }
  for (std::size_t i = 0; i < clients; ++i) ASSERT_TRUE(has_replies(*peers_[i], each));

  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < clients; ++i) {
    for (const Reply& reply : peers_[i]->all()) {
      if (reply.status == 200) continue;
      ++refused;
      EXPECT_EQ(reply.status, 503);
      EXPECT_EQ(reply.field("Retry-After"), "1");
      EXPECT_FALSE(reply.closes());
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(refused, server_->stats().overloaded);
  EXPECT_EQ(server_->stats().requests, clients * each);
  EXPECT_LT(refused, clients * each);
  // What costs little is answered meanwhile, and afterwards everything is.
  EXPECT_EQ(ask_one(get("/plaintext")).status, 200);
  pass(admission_interval + 20_ms);
  EXPECT_EQ(ask_one(get("/burn")).status, 200);
}

// Requests that the loop does not see for a while, as those are that a harvest leaves in the kernel.
class LateServers : public AdmittingServers {
 protected:
  static constexpr Duration unseen = limit * 8;

  void SetUp() override {
    AdmittingServers::SetUp();
    Limits limits;
    limits.queue_delay_max = limit * 4;
    start(limits);
    client_ = &peer();
    std::string learning;  // What the route costs.
    for (; asked_ < 30; ++asked_) learning += get("/burn");
    ask_unseen(learning, Duration());
  }
  void ask_unseen(const std::string& wire, Duration time) {
    client_->send(wire);
    loop_->engine().flush();
    wait_for(time);
    ASSERT_TRUE(has_replies(*client_, asked_));
  }
  static void wait_for(Duration time) {
    const Instant end = Host::system().now() + time;
    while (Host::system().now() < end) {
    }
  }

  Peer* client_ = nullptr;
  std::size_t asked_ = 0;
};
INSTANTIATE_TEST_SUITE_P(, LateServers, ::testing::Values(io::testing::Which::Uring, io::testing::Which::Epoll),
                         io::testing::name_of_engine);

TEST_P(LateServers, refuse_what_has_waited_too_long_in_the_kernel) {
  // Each is alone in its turn, which therefore is short. Some more than it takes: where the machine is away for longer
  // than the interval, the overload begins anew.
  for (int i = 0; i < 40 && server_->stats().overloaded == 0; ++i) {
    ++asked_;
    ask_unseen(get("/burn"), unseen);
  }
  EXPECT_EQ(server_->stats().overloaded, 1u);
}

TEST_P(LateServers, do_not_refuse_what_has_just_come_behind_what_is_late) {
  Peer& other = peer();
  std::size_t other_asked = 0;
  std::uint64_t before = 0;
  bool is_refused = false;
  for (int i = 0; i < 40 && !is_refused; ++i) {
    ++asked_;
    ask_unseen(get("/burn"), unseen);
    before = server_->stats().overloaded;
    if (before == 0) continue;
    client_->send(get("/burn"));
    loop_->engine().flush();
    wait_for(unseen);
    other.send(get("/burn"));
    ++asked_;
    ASSERT_TRUE(has_replies(*client_, asked_) && has_replies(other, ++other_asked));
    is_refused = client_->all().back().status == 503;
  }
  EXPECT_TRUE(is_refused);
  EXPECT_EQ(server_->stats().overloaded, before + 1);
  EXPECT_EQ(other.all().back().status, 200);
}

TEST_P(LateServers, ask_the_kernel_only_where_the_turn_does_not_say_how_late_they_are) {
  constexpr std::size_t each = 60;
  std::uint64_t calls = 0;
  for (int i = 0; i < 40 && server_->stats().overloaded < each; ++i) {
    std::string wire;
    for (std::size_t n = 0; n < each; ++n) wire += get("/burn");
    asked_ += each;
    calls = loop_->engine().system_calls();
    ask_unseen(wire, unseen);
    calls = loop_->engine().system_calls() - calls;
  }
  EXPECT_GE(server_->stats().overloaded, each);
  EXPECT_LT(calls, each / 2);
}

Task<Response> burn_and_wait(Request& request) {
  burn(request);
  if (request.query() == "wait") co_await sleep_for(60_ms);
  co_return Response::text(Status::Ok, "waited");
}

TEST_P(AdmittingServers, do_not_count_how_long_a_request_waited_for_those_before_it_on_its_connection) {
  router_.get("/burn_and_wait", burn_and_wait);
  Limits limits;
  limits.queue_delay_max = 40_ms;
  start(limits);
  std::string learning;  // What the route costs.
  for (std::size_t i = 0; i < 30; ++i) learning += get("/burn_and_wait");
  EXPECT_EQ(ask(learning).size(), 30u);
  std::string wire;
  for (std::size_t i = 0; i < 6; ++i) wire += get("/burn_and_wait?wait");
  EXPECT_EQ(ask(wire).size(), 6u);
  EXPECT_EQ(server_->stats().overloaded, 0u);
}

TEST_P(AdmittingServers, never_refuse_without_a_limit) {
  Limits limits;
  limits.queue_delay_max = Duration::forever();
  start(limits);
  std::string wire;
  for (int i = 0; i < 150; ++i) wire += get("/burn");
  EXPECT_EQ(ask(wire).size(), 150u);
  EXPECT_EQ(server_->stats().overloaded, 0u);
}

}  // namespace
}  // namespace keel::http::admission_test
