// Bodies that middleware changes while they leave: with public headers alone, as middleware outside of the library has.

#include "keel/http/server/body_transform.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>

#include "keel/base/bug.h"
#include "keel/http/server/body_writer.h"
#include "keel/http/server/router.h"
#include "keel/http/testing/test_server.h"

namespace keel::http::body_transform_test {
namespace {

int alive = 0;
std::size_t longest = 0;
Code seen = Code::Internal;  // By the task that writes.

// Puts a mark around each part, and one behind all of it.
class Marks final : public BodyTransform {
 public:
  explicit Marks(char mark) : mark_(mark) { ++alive; }
  Result<> write(std::string_view piece, Buffer& out) override {
    longest = std::max(longest, piece.size());
    out.push_back(mark_);
    out.append(piece);
    return {};
  }
  Result<> end(Buffer& out) override {
    out.push_back(mark_);
    out.push_back('.');
    return {};
  }
  void release() noexcept override {
    --alive;
    delete this;
  }

 private:
  const char mark_;
};

// Lets nothing through before the end.
class Holds final : public BodyTransform {
 public:
  Holds() { ++alive; }
  Result<> write(std::string_view piece, Buffer&) override {
    bytes_ += piece.size();
    return {};
  }
  Result<> end(Buffer& out) override {
    out.append(std::to_string(bytes_));
    return {};
  }
  void release() noexcept override {
    --alive;
    delete this;
  }

 private:
  std::size_t bytes_ = 0;
};

class Fails final : public BodyTransform {
 public:
  explicit Fails(bool throws) : throws_(throws) { ++alive; }
  Result<> write(std::string_view, Buffer&) override {
    EXPECT_EQ(calls_++, 0) << "it is not called again";
    if (throws_) throw std::bad_alloc();
    return fail(Code::DataLoss, "this cannot be changed");
  }
  Result<> end(Buffer&) override {
    ADD_FAILURE() << "it is not called again";
    return {};
  }
  void release() noexcept override {
    --alive;
    delete this;
  }

 private:
  const bool throws_;
  int calls_ = 0;
};

template <class T, auto... args>
struct Uses {
  void after(Request&, Response& response) const {
    if (response.is_streamed()) response.transform(*new T(args...));
  }
};

Task<> write_words(BodyWriter& out) {
  co_await out.write("one");
  co_await out.write("two");
  EXPECT_EQ(out.written(), 6u) << "of what the task has written";
}
Task<> write_much(BodyWriter& out, std::size_t bytes) { co_await out.write(std::string(bytes, 'x')); }
Task<> write_on(BodyWriter& out) {
  for (int i = 0; i < 3; ++i) {
    const Result<> result = co_await attempt(out.write("more"));
    seen = result ? Code::Internal : result.error().code();
  }
}

Response words(Request&) { return Response::stream(Status::Ok, "text/plain", &write_words); }
Response much(Request&) { return Response::stream(Status::Ok, "text/plain", &write_much, std::size_t{200'000}); }
Response on(Request&) { return Response::stream(Status::Ok, "text/plain", &write_on); }
Response announced(Request&) { return Response::stream(Status::Ok, "text/plain", &write_words).length(6); }
Response too_short(Request&) { return Response::stream(Status::Ok, "text/plain", &write_words).length(7); }

class BodyTransforms : public ::testing::Test {
 protected:
  void SetUp() override {
    longest = 0;
    seen = Code::Internal;
  }
  void TearDown() override { EXPECT_EQ(alive, 0) << "each is released once"; }
};

TEST_F(BodyTransforms, change_what_is_written_and_add_what_is_left_at_the_end) {
  Router router;
  router.use(Uses<Marks, 'a'>()).get("/words", words).get("/announced", announced);
  TestServer server(router);

  EXPECT_EQ(server.get("/words").body(), "aoneatwoa.");
  const TestResponse response = server.get("/announced");
  EXPECT_EQ(response.body(), "aoneatwoa.") << "the length that was announced is that of what is written";
  EXPECT_EQ(response.header("Content-Length"), std::nullopt);
}

TEST_F(BodyTransforms, pass_on_to_each_other_in_the_order_in_which_they_were_given) {
  Router router;
  // The innermost one sees the response first.
  router.use(Uses<Marks, 'c'>()).use(Uses<Marks, 'b'>()).use(Uses<Marks, 'a'>()).get("/words", words);
  TestServer server(router);

  EXPECT_EQ(server.get("/words").body(), "cbaonecbatwocba.b.c.");
}

TEST_F(BodyTransforms, may_keep_everything_back_until_the_end) {
  Router router;
  router.use(Uses<Marks, 'a'>()).use(Uses<Holds>()).get("/words", words).get("/much", much);
  TestServer server(router);

  EXPECT_EQ(server.get("/words").body(), "a6a.");
  EXPECT_EQ(server.get("/much").body(), "a200000a.");
}

TEST_F(BodyTransforms, are_given_64_kib_at_a_time) {
  Router router;
  router.use(Uses<Marks, 'a'>()).get("/much", much);
  TestServer server(router);

  EXPECT_EQ(server.get("/much").body().size(), 200'000u + 4 + 2);
  EXPECT_EQ(longest, 64u * 1024);
}

TEST_F(BodyTransforms, end_the_body_when_they_fail) {
  Router router;
  router.group("/fails").use(Uses<Marks, 'a'>()).use(Uses<Fails, false>()).get("/on", on).get("/words", words);
  router.group("/throws").use(Uses<Fails, true>()).get("/on", on);
  TestServer server(router);

  // Before the head has left.
  EXPECT_EQ(server.get("/fails/on").status(), 500);
  EXPECT_EQ(seen, Code::DataLoss) << "each write says so";
  EXPECT_EQ(server.get("/fails/words").status(), 500);
  EXPECT_EQ(server.get("/throws/on").status(), 503);
  EXPECT_EQ(seen, Code::ResourceExhausted);
}

TEST_F(BodyTransforms, hold_the_writer_to_the_length_that_was_announced) {
  Router router;
  router.use(Uses<Marks, 'a'>()).get("/short", too_short);
  TestServer server(router);

  EXPECT_EQ(server.get("/short").status(), 500);
}

TEST_F(BodyTransforms, are_released_where_no_body_is_sent) {
  struct Replaces {
    void after(Request&, Response& response) const {
      Buffer bytes;
      bytes.append("another");
      response.replace_content(std::move(bytes));
    }
  };
  Router router;
  router.group("/replaced").use(Replaces()).use(Uses<Marks, 'a'>()).get("/words", words);
  router.group("").use(Uses<Marks, 'a'>()).get("/words", words);
  TestServer server(router);

  EXPECT_EQ(server.get("/replaced/words").body(), "another");
  const TestResponse head = server.send({Method::Head, "/words"});
  EXPECT_EQ(head.status(), 200);
  EXPECT_EQ(head.header("Content-Length"), std::nullopt) << "nobody knows how long it becomes";
}

// What a middleware answers a synchronous handler's request with may be streamed too.
TEST_F(BodyTransforms, may_be_those_of_a_response_that_a_middleware_has_made) {
  struct Streams {
    void after(Request&, Response& response) const {
      response = Response::stream(Status::Ok, "text/plain", &write_words);
    }
  };
  Router router;
  router.use(Uses<Marks, 'a'>()).use(Streams()).get("/", [](Request&) { return Response(Status::NoContent); });
  TestServer server(router);

  EXPECT_EQ(server.get("/").body(), "aoneatwoa.");
}

TEST_F(BodyTransforms, are_for_bodies_that_are_streamed) {
  Response response = Response::text(Status::Ok, "whole");
  EXPECT_THROW(response.transform(*new Marks('a')), Bug);
}

}  // namespace
}  // namespace keel::http::body_transform_test
