#include "keel/http/server/internal/upgraded.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "keel/base/pool.h"
#include "keel/http/server/internal/server_worker.h"
#include "keel/http/server/problem.h"
#include "keel/net/stream.h"
#include "keel/task/frame.h"

namespace keel::http {

Upgraded* Upgraded::make(std::string_view protocol, Upgrade::Callable talk) {
  return new (pool_allocate(sizeof(Upgraded))) Upgraded(protocol, std::move(talk));
}

Response Upgraded::respond(ServerWorker& worker, Request& request, Response wanted, bool can_upgrade) {
  const std::string_view protocol = wanted.upgrade_.protocol();
  if (!offers_upgrade(request.head(), protocol)) {
    Response refusal = refuse(Status::UpgradeRequired, "this resource requires an upgrade to another protocol");
    refusal.header("Upgrade", protocol);
    return refusal;
  }
  if (!wanted.upgrade_.allows_any_origin() && !is_of_allowed_site(request, worker.options().upgrade_origins)) {
    return refuse(Status::Forbidden, "pages of this origin are not allowed to use this protocol");
  }
  if (worker.is_draining()) return refuse(Status::ServiceUnavailable, "the server is shutting down");
  if (can_upgrade) return wanted;
  const Error error(Code::Internal, "a connection can be upgraded only after the request's body: read the body first");
  worker.failures().log("a handler returned an upgrade before the request's body was read to its end", error,
                        request.route(), log::field("path", request.path()));
  return refuse(Status::InternalServerError, {});
}

void Upgraded::free(Upgraded* upgraded) noexcept {
  upgraded->~Upgraded();
  pool_free(upgraded, sizeof(Upgraded));
}

void Upgraded::begin(ServerWorker& worker, const Endpoint& endpoint, std::string_view received) noexcept {
  worker_ = &worker;
  worker.add(*this);
  const ScopedSpan span(span_);
  std::optional<Stream> stream;
  try {
    stream.emplace(endpoint, received);
  } catch (...) {
    endpoint.close();
    return ended(Error::from_exception());
  }
  run_.owner = this;
  const auto done = [](StartCore& run) noexcept {
    Upgraded& self = *static_cast<Run&>(run).owner;
    self.ended(self.run_.take());
  };
  try {
    Task<> task = [&] {
      const Trampoline::Deferring deferring;  // If the function is not a coroutine, tasks that it wakes are deferred.
      return talk_(*std::move(stream));
    }();
    if (!run_.begin(std::move(task), done, {.span = &span_})) {
      if (worker.is_draining()) stop();
      return;
    }
  } catch (...) {
    return ended(Error::from_exception());
  }
  ended(run_.take());
}

void Upgraded::ended(Result<> result) noexcept {
  ServerWorker& worker = *worker_;
  if (!result && result.error().code() != Code::Cancelled) {
    const ScopedSpan span(span_);
    const Error& error = result.error();
    if (error.is_bug()) {
      worker.counts.bugs.add();
      worker.failures().log("an upgraded connection ended with an error", error, {}, log::field("protocol", protocol_));
    } else {
      // An error from the environment may have come from the connection to the client, which the client may end at any
      // time, so the error is logged at level info at most.
      const Level level = log_level(error.code());
      worker.log().log(error.is_from_environment() ? std::min(level, Level::Info) : level,
                       "an upgraded connection ended with an error", log::field("protocol", protocol_), error);
    }
  }
  unlink();
  worker.leave(client_);
  free(this);
  worker.counts.upgraded.subtract();
  worker.ended();
}

}  // namespace keel::http
