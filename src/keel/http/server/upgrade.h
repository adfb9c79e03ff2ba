// keel/http/server/upgrade.h — leaving HTTP: a connection that goes on with another protocol (RFC 9110 §7.8).
//
//   Task<> echo(Stream stream) {
//     while (true) {
//       const Chunk chunk = co_await stream.receive();  // first of all what the client sent behind its request
//       if (chunk.empty()) co_return;
//       co_await stream.write(chunk);
//     }
//   }
//   router.get("/echo", [](http::Request&) { return http::Response::upgrade("echo", &echo); });
//
// A client asks for it by Connection: Upgrade, and offers protocols in Upgrade. The answer is 101 (Switching Protocols)
// with the fields that were added to the response. When it has been sent the callable is called with the connection,
// which is its own from then on; what came behind the request is there to be read.
//
// Instead of 101 the client gets
//   426 with Upgrade: PROTOCOL, when it does not offer the protocol (is HTTP/1.0, asks by HEAD); the connection goes
//       on. A handler that has another answer for those asks offers_upgrade() first. Who is not answered by an
//       upgrade() has its offer ignored: RFC 9110 lets a server do so.
//   403, when a page of another site asks: browsers let pages of every site open a WebSocket, with the cookies of the
//       user. The Origin that a browser sends has to name the host and port of Request::authority(), or be one of
//       ServerOptions::upgrade_origins; a request without Origin comes from no browser. For a protocol that is for
//       every page: Response::upgrade(…).any_origin().
//   503 once the server drains.
//   500 when the body of the request is not read to its end (routes that stream it), which is a mistake of the handler.
//
// It is a function, or a lambda without captures, and takes the Stream by value: a reference to it would dangle after
// the first suspension. What else it takes is given behind it and kept until its task has ended (response.h):
//
//   Task<> chat(Stream stream, Room& room, std::string name);
//   return http::Response::upgrade("chat", &chat, std::ref(room), std::move(name));
//
// Errors:    of the task end the connection and are logged; so does an exception.
// Ownership: the server owns what is kept. The Request is gone by then, and does not compile as an argument, nor do
//            views. The task's log lines carry the request's trace.
// Limits:    those of HTTP end with the 101: there is no deadline, no idle time-out, no least rate and no time-out for
//            sending but the task's own (with_timeout). The connection counts as one of the server's until the task has
//            ended: Limits::connections_max, Server::Stats::upgraded.
// Cancel:    when the server drains or stops the task is asked to stop at once, Code::Cancelled, and waited for. A
//            client that is gone is seen by reading or writing, as on any Stream.
// Threads:   the worker of the connection.
// Cost:      an idle one has no arena, no buffer and no request, but its task's frame and the Stream.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "keel/base/function.h"
#include "keel/task/task.h"

namespace keel {
class Stream;
}

namespace keel::http {

class Request;
class RequestHead;
class Upgraded;

// Whether a request asks to go on with `protocol`, "websocket" or "name/version", whatever its case; among others is
// fine.
bool offers_upgrade(const RequestHead& head, std::string_view protocol) noexcept;

// Whether the site that a page is of, as Origin tells it (RFC 6454 §7), is the host that is asked or one of `allowed`.
// True without Origin. The scheme is not compared with that of the request, which a proxy may not tell.
bool is_of_allowed_site(Request& request, std::span<const std::string> allowed);
// Whether `text` is what an Origin says of a site: scheme://host, or scheme://host:port.
bool is_site(std::string_view text) noexcept;

// What a response has that is to leave HTTP: owned, in the worker's pool, movable. Response::upgrade() makes it.
class Upgrade {
 public:
  using Callable = Function<Task<>(Stream)>;
  Upgrade() = default;
  // `protocol` outlives it: a literal.
  Upgrade(std::string_view protocol, Callable talk);
  Upgrade(Upgrade&& other) noexcept : made_(std::exchange(other.made_, nullptr)) {}
  Upgrade& operator=(Upgrade&& other) noexcept {
    if (this != &other) {
      if (made_ != nullptr) free();
      made_ = std::exchange(other.made_, nullptr);
    }
    return *this;
  }
  ~Upgrade() {
    if (made_ != nullptr) free();
  }

  explicit operator bool() const noexcept { return made_ != nullptr; }
  // While there is one.
  std::string_view protocol() const noexcept;
  // Pages of every site may ask for it.
  void allow_any_origin() noexcept;
  bool allows_any_origin() const noexcept;
  // Gives it to the connection that it was made for.
  Upgraded* release() noexcept { return std::exchange(made_, nullptr); }

 private:
  void free() noexcept;
  Upgraded* made_ = nullptr;
};

}  // namespace keel::http
