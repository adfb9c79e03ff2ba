#include "keel/http/server/internal/connection.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/http/server/internal/connection_carrier.h"
#include "keel/http/server/internal/response_bytes.h"
#include "keel/http/server/internal/server_worker.h"
#include "keel/http/server/internal/upgraded.h"
#include "keel/http/server/problem.h"
#include "keel/http/server/stage.h"

namespace keel::http {
namespace {

// The number of requests of one connection that are processed before other connections get their turn.
constexpr int requests_per_turn = 64;
// While the server drains, a connection lingers for at most this time, instead of Limits::linger_time_max.
constexpr Duration linger_in_drain = 1_s;
// While one request is in progress, up to this many bytes of later requests are read.
constexpr std::size_t ahead_bytes_max = 16 * 1024;
// A connection that ends normally waits while the kernel holds more than this number of unsent bytes.
constexpr std::uint64_t left_bytes_max = 64 * 1024;
// How often a waiting connection checks how many unsent bytes the kernel holds, normally and during a drain.
constexpr Duration peer_look_pause = 1_s;
constexpr Duration peer_look_pause_in_drain = 100_ms;

// Whether a request with an incomplete or invalid head seems to be a HEAD request: its response has no content.
bool asks_for_head(std::string_view text) noexcept {
  if (text.starts_with("\r\n")) text.remove_prefix(2);  // Like the parser.
  return text.starts_with("HEAD ");
}

}  // namespace

Connection::~Connection() {
  worker_.records().end_write(this, false);
  if (exchange_ != nullptr) free_exchange();
  if (held_ != Held()) worker_.held().change(held_, Held());
  worker_.leave(client_);
}

void Connection::free_exchange() {
  ConnectionCarrier::free(std::exchange(exchange_, nullptr));
  transport_.release();
}

bool Connection::is_streaming() const noexcept { return phase_ == Phase::Busy && exchange_->is_streaming(); }

// --- input --------------------------------------------------------------------------------------------------------

void Connection::received() {
  const std::int32_t result = transport_.outcome();
  if (result > 0) {
    if (phase_ == Phase::Head) [[likely]]
      return take(transport_.bytes());
    return take_by_phase(transport_.bytes());
  }
  if (phase_ == Phase::Upgrading && result == -ECANCELED) return settle();
  if (phase_ == Phase::Introduced && result == -ECANCELED) return begin_layer();
  peer_done_ = true;
  if (phase_ == Phase::Ending) {
    free_if_quiet();
  } else if (result < 0) {
    fail(result);
    worker_.records().failed(transport_, introduction());
    abort();
  } else if (phase_ == Phase::Lingering) {
    linger_or_end();
  } else if (phase_ == Phase::Introducing || phase_ == Phase::Introduced) {
    lose_introduction();
  } else {
    lose_request();
    if (is_streaming()) began_ = worker_.loop().now();
    settle();
  }
}

void Connection::take_by_phase(std::string_view bytes) {
  switch (phase_) {
    case Phase::Head:
      return take(bytes);
    case Phase::Busy:
      return exchange_->reads_body() ? body_arrived() : take(bytes);
    case Phase::Discarding:
      return discard(bytes);
    case Phase::Introducing:
      return introduce(bytes);
    case Phase::Upgrading:
    case Phase::Introduced:
      return in_.append(bytes);
    case Phase::Lingering:
      began_ = worker_.loop().now();
      return;
    case Phase::Ending:
      return;
  }
}

// The peer has stopped sending. If a part of a request's body is still missing, the request will never be complete.
// Responses to earlier requests may still have to be sent.
void Connection::lose_request() {
  if (phase_ == Phase::Discarding) return give_up_body();
  if (phase_ != Phase::Busy) return;
  if (exchange_->state() == PendingExchange::State::Receiving) {
    exchange_->record_cut(Cut::Body);
    free_exchange();
    phase_ = Phase::Head;
  } else if (exchange_->reads_body() && !exchange_->lose_body()) {
    exchange_->record_cut(Cut::Body);
    give_up_body();
  }
}

// Nothing is sent, because the buffers may contain incomplete data.
void Connection::out_of_memory() noexcept {
  worker_.out_of_memory().meet(log::field("for", "a request"));
  abort();
}

inline void Connection::take(std::string_view bytes) {
  if (phase_ == Phase::Busy && exchange_->state() == PendingExchange::State::Receiving) bytes = collect_body(bytes);
  if (!bytes.empty()) {
    if (in_.empty() && !close_) {
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

// Continues with the connection's requests, after the other connections had their turn.
void Connection::go_on() {
  yields_ = false;
  if (phase_ == Phase::Ending) return free_if_quiet();
  if (can_process()) process_kept();
  settle();
}

bool Connection::can_process() const noexcept {
  return phase_ == Phase::Head && !(close_ || yields_) && out_.attached_bytes() == 0 &&
         out_.unsent() < worker_.limits().pipeline_bytes_max;
}

// Processes the complete requests at the front of `rest`; returns the remaining bytes, which have to be kept.
std::string_view Connection::process(std::string_view rest) {
  for (int processed = 0; !rest.empty(); ++processed) {
    if (processed == requests_per_turn && can_process()) {
      yields_ = true;
      worker_.loop().post(turn_);
    }
    if (!can_process()) {
      if (close_) return {};  // Bytes after the last request are ignored.
      kept_ready_ = true;
      return rest;
    }
    RequestHead* head = &worker_.head();
    Stages& stages = worker_.records().stages();
    StageClock* const clock = stages.begin();
    HeadResult result;
    {
      const StageTimer timer(stage::parse, clock);
      result = partial_.parse(rest, worker_.limits().head, head);
    }
    if (result.state != HeadState::Complete) [[unlikely]] {
      if (result.state == HeadState::Refused) {
        reject_and_close(result.status, result.reason, asks_for_head(rest));
        return {};
      }
      stages.take_back();
      if (partial_.keep(*head, worker_.limits().head)) began_ = worker_.loop().now();
      return rest;
    }
    rest = begin_request(*head, rest, result.consumed, clock);
    if (partial_.has_begun()) [[unlikely]]
      partial_.clear();
  }
  return rest;
}

// `received` begins with the head; returns the bytes that follow the request.
inline std::string_view Connection::begin_request(RequestHead& head, std::string_view received, std::size_t head_size,
                                                  StageClock* clock) {
  const std::string_view rest(received.data() + head_size, received.size() - head_size);
  const std::string_view head_bytes(received.data(), head_size);
  Exchange exchange(worker_, head, transport_, introduction(), clock);
  const ScopedSpan span(exchange.span());
  ++requests_;
  // Over TLS, the client still sends close_notify; after a close, it would cause a reset that loses the response.
  if (!head.keep_alive() && transport_.layer() == nullptr) peer_closes_ = true;
  exchange.find_route();
  const RouteMatch& match = exchange.match();
  if (match.is_route && worker_.rejects_late(match.index, transport_.descriptor(), requests_ == 1 ? Instant() : began_))
      [[unlikely]]
    return reject_late(exchange, rest);
  const bool at_once = exchange.is_at_once();
  const bool has_body = head.body() != BodyKind::None;

  const bool streams = has_body && match.options->streams_body;
  const std::size_t body_bytes_max = match.options->body_bytes_max.value_or(worker_.limits().body_bytes_max);

  if ((head.body() == BodyKind::Length && head.content_length() > body_bytes_max) ||
      (head.body() == BodyKind::Chunked && body_bytes_max == 0)) {
    // A body that is too large is rejected before it is read, and no memory is allocated for its announced size.
    reject_and_close(Status::ContentTooLarge, "the body is larger than this server accepts", exchange.head_only());
    return {};
  }
  const bool is_whole = !has_body || (head.body() == BodyKind::Length && rest.size() >= head.content_length());
  if (has_body && !streams && !(at_once && is_whole)) {
    if (const Status status = worker_.check_body(client_, head.content_length(), 0); status != Status::Ok) {
      reject_and_close(status, ServerWorker::no_room_for_body(status), exchange.head_only());
      return {};
    }
  }
  const bool is_guarded = has_body && !streams && !is_whole && exchange.is_guarded();
  const bool may_send = has_body && head.expect_continue() && rest.empty();
  // The client has not sent the body, and the response does not depend on it: respond immediately, and close the
  // connection so that the body is never taken for a request.
  const bool goes_without = may_send && !match.is_route;
  if (goes_without) {
    close_ = true;
    peer_closes_ = false;
  } else if (may_send && !streams && !is_guarded) {
    out_.waiting().append(continue_head);
  }
  if (at_once && (is_whole || goes_without)) {
    const auto length = goes_without ? 0 : static_cast<std::size_t>(head.content_length());
    const std::string_view body(rest.data(), length);
    Result<Response> result = exchange.call(body);
    exchange.conclude(result, !close_);
    if (exchange.streams_out(*result) || result->is_upgrade()) [[unlikely]] {
      hold(exchange, head_bytes).send(*result, body);
    } else {
      const Status status = result->status();
      const std::size_t body_bytes = result->content().size();
      write(exchange, *result);
      exchange.record(status, body_bytes);
      if (clock != nullptr) [[unlikely]]
        follow_send(exchange);
    }
    worker_.scratch().rewind();
    return {rest.data() + length, rest.size() - length};
  }
  PendingExchange& pending = hold(exchange, head_bytes);
  if (!has_body) {
    pending.run();
    return rest;
  }
  const BodyDecoder decoder(head.body(), head.content_length(), body_bytes_max);
  if (streams || is_guarded) return begin_reading(decoder, rest, streams);
  began_ = worker_.loop().now();
  pending.begin_collecting(decoder);
  return collect_body(rest);
}

ConnectionCarrier& Connection::hold(const Exchange& exchange, std::string_view head_bytes) {
  exchange_ = ConnectionCarrier::make(*this, exchange, head_bytes);
  exchange_->set_introduction(introduction());
  phase_ = Phase::Busy;
  return *exchange_;
}

// --- output -------------------------------------------------------------------------------------------------------

// Queues the head of a response, and its body unless the body is streamed.
inline void Connection::write(Exchange& exchange, Response& response) {
  const RequestHead& head = exchange.head();
  const RouteMatch& match = exchange.match();
  const bool head_only = exchange.head_only();
  BodyEnd body_end = BodyEnd::Length;
  std::optional<std::uint64_t> length;
  if (response.is_streamed()) {
    if (response.streamed_.transforms() == nullptr) length = response.streamed_.length();
    if (!length) body_end = head.version_minor() == 0 ? BodyEnd::Close : BodyEnd::Chunks;
  } else if (head_only && match.is_route && response.content().empty() &&
             worker_.router().method(match) == Method::Head) [[unlikely]] {
    // The length that the response to a GET would have is not known here (RFC 9110 §8.6).
    body_end = BodyEnd::Unsaid;
  }
  if (!response.is_upgrade() && (!head.keep_alive() || response.close_ || worker_.is_draining() ||
                                 requests_ >= worker_.limits().requests_per_connection_max ||
                                 (body_end == BodyEnd::Close && exchange.streams_out(response)))) {
    close_ = true;
  }
  const std::size_t bytes = response.content().size();
  {
    const StageTimer timer(stage::serialize, exchange.span().stages);
    write_response(out_.waiting(), response,
                   {.ok_and_date = worker_.ok_and_date(),
                    .version_minor = head.version_minor(),
                    .head_only = head_only,
                    .close = close_,
                    .end = body_end,
                    .length = length});
  }
  body_end_ = body_end;
  if (bytes > copied_body_max && !head_only && !forbids_content(response.status())) {
    out_.attach(std::move(response.body_));
  }
  if (response.is_upgrade()) phase_ = Phase::Upgrading;
}

void Connection::write_head(Response& response) {
  PendingExchange& exchange = *exchange_;
  // The task that writes the response's body may read the request's body, so the 100 (Continue) is sent now, before the
  // head. The head is held until the request's body begins to arrive or the response's body begins: a proxy that
  // receives the 100 and the head together may lose the body that the client then sends (HAProxy 2.6).
  if (response.is_streamed() && exchange.take_awaits_continue()) {
    out_.waiting().append(continue_head);
    flush();
    exchange_->hold_head(out_.is_empty());  // If the 100 waits for an earlier send, the head is sent with the 100.
  }
  if (exchange.reads_body() || exchange.reader().refusal() != Status::Ok) {
    // Even if the client asked for a close, the rest of the body may arrive. Bytes after a rejected body are dropped.
    peer_closes_ = false;
    if (!exchange.can_discard()) close_ = true;
  } else if (exchange.reader().has_used_all()) {
    transport_.release();
  }
  exchange_->keep_head(out_.size());
  write(exchange, response);
  began_ = worker_.loop().now();
}

inline void Connection::send_queued() {
  while (!out_.is_sending() && !out_.is_empty() && phase_ != Phase::Ending) {
    if (exchange_ != nullptr) [[unlikely]] {
      if (exchange_->holds_head()) return;
      exchange_->let_go();
    }
    if (!out_.begin(transport_, worker_.loop().now())) return worker_.hand_over();
    finish_send();
  }
}

void Connection::flush() { send_queued(); }

void Connection::sent() {
  if (phase_ == Phase::Ending) {
    free_if_quiet();
    return;
  }
  finish_send();
  settle();
}

// If the send has failed, this function ends the connection, so the caller has to check phase_.
inline void Connection::finish_send() {
  const bool is_sent = out_.finish();
  worker_.records().end_write(this, is_sent);
  // The idle time begins when the response, or the part of it that exists so far, has been sent.
  if ((phase_ == Phase::Head && !partial_.has_begun()) || is_streaming()) began_ = worker_.loop().now();
  if (is_sent) return;
  fail(out_.error());
  worker_.counts.aborted.add();
  record_cut();
  phase_ = Phase::Ending;
}

inline bool Connection::wants_bytes() const noexcept {
  switch (phase_) {
    case Phase::Head:
      return can_process();
    case Phase::Discarding:
      return true;
    case Phase::Busy:
      if (exchange_->state() == PendingExchange::State::Receiving) return true;
      if (exchange_->reads_body()) return exchange_->reader().is_waited_for();
      return exchange_->reader().left_over().empty() && !transport_.holds() && in_.size() < ahead_bytes_max;
    case Phase::Upgrading:
    case Phase::Lingering:
    case Phase::Ending:
    case Phase::Introducing:
    case Phase::Introduced:
      break;
  }
  return false;
}

// If a task is started here, the bytes that it writes are sent together with the bytes already queued.
void Connection::run_due() {
  gathers_ = true;
  exchange_->run_due();
  gathers_ = false;
}

inline void Connection::count_held() noexcept {
  if (held_ == Held() && out_.held_bytes() + in_.capacity() < Held::unit) [[likely]]
    return;
  const Held now{.responses = Held::units(out_.held_bytes()), .received = Held::units(in_.capacity())};
  if (now != held_) [[unlikely]]
    worker_.held().change(std::exchange(held_, now), now);
}

// Also counts the parts of a streamed body that wait between two calls of settle().
void Connection::count_waiting() noexcept { count_held(); }

void Connection::settle() {
  for (int begun = 0;;) {
    if (exchange_ != nullptr && exchange_->is_due()) {
      if (++begun == requests_per_turn && !yields_) {
        yields_ = true;
        worker_.loop().post(turn_);
      }
      run_due();
    } else if (kept_ready_ && can_process()) {
      process_kept();
    } else {
      send_queued();
      if (phase_ == Phase::Ending) return abort();
      if (!kept_ready_ || !can_process()) break;
    }
  }
  if (phase_ == Phase::Upgrading) return go_on_upgrading();
  if (phase_ == Phase::Head && !out_.is_sending() && out_.is_empty() && !yields_) {
    if (close_ || peer_done_) return linger_or_end();
  }
  count_held();
  // While no further response can be queued, the connection does not read, which slows the peer down.
  const bool reads = wants_bytes();
  if (reads && transport_.is_paused()) transport_.resume();
  if (!reads && !transport_.is_paused() && transport_.is_receiving()) transport_.pause();
  if (!is_watched_until(deadline())) watch();
  if (is_streaming()) exchange_->go_on_writing();
}

// Whether the kernel holds more unsent bytes than it may hold when the connection ends.
bool Connection::has_much_to_read() noexcept { return !is_lost_ && out_.is_unread(transport_, left_bytes_max); }

void Connection::fail(std::int32_t result) {
  is_lost_ = true;
  if (result != -ETIMEDOUT) return;
  worker_.counts.timeouts.add();
  worker_.counts.slow_readers.add();
}

// Stops sending, but reads for a while: a close while the peer still sends would cause a reset, and the peer could lose
// the response. The connection also stays open while the peer still has to receive a large part of the response.
void Connection::linger_or_end() {
  if ((peer_done_ || peer_closes_) && !has_much_to_read()) return abort();
  if (phase_ == Phase::Lingering) return watch();
  transport_.shutdown_write();
  phase_ = Phase::Lingering;
  began_ = worker_.loop().now();
  out_.rest(began_);
  in_.release();
  count_held();
  if (transport_.is_receiving() && transport_.is_paused()) transport_.resume();
  watch();
}

// --- time and the end ----------------------------------------------------------------------------------------------

inline Duration Connection::idle_timeout() const noexcept {
  const Duration limit = worker_.limits().idle_timeout;
  return worker_.is_draining() ? std::min(worker_.drain_grace(), limit) : limit;
}

inline Instant Connection::deadline() const noexcept {
  if (is_idle()) [[likely]]
    return began_ + idle_timeout();
  return deadline_of_work();
}

Instant Connection::deadline_of_work() const noexcept {
  const Limits& limits = worker_.limits();
  const Instant at = out_.deadline(limits);
  switch (phase_) {
    case Phase::Head:
      return partial_.has_begun() ? std::min(at, began_ + limits.header_timeout) : at;
    case Phase::Busy:
      // The peer has stopped sending, so only a send can show whether it is still there.
      if (exchange_->is_streaming() && peer_done_ && !out_.is_sending()) return began_ + limits.idle_timeout;
      return std::min(at, exchange_->deadline());
    case Phase::Discarding:
      return std::min(at, exchange_->until());
    case Phase::Upgrading:
      return at;
    case Phase::Lingering:
      return std::min(began_ + (peer_done_ || peer_closes_ ? peer_look_pause_in_drain : limits.linger_timeout),
                      out_.began() + (worker_.is_draining() ? std::min(linger_in_drain, limits.linger_time_max)
                                                            : limits.linger_time_max));
    case Phase::Introducing:
      if (in_.empty()) return began_ + idle_timeout();
      [[fallthrough]];
    case Phase::Introduced:
      return began_ + limits.header_timeout;
    case Phase::Ending:
      break;  // No timer: the cancelled operations complete without one, and it could outlive the connection.
  }
  return Instant::never();
}

// The timer is set only if it would otherwise fire too late. If the timer fires too early, it is set again. Therefore,
// a busy connection does not use the timer wheel.
void Connection::watch() {
  const Instant at = deadline();
  if (!is_watched_until(at)) worker_.loop().start_timer(timer_, at);
}

void Connection::timed_out() {
  const Instant now = worker_.loop().now();
  if (now < deadline()) return watch();
  const Limits& limits = worker_.limits();
  if (out_.is_rate_due(limits, now)) {
    if (out_.takes_too_little(transport_, limits, now)) return reset_slow_reader();
    if (now < deadline()) return watch();
  }
  const bool send_is_late = out_.is_late(limits, now);
  if (send_is_late && out_.extend(transport_, now)) return watch();
  if (!send_is_late && waits_for_reader(now)) return;
  const bool has_no_more = phase_ == Phase::Lingering && (peer_done_ || peer_closes_);
  if (has_no_more && !has_much_to_read()) return abort();
  worker_.counts.timeouts.add();
  if (send_is_late) return cut();
  if (phase_ == Phase::Introducing && !in_.empty()) return reject_introduction("the header did not arrive in time");
  const bool collects = phase_ == Phase::Busy && exchange_->state() == PendingExchange::State::Receiving;
  if (collects || (phase_ == Phase::Head && partial_.has_begun())) {
    const bool head_only = collects ? exchange_->head_only() : asks_for_head(in_.view());
    if (collects) free_exchange();
    reject_and_close(Status::RequestTimeout, "the request did not arrive in time", head_only);
    return settle();
  }
  if (phase_ == Phase::Busy) {
    switch (exchange_->time_out()) {
      case PendingExchange::TimedOut::Reader:
        return wake_reader();
      case PendingExchange::TimedOut::Handler:
        return;
      case PendingExchange::TimedOut::Nothing:
        break;
    }
  }
  // True if a close is enough, without a reset: the kernel still delivers the few remaining bytes of the response.
  const bool is_in_peace = phase_ == Phase::Lingering || (is_idle() && worker_.is_draining());
  is_in_peace ? abort() : cut();
}

// If the kernel still holds a part of the last response while the connection is idle or lingers, that part is treated
// like a send in progress, with the time limit of a send.
bool Connection::waits_for_reader(Instant now) {
  if (!is_idle() && phase_ != Phase::Lingering) return false;
  const bool drains = worker_.is_draining();
  const auto look = out_.next_look(transport_, worker_.limits(), is_idle() && !drains ? 0 : left_bytes_max,
                                   drains ? peer_look_pause_in_drain : peer_look_pause, now);
  if (look) worker_.loop().start_timer(timer_, *look);
  return look.has_value();
}

void Connection::reset_slow_reader() {
  worker_.counts.timeouts.add();
  worker_.log().info("a client received its response too slowly; its connection was reset",
                     log::field("sent", out_.bytes_sent()));
  cut();
}

std::optional<Connection::Waiting> Connection::waiting() const noexcept {
  // Counting from the last received bytes would let a client keep the connection open by sending more bytes.
  if (phase_ == Phase::Lingering) return Waiting{out_.began(), false};
  if (phase_ == Phase::Introducing) return Waiting{began_, !in_.empty()};
  const bool is_between = phase_ == Phase::Head && !out_.is_sending() && !close_ && !yields_ && out_.is_empty();
  if (!is_between || (!in_.empty() && !partial_.has_begun())) return std::nullopt;
  return Waiting{began_, partial_.has_begun()};
}

void Connection::begin_drain() {
  const bool waits = phase_ == Phase::Introducing ? in_.empty() : phase_ == Phase::Head && !partial_.has_begun();
  if (waits) began_ = worker_.loop().now();
  watch();
}

// When a connection ends, records the requests whose responses will not be sent completely.
void Connection::record_cut() noexcept {
  if (phase_ == Phase::Head && partial_.has_begun()) worker_.records().cut_head(in_.size());
  if (phase_ == Phase::Busy) exchange_->record_cut(exchange_->cut_now());
}

void Connection::cut() {
  if (phase_ != Phase::Ending && (has_unsent() || unread_bytes() != 0)) {
    worker_.counts.slow_readers.add();
    reset_on_close();
  }
  abort();
}

void Connection::reset_on_close() noexcept {
  is_lost_ = true;
  transport_.reset_on_close();
}

void Connection::abort() {
  if (phase_ != Phase::Ending) {
    const bool is_unsent = has_unsent();
    if (is_unsent || (phase_ == Phase::Busy && exchange_->state() != PendingExchange::State::Receiving)) {
      worker_.counts.aborted.add();
    }
    // A close would make the response look complete, so the connection is reset.
    if (body_end_ == BodyEnd::Close && (is_unsent || is_streaming())) reset_on_close();
  }
  record_cut();
  phase_ = Phase::Ending;
  worker_.loop().stop_timer(timer_);
  transport_.cancel_receive();
  out_.cancel(transport_);
  if (exchange_ != nullptr) exchange_->is_running() ? exchange_->abandon() : free_exchange();
  free_if_quiet();
}

void Connection::reset() {
  reset_on_close();
  abort();
}

void Connection::free_if_quiet() {
  if (transport_.is_receiving() || out_.is_sending() || exchange_ != nullptr || yields_) return;
  if (has_much_to_read()) {
    worker_.counts.slow_readers.add();
    reset_on_close();
  }
  transport_.close();
  ServerWorker& worker = worker_;
  free();
  worker.ended();
}

void Connection::free() noexcept {
  const std::size_t size = size_of(is_introduced_);
  unlink();
  this->~Connection();
  pool_free(this, size);
}

}  // namespace keel::http
