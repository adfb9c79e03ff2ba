// Bodies that are compressed while they leave, on every engine.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "keel/http/middleware/compression.h"
#include "keel/http/server/body_writer.h"
#include "keel/http/testing/internal/decode_testing.h"
#include "keel/http/testing/internal/server_fixture.h"
#include "keel/task/timing.h"

namespace keel::http::compression_stream_test {
namespace {

using namespace internal;

const std::string text = [] {
  std::string made;
  for (int i = 0; made.size() < 600'000; ++i) made += "{\"id\":" + std::to_string(i) + ",\"name\":\"user\"},\n";
  return made;
}();

bool goes_on = true;
Code error_seen = Code::Internal;
std::uint64_t written_before = 0;

Task<> write_all(BodyWriter& out, std::size_t piece) {
  for (std::size_t at = 0; at < text.size(); at += piece) {
    co_await out.write(std::string_view(text).substr(at, piece));
    EXPECT_EQ(out.written(), std::min(text.size(), at + piece));
  }
}
Task<> write_nothing(BodyWriter&) { co_return; }
Task<> write_and_wait(BodyWriter& out) {
  co_await out.write("first");
  while (!goes_on) co_await sleep_for(1_ms);
  co_await out.write(", last");
}
Task<> write_too_much(BodyWriter& out) {
  co_await out.write(std::string(2'000, 'x'));
  const Result<> result = co_await attempt(out.write("y"));
  if (!result) error_seen = result.error().code();
}
Task<> write_too_little(BodyWriter& out) { co_await out.write("short"); }
// Its reader does not read: the first write is stopped while it waits.
Task<> write_again(BodyWriter& out) {
  const std::string_view noise = std::string_view(large).substr(0, 3'000'000);
  const Result<> result = co_await attempt(with_timeout(20_ms, out.write(noise)));
  error_seen = result ? Code::Internal : result.error().code();
  written_before = out.written();
  co_await out.write("and more");
}
// What cannot be written now is left out.
Task<> write_or_drop(BodyWriter& out) {
  int dropped = 0;
  for (int i = 0; i < 200; ++i) {
    const Result<> result = co_await attempt(with_timeout(1_ms, out.write(std::string_view(large).substr(0, 65'536))));
    dropped += !result;
  }
  EXPECT_GT(dropped, 100);
  written_before = out.written();
}

class CompressedStreams : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    goes_on = true;
    error_seen = Code::Internal;
    written_before = 0;
  }
  void serve(const CompressionOptions& options = {}) {
    auto routes = router_.group("");
    routes.use(Compression(options));
    routes.get("/all/{piece:int}", [](Request& request) -> Result<Response> {
      KEEL_TRY(const int piece, request.path_param<int>("piece"));
      return Response::stream(Status::Ok, "application/json", &write_all, static_cast<std::size_t>(piece));
    });
    routes.get("/known", [](Request&) {
      return Response::stream(Status::Ok, "text/csv", &write_all, std::size_t{64'000}).length(text.size());
    });
    routes.get("/wait", [](Request&) { return Response::stream(Status::Ok, "text/event-stream", &write_and_wait); });
    routes.get("/nothing", [](Request&) { return Response::stream(Status::Ok, "text/plain", &write_nothing); });
    routes.get("/much",
               [](Request&) { return Response::stream(Status::Ok, "text/plain", &write_too_much).length(2'000); });
    routes.get("/little",
               [](Request&) { return Response::stream(Status::Ok, "text/plain", &write_too_little).length(2'000); });
    routes.get("/small",
               [](Request&) { return Response::stream(Status::Ok, "text/plain", &write_too_little).length(5); });
    routes.get("/image", [](Request&) { return Response::stream(Status::Ok, "image/png", &write_too_little); });
    routes.get("/again", [](Request&) { return Response::stream(Status::Ok, "text/plain", &write_again); });
    routes.get("/drop", [](Request&) { return Response::stream(Status::Ok, "text/plain", &write_or_drop); });
    for (const char* name : {"Content-Digest", "Repr-Digest", "Trailer"}) {
      routes.get(std::string("/digest/") + name, [name](Request&) {
        const std::string_view value =
            std::string_view(name) == "Trailer" ? "X-Took, content-digest" : "sha-256=:AAAA:";
        return Response::stream(Status::Ok, "text/plain", &write_all, std::size_t{64'000}).header(name, value);
      });
    }
    start({}, {.send_buffer_bytes = 64 * 1024});
  }
  static std::string coded(const std::string& target, std::string_view coding = "gzip") {
    return get(target, "Accept-Encoding: " + std::string(coding) + "\r\n");
  }
  // What stands behind the head of a response to HTTP/1.0, so far.
  static std::string_view content(const Peer& peer) {
    const std::size_t end = peer.wire().find("\r\n\r\n");
    return end == std::string::npos ? std::string_view() : std::string_view(peer.wire()).substr(end + 4);
  }
};

INSTANTIATE_TEST_SUITE_P(, CompressedStreams, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(CompressedStreams, are_whole_in_every_coding_and_leave_the_connection_as_it_was) {
  serve();
  for (const std::string_view coding : ContentCoder::codings()) {
    for (const char* target : {"/all/7001", "/all/700000", "/known"}) {
      const auto list = ask(coded(target, coding) + coded("/nothing", coding) + get("/n/4"));
      ASSERT_EQ(list.size(), 3u) << coding << target;
      EXPECT_EQ(list[0].field("Content-Encoding"), coding);
      EXPECT_EQ(list[0].field("Vary"), "Accept-Encoding");
      EXPECT_EQ(list[0].field("Transfer-Encoding"), "chunked");
      EXPECT_EQ(list[0].field("Content-Length"), "") << "that of what was written would be wrong";
      EXPECT_LT(list[0].body.size(), text.size() / 4);
      EXPECT_TRUE(decode_begun(coding, list[0].body) == text) << coding << target;
      EXPECT_EQ(decode(coding, list[1].body), "");
      EXPECT_EQ(list[2].body, "n=4");
    }
  }
}

TEST_P(CompressedStreams, show_a_reader_each_write_at_once) {
  serve();
  for (const std::string_view coding : ContentCoder::codings()) {
    goes_on = false;
    Peer& one = peer();
    one.send("GET /wait HTTP/1.0\r\nAccept-Encoding: " + std::string(coding) + "\r\n\r\n");
    EXPECT_TRUE(until([&] { return decode_begun(coding, content(one)) == "first"; })) << coding << one.wire();
    goes_on = true;
    ASSERT_TRUE(until([&] { return one.has_ended(); }));
    EXPECT_EQ(decode(coding, content(one)), "first, last") << coding;
    close(one);
  }
}

TEST_P(CompressedStreams, are_left_as_they_are_for_who_does_not_accept_it_and_where_it_does_not_pay) {
  serve();
  const auto list = ask(get("/known") + coded("/known", "identity") + coded("/small") + coded("/image"));
  ASSERT_EQ(list.size(), 4u);
  for (const std::size_t i : {0u, 1u}) {
    EXPECT_EQ(list[i].field("Content-Length"), std::to_string(text.size()));
    EXPECT_EQ(list[i].field("Vary"), "Accept-Encoding");
    EXPECT_TRUE(list[i].body == text);
  }
  EXPECT_EQ(list[2].body, "short");
  EXPECT_EQ(list[2].field("Content-Length"), "5");
  EXPECT_EQ(list[3].body, "short");
  for (const Reply& reply : list) EXPECT_EQ(reply.field("Content-Encoding"), "");
}

TEST_P(CompressedStreams, hold_their_writers_to_the_length_that_was_announced) {
  serve();
  error_seen = Code::Cancelled;
  const Reply much = ask_one(coded("/much"));
  EXPECT_EQ(decode("gzip", much.body), std::string(2'000, 'x'));
  EXPECT_EQ(error_seen, Code::Internal) << "a bug of the handler";
  EXPECT_EQ(ask_one(coded("/little")).status, 500) << "before the head has left";
}

TEST_P(CompressedStreams, answer_head_as_get) {
  serve();
  const std::string head = exchange("HEAD /known HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
  EXPECT_NE(head.find("Content-Encoding: gzip\r\n"), std::string::npos) << head;
  EXPECT_EQ(head.find("Content-Length"), std::string::npos) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST_P(CompressedStreams, are_as_many_at_a_time_as_there_may_be) {
  serve({.streams_max = 1});
  for (const bool resets : {false, true}) {
    goes_on = false;
    Peer& one = peer();
    one.send(coded("/wait"));
    ASSERT_TRUE(until([&] { return one.wire().find("\r\n\r\n") != std::string::npos; }));
    EXPECT_NE(one.wire().find("Content-Encoding: gzip"), std::string::npos);
    EXPECT_EQ(ask_one(coded("/nothing")).field("Content-Encoding"), "") << "one is compressed at a time";
    if (resets) {
      reset(one);
      ASSERT_TRUE(until([&] { return server_->stats().connections == 0; }));
      goes_on = true;
    } else {
      goes_on = true;
      ASSERT_TRUE(has_replies(one, 1));
      close(one);
    }
    EXPECT_EQ(ask_one(coded("/nothing")).field("Content-Encoding"), "gzip") << "the coder is back";
  }
}

TEST_P(CompressedStreams, can_be_read_behind_a_write_that_was_stopped) {
  serve();
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.pause();
  one.send("GET /again HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n");
  ASSERT_TRUE(until([&] { return error_seen != Code::Internal; }));
  EXPECT_EQ(error_seen, Code::DeadlineExceeded);
  one.resume();
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  const std::string got = decode("gzip", content(one));
  EXPECT_GT(written_before, 0u);
  EXPECT_LT(written_before, 3'000'000u);
  EXPECT_EQ(got.size(), written_before + 8);
  EXPECT_TRUE(got == large.substr(0, written_before) + "and more");
}

TEST_P(CompressedStreams, take_no_more_memory_for_who_does_not_read_however_often_a_write_is_stopped) {
  serve();
  Peer& one = peer();
  ASSERT_TRUE(until([&] { return one.is_connected(); }));
  one.pause();
  one.send("GET /drop HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n");
  ASSERT_TRUE(until([&] { return written_before != 0; }));
  EXPECT_LT(written_before, 3'000'000u) << "what is not coded is not kept";
  one.resume();
  ASSERT_TRUE(until([&] { return one.has_ended(); }));
  EXPECT_EQ(decode("gzip", content(one)).size(), written_before);
}

TEST_P(CompressedStreams, are_left_as_they_are_where_a_digest_of_them_is_said) {
  serve();
  for (const char* name : {"Content-Digest", "Repr-Digest", "Trailer"}) {
    const Reply reply = ask_one(coded(std::string("/digest/") + name));
    EXPECT_EQ(reply.field("Content-Encoding"), "") << name;
    EXPECT_TRUE(reply.body == text) << name;
  }
}

}  // namespace
}  // namespace keel::http::compression_stream_test
