#include "keel/http/connection.h"

#include <algorithm>
#include <new>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/http/acceptor.h"
#include "keel/http/answer.h"
#include "keel/http/exchange.h"
#include "keel/http/problem.h"
#include "keel/observe/flight_recorder.h"
#include "keel/task/start.h"

namespace keel::http {
namespace {

// How many requests of one connection are answered before the others have their turn.
constexpr int requests_per_turn = 64;
constexpr Duration linger_timeout = 1_s;
constexpr std::uint32_t linger_bytes_max = 1024 * 1024;
constexpr std::string_view too_large = "the body is larger than this server accepts";
constexpr std::string_view no_room = "this server holds as much for bodies as it may";
constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";

template <class T>
T* new_pooled() {
  return new (pool_allocate(sizeof(T))) T;
}
template <class T>
void free_pooled(T* object) noexcept {
  object->~T();
  pool_free(object, sizeof(T));
}

// For a signal handler that asks what this worker is doing.
void tell_request(const void* subject, std::string_view& method, std::string_view& path, log::TraceId& trace) {
  const auto& request = *static_cast<const Request*>(subject);
  method = request.head().method_text();
  path = request.path();
  trace = request.trace();
}

}  // namespace

struct Connection::Partial {
  RequestHead head;
  HeadLimits limits;
};

void Connection::begin(Acceptor& acceptor, int fd) {
  void* memory = nullptr;
  try {
    memory = pool_allocate(sizeof(Connection));
  } catch (const std::bad_alloc&) {
    acceptor.server_.log_.warn("no memory for a connection, it is closed");
    return acceptor.engine_.close(fd);
  }
  auto* connection = new (memory) Connection(acceptor, fd);
  acceptor.connections_.push_back(*connection);
  acceptor.tally.connections.add();
  acceptor.engine_.submit(connection->receive_);
  connection->watch();
}

Connection::Connection(Acceptor& acceptor, int fd) : acceptor_(acceptor), began_(acceptor.loop_.now()) {
  receive_.fd = fd;
  send_.fd = fd;
}

Connection::~Connection() {
  if (partial_ != nullptr) free_pooled(partial_);
  if (exchange_ != nullptr) free_exchange();
}

// --- what comes in -------------------------------------------------------------------------------------------------

void Connection::received() {
  const std::int32_t result = receive_.result;
  if (result > 0) {
    if (phase_ == Phase::Ending) return;
    if (phase_ == Phase::Lingering) {
      lingered_ += static_cast<std::uint32_t>(result);
      if (lingered_ > linger_bytes_max) end();
      return;
    }
    take({receive_.data, static_cast<std::size_t>(result)});
    return;
  }
  peer_done_ = true;
  if (phase_ == Phase::Ending) {
    free_if_quiet();
  } else if (result < 0 || phase_ == Phase::Lingering) {
    end();
  } else {
    if (phase_ == Phase::Body) {
      // This request will never be whole; answers to earlier ones may still be on their way.
      free_exchange();
      phase_ = Phase::Head;
    }
    settle();
  }
}

// Its buffers may be incomplete: nothing is sent.
void Connection::out_of_memory() noexcept {
  acceptor_.server_.log_.warn("no memory for a request, its connection is closed");
  end();
}

void Connection::take(std::string_view bytes) {
  if (phase_ == Phase::Body) bytes = feed_body(bytes);
  if (!bytes.empty()) {
    if (in_.empty() && can_process()) {
      in_.append(process(bytes));
    } else {
      in_.append(bytes);
      kept_ready_ = true;
      if (can_process()) process_kept();
    }
  }
  settle();
}

void Connection::process_kept() {
  kept_ready_ = false;
  const std::string_view rest = process(in_.view());
  in_.consume(in_.size() - rest.size());
  if (in_.empty()) in_.release();
}

// The connection's next share of the worker.
void Connection::go_on() {
  yields_ = false;
  if (phase_ == Phase::Ending) return free_if_quiet();
  if (can_process()) process_kept();
  settle();
}

bool Connection::can_process() const noexcept {
  return phase_ == Phase::Head && !close_ && !yields_ && large_.empty() &&
         out_.size() < acceptor_.limits().pipeline_bytes_max;
}

// Takes whole requests off the front of `rest` and answers them; returns what has to be kept.
std::string_view Connection::process(std::string_view rest) {
  for (int answered = 0; !rest.empty(); ++answered) {
    if (answered == requests_per_turn && can_process()) {
      yields_ = true;
      acceptor_.loop_.post(turn_);
    }
    if (!can_process()) {
      if (close_) return {};  // Nothing behind a last request is looked at.
      kept_ready_ = true;
      return rest;
    }
    RequestHead& head = partial_ != nullptr ? partial_->head : acceptor_.head_;
    const HeadLimits& limits = partial_ != nullptr ? partial_->limits : acceptor_.limits().head;
    const HeadResult result = partial_ != nullptr ? resume_head(rest, limits, head) : parse_head(rest, limits, head);
    switch (result.state) {
      case HeadState::Incomplete:
        if (partial_ == nullptr) {
          partial_ = new (pool_allocate(sizeof(Partial))) Partial{head, limits};
          began_ = acceptor_.loop_.now();
        }
        return rest;
      case HeadState::Refused:
        refuse_and_close(result.status, result.reason);
        return {};
      case HeadState::Complete: {
        const std::string_view head_bytes = rest.substr(0, result.consumed);
        rest.remove_prefix(result.consumed);
        rest = begin_request(head, head_bytes, rest);
        if (partial_ != nullptr) free_pooled(std::exchange(partial_, nullptr));
      }
    }
  }
  return rest;
}

std::string_view Connection::begin_request(RequestHead& head, std::string_view head_bytes, std::string_view rest) {
  Request request;
  request.head_ = &head;
  request.arena_ = &acceptor_.scratch_;
  request.started_ = acceptor_.loop_.now();
  request.span_.trace = {acceptor_.loop_.random(), acceptor_.loop_.random()};
  const ScopedSpan span(request.span_);
  ++requests_;
  if (!head.keep_alive()) peer_closes_ = true;
  const Router::Match match = acceptor_.router().match(request);
  const bool at_once = static_cast<bool>(match.handler->at_once);
  const bool has_body = head.body() != BodyKind::None;

  if (head.body() == BodyKind::Length && head.content_length() > acceptor_.limits().body_bytes_max) {
    // Before reading it, and without allocating what was announced.
    refuse_and_close(Status::ContentTooLarge, too_large);
    return {};
  }
  const bool is_whole = !has_body || (head.body() == BodyKind::Length && rest.size() >= head.content_length());
  if (has_body && !(at_once && is_whole) && !acceptor_.has_room_for(head.content_length())) return refuse_body();
  if (has_body && head.expect_continue() && rest.empty()) {
    if (!match.is_route) {
      // The answer does not depend on a body that has not been sent: give it, and never read a request out of that
      // body.
      Result<Response> answer = match.handler->at_once(request);
      if (answer) answer->close();
      close_ = true;
      peer_closes_ = false;
      respond(request, match, std::move(answer));
      acceptor_.scratch_.rewind();
      return {};
    }
    out_.append(continue_line);
  }
  if (at_once && is_whole) {
    const auto length = static_cast<std::size_t>(head.content_length());
    request.body_ = rest.substr(0, length);
    Result<Response> answer = [&]() -> Result<Response> {
      const flight::Doing doing(&tell_request, &request);
      try {
        return match.handler->at_once(request);
      } catch (...) {
        return Error::from_exception();
      }
    }();
    respond(request, match, std::move(answer));
    acceptor_.scratch_.rewind();
    return rest.substr(length);
  }
  Exchange& exchange = activate(request, head_bytes);
  if (!has_body) {
    run_exchange();
    return rest;
  }
  exchange.chunked = head.body() == BodyKind::Chunked;
  exchange.body_left = head.content_length();
  exchange.body_max = acceptor_.limits().body_bytes_max;
  phase_ = Phase::Body;
  began_ = acceptor_.loop_.now();
  exchange.until = began_ + acceptor_.limits().body_timeout;
  return feed_body(rest);
}

// The request's memory: head bytes copied, its views following them.
Exchange& Connection::activate(const Request& request, std::string_view head_bytes) {
  exchange_ = new_pooled<Exchange>();
  exchange_->head = *request.head_;
  exchange_->head.rebase(exchange_->arena.copy(head_bytes).data());
  exchange_->request.head_ = &exchange_->head;
  exchange_->request.arena_ = &exchange_->arena;
  exchange_->request.started_ = request.started_;
  exchange_->request.span_ = request.span_;
  // Once more, for the views of the parameters.
  exchange_->match = acceptor_.router().match(exchange_->request);
  return *exchange_;
}

std::string_view Connection::feed_body(std::string_view rest) {
  Exchange& exchange = *exchange_;
  if (!exchange.chunked) {
    const std::size_t part = std::min<std::size_t>(rest.size(), exchange.body_left);
    if (!keep_body(rest.substr(0, part))) return refuse_body();
    exchange.body_left -= part;
    rest.remove_prefix(part);
    if (exchange.body_left != 0) return rest;
  } else {
    for (bool done = false; !done;) {
      const ChunkStep step = exchange.chunks.feed(rest);
      rest.remove_prefix(step.consumed);
      if (step.state == ChunkState::Refused) {
        free_exchange();
        refuse_and_close(step.status, step.reason);
        return {};
      }
      if (exchange.chunks.announced() > exchange.body_max) {
        free_exchange();
        refuse_and_close(Status::ContentTooLarge, too_large);
        return {};
      }
      if (!keep_body(step.data)) return refuse_body();
      if (step.state == ChunkState::Need) return rest;
      done = step.state == ChunkState::Done;
    }
  }
  exchange.request.body_ = exchange.body.view();
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

std::string_view Connection::refuse_body() {
  if (exchange_ != nullptr) free_exchange();
  acceptor_.tally.bodies_refused.add();
  refuse_and_close(Status::ServiceUnavailable, no_room);
  return {};
}

void Connection::run_exchange() {
  Exchange& exchange = *exchange_;
  const ScopedSpan span(exchange.request.span_);
  if (exchange.match.handler->at_once) {
    phase_ = Phase::Head;
    Result<Response> answer = [&]() -> Result<Response> {
      const flight::Doing doing(&tell_request, &exchange.request);
      try {
        return exchange.match.handler->at_once(exchange.request);
      } catch (...) {
        return Error::from_exception();
      }
    }();
    respond(exchange.request, exchange.match, std::move(answer));
    free_exchange();
    began_ = acceptor_.loop_.now();
    return;
  }
  phase_ = Phase::Handling;
  exchange.run.owner = this;
  began_ = acceptor_.loop_.now();
  exchange.until = began_ + acceptor_.limits().request_timeout;
  const StartOptions options{.deadline = exchange.until, .span = &exchange.request.span_};
  const auto done = [](StartCore& run) noexcept {
    static_cast<Exchange::Run&>(run).owner->guarded<&Connection::task_done>();
  };
  try {
    const flight::Doing doing(&tell_request, &exchange.request);
    if (!exchange.run.begin(exchange.match.handler->later(exchange.request), done, options)) return;
  } catch (...) {
    // A handler that is no coroutine itself: there is no task.
    return answer_exchange(Error::from_exception());
  }
  answer_exchange(exchange.run.take());
}

// The task has ended: its result is the answer.
void Connection::answer_exchange(Result<Response> result) {
  phase_ = Phase::Head;
  respond(exchange_->request, exchange_->match, std::move(result));
  free_exchange();
  began_ = acceptor_.loop_.now();
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

void Connection::free_exchange() {
  acceptor_.tally.body_bytes.subtract(exchange_->body_held);
  free_pooled(std::exchange(exchange_, nullptr));
}

// --- what goes out -------------------------------------------------------------------------------------------------

void Connection::respond(Request& request, const Router::Match& match, Result<Response> result) {
  const log::Logger& log = acceptor_.server_.log_;
  const ScopedSpan span(request.span_);
  if (request.arena_->bytes_held() > acceptor_.limits().request_bytes_max) [[unlikely]] {
    acceptor_.tally.requests_too_big.add();
    result = fail(Code::ResourceExhausted, "the request needs more memory than this server gives to one");
  }
  if (!result) result = problem(request, result.error());
  Middleware::after(request, *result);
  if (!result->is_valid() || number(result->status()) < 200) {
    // After an interim status the client would take the next answer for this one.
    log.error("a response had a field or a status that cannot be sent", log::field("path", request.path()));
    result = refuse(Status::InternalServerError, {});
  }
  const Response& response = *result;
  const RequestHead& head = *request.head_;
  if (!head.keep_alive() || response.close_ || acceptor_.draining_ ||
      requests_ >= acceptor_.limits().requests_per_connection_max) {
    close_ = true;
  }
  const std::size_t bytes = response.body_.size();
  const Status status = response.status();
  write_answer(out_, response,
               {.date = acceptor_.date_line(),
                .version_minor = head.version_minor(),
                .head_only = head.method() == Method::Head,
                .close = close_});
  if (bytes > copied_body_max && head.method() != Method::Head && !forbids_content(status)) {
    large_ = std::move(result->body_);
  }
  acceptor_.tally.requests.add();
  const Duration took = acceptor_.loop_.precise_now() - request.started_;
  acceptor_.count_request(match.index, status, took);
  flight::note({.method = to_string(head.method()),
                .route = request.route(),
                .status = static_cast<unsigned>(number(status)),
                .bytes = bytes,
                .started = request.started_,
                .took = took,
                .trace = request.trace()});
  if (acceptor_.access_log_) {
    log.info("request", log::field("method", head.method_text()), log::field("path", head.path()),
             log::field("status", number(status)), log::field("bytes", bytes), log::field("duration", took));
  }
}

void Connection::refuse_and_close(Status status, std::string_view detail) {
  ++requests_;
  close_ = true;
  peer_closes_ = false;  // Whatever it announced, the rest of what was refused may be on its way.
  phase_ = Phase::Head;
  if (partial_ != nullptr) free_pooled(std::exchange(partial_, nullptr));
  acceptor_.tally.requests.add();
  acceptor_.tally.refused.add();
  write_answer(out_, refuse(status, detail), {.date = acceptor_.date_line(), .close = true});
  acceptor_.count_refused(status);
  acceptor_.server_.log_.info("request refused", log::field("status", number(status)), log::field("reason", detail));
}

void Connection::flush() {
  while (!send_.pending && !out_.empty() && phase_ != Phase::Ending) {
    flight_ = std::move(out_);
    parts_[0] = {flight_.data(), flight_.size()};
    parts_[1] = {large_.data(), large_.size()};
    send_.parts = parts_;
    send_.part_count = large_.empty() ? 1 : 2;
    large_flies_ = !large_.empty();
    send_began_ = acceptor_.loop_.now();
    sent_seen_ = 0;
    if (!acceptor_.engine_.submit(send_)) return;
    finish_send();
  }
}

void Connection::sent() {
  if (phase_ == Phase::Ending) {
    free_if_quiet();
    return;
  }
  finish_send();
  settle();
}

// After a send: what it sent is given back; a failed one is the end (the caller looks at phase_).
void Connection::finish_send() {
  flight_.release();
  if (std::exchange(large_flies_, false)) large_.release();
  if (send_.result < 0) {
    acceptor_.tally.aborted.add();
    phase_ = Phase::Ending;
  }
  // The idle time begins with the end of the answer.
  if (phase_ == Phase::Head && partial_ == nullptr) began_ = acceptor_.loop_.now();
}

void Connection::settle() {
  for (;;) {
    flush();
    if (phase_ == Phase::Ending) return end();
    if (!kept_ready_ || !can_process()) break;
    process_kept();
  }
  if (phase_ == Phase::Head && !send_.pending && out_.empty() && !yields_) {
    if (close_) return linger_or_end();
    if (peer_done_) return end();
  }
  // While nothing more can be answered, nothing more is read: the peer is slowed down.
  const bool reads = (phase_ == Phase::Head && can_process()) || phase_ == Phase::Body;
  if (reads && receive_.paused) acceptor_.engine_.resume(receive_);
  if (!reads && !receive_.paused && receive_.pending) acceptor_.engine_.pause(receive_);
  watch();
}

// A peer that is still writing would lose the answer to a reset: stop writing, and read on for a moment.
void Connection::linger_or_end() {
  if (peer_done_ || peer_closes_) return end();
  acceptor_.engine_.shutdown_write(receive_.fd);
  phase_ = Phase::Lingering;
  began_ = acceptor_.loop_.now();
  in_.release();
  if (receive_.paused) acceptor_.engine_.resume(receive_);
  watch();
}

// --- time and the end ----------------------------------------------------------------------------------------------

Instant Connection::deadline() const noexcept {
  const Limits& limits = acceptor_.limits();
  Instant at = send_.pending ? send_began_ + limits.send_timeout : Instant::never();
  switch (phase_) {
    case Phase::Head:
      if (partial_ != nullptr) return std::min(at, began_ + limits.header_timeout);
      if (send_.pending) return at;
      return began_ + (acceptor_.draining_ ? std::min(acceptor_.grace_, limits.idle_timeout) : limits.idle_timeout);
    case Phase::Body:
    case Phase::Handling:
      return std::min(at, exchange_->until);
    case Phase::Lingering:
      return began_ + linger_timeout;
    case Phase::Ending:
      break;  // What was cancelled comes back by itself; a timer would outlive the connection.
  }
  return Instant::never();
}

// The timer is moved only when it would ring too late; when it rings too early it is set again. A busy connection
// therefore does not touch the wheel.
void Connection::watch() {
  const Instant at = deadline();
  if (at.is_never()) return;
  if (!timer_.is_running() || at < timer_.at) acceptor_.loop_.start_timer(timer_, at);
}

void Connection::timed_out() {
  if (acceptor_.loop_.now() < deadline()) return watch();
  const bool send_is_late = send_.pending && acceptor_.loop_.now() >= send_began_ + acceptor_.limits().send_timeout;
  if (send_is_late && send_.sent != sent_seen_) {
    // Slowly, but it takes what is sent.
    sent_seen_ = send_.sent;
    send_began_ = acceptor_.loop_.now();
    return watch();
  }
  acceptor_.tally.timeouts.add();
  if (send_is_late) return end();
  if (phase_ == Phase::Handling) return exchange_->run.stop(Code::DeadlineExceeded);
  if (phase_ == Phase::Body) free_exchange();
  if (phase_ == Phase::Body || (phase_ == Phase::Head && partial_ != nullptr)) {
    refuse_and_close(Status::RequestTimeout, "the request did not arrive in time");
    return settle();
  }
  end();
}

void Connection::begin_drain() {
  if (phase_ == Phase::Head && partial_ == nullptr) began_ = acceptor_.loop_.now();
  watch();
}

void Connection::end() {
  if (phase_ != Phase::Ending && (!out_.empty() || send_.pending || phase_ == Phase::Handling)) {
    acceptor_.tally.aborted.add();
  }
  phase_ = Phase::Ending;
  acceptor_.loop_.stop_timer(timer_);
  acceptor_.engine_.cancel(receive_);
  acceptor_.engine_.cancel(send_);
  if (exchange_ != nullptr) exchange_->run.is_running() ? exchange_->run.stop() : free_exchange();
  free_if_quiet();
}

void Connection::free_if_quiet() {
  if (receive_.pending || send_.pending || exchange_ != nullptr || yields_) return;
  acceptor_.engine_.close(receive_.fd);
  Acceptor& acceptor = acceptor_;
  unlink();
  this->~Connection();
  pool_free(this, sizeof(Connection));
  acceptor.ended();
}

}  // namespace keel::http
