#include "keel/http/server/internal/upgraded.h"

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

Response Upgraded::answer(ServerWorker& worker, const RequestHead& head, Response wanted, bool can_upgrade) {
  const std::string_view protocol = wanted.upgrade_.protocol();
  if (!offers_upgrade(head, protocol)) {
    Response refusal = refuse(Status::UpgradeRequired, "this is answered to those only who ask for another protocol");
    refusal.header("Upgrade", protocol);
    return refusal;
  }
  if (worker.is_draining()) return refuse(Status::ServiceUnavailable, "this server is about to end");
  if (can_upgrade) return wanted;
  worker.log().error("a request was to be upgraded before its body was read to the end",
                     log::field("path", head.path()));
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
      const Trampoline::Deferring deferring;  // For what is no coroutine itself.
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
    worker.log().log(log_level(result.error().code()), "an upgraded connection ended with an error",
                     log::field("protocol", protocol_), result.error());
  }
  unlink();
  free(this);
  worker.counts.upgraded.subtract();
  worker.ended();
}

}  // namespace keel::http
