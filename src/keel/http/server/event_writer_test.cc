// Server-sent events as they are on the wire, on every engine.

#include "keel/http/server/event_writer.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/http/testing/internal/server_fixture.h"
#include "keel/task/scope.h"

namespace keel::http::event_writer_test {
namespace {

using namespace internal;
using namespace std::string_literals;

int writers_running = 0;

struct Running {
  Running() { ++writers_running; }
  ~Running() { --writers_running; }
};

Task<> send_some(EventWriter& events, std::string last_id) {
  co_await events.retry(2500_ms);
  co_await events.send("after " + last_id);
  co_await sleep_for(1_ms);
  co_await events.send("a\nb\r\nc\rd\n", "text", "8");
  co_await events.send("");
}
Task<> send_wrong(EventWriter& events) {
  EXPECT_TRUE((co_await attempt(events.send("a", "a\nb"))).error().is_bug());
  EXPECT_TRUE((co_await attempt(events.send("a", "", "a\rb"))).error().is_bug());
  const std::string_view nul("a\0b", 3);
  EXPECT_TRUE((co_await attempt(events.send("a", "", nul))).error().is_bug());
  EXPECT_TRUE((co_await attempt(events.retry(Duration() - 1_ms))).error().is_bug());
  co_await events.send("right");
}
Task<> wait_long(EventWriter& events) {
  const Running running;
  co_await sleep_for(40_s);
  co_await events.send("late");
}
Task<> wait_for_ever(EventWriter& events) {
  const Running running;
  co_await events.send("first");
  co_await sleep_for(1_h);
}
Task<> fail_at_once(EventWriter&) { co_await fail(Code::Unavailable, "secret of the handler"); }
Task<> fail_later(EventWriter& events) {
  co_await events.send("half");
  co_await sleep_for(1_ms);
  co_await fail(Code::Unavailable, "secret of the handler");
}
Task<> send_ten(EventWriter& events, std::string name) {
  const std::string data(20'000, 'x');
  for (int i = 0; i < 10; ++i) co_await events.send(data, name);
}
Task<> send_from_two_tasks(EventWriter& events) {
  Scope both;
  both.spawn(send_ten(events, "a"));
  both.spawn(send_ten(events, "b"));
  co_await both.join();
}
struct Feed {
  Task<> follow(EventWriter& events, int count) {
    for (int i = 0; i < count; ++i) co_await events.send(name);
  }
  std::string name = "feed";
} feed;

class EventWriting : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    writers_running = 0;
    router_.get("/some", [](Request& request) {
      return Response::events(&send_some, std::string(request.header("Last-Event-ID").value_or("none")));
    });
    router_.get("/wrong", [](Request&) { return Response::events(&send_wrong); });
    router_.get("/long", [](Request&) { return Response::events(&wait_long); });
    router_.get("/for-ever", [](Request&) { return Response::events(&wait_for_ever); });
    router_.get("/fail-at-once", [](Request&) { return Response::events(&fail_at_once); });
    router_.get("/fail-later", [](Request&) { return Response::events(&fail_later); });
    router_.get("/two", [](Request&) { return Response::events(&send_from_two_tasks); });
    router_.get("/member", [](Request&) { return Response::events(feed, &Feed::follow, 2); });
  }
};
INSTANTIATE_TEST_SUITE_P(, EventWriting, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(EventWriting, sends_events_that_a_browser_reads) {
  start();

  const auto list = ask(get("/some", "Last-Event-ID: 7\r\n") + get("/member"));

  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].status, 200);
  EXPECT_EQ(list[0].field("Content-Type"), "text/event-stream");
  EXPECT_EQ(list[0].field("Cache-Control"), "no-store");
  EXPECT_EQ(list[0].field("X-Accel-Buffering"), "no");
  EXPECT_EQ(list[0].body,
            "retry: 2500\n\n"
            "data: after 7\n\n"
            "event: text\nid: 8\ndata: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"
            "data: \n\n");
  EXPECT_EQ(list[1].body, "data: feed\n\ndata: feed\n\n") << "the connection continues";
}

TEST_P(EventWriting, rejects_what_would_be_another_field) {
  start();
  EXPECT_EQ(ask(get("/wrong")).at(0).body, "data: right\n\n");
}

TEST_P(EventWriting, comments_while_there_is_nothing_to_send) {
  if (!is_sim()) GTEST_SKIP() << "forty seconds";
  start();
  EXPECT_EQ(ask(get("/long")).at(0).body, ":\n\n:\n\ndata: late\n\n");
}

TEST_P(EventWriting, stops_with_the_client) {
  start();
  Peer& one = peer();
  one.send(get("/for-ever"));
  ASSERT_TRUE(until([&] { return one.wire().contains("data: first\n\n"); }));
  EXPECT_EQ(writers_running, 1);

  reset(one);

  EXPECT_TRUE(until([&] { return writers_running == 0; }));
}

TEST_P(EventWriting, ends_when_the_server_drains) {
  start();
  Peer& one = peer();
  one.send(get("/for-ever"));
  ASSERT_TRUE(until([&] { return one.wire().contains("data: first\n\n"); }));

  server_->begin_drain(100_ms);

  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(writers_running, 0);
  EXPECT_TRUE(one.wire().ends_with("\r\n0\r\n\r\n")) << "and not as if the server had failed";
  EXPECT_TRUE(until([&] { return server_->is_drained(); }));
}

TEST_P(EventWriting, that_fails_at_once_is_the_response_of_that_error) {
  start();
  const Reply reply = ask_one(get("/fail-at-once"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body.find("secret"), std::string::npos);
}

TEST_P(EventWriting, that_fails_later_cuts_the_connection) {
  start();
  Peer& one = peer();
  one.send(get("/fail-later"));
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(one.wire().find("0\r\n\r\n"), std::string::npos) << "the body has no end";
}

TEST_P(EventWriting, by_two_tasks_keeps_events_whole) {
  start();
  const std::string body = ask(get("/two")).at(0).body;
  const std::string data = "data: " + std::string(20'000, 'x') + "\n\n";
  int count = 0;
  for (std::string_view rest = body; !rest.empty(); ++count) {
    ASSERT_TRUE(rest.starts_with("event: a\n") || rest.starts_with("event: b\n"));
    rest.remove_prefix(9);
    ASSERT_TRUE(rest.starts_with(data)) << count;
    rest.remove_prefix(data.size());
  }
  EXPECT_EQ(count, 20);
}

}  // namespace
}  // namespace keel::http::event_writer_test
