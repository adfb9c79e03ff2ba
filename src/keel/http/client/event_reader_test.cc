// Server-sent events from a server to a client, on every engine.

#include "keel/http/client/event_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/http/testing/internal/client_testing.h"

namespace keel::http::event_reader_test {
namespace {

using namespace internal;

using Lines = std::vector<std::string>;

// Three events, from the one after the client's last.
Task<> count(EventWriter& events, std::string last_id) {
  for (int i = last_id.empty() ? 1 : std::stoi(last_id) + 1; i <= 3; ++i) {
    const std::string number = std::to_string(i);
    co_await events.send("line 1\nline " + number, "count", number);
    co_await sleep_for(1_ms);
  }
}

class EventReading : public ClientTest {
 protected:
  void SetUp() override {
    ClientTest::SetUp();
    router_.get("/events", [](Request& request) {
      return Response::events(&count, std::string(request.header("Last-Event-ID").value_or("")));
    });
  }

  // Reads to the end of the response or the first error: "type|id|data" of each event.
  Task<Lines> read(std::string url, std::size_t event_bytes_max) {
    ClientRequest request(Method::Get, url);
    request.header("Accept", "text/event-stream");
    if (!last_id_.empty()) request.header("Last-Event-ID", last_id_);
    Client& own = client();  // Its default argument would be destroyed twice in the line below (GCC 12).
    ClientStream response = co_await own.open(std::move(request));
    EventReader events(response, event_bytes_max);
    Lines found;
    while (const auto event = co_await events.next()) {
      found.push_back(std::string(event->type) + '|' + std::string(event->id) + '|' + std::string(event->data));
    }
    EXPECT_FALSE(co_await events.next()) << "it stays at the end";
    last_id_ = events.last_id();
    retry_ = events.retry();
    co_return found;
  }
  Result<Lines> events_at(const std::string& url, std::size_t event_bytes_max = 1000) {
    return run(read(url, event_bytes_max));
  }
  std::string failure(const std::string& reply) {
    raw().plays = {{.reply = reply, .closes = true}};
    const Result<Lines> events = events_at(raw().url("/events?token=secret"), 20);
    if (events) return "";
    EXPECT_EQ(events.error().code(), Code::Upstream);
    EXPECT_TRUE(events.error().is_from_environment());
    return std::string(events.error().message());
  }

  std::string last_id_;
  std::optional<Duration> retry_;
};
INSTANTIATE_TEST_SUITE_P(, EventReading, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(EventReading, gives_what_an_event_writer_has_sent) {
  serve();

  const Result<Lines> events = events_at(url("/events"));

  ASSERT_TRUE(events) << events.error().describe();
  EXPECT_EQ(*events, (Lines{"count|1|line 1\nline 1", "count|2|line 1\nline 2", "count|3|line 1\nline 3"}));
  EXPECT_EQ(last_id_, "3");
}

TEST_P(EventReading, continues_after_the_last_event) {
  serve();
  last_id_ = "2";

  EXPECT_EQ(*events_at(url("/events")), Lines{"count|3|line 1\nline 3"});
  EXPECT_EQ(*events_at(url("/events")), Lines()) << "the id is that of the last event that had one";
}

TEST_P(EventReading, does_not_depend_on_how_the_bytes_arrive) {
  raw().plays = {{.reply = RawServer::ok("\xef\xbb\xbfretry: 50\r\nid: 7\r\ndata: a\r\n\r\n: beat\n\ndata: b\n\nlost",
                                         "Content-Type: Text/Event-Stream; charset=utf-8\r\n"),
                  .in_pieces = true}};

  const Result<Lines> events = events_at(raw().url());

  ASSERT_TRUE(events) << events.error().describe();
  EXPECT_EQ(*events, (Lines{"message|7|a", "message|7|b"}));
  EXPECT_EQ(retry_, 50_ms);
}

TEST_P(EventReading, ends_with_an_error_that_says_what_came_instead) {
  const std::string type = "Content-Type: text/event-stream\r\n";
  EXPECT_EQ(failure(RawServer::answer("503 Service Unavailable", "", type)),
            raw().url("/events") + ": returned 503 with 'text/event-stream' instead of 200 with 'text/event-stream'");
  EXPECT_EQ(failure(RawServer::answer("204 No Content")),
            raw().url("/events") + ": returned 204 with '' instead of 200 with 'text/event-stream'");
  EXPECT_EQ(failure(RawServer::ok("data: a\n\n", "Content-Type: text/html\r\n")),
            raw().url("/events") + ": returned 200 with 'text/html' instead of 200 with 'text/event-stream'");
  EXPECT_EQ(failure(RawServer::ok("data: a\n\ndata: 123456789012345678901\n\n", type)),
            raw().url("/events") + ": a server-sent event is longer than 20 bytes");
}

}  // namespace
}  // namespace keel::http::event_reader_test
