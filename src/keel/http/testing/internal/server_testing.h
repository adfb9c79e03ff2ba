// keel/http/testing/internal/server_testing.h — shared by the tests of the server: a router with handlers of every
// kind, and a parser of replies.

#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "keel/http/message/chunk.h"
#include "keel/http/server/problem.h"
#include "keel/http/server/server.h"
#include "keel/task/timing.h"

namespace keel::http {

struct Point {
  int x;
};
inline void write_json(json::Writer& out, const Point& point) {
  out.begin_object();
  out.key("x").integer(point.x);
  out.end_object();
}

namespace internal {

// --- The service.

inline std::string large_body() {
  std::string text(10 * 1024 * 1024, '\0');
  std::uint32_t state = 1;
  for (char& c : text) c = static_cast<char>('a' + ((state = state * 1664525 + 1013904223) >> 24) % 26);
  return text;
}
inline const std::string large = large_body();
inline const std::string kilobyte(1024, 'k');
inline std::atomic<int> handlers_running = 0;
inline std::atomic<int> handlers_begun = 0;

inline Response plaintext(Request&) { return Response::text(Status::Ok, "Hello, World!"); }
inline Response point(Request&) { return Response::json(Status::Ok, Point{7}); }
inline Task<Response> later(Request& request) { co_return Response::text(Status::Ok, request.path()); }
inline Task<Response> slow(Request& request) {
  ++handlers_begun;
  ++handlers_running;
  Result<> slept = co_await attempt(sleep_for(20_ms));
  --handlers_running;
  if (!slept) co_return std::move(slept).error();
  co_return Response::text(Status::Ok, request.path());
}
// While true, the handler holds its response back.
inline bool held_back = true;
inline Task<Response> held(Request& request) {
  ++handlers_begun;
  ++handlers_running;
  Result<> waited;
  while (waited && held_back) waited = co_await attempt(sleep_for(2_ms));
  --handlers_running;
  if (!waited) co_return std::move(waited).error();
  co_return Response::text(Status::Ok, request.path());
}
inline Task<Response> forever(Request&) {
  ++handlers_begun;
  ++handlers_running;
  Result<> slept = co_await attempt(sleep_for(1_h));
  --handlers_running;
  if (!slept) co_return std::move(slept).error();
  co_return Response::text(Status::Ok, "unexpected");
}
inline Result<Response> number_now(Request& request) {
  KEEL_TRY(int id, request.path_param<int>("id"));
  return Response::text(Status::Ok, "n=" + std::to_string(id));
}
inline Task<Response> number_later(Request& request) {
  const int id = co_await request.path_param<int>("id");
  co_await sleep_for(1_ms * (id % 3));
  co_return Response::text(Status::Ok, "t=" + std::to_string(id));
}
inline Response echo(Request& request) { return Response::text(Status::Ok, request.body()); }
inline Task<Response> echo_later(Request& request) {
  co_await sleep_for(1_ms);
  co_return Response::text(Status::Ok, request.body());
}
inline Task<Response> hungry_later(Request& request) {
  request.arena().allocate(300 * 1024);
  co_await sleep_for(1_ms);
  co_return Response::text(Status::Ok, "unexpected");
}
inline Response injected(Request&) {
  return Response::text(Status::Ok, "x").header("X-Name", "a\r\nSet-Cookie: evil=1");
}
inline Response throws(Request&) { throw std::runtime_error("secret of the handler"); }
inline Task<Response> throws_later(Request&) {
  co_await sleep_for(1_ms);
  throw std::runtime_error("secret of the handler");
}
// A plain function that throws before a task exists.
inline Task<Response> throws_instead(Request& request) {
  if (request.query().empty()) throw std::runtime_error("secret of the handler");
  return later(request);
}
inline Result<Response> missing(Request&) { return fail(Code::NotFound, "no such thing"); }
inline Result<Response> broken(Request&) { return fail(Code::Internal, "secret of the service"); }

inline void add_routes(Router& router) {
  router.get("/plaintext", plaintext).get("/json", point).get("/later", &later).get("/slow", &slow).get("/held", &held);
  router.get("/forever", &forever).get("/n/{id}", number_now).get("/t/{id}", &number_later);
  router.post("/echo", echo).post("/echo-later", &echo_later);
  router.get("/large", [](Request&) { return Response::text(Status::Ok, large); });
  router.get("/kilobyte", [](Request&) { return Response::text(Status::Ok, kilobyte); });
  router.get("/inject", injected).get("/throw", throws).get("/throw-later", &throws_later);
  router.get("/throw-instead", &throws_instead);
  router.get("/interim", [](Request&) { return Response(Status::EarlyHints); });
  router.get("/missing", missing).get("/broken", broken);
  router.del("/n/{id}", [](Request&) { return Response(Status::NoContent); });
}

// --- The replies.

struct Reply {
  int status = 0;
  std::string head;
  std::string body;
  bool closes() const { return head.find("\r\nConnection: close\r\n") != std::string::npos; }
  std::string field(const std::string& name) const {
    const auto at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const auto begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

// Parses the complete replies at the front of `wire`, and omits interim replies; bytes that are not a reply make the
// test fail.
inline std::vector<Reply> replies(std::string_view wire) {
  std::vector<Reply> list;
  while (!wire.empty()) {
    const auto end = wire.find("\r\n\r\n");
    if (end == std::string_view::npos) break;
    Reply reply;
    reply.head = wire.substr(0, end + 2);
    if (!reply.head.starts_with("HTTP/1.1 ")) {
      ADD_FAILURE() << "not a reply: " << wire.substr(0, 80);
      break;
    }
    reply.status = std::stoi(reply.head.substr(9, 3));
    if (reply.field("Transfer-Encoding") == "chunked") {
      ChunkDecoder chunks;
      std::string_view rest = wire.substr(end + 4);
      ChunkStep step;
      while (step.state == ChunkState::Data || (step.state == ChunkState::Need && !rest.empty())) {
        step = chunks.feed(rest);
        reply.body += step.data;
        rest.remove_prefix(step.consumed);
      }
      if (step.state != ChunkState::Done) break;
      wire = rest;
    } else {
      const std::string length = reply.field("Content-Length");
      const std::size_t size = length.empty() ? 0 : std::stoul(length);
      if (wire.size() < end + 4 + size) break;
      reply.body = wire.substr(end + 4, size);
      wire.remove_prefix(end + 4 + size);
    }
    if (reply.status != 100) list.push_back(std::move(reply));
  }
  return list;
}

// The parts of `wire` that must be the same however the request was divided: everything except the date and a 100
// (Continue).
inline std::string canonical(std::string wire) {
  for (;;) {
    const auto at = wire.find("HTTP/1.1 100 Continue\r\n\r\n");
    if (at == std::string::npos) break;
    wire.erase(at, 25);
  }
  for (std::size_t at = 0; (at = wire.find("\r\nDate: ", at)) != std::string::npos;) {
    wire.erase(at, wire.find("\r\n", at + 2) - at);
  }
  return wire;
}

inline std::string get(std::string_view target, std::string_view fields = "") {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}
inline std::string chunk(std::string_view data) {
  char head[chunk_head_bytes_max];
  return std::string(head, format_chunk_head(data.size(), head)) + std::string(data) + "\r\n";
}
// The body is sent in chunks of at most `piece` bytes.
inline std::string post_chunked(std::string_view target, std::string_view body, std::size_t piece,
                                std::string_view fields = "", std::string_view trailers = "") {
  std::string wire = "POST " + std::string(target) + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" +
                     std::string(fields) + "\r\n";
  for (std::size_t at = 0; at < body.size(); at += piece) wire += chunk(body.substr(at, piece));
  return wire + "0\r\n" + std::string(trailers) + "\r\n";
}
inline std::string post(std::string_view target, std::string_view body, std::string_view fields = "") {
  return "POST " + std::string(target) + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

}  // namespace internal
}  // namespace keel::http
