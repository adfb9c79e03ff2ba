// What a connection does with the request in progress: its body and its handler.

#include "keel/http/server/internal/exchange.h"

#include <algorithm>
#include <new>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/http/server/internal/acceptor.h"
#include "keel/http/server/internal/connection.h"
#include "keel/http/server/problem.h"
#include "keel/observe/flight_recorder.h"
#include "keel/task/frame.h"

namespace keel::http {
namespace {

constexpr std::string_view no_room = "this server holds as much for bodies as it may";
constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";
// Of a body that its handler has not read: what is thrown away so that the connection can be used again.
constexpr std::size_t discard_bytes_max = 256 * 1024;

// Of a request that is measured: a handler's time, less what of it has a stage of its own.
class HandlerTimer {
 public:
  explicit HandlerTimer(StageClock* clock) noexcept : clock_(clock) {
    if (clock_ != nullptr) [[unlikely]]
      began_ = Host::current().precise_now();
  }
  ~HandlerTimer() {
    if (clock_ != nullptr) [[unlikely]]
      clock_->add(Stage::Handler, Host::current().precise_now() - began_ - clock_->inside_handler());
  }

 private:
  StageClock* clock_;
  Instant began_;
};

}  // namespace

Exchange* Exchange::make() { return new (pool_allocate(sizeof(Exchange))) Exchange; }

void Exchange::free(Exchange* exchange) noexcept {
  exchange->~Exchange();
  pool_free(exchange, sizeof(Exchange));
}

void Exchange::tell(const void* subject, std::string_view& method, std::string_view& path, log::TraceId& trace) {
  const auto& request = *static_cast<const Request*>(subject);
  method = request.head().method_text();
  path = request.path();
  trace = request.trace();
}

bool Exchange::can_discard() const noexcept {
  return !awaits_continue && reader.refusal() == Status::Ok && reader.decoder().left().value_or(0) <= discard_bytes_max;
}

void Exchange::stop(Code reason) noexcept {
  run.stop(reason);
  writing.stop(reason);
}

// --- its body ------------------------------------------------------------------------------------------------------

// `received` begins with the head; returns what is left behind the request.
std::string_view Connection::begin_request(RequestHead& head, std::string_view received, std::size_t head_size,
                                           StageClock* clock) {
  const std::string_view rest(received.data() + head_size, received.size() - head_size);
  const std::string_view head_bytes(received.data(), head_size);
  Request request;
  request.head_ = &head;
  request.arena_ = &acceptor_.scratch_;
  request.started_ = acceptor_.loop_.now();
  request.fd_ = receive_.fd;
  request.arrival_ = &acceptor_.arrival_;
  request.span_ = {{acceptor_.trace_high_, acceptor_.loop_.random()}, clock};
  if (!acceptor_.arrival_.trusted.empty()) [[unlikely]]
    request.continue_trace();
  const ScopedSpan span(request.span_);
  ++requests_;
  if (!head.keep_alive()) peer_closes_ = true;
  const Router::Match match = [&] {
    const StageTimer timer(Stage::Route, clock);
    return acceptor_.router().match(request);
  }();
  if (match.is_route && acceptor_.refuses_late(match.index, receive_.fd, requests_ == 1 ? Instant() : began_))
      [[unlikely]]
    return refuse_late(request, rest);
  const bool at_once = static_cast<bool>(match.handler->at_once);
  const bool has_body = head.body() != BodyKind::None;
  const bool head_only = head.method() == Method::Head;

  const bool streams = has_body && match.options->streams_body;
  const std::size_t body_bytes_max = match.options->body_bytes_max.value_or(acceptor_.limits().body_bytes_max);

  if (head.body() == BodyKind::Length && head.content_length() > body_bytes_max) {
    // Before reading it, and without allocating what was announced.
    refuse_and_close(Status::ContentTooLarge, "the body is larger than this server accepts", head_only);
    return {};
  }
  const bool is_whole = !has_body || (head.body() == BodyKind::Length && rest.size() >= head.content_length());
  if (has_body && !streams && !(at_once && is_whole) && !acceptor_.has_room_for(head.content_length()))
    return refuse_body(head_only);
  const bool may_send = has_body && head.expect_continue() && rest.empty();
  // The answer does not depend on a body that has not been sent: give it, and never read a request out of that body.
  const bool goes_without = may_send && !match.is_route;
  if (goes_without) {
    close_ = true;
    peer_closes_ = false;
  } else if (may_send && !streams) {
    out_.append(continue_line);
  }
  if (at_once && (is_whole || goes_without)) {
    const auto length = goes_without ? 0 : static_cast<std::size_t>(head.content_length());
    request.body_ = {rest.data(), length};
    Result<Response> answer = [&]() -> Result<Response> {
      const HandlerTimer timer(clock);
      const flight::Doing doing(&Exchange::tell, &request);
      // A task that it wakes may answer and go on with its connection's next request, where this one is.
      const Trampoline::Deferring deferring;
      try {
        return match.handler->at_once(request);
      } catch (...) {
        return Error::from_exception();
      }
    }();
    if (answer && answer->is_streamed()) [[unlikely]] {
      Exchange& exchange = activate(request, head_bytes);  // What the answer's body takes place in.
      // Its writer may read it when these bytes are gone.
      static_cast<void>(keep_body(request.body_));
      exchange.request.body_ = exchange.body.view();
      respond(request, match, std::move(answer));
      if (phase_ != Phase::Streaming) free_exchange();
    } else {
      respond(request, match, std::move(answer));
    }
    acceptor_.scratch_.rewind();
    return {rest.data() + length, rest.size() - length};
  }
  Exchange& exchange = activate(request, head_bytes);
  if (!has_body) {
    run_exchange();
    return rest;
  }
  exchange.decoder = BodyDecoder(head.body(), head.content_length(), body_bytes_max);
  if (streams) return begin_reading(rest);
  phase_ = Phase::Body;
  began_ = acceptor_.loop_.now();
  exchange.until = began_ + acceptor_.limits().body_timeout;
  return feed_body(rest);
}

// The request's memory: head bytes copied, its views following them.
Exchange& Connection::activate(const Request& request, std::string_view head_bytes) {
  exchange_ = Exchange::make();
  exchange_->head = *request.head_;
  exchange_->head.rebase(exchange_->arena.copy(head_bytes).data());
  exchange_->request.head_ = &exchange_->head;
  exchange_->request.arena_ = &exchange_->arena;
  exchange_->request.started_ = request.started_;
  exchange_->request.fd_ = request.fd_;
  exchange_->request.arrival_ = request.arrival_;
  exchange_->request.span_ = request.span_;
  if (StageClock* const clock = request.span_.stages) {
    exchange_->stages = *clock;
    exchange_->request.span_.stages = &exchange_->stages;
  }
  // Once more, for the views of the parameters.
  exchange_->match = acceptor_.router().match(exchange_->request);
  return *exchange_;
}

std::string_view Connection::feed_body(std::string_view rest) {
  Exchange& exchange = *exchange_;
  while (!exchange.decoder.is_over()) {
    const ChunkStep step = exchange.decoder.feed(rest);
    rest.remove_prefix(step.consumed);
    if (step.state == ChunkState::Refused) {
      const bool head_only = exchange.head.method() == Method::Head;
      free_exchange();
      refuse_and_close(step.status, step.reason, head_only);
      return {};
    }
    if (!step.trailers.empty()) [[unlikely]]
      exchange.reader.keep_trailers(step.trailers);
    if (!keep_body(step.data)) return refuse_body(exchange.head.method() == Method::Head);
    if (step.state == ChunkState::Need) return rest;
  }
  exchange.request.body_ = exchange.body.view();
  if (const std::string_view trailers = exchange.reader.end_trailers(); !trailers.empty()) [[unlikely]]
    exchange.request.set(Request::Behind{trailers});
  if (StageClock* const clock = exchange.request.span_.stages) {
    clock->add(Stage::Body, acceptor_.loop_.precise_now() - began_);
  }
  run_exchange();
  return rest;
}

// False: with this part more is held than may be.
bool Connection::keep_body(std::string_view part) {
  Exchange& exchange = *exchange_;
  exchange.body.append(part);
  const std::size_t grown = exchange.body.capacity() - exchange.body_held;
  if (grown == 0) return true;
  exchange.body_held += grown;
  acceptor_.tally.body_bytes.add(grown);
  return acceptor_.has_room_for(0);
}

std::string_view Connection::refuse_body(bool head_only) {
  if (exchange_ != nullptr) free_exchange();
  acceptor_.tally.bodies_refused.add();
  refuse_and_close(Status::ServiceUnavailable, no_room, head_only);
  return {};
}

// The handler reads the body itself. It begins with settle(); what belongs to the body of `rest` is its now.
std::string_view Connection::begin_reading(std::string_view rest) {
  Exchange& exchange = *exchange_;
  const std::size_t first = exchange.decoder.extent(rest);
  if (peer_done_ && !exchange.decoder.is_whole_in(rest)) {
    record_cut(Cut::Body);
    give_up_body();
    return {};
  }
  exchange.streams_in = true;
  exchange.awaits_continue = exchange.head.expect_continue() && rest.empty();
  exchange.reader.owner = this;
  exchange.reader.begin(exchange.decoder, rest.substr(0, first), acceptor_.engine_, [](BodyReader& reader) noexcept {
    static_cast<Exchange::Reader&>(reader).owner->guarded<&Connection::body_wanted>();
  });
  exchange.request.reader_ = &exchange.reader;
  exchange.is_due = true;
  phase_ = Phase::Handling;
  return rest.substr(first);
}

// The handler waits for bytes, and is still inside its read.
void Connection::body_wanted() {
  Exchange& exchange = *exchange_;
  exchange.read_began = acceptor_.loop_.now();
  if (std::exchange(exchange.awaits_continue, false)) {
    out_.append(continue_line);
    if (!exchange.gathers) flush();
    if (phase_ == Phase::Ending) return end();
  }
  if (receive_.paused) acceptor_.engine_.resume(receive_);
  watch();
}

void Connection::body_arrived() {
  Exchange& exchange = *exchange_;
  const bool wakes = exchange.reader.arrived(acceptor_.engine_.hold(receive_));
  if (!wakes) return settle();
  exchange.read_waited = exchange.read_waited + (acceptor_.loop_.now() - exchange.read_began);
  wake_reader();
}

// The last thing its caller does: the handler may end, and with it the connection.
void Connection::wake_reader() {
  if (receive_.pending && !receive_.paused) acceptor_.engine_.pause(receive_);
  watch();
  exchange_->reader.wake();
}

// The peer has finished before the end of the body: nobody waits for an answer.
void Connection::lose_body() {
  Exchange& exchange = *exchange_;
  exchange.reader.lose();
  if (exchange.is_due) {
    record_cut(Cut::Body);
    return give_up_body();
  }
  exchange.stop(Code::Cancelled);
}

// The request's answer, if there is one, is the last.
void Connection::give_up_body() {
  close_ = true;
  phase_ = Phase::Head;
  free_exchange();
}

void Connection::discard(std::string_view bytes) {
  Exchange& exchange = *exchange_;
  const std::size_t used = exchange.reader.discard(bytes);
  exchange.discarded += used;
  if (exchange.reader.is_over()) {
    in_.append(bytes.substr(used));
    kept_ready_ = true;
    phase_ = Phase::Head;
    free_exchange();
    began_ = acceptor_.loop_.now();
  } else if (exchange.reader.refusal() != Status::Ok || exchange.discarded > discard_bytes_max) {
    peer_closes_ = false;
    give_up_body();
  }
  settle();
}

Instant Connection::body_deadline() const noexcept {
  const Limits& limits = acceptor_.limits();
  const Exchange& exchange = *exchange_;
  const bool streams = exchange.streams_in;
  const Instant at = streams ? exchange.read_began + limits.body_timeout : exchange.until;
  if (limits.body_rate_min == 0) return at;
  const std::uint64_t delivered = streams ? exchange.reader.decoder().delivered() : exchange.decoder.delivered();
  const Instant began = streams ? exchange.read_began - exchange.read_waited : began_;
  const auto earned = Duration::seconds(static_cast<std::int64_t>(delivered / limits.body_rate_min)) +
                      Duration::nanoseconds(static_cast<std::int64_t>(delivered % limits.body_rate_min * 1'000'000'000 /
                                                                      limits.body_rate_min));
  return std::min(at, began + limits.body_rate_grace + earned);
}

// --- its handler ---------------------------------------------------------------------------------------------------

// From settle() alone: what is begun may end at once.
void Connection::run_due() {
  exchange_->is_due = false;
  exchange_->gathers = true;
  phase_ == Phase::Streaming ? run_streaming() : run_exchange();
  if (exchange_ != nullptr) exchange_->gathers = false;
}

void Connection::run_exchange() {
  Exchange& exchange = *exchange_;
  const ScopedSpan span(exchange.request.span_);
  if (exchange.request.span_.stages != nullptr) exchange.handler_began = acceptor_.loop_.precise_now();
  if (exchange.match.handler->at_once) {
    answer_exchange([&]() -> Result<Response> {
      const flight::Doing doing(&Exchange::tell, &exchange.request);
      const Trampoline::Deferring deferring;
      try {
        return exchange.match.handler->at_once(exchange.request);
      } catch (...) {
        return Error::from_exception();
      }
    }());
    return;
  }
  phase_ = Phase::Handling;
  exchange.run.owner = this;
  began_ = acceptor_.loop_.now();
  exchange.until = began_ + exchange.match.options->request_timeout.value_or(acceptor_.limits().request_timeout);
  if (const auto told = exchange.request.deadline_told()) exchange.until = std::min(exchange.until, *told);
  const StartOptions options{.deadline = exchange.until, .span = &exchange.request.span_};
  const auto done = [](StartCore& run) noexcept {
    static_cast<Exchange::Run&>(run).owner->guarded<&Connection::task_done>();
  };
  try {
    const flight::Doing doing(&Exchange::tell, &exchange.request);
    Task<Response> task = [&] {
      const Trampoline::Deferring deferring;  // For middleware, and what is no coroutine itself.
      return exchange.match.handler->later(exchange.request);
    }();
    if (!exchange.run.begin(std::move(task), done, options)) {
      acceptor_.worked(exchange.match.index, acceptor_.loop_.precise_now());
      return;
    }
  } catch (...) {
    // A handler that is no coroutine itself: there is no task.
    return answer_exchange(Error::from_exception());
  }
  if (phase_ == Phase::Ending) return free_exchange();
  answer_exchange(exchange.run.take());
}

// The handler has ended: its result is the answer.
void Connection::answer_exchange(Result<Response> result) {
  Exchange& exchange = *exchange_;
  const ScopedSpan span(exchange.request.span_);
  if (StageClock* const clock = exchange.request.span_.stages) {
    clock->add(Stage::Handler, acceptor_.loop_.precise_now() - exchange.handler_began - clock->inside_handler());
  }
  if (exchange.reader.is_lost()) {
    record_cut(Cut::Handler);
    return give_up_body();
  }
  phase_ = Phase::Head;
  // What writes the answer's body may read the request's, and behind the answer's head it is too late for this.
  if (result && result->is_streamed() && std::exchange(exchange.awaits_continue, false)) out_.append(continue_line);
  if (exchange.streams_in && !exchange.reader.is_over()) {
    if (!result && exchange.reader.refusal() != Status::Ok) {
      result = refuse(exchange.reader.refusal(), exchange.reader.reason());
    }
    // Whatever the client announced, the rest of the body may be on its way.
    peer_closes_ = false;
    if (!exchange.can_discard()) close_ = true;
  }
  respond(exchange.request, exchange.match, std::move(result));
  if (phase_ != Phase::Streaming) finish_exchange();
}

void Connection::task_done() {
  if (phase_ == Phase::Ending) {
    free_exchange();
    free_if_quiet();
    return;
  }
  answer_exchange(exchange_->run.take());
  settle();
}

// Its answer has been written: what is left of its body is thrown away, and the next request can come.
void Connection::finish_exchange() {
  Exchange& exchange = *exchange_;
  BodyReader& reader = exchange.reader;
  phase_ = upgraded_ != nullptr ? Phase::Upgrading : Phase::Head;
  began_ = acceptor_.loop_.now();
  if (exchange.streams_in && !close_) {
    exchange.discarded = reader.discard_held();
    if (reader.refusal() != Status::Ok) {
      peer_closes_ = false;
      return give_up_body();
    }
    if (!reader.is_over()) {
      phase_ = Phase::Discarding;
      exchange.until = began_ + acceptor_.limits().body_timeout;
      return;
    }
    if (const std::string_view behind = reader.left_over(); !behind.empty()) {
      KEEL_CHECK(in_.empty(), "nothing is read while bytes wait behind a body");
      in_.append(behind);
      kept_ready_ = true;
    }
  }
  free_exchange();
}

void Connection::free_exchange() {
  acceptor_.tally.body_bytes.subtract(exchange_->body_held);
  Exchange::free(std::exchange(exchange_, nullptr));
}

}  // namespace keel::http
