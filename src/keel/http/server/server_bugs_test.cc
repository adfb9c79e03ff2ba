// What a mistake in a handler, and a fault of the environment, cost: the request, never the process. On every engine.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "keel/data/json.h"
#include "keel/exec/call.h"
#include "keel/exec/thread_pool.h"
#include "keel/http/server/body_writer.h"
#include "keel/http/server/cookie.h"
#include "keel/http/server/event_writer.h"
#include "keel/http/server/problem.h"
#include "keel/http/testing/internal/server_fixture.h"
#include "keel/io/file.h"
#include "keel/io/loop.h"
#include "keel/net/stream.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/observe/unhandled.h"
#include "keel/task/group.h"
#include "keel/task/on_error.h"
#include "keel/task/scope.h"

namespace keel::http::server_bugs_test {
namespace {

using namespace internal;

// --- Mistakes.

Response forgets_to_skip(Request& request) {
  json::Reader in(request.body(), request.arena());
  in.begin_object();
  std::int64_t id = 0;
  while (const auto key = in.next_key()) {
    if (*key == "id") id = in.int64();
  }
  return Response::text(Status::Ok, std::to_string(id));
}
Result<Response> mistypes_a_parameter(Request& request) {
  KEEL_TRY(const int id, request.path_param<int>("idd"));
  return Response::text(Status::Ok, std::to_string(id));
}
Task<Response> mistypes_a_parameter_later(Request& request) {
  const int id = co_await request.path_param<int>("idd");
  co_return Response::text(Status::Ok, std::to_string(id));
}
Response takes_the_value_of_an_error(Request&) {
  const Result<int> none = fail(Code::NotFound, "none");
  return Response::text(Status::Ok, std::to_string(none.value()));
}
Response goes_beyond_a_vector(Request&) {
  return Response::text(Status::Ok, std::to_string(std::vector<int>(2).at(7)));
}
Task<Response> goes_beyond_a_vector_later(Request&) {
  co_await sleep_for(1_ms);
  co_return Response::text(Status::Ok, std::to_string(std::vector<int>(2).at(7)));
}
Response throws_a_number(Request&) { throw 7; }
Response calls_nothing(Request&) {
  const Function<void()> nothing = {};
  nothing();
  return Response(Status::Ok);
}
Response announces_a_length(Request&) { return Response::text(Status::Ok, "x").length(7); }
Response has_a_scope(Request&) {
  const Scope scope;
  return Response(Status::Ok);
}
Response has_a_strange_status(Request&) { return Response(static_cast<Status>(1000)); }
Response refuses_strangely(Request&) { return refuse(static_cast<Status>(7), "what?"); }
Response has_a_bad_field(Request&) { return Response(Status::Ok).header("X-A", "b\r\nX-C: d"); }
Task<Response> sets_a_bad_cookie(Request&) {
  Response response(Status::Ok);
  co_await set_cookie(response, {.name = "session", .value = "a b"});
  co_return response;
}
Task<> writes(BodyWriter& out, std::string text) { co_await out.write(text); }
Response writes_too_much(Request&) {
  return Response::stream(Status::Ok, "text/plain", &writes, std::string("sixsix")).length(5);
}
Response writes_too_little(Request&) {
  return Response::stream(Status::Ok, "text/plain", &writes, std::string("four")).length(5);
}
Task<> adds_a_bad_trailer(BodyWriter& out) { co_await out.trailer("Content-Length", "5"); }
Response has_a_bad_trailer(Request&) { return Response::stream(Status::Ok, "text/plain", &adds_a_bad_trailer); }
Task<> sends_a_bad_type(EventWriter& events) { co_await events.send("data", "two\nlines"); }
Response has_a_bad_type(Request&) { return Response::events(&sends_a_bad_type); }
Task<> sends_a_bad_id(EventWriter& events) { co_await events.send("data", "", "two\nlines"); }
Response has_a_bad_id(Request&) { return Response::events(&sends_a_bad_id); }
Task<> retries_in_the_past(EventWriter& events) { co_await events.retry(-1_ms); }
Response has_a_bad_retry(Request&) { return Response::events(&retries_in_the_past); }
Task<> read_all(Request& request) {
  while (true) {
    const Chunk chunk = co_await request.read_body();
    if (chunk.empty()) co_return;
  }
}
Task<Response> reads_twice_at_once(Request& request) {
  [[maybe_unused]] auto both = co_await all(read_all(request), read_all(request));
  co_return Response(Status::Ok);
}

struct ThrowsBefore {
  std::optional<Response> before(Request&) { throw std::out_of_range("before"); }
};
struct ThrowsAfter {
  void after(Request&, Response&) { throw std::out_of_range("after"); }
};

class Bugs : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    log_.drain([](const log::Record&) {});
  }
  // The lines at error level with the fields of each.
  std::vector<std::string> errors() {
    std::vector<std::string> lines;
    log_.drain([&](const log::Record& record) {
      if (record.level() != Level::Error) return;
      std::string line(record.message());
      record.for_each(
          [&](const log::FieldView& field) { line.append(" ").append(field.name).append("=").append(field.text); });
      line.append(" at ").append(record.where().file_name());
      lines.push_back(std::move(line));
    });
    return lines;
  }

 private:
  log::Reader log_{false};
  const log::Ring ring_;
};
INSTANTIATE_TEST_SUITE_P(, Bugs, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(Bugs, cost_their_request_and_neither_its_neighbours_nor_the_connection) {
  router_.post("/skip", forgets_to_skip).get("/param/{id}", mistypes_a_parameter);
  router_.get("/param-later/{id}", &mistypes_a_parameter_later).get("/value", takes_the_value_of_an_error);
  router_.get("/vector", goes_beyond_a_vector).get("/vector-later", &goes_beyond_a_vector_later);
  router_.get("/number", throws_a_number).get("/function", calls_nothing).get("/length", announces_a_length);
  router_.get("/scope", has_a_scope).get("/status", has_a_strange_status).get("/refuse", refuses_strangely);
  router_.get("/field", has_a_bad_field).get("/cookie", &sets_a_bad_cookie).get("/more", writes_too_much);
  router_.get("/less", writes_too_little).get("/trailer", has_a_bad_trailer).get("/event-type", has_a_bad_type);
  router_.get("/event-id", has_a_bad_id).get("/event-retry", has_a_bad_retry);
  router_.group("/before").use(ThrowsBefore()).get("", plaintext).get("/later", &later);
  router_.group("/after").use(ThrowsAfter()).get("", plaintext).get("/later", &later);
  start();
  const std::string mistakes[] = {post("/skip", R"({"id":1,"more":2,"end":3})"),
                                  get("/param/1"),
                                  get("/param-later/1"),
                                  get("/value"),
                                  get("/vector"),
                                  get("/vector-later"),
                                  get("/number"),
                                  get("/function"),
                                  get("/length"),
                                  get("/scope"),
                                  get("/status"),
                                  get("/refuse"),
                                  get("/field"),
                                  get("/cookie"),
                                  get("/more"),
                                  get("/less"),
                                  get("/trailer"),
                                  get("/event-type"),
                                  get("/event-id"),
                                  get("/event-retry"),
                                  get("/before"),
                                  get("/before/later"),
                                  get("/after"),
                                  get("/after/later")};
  std::uint64_t bugs = 0;
  for (const std::string& mistake : mistakes) {
    SCOPED_TRACE(mistake);
    Peer& neighbour = peer();
    neighbour.send(get("/later"));

    const std::vector<Reply> replies = ask(get("/plaintext") + mistake + get("/later") + mistake + get("/plaintext"));

    ASSERT_EQ(replies.size(), 5u);
    for (const std::size_t good : {0u, 2u, 4u}) EXPECT_EQ(replies[good].status, 200) << good;
    for (const std::size_t bad : {1u, 3u}) EXPECT_EQ(replies[bad].status, 500) << bad;
    EXPECT_EQ(replies[1].body.find("idd"), std::string::npos) << replies[1].body;
    EXPECT_TRUE(has_replies(neighbour, 1));
    close(neighbour);
    EXPECT_EQ(server_->stats().bugs, bugs += 2);
    EXPECT_EQ(errors().size(), 1u) << "the second one is counted";
  }
}

TEST_P(Bugs, are_logged_with_request_route_sentence_place_and_stack) {
  router_.get("/param/{id}", mistypes_a_parameter).get("/param-later/{id}", &mistypes_a_parameter_later);
  start();
  for (const std::string target : {"/param/1", "/param-later/1"}) {
    EXPECT_EQ(ask_one(get(target)).status, 500);

    const std::vector<std::string> lines = errors();

    ASSERT_EQ(lines.size(), 1u);
    const std::string route = target.substr(0, target.size() - 1) + "{id}";
    for (const std::string& wanted :
         {std::string("method=GET"), "path=" + target, "route=" + route,
          "error=path_param(\"idd\"): the route \"" + route + "\" has no parameter of this name",
          std::string("places=server_bugs_test.cc:"), std::string("stack="), std::string("mistypes_a_parameter")}) {
      EXPECT_NE(lines[0].find(wanted), std::string::npos) << wanted << " in " << lines[0];
    }
    EXPECT_TRUE(lines[0].ends_with("server_bugs_test.cc")) << "the line is of the place that is wrong: " << lines[0];
  }
}

TEST_P(Bugs, of_two_that_read_a_body_at_once_cost_that_request) {
  router_.post("/twice", &reads_twice_at_once, {.streams_body = true});
  start();
  Peer& one = peer();
  one.send("POST /twice HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n01234");

  EXPECT_TRUE(has_replies(one, 1));

  ASSERT_FALSE(one.all().empty());
  EXPECT_EQ(one.all()[0].status, 500);
  close(one);
  EXPECT_EQ(server_->stats().bugs, 1u);
  EXPECT_EQ(ask_one(get("/plaintext")).status, 200);
}

// --- Work beside the handler.

struct Beside {
  Task<> wait() {
    const Left left{&ended};
    co_await sleep_for(10_s);
  }
  Task<Response> goes_beyond_a_vector(const std::vector<int>& few) {
    co_await sleep_for(1_ms);
    co_return Response::text(Status::Ok, std::to_string(few.at(7)));
  }
  Task<Response> awaits_what_throws(Request&) {
    const std::vector<int> few(2);
    Scope scope;
    scope.spawn(wait());
    scope.spawn(wait());
    co_return co_await goes_beyond_a_vector(few);
  }
  Task<> throws_later() {
    co_await sleep_for(1_ms);
    throw std::out_of_range("beside");
  }
  Task<Response> ignores(Request&) {
    Scope scope;
    scope.spawn(throws_later(), OnError::Ignore);
    co_await scope.join();
    co_return Response(Status::Ok);
  }
  Response executes(Request&) {
    const auto throws = [] { throw std::out_of_range("executed"); };
    if (!execute(*io::Loop::current(), throws) || !execute(*pool, throws)) return Response(Status::ServiceUnavailable);
    return Response(Status::Ok);
  }

  struct Left {
    int* ended;
    ~Left() { ++*ended; }
  };
  int ended = 0;
  ThreadPool* pool = nullptr;
};

TEST_P(Bugs, of_what_a_handler_awaits_beside_children_cost_that_request_and_join_them) {
  Beside beside;
  router_.get("/beside", beside, &Beside::awaits_what_throws);
  start();

  const std::vector<Reply> replies = ask(get("/beside") + get("/plaintext"));

  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].status, 500);
  EXPECT_EQ(replies[1].status, 200);
  EXPECT_EQ(beside.ended, 2);
  EXPECT_EQ(server_->stats().bugs, 1u);
  EXPECT_EQ(errors().size(), 1u);
}

TEST_P(Bugs, of_a_child_that_is_ignored_are_logged) {
  Beside beside;
  router_.get("/ignores", beside, &Beside::ignores);
  start();
  const std::uint64_t before = unhandled_errors();

  EXPECT_EQ(ask_one(get("/ignores")).status, 200);

  EXPECT_EQ(unhandled_errors(), before + 1);
  const std::vector<std::string> lines = errors();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("a task of a Scope ended with a bug, and nothing awaits its error error=exception: beside"),
            std::string::npos)
      << lines[0];
}

TEST_P(Bugs, of_callables_that_a_handler_executes_cost_neither_loop_nor_pool) {
  ThreadPool pool({.executor = simulation_ != nullptr ? &simulation_->pool() : nullptr});
  Beside beside;
  beside.pool = &pool;
  router_.get("/executes", beside, &Beside::executes);
  start();
  const std::uint64_t before = unhandled_errors();

  EXPECT_EQ(ask_one(get("/executes")).status, 200);
  EXPECT_EQ(ask_one(get("/executes")).status, 200);
  pool.stop();

  EXPECT_EQ(ask_one(get("/plaintext")).status, 200);
  EXPECT_EQ(unhandled_errors(), before + 4);
  EXPECT_EQ(errors().size(), 4u);
}

int children_running = 0;
Task<> waits_long() {
  struct Running {
    Running() { ++children_running; }
    ~Running() { --children_running; }
  } const running;
  co_await sleep_for(1_h);
}
Task<Response> mistypes_beside_a_child(Request& request) {
  Scope scope;
  scope.spawn(waits_long());
  const int id = co_await request.path_param<int>("idd");
  co_await scope.join();
  co_return Response::text(Status::Ok, std::to_string(id));
}

TEST_P(Bugs, of_a_parameter_first_end_the_children_of_a_scope) {
  children_running = 0;
  router_.get("/param/{id}", &mistypes_beside_a_child);
  start();

  EXPECT_EQ(ask_one(get("/param/1")).status, 500);
  EXPECT_EQ(children_running, 0);
  EXPECT_EQ(ask_one(get("/plaintext")).status, 200);
  EXPECT_EQ(server_->stats().bugs, 1u);
}

// --- After the head has left.

Task<> writes_and_throws(BodyWriter& out) {
  co_await out.write("the beginning");
  co_await sleep_for(1_ms);
  throw std::out_of_range("in the middle");
}
Task<> talks_and_throws(Stream stream) {
  const Chunk chunk = co_await stream.receive();
  co_await stream.write(chunk);
  throw std::out_of_range("in another protocol");
}

TEST_P(Bugs, while_a_body_is_written_cut_its_connection_alone) {
  router_.get("/stream", [](Request&) { return Response::stream(Status::Ok, "text/plain", &writes_and_throws); });
  start();
  Peer& neighbour = peer();
  neighbour.send(get("/later"));
  Peer& one = peer();
  one.send(get("/stream"));

  EXPECT_TRUE(until([&] { return one.has_ended(); }));

  EXPECT_FALSE(one.wire().ends_with("0\r\n\r\n")) << "the client sees that it is not whole";
  EXPECT_TRUE(has_replies(neighbour, 1));
  neighbour.send(get("/plaintext"));
  EXPECT_TRUE(has_replies(neighbour, 2)) << "it goes on";
  EXPECT_EQ(server_->stats().bugs, 1u);
  const std::vector<std::string> lines = errors();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("route=/stream"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("in the middle"), std::string::npos) << lines[0];
}

TEST_P(Bugs, in_another_protocol_end_that_connection_alone) {
  router_.get("/talk", [](Request&) { return Response::upgrade("echo", &talks_and_throws); });
  start();
  Peer& one = peer();
  one.send(get("/talk", "Connection: Upgrade\r\nUpgrade: echo\r\n") + "hello");

  EXPECT_TRUE(until([&] { return one.has_ended(); }));

  EXPECT_TRUE(one.wire().ends_with("hello")) << one.wire();
  EXPECT_EQ(server_->stats().bugs, 1u);
  EXPECT_EQ(errors().size(), 1u);
  EXPECT_EQ(ask_one(get("/plaintext")).status, 200);
}

// --- Faults of the environment.

constexpr const char* missing_path = "pictures/1.png.71fc";
Task<Response> opens_a_file(Request&) {
  const File file = co_await File::open(missing_path, File::Mode::Read);
  co_return Response(Status::Ok);
}
Task<Response> opens_a_picture(Request&) {
  const File file = co_await on_error(Code::NotFound, fail(Code::NotFound, "there is no such picture"),
                                      File::open(missing_path, File::Mode::Read));
  co_return Response(Status::Ok);
}
Task<Response> connects(Request&) {
  const Stream stream = co_await Stream::connect(Address::parse("127.0.0.1:1").value());
  co_return Response(Status::Ok);
}

TEST_P(Bugs, are_not_what_the_environment_does_which_is_a_5xx_that_says_nothing) {
  router_.get("/file", &opens_a_file).get("/other", &connects).get("/picture", &opens_a_picture);
  start();

  const Reply file = ask_one(get("/file"));
  const std::vector<std::string> lines = errors();
  EXPECT_EQ(file.status, 500);
  EXPECT_EQ(file.body.find("71fc"), std::string::npos) << file.body;
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find(std::string("error=") + missing_path + ": open"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("places=server_bugs_test.cc:"), std::string::npos) << lines[0];
  EXPECT_TRUE(lines[0].ends_with("server_bugs_test.cc")) << lines[0];

  const Reply other = ask_one(get("/other"));
  EXPECT_EQ(other.status, 503);
  EXPECT_EQ(other.body.find("127.0.0.1"), std::string::npos) << other.body;
  EXPECT_EQ(errors().size(), 1u);

  const Reply picture = ask_one(get("/picture"));
  EXPECT_EQ(picture.status, 404);
  EXPECT_NE(picture.body.find("there is no such picture"), std::string::npos) << picture.body;
  EXPECT_EQ(errors().size(), 0u);
  EXPECT_EQ(server_->stats().bugs, 0u);
}

}  // namespace
}  // namespace keel::http::server_bugs_test
