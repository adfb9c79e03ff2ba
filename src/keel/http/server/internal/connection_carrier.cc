#include "keel/http/server/internal/connection_carrier.h"

#include <algorithm>
#include <new>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/http/server/internal/response_bytes.h"
#include "keel/http/server/internal/server_worker.h"
#include "keel/http/server/internal/upgraded.h"

namespace keel::http {
namespace {

// The task that writes a streamed body has to wait when this many bytes are queued.
constexpr std::size_t queue_bytes_max = 32 * 1024;
// If there is room for less than piece_bytes_min, the writer waits instead of sending a smaller chunk.
constexpr std::size_t piece_bytes_min = 1024;

}  // namespace

ConnectionCarrier* ConnectionCarrier::make(Connection& connection, const Exchange& begun, std::string_view head_bytes) {
  void* const memory = pool_allocate(sizeof(ConnectionCarrier));
  try {
    return new (memory) ConnectionCarrier(connection, begun, head_bytes);
  } catch (...) {
    pool_free(memory, sizeof(ConnectionCarrier));
    throw;
  }
}

void ConnectionCarrier::free(ConnectionCarrier* carrier) noexcept {
  carrier->~ConnectionCarrier();
  pool_free(carrier, sizeof(ConnectionCarrier));
}

// --- the body of a request -----------------------------------------------------------------------------------------

std::string_view Connection::collect_body(std::string_view rest) {
  const bool head_only = exchange_->head_only();
  const ChunkStep step = exchange_->collect(rest);
  if (step.state != ChunkState::Refused) return rest;
  free_exchange();
  reject_and_close(step.status, step.reason, head_only);
  return {};
}

// Begins an exchange whose handler reads the body itself, or whose middleware runs before the body is collected. The
// exchange starts in settle(). `rest` begins with a part of the body; this part is passed to the exchange.
std::string_view Connection::begin_reading(const BodyDecoder& decoder, std::string_view rest, bool streams) {
  const std::size_t first = decoder.extent(rest);
  if (peer_done_ && !decoder.is_whole_in(rest)) {
    exchange_->record_cut(Cut::Body);
    give_up_body();
    return {};
  }
  const bool awaits_continue = exchange_->head().expect_continue() && rest.empty();
  if (streams) {
    exchange_->begin_reading(decoder, rest.substr(0, first), awaits_continue);
  } else {
    exchange_->begin_guarded(decoder, rest.substr(0, first), awaits_continue);
  }
  return rest.substr(first);
}

void Connection::body_arrived() {
  exchange_->hold_head(false);
  if (exchange_->arrived(transport_.hold())) return wake_reader();
  if (exchange_->reader().has_used_all()) transport_.release();
  settle();
}

// The call must be the last action of the caller, because the handler may end, and the connection with it.
void Connection::wake_reader() {
  if (transport_.is_receiving() && !transport_.is_paused()) transport_.pause();
  watch();
  exchange_->reader().wake();
}

// The response to the request, if there is one, is the last response of this connection.
void Connection::give_up_body() {
  close_ = true;
  phase_ = Phase::Head;
  free_exchange();
}

void Connection::discard(std::string_view bytes) {
  const std::size_t used = exchange_->discard(bytes);
  if (exchange_->has_read_body()) {
    in_.append(bytes.substr(used));
    kept_ready_ = true;
    phase_ = Phase::Head;
    free_exchange();
    began_ = worker_.loop().now();
  } else if (exchange_->is_discard_over()) {
    peer_closes_ = false;
    give_up_body();
  }
  settle();
}

// --- called by an exchange ----------------------------------------------------------------------------------------

void Connection::body_wanted() {
  transport_.release();
  if (!exchange_->reads_body()) return;
  exchange_->mark_waiting();
  if (exchange_->take_awaits_continue()) {
    out_.waiting().append(continue_head);
    if (!gathers_) flush();
    if (phase_ == Phase::Ending) return abort();
  }
  if (transport_.is_paused()) transport_.resume();
  watch();
}

bool Connection::take_back() noexcept {
  const auto head = exchange_->kept_head();
  if (!head) return false;
  out_.waiting().resize(*head);
  return true;
}

bool Connection::write_body(std::string_view& rest) noexcept {
  exchange_->hold_head(false);
  guarded([&] {
    while (phase_ == Phase::Busy && !rest.empty()) {
      const std::size_t room = queue_bytes_max - std::min(queue_bytes_max, out_.size());
      if (room >= std::min(rest.size(), piece_bytes_min)) {
        write_piece(out_.waiting(), rest.substr(0, room), body_end_);
        rest.remove_prefix(std::min(rest.size(), room));
      }
      if (gathers_) break;
      flush();
      if (phase_ == Phase::Ending) break;
      watch();
      if (out_.is_sending() && out_.size() + piece_bytes_min > queue_bytes_max) break;
    }
  });
  count_waiting();
  if (phase_ == Phase::Busy) return rest.empty();
  if (phase_ == Phase::Ending) abort();
  return true;
}

// Discards the rest of the request's body, and makes the connection ready for the next request.
void Connection::end_exchange() {
  if (phase_ == Phase::Ending) return free_exchange();
  exchange_->hold_head(false);
  PendingExchange& exchange = *exchange_;
  if (!exchange.is_streaming()) {
    if (exchange.is_measured()) follow_send(exchange);
  } else {
    if (!exchange.tail().empty()) write_piece(out_.waiting(), exchange.tail(), body_end_);
    write_body_end(out_.waiting(), exchange.trailers(), body_end_);
  }
  if (phase_ == Phase::Busy) phase_ = Phase::Head;
  began_ = worker_.loop().now();
  BodyReader& reader = exchange.reader();
  if (exchange.reads_body() && !close_) {
    exchange.begin_discarding();
    if (reader.refusal() != Status::Ok) {
      peer_closes_ = false;
      return give_up_body();
    }
    if (!reader.is_over()) {
      phase_ = Phase::Discarding;
      transport_.release();
      exchange.set_until(began_ + worker_.limits().body_timeout);
      return;
    }
  }
  if (const std::string_view behind = reader.left_over(); !behind.empty() && !close_) {
    KEEL_CHECK(in_.empty(), "the connection must not read while bytes after a body wait to be processed");
    in_.append(behind);
    kept_ready_ = true;
  }
  // After a 101, the exchange is needed until the connection has been handed over.
  phase_ == Phase::Upgrading ? transport_.release() : free_exchange();
}

// Ends an exchange whose response cannot be completed. If the head of the response was not sent, the reason is that the
// peer stopped sending before the end of the request, so no client waits for a response.
void Connection::reset_exchange() {
  if (!exchange_->is_streaming()) return give_up_body();
  // If the end of the body is marked by the end of the connection, only a reset shows that the body is incomplete.
  if (body_end_ == BodyEnd::Close) reset_on_close();
  worker_.counts.aborted.add();
  phase_ = Phase::Ending;
}

void Connection::resume(void (PendingExchange::*step)()) noexcept {
  guarded([&] {
    const bool had_ended = phase_ == Phase::Ending;
    (exchange_->*step)();
    had_ended ? free_if_quiet() : settle();
  });
}

// --- framed --------------------------------------------------------------------------------------------------------

// Measures the time until a measured response has been sent.
void Connection::follow_send(const Exchange& exchange) {
  worker_.records().begin_write(this, exchange.match().index, out_.is_sending());
}

void Connection::reject_and_close(Status status, std::string_view detail, bool head_only) {
  ++requests_;
  close_ = true;
  peer_closes_ = false;  // Whatever the client announced, the rest of the rejected request may still arrive.
  phase_ = Phase::Head;
  partial_.clear();
  const Response rejection = worker_.reject(status, detail, remote());
  write_response(out_.waiting(), rejection,
                 {.ok_and_date = worker_.ok_and_date(), .head_only = head_only, .close = true});
}

// Rejects a request because the worker is overloaded, before any work for the request has begun.
std::string_view Connection::reject_late(Exchange& exchange, std::string_view rest) {
  const RequestHead& head = exchange.head();
  const bool is_whole =
      head.body() == BodyKind::None || (head.body() == BodyKind::Length && rest.size() >= head.content_length());
  if (!is_whole) peer_closes_ = false;
  if (!is_whole || !head.keep_alive() || worker_.is_draining()) close_ = true;
  const Response rejection = exchange.reject_late();
  write_response(out_.waiting(), rejection,
                 {.ok_and_date = worker_.ok_and_date(),
                  .version_minor = head.version_minor(),
                  .head_only = exchange.head_only(),
                  .close = close_});
  worker_.scratch().rewind();
  return is_whole ? rest.substr(static_cast<std::size_t>(head.content_length())) : std::string_view();
}

// --- leaving HTTP --------------------------------------------------------------------------------------------------

// The call must be the last action of the caller. Bytes that arrive before the receive has ended belong to the new
// protocol; when the receive has ended and the 101 has been sent, the connection is handed over.
void Connection::go_on_upgrading() {
  if (transport_.is_receiving()) transport_.end_receive();
  if (transport_.is_receiving() || out_.is_sending() || yields_) return watch();
  ServerWorker& worker = worker_;
  const Buffer received = std::move(in_);
  Upgraded* const upgraded = exchange_->release_upgrade();
  upgraded->set_trace(exchange_->request().trace());
  upgraded->set_client(std::exchange(client_, 0));
  free_exchange();
  const Endpoint endpoint = transport_.detach();
  worker.loop().stop_timer(timer_);
  free();
  upgraded->begin(worker, endpoint, received.view());
}

}  // namespace keel::http
