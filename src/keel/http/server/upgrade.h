// keel/http/server/upgrade.h — upgrades a connection from HTTP to another protocol (RFC 9110 §7.8).
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
// A client requests an upgrade by the option Upgrade in the field Connection, and names the protocols that it offers in
// the field Upgrade. The response is a 101 (Switching Protocols), with the fields that the handler has added. After the
// response has been sent, the callable gets the connection as a Stream, which the callable owns; bytes that followed
// the request can be read from the Stream.
//
// Instead of the 101, the client gets
//   426 with Upgrade: PROTOCOL, if the client does not offer the protocol, or sends HTTP/1.0 or HEAD; the connection
//       continues. To respond differently, check offers_upgrade() first. If the handler does not return an
//       upgrade(), the client's offer is ignored, as RFC 9110 permits.
//   403, if a page of another site makes the request: browsers let pages of every site open a WebSocket, with the
//       cookies of the user. The Origin that a browser sends must name the host and port of Request::authority(), or
//       be one of ServerOptions::upgrade_origins; a request without Origin does not come from a browser. If pages of
//       every site may use the protocol, return Response::upgrade(…).any_origin().
//   503, while the server drains.
//   500, if the body of the request was not read to its end (on a route that streams its body); this is a mistake of
//       the handler.
//
// The callable is a function, or a lambda without captures. The callable takes the Stream by value, because a reference
// would dangle after the first suspension. The arguments follow the callable in the call of upgrade(), and are kept
// until the callable's task has ended (response.h):
//
//   Task<> chat(Stream stream, Room& room, std::string name);
//   return http::Response::upgrade("chat", &chat, std::ref(room), std::move(name));
//
// Errors:    an error or an exception of the task ends the connection and is logged.
// Ownership: the server owns the kept arguments. The Request no longer exists when the callable runs; therefore the
//            compiler rejects the Request and views as arguments. The task's log lines contain the trace of the
//            request.
// Limits:    after the 101, the limits of HTTP no longer apply. There is no deadline, no idle timeout, no minimum rate
//            and no timeout for sending, except those that the task sets itself (with_timeout()). Until the task has
//            ended, the connection counts toward Limits::connections_max, and is included in Server::Stats::upgraded.
// Cancel:    when the server drains or stops, it immediately asks the task to stop (Code::Cancelled), and waits until
//            the task has ended. When the client disconnects, the task notices this when it reads or writes, as with
//            any Stream.
// Threads:   the worker of the connection.
// Cost:      an idle upgraded connection needs the frame of its task and the Stream, but no arena, buffer or request.

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

// Whether a request asks for an upgrade to `protocol`, such as "websocket" or "name/version", in upper or lower case;
// the client may offer other protocols as well.
bool offers_upgrade(const RequestHead& head, std::string_view protocol) noexcept;

// Whether the origin of the page that makes the request, from the field Origin (RFC 6454 §7), is the host of the
// request or one of `allowed`. True without Origin. The scheme of the origin is compared only if the request arrived
// over https: a proxy may have removed TLS without reporting the scheme.
bool is_of_allowed_site(Request& request, std::span<const std::string> allowed);
// Whether `text` has the form of an origin: scheme://host, or scheme://host:port.
bool is_site(std::string_view text) noexcept;

// An upgrade in a response; it is movable, and owns the callable, which is kept in the worker's pool.
// Response::upgrade() makes it.
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
  // Call this function only on an Upgrade that has a callable.
  std::string_view protocol() const noexcept;
  // Allows pages of every site to request the upgrade.
  void allow_any_origin() noexcept;
  bool allows_any_origin() const noexcept;
  // Passes the object with the callable to the caller, who then owns it.
  Upgraded* release() noexcept { return std::exchange(made_, nullptr); }

 private:
  void free() noexcept;
  Upgraded* made_ = nullptr;
};

}  // namespace keel::http
