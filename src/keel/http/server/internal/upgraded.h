// A connection that has left HTTP, and its task, from the 101 until the task ends.

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

  // Decides about the upgrade that a handler has returned as `wanted`: returns `wanted`, or a rejection. `can_upgrade`:
  // the body of the request has been read to its end, and the connection is to continue.
  static Response respond(ServerWorker& worker, Request& request, Response wanted, bool can_upgrade);

  std::string_view protocol() const noexcept { return protocol_; }
  void allow_any_origin() noexcept { allows_any_origin_ = true; }
  bool allows_any_origin() const noexcept { return allows_any_origin_; }
  // The trace of the request; call it before begin().
  void set_trace(log::TraceId trace) noexcept { span_.trace = trace; }
  // The client's place in the worker's table, which is freed when the connection ends; call it before begin().
  void set_client(std::uint32_t client) noexcept { client_ = client; }
  // Calls the callable with the connection `endpoint`, from which `received` has been read; this object frees itself
  // when the task has ended, which may be immediately.
  void begin(ServerWorker& worker, const Endpoint& endpoint, std::string_view received) noexcept;
  // Asks the task to end.
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
