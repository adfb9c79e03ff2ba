#include "keel/http/upgrade.h"

#include <new>
#include <optional>
#include <utility>

#include "keel/base/pool.h"
#include "keel/http/acceptor.h"
#include "keel/http/connection.h"
#include "keel/http/exchange.h"
#include "keel/http/fields.h"
#include "keel/http/internal/upgraded.h"
#include "keel/http/parser.h"
#include "keel/http/problem.h"
#include "keel/net/stream.h"
#include "keel/net/transport.h"
#include "keel/task/frame.h"

namespace keel::http {
namespace {

// Whether a list, which may come in several fields, names `wanted`.
bool lists(const RequestHead& head, std::string_view name, std::string_view wanted) noexcept {
  for (unsigned i = 0; i < head.field_count(); ++i) {
    const Field field = head.field(i);
    if (!equals_ignore_case(field.name, name)) continue;
    if (http::lists(field.value, wanted)) return true;
  }
  return false;
}

}  // namespace

bool offers_upgrade(const RequestHead& head, std::string_view protocol) noexcept {
  if (!head.has(Known::Upgrade) || !head.has(Known::Connection) || head.version_minor() == 0) return false;
  return head.method() != Method::Head && lists(head, "connection", "upgrade") && lists(head, "upgrade", protocol);
}

Upgrade::Upgrade(std::string_view protocol, Callable talk) : made_(Upgraded::make(protocol, std::move(talk))) {}
std::string_view Upgrade::protocol() const noexcept { return made_->protocol(); }
void Upgrade::free() noexcept { Upgraded::free(made_); }

// --- of a connection -----------------------------------------------------------------------------------------------

// What a handler's wish to leave HTTP becomes.
Response Connection::answer_upgrade(const RequestHead& head, Response wanted) {
  const std::string_view protocol = wanted.upgrade_.protocol();
  if (!offers_upgrade(head, protocol)) {
    Response refusal = refuse(Status::UpgradeRequired, "this is answered to those only who ask for another protocol");
    refusal.header("Upgrade", protocol);
    return refusal;
  }
  if (acceptor_.is_draining()) return refuse(Status::ServiceUnavailable, "this server is about to end");
  if (close_ || (exchange_ != nullptr && exchange_->streams_in && !exchange_->reader.is_over())) {
    acceptor_.log_.error("a request was to be upgraded before its body was read to the end",
                         log::field("path", head.path()));
    return refuse(Status::InternalServerError, {});
  }
  return wanted;
}

// The 101 is in out_.
void Connection::begin_upgrade(Upgraded* upgraded, log::TraceId trace) noexcept {
  upgraded_ = upgraded;
  upgraded_->set_trace(trace);
  phase_ = Phase::Upgrading;
}

// The last thing its caller does. What comes until the receive has ended belongs to the new protocol; when the 101 has
// left as well, nothing of this connection is needed any more.
void Connection::go_on_upgrading() {
  if (receive_.pending) acceptor_.engine_.end_receive(receive_);
  if (receive_.pending || send_.pending || yields_) return watch();
  Acceptor& acceptor = acceptor_;
  const int fd = receive_.fd;
  const Buffer received = std::move(in_);
  Upgraded* const upgraded = std::exchange(upgraded_, nullptr);
  acceptor.loop_.stop_timer(timer_);
  unlink();
  this->~Connection();
  pool_free(this, sizeof(Connection));
  upgraded->begin(acceptor, fd, received.view());
}

// --- afterwards ----------------------------------------------------------------------------------------------------

Upgraded* Upgraded::make(std::string_view protocol, Upgrade::Callable talk) {
  return new (pool_allocate(sizeof(Upgraded))) Upgraded(protocol, std::move(talk));
}

void Upgraded::free(Upgraded* upgraded) noexcept {
  upgraded->~Upgraded();
  pool_free(upgraded, sizeof(Upgraded));
}

void Upgraded::begin(Acceptor& acceptor, int fd, std::string_view received) noexcept {
  acceptor_ = &acceptor;
  acceptor.upgraded_.push_back(*this);
  acceptor.tally.upgraded.add();
  const ScopedSpan span(span_);
  std::optional<Stream> stream;
  try {
    stream.emplace(Endpoint{.engine = &acceptor.engine_, .fd = fd}, received);
  } catch (...) {
    acceptor.engine_.close(fd);
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
      if (acceptor.is_draining()) stop();
      return;
    }
  } catch (...) {
    return ended(Error::from_exception());
  }
  ended(run_.take());
}

void Upgraded::ended(Result<> result) noexcept {
  Acceptor& acceptor = *acceptor_;
  if (!result && result.error().code() != Code::Cancelled) {
    const ScopedSpan span(span_);
    acceptor.log_.log(log_level(result.error().code()), "an upgraded connection ended with an error",
                      log::field("protocol", protocol_), result.error());
  }
  unlink();
  free(this);
  acceptor.tally.upgraded.subtract();
  acceptor.ended();
}

}  // namespace keel::http
