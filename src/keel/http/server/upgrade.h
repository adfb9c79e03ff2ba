// keel/http/server/upgrade.h — leaving HTTP: a connection that continues with another protocol (RFC 9110 §7.8).
//
//   Task<> echo(Stream stream) {
//     while (true) {
//       const Chunk chunk = co_await stream.receive();  // begins with bytes that the client sent after its request
//       if (chunk.empty()) co_return;
//       co_await stream.write(chunk);
//     }
//   }
//   router.get("/echo", [](http::Request&) { return http::Response::upgrade("echo", &echo); });
//
// A client asks for it by Connection: Upgrade, and offers protocols in Upgrade. The response is 101 (Switching
// Protocols) with the fields that were added to the response. After the response has been sent, the callable is called
// with the connection and owns it from then on; bytes that followed the request can be read from it.
//
// Instead of 101 the client gets
//   426 with Upgrade: PROTOCOL, when it does not offer the protocol (HTTP/1.0, or HEAD); the connection
//       continues. To respond differently, check offers_upgrade() first. If the handler does not return an
//       upgrade(), the client's offer is ignored, as RFC 9110 permits.
//   403, when a page of another site asks: browsers let pages of every site open a WebSocket, with the cookies of the
//       user. The Origin that a browser sends has to name the host and port of Request::authority(), or be one of
//       ServerOptions::upgrade_origins; a request without Origin comes from no browser. For a protocol that is for
//       every page: Response::upgrade(…).any_origin().
//   503 once the server drains.
//   500 when the body of the request is not read to its end (routes that stream it), which is a mistake of the handler.
//
// The callable is a function, or a lambda without captures, and takes the Stream by value: a reference to it would
// dangle after the first suspension. Its further arguments are passed after the callable and kept until its task has
// ended (response.h):
//
//   Task<> chat(Stream stream, Room& room, std::string name);
//   return http::Response::upgrade("chat", &chat, std::ref(room), std::move(name));
//
// Errors:    an error or an exception of the task ends the connection and is logged.
// Ownership: the server owns the kept arguments. The Request no longer exists when the callable runs, so neither the
//            Request nor a view compiles as an argument. The task's log lines carry the request's trace.
// Limits:    those of HTTP end with the 101: there is no deadline, no idle timeout, no minimum rate and no timeout for
//            sending, except those that the task sets itself (with_timeout). The connection counts as one of the
//            server's until the task has ended: Limits::connections_max, Server::Stats::upgraded.
// Cancel:    when the server drains or stops, the server immediately asks the task to stop (Code::Cancelled), and waits
//            for it. The task notices by reading or writing that the client is gone, as on any Stream.
// Threads:   the worker of the connection.
// Cost:      an idle upgraded connection consists of the frame of its task and the Stream, without an arena, a buffer
//            or a request.

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

// Whether a request asks to continue with `protocol`, "websocket" or "name/version", without regard to case; `protocol`
// may be one of several that the client offers.
bool offers_upgrade(const RequestHead& head, std::string_view protocol) noexcept;

// Whether the origin of a page, from the field Origin (RFC 6454 §7), is the host of the request or one of `allowed`.
// True without Origin. The scheme of the origin is not compared with that of the request, because a proxy may not
// report the latter.
bool is_of_allowed_site(Request& request, std::span<const std::string> allowed);
// Whether `text` has the form of an Origin: scheme://host, or scheme://host:port.
bool is_site(std::string_view text) noexcept;

// The task of an upgraded connection, as a response keeps it: the Upgrade owns it, in the worker's pool, and is
// movable. Response::upgrade() makes it.
class Upgrade {
 public:
  using Callable = Function<Task<>(Stream)>;
  Upgrade() = default;
  // `protocol` must outlive the Upgrade; use a literal.
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
  // Call it only if there is an upgrade.
  std::string_view protocol() const noexcept;
  // Pages of every site may ask for the upgrade.
  void allow_any_origin() noexcept;
  bool allows_any_origin() const noexcept;
  // Releases the task to its connection.
  Upgraded* release() noexcept { return std::exchange(made_, nullptr); }

 private:
  void free() noexcept;
  Upgraded* made_ = nullptr;
};

}  // namespace keel::http
