// A connection that was upgraded to another protocol, and the task that uses the connection, from the 101 until the
// task ends.

#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "keel/base/list.h"
#include "keel/http/server/response.h"
#include "keel/http/server/upgrade.h"
#include "keel/net/transport.h"
#include "keel/observe/span.h"
#include "keel/task/start.h"

namespace keel::http {

class ServerWorker;

class Upgraded final : public Link {
 public:
  static Upgraded* make(std::string_view protocol, Upgrade::Callable talk);
  static void free(Upgraded* upgraded) noexcept;

  // Decides whether to carry out the upgrade `wanted`, which a handler has returned: returns `wanted` or a rejection.
  // `can_upgrade`: whether the body of the request was read to its end, and the connection may continue after this
  // response.
  static Response respond(ServerWorker& worker, Request& request, Response wanted, bool can_upgrade);

  std::string_view protocol() const noexcept { return protocol_; }
  void allow_any_origin() noexcept { allows_any_origin_ = true; }
  bool allows_any_origin() const noexcept { return allows_any_origin_; }
  // Sets the trace of the request; call it before begin().
  void set_trace(log::TraceId trace) noexcept { span_.trace = trace; }
  // Sets the client's place in the worker's ClientTable; call it before begin(). The place is freed when the connection
  // ends.
  void set_client(std::uint32_t client) noexcept { client_ = client; }
  // Calls the upgrade's callable with the connection `endpoint`, from which `received` was already read. This object
  // frees itself when the task has ended, possibly before begin() returns.
  void begin(ServerWorker& worker, const Endpoint& endpoint, std::string_view received) noexcept;
  // Stops the task.
  void stop() noexcept { run_.stop(Code::Cancelled); }

 private:
  Upgraded(std::string_view protocol, Upgrade::Callable talk) : protocol_(protocol), talk_(std::move(talk)) {}
  ~Upgraded() = default;
  void ended(Result<> result) noexcept;

  const std::string_view protocol_;
  const Upgrade::Callable talk_;
  bool allows_any_origin_ = false;
  ServerWorker* worker_ = nullptr;
  Span span_;
  std::uint32_t client_ = 0;
  struct Run : Start<void> {
    Upgraded* owner = nullptr;
  } run_;
};

}  // namespace keel::http
