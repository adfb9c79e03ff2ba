#include "keel/http/server/internal/pending_exchange.h"

#include <algorithm>
#include <utility>

#include "keel/base/bug.h"
#include "keel/http/server/internal/carrier.h"
#include "keel/http/server/problem.h"
#include "keel/http/server/stage.h"
#include "keel/observe/flight_recorder.h"
#include "keel/task/frame.h"

namespace keel::http {
namespace {

constexpr const char* late_body = "the body did not arrive in time";
// If the handler has not read the whole body, up to this many bytes are discarded, so that the connection can be
// reused.
constexpr std::size_t discard_bytes_max = 256 * 1024;

}  // namespace

ExchangeMemory::ExchangeMemory(const RequestHead& begun, std::string_view head_bytes) : own_head(begun) {
  own_head.rebase(own_arena.copy(head_bytes).data());
}

PendingExchange::PendingExchange(Carrier& carrier, std::uint32_t client, const Exchange& begun,
                                 std::string_view head_bytes)
    : ExchangeMemory(begun.head(), head_bytes),
      Exchange(begun, own_head, own_arena),
      carrier_(carrier),
      client_(client) {
  worker_.counts.in_progress.add();
  if (StageClock* const measured = clock()) {
    stages_ = *measured;
    set_clock(stages_);
  }
  reader_.owner = this;
  run_.owner = this;
  writing_.owner = this;
}

PendingExchange::~PendingExchange() {
  worker_.counts.in_progress.subtract();
  if (body_held_ != 0) worker_.hold_body(client_, body_held_, 0);
}

Cut PendingExchange::cut_now() const noexcept {
  switch (state_) {
    case State::Receiving:
      return Cut::Body;
    case State::Handling:
      return is_due_ || is_collecting() ? Cut::Body : Cut::Handler;
    case State::Streaming:
      break;
  }
  return Cut::Response;
}

void PendingExchange::record_cut(Cut during) {
  if (during == Cut::Response) {
    worker_.records().cut_response(request(), status_, writer_->queued_);
  } else {
    worker_.records().cut(during, request());
  }
}

// --- the body of the request ---------------------------------------------------------------------------------------

void PendingExchange::begin_collecting(const BodyDecoder& decoder) {
  decoder_ = decoder;
  body_began_ = worker_.loop().now();
  until_ = body_began_ + worker_.limits().body_timeout;
}

ChunkStep PendingExchange::collect(std::string_view& rest) {
  while (!decoder_.is_over()) {
    const ChunkStep step = decoder_.feed(rest);
    rest.remove_prefix(step.consumed);
    if (step.state == ChunkState::Refused) return step;
    if (!step.trailers.empty()) [[unlikely]]
      reader_.keep_trailers(step.trailers);
    if (const Status status = keep_body(step.data); status != Status::Ok) {
      return {ChunkState::Refused, status, 0, {}, ServerWorker::no_room_for_body(status)};
    }
    if (step.state == ChunkState::Need) return step;
  }
  set_body(body_.view());
  if (const std::string_view lines = reader_.end_trailers(); !lines.empty()) [[unlikely]]
    set_trailers(lines);
  if (clock() != nullptr) clock()->add(stage::body, worker_.loop().precise_now() - body_began_);
  run();
  return {ChunkState::Done, Status::Ok, 0, {}};
}

// A status other than Ok means that the body with this part exceeds the memory limit.
Status PendingExchange::keep_body(std::string_view part) {
  body_.append(part);
  if (body_.capacity() == body_held_) return Status::Ok;
  worker_.hold_body(client_, body_held_, body_.capacity());
  body_held_ = body_.capacity();
  return worker_.check_body(client_, 0, body_held_);
}

void PendingExchange::begin_reading(const BodyDecoder& decoder, std::string_view first, bool awaits_continue) {
  reads_ = true;
  awaits_continue_ = awaits_continue;
  reader_.begin(decoder, first, [](BodyReader& reader) noexcept {
    PendingExchange& self = *static_cast<Reader&>(reader).owner;
    self.carrier_.read_body();
  });
  set_reader(reader_);
  is_due_ = true;
  state_ = State::Handling;
}

void PendingExchange::begin_guarded(const BodyDecoder& decoder, std::string_view first, bool awaits_continue) {
  begin_reading(decoder, first, awaits_continue);
  collects_ = true;
  set_collector(this);
}

Result<> PendingExchange::keep(Chunk part) {
  const Status status = keep_body(part);
  if (status == Status::Ok) return {};
  reader_.refuse(status, ServerWorker::no_room_for_body(status));
  return Error(Code::ResourceExhausted, reader_.reason());
}

void PendingExchange::end_body() noexcept {
  set_body(body_.view());
  set_collector(nullptr);
  clear_reader();
  if (const std::string_view lines = reader_.trailers(); !lines.empty()) [[unlikely]]
    set_trailers(lines);
  if (clock() != nullptr) {
    // The time during which the handler waits for the body is not counted as the handler's time.
    clock()->add(stage::body, read_waited_);
    handler_began_ = handler_began_ + read_waited_;
  }
}

bool PendingExchange::arrived(std::string_view bytes) noexcept {
  const bool wakes = reader_.arrived(bytes);
  if (wakes) read_waited_ = read_waited_ + (worker_.loop().now() - read_began_);
  return wakes;
}

bool PendingExchange::lose_body() noexcept {
  reader_.lose();
  if (is_due_) return false;
  run_.stop(Code::Cancelled);
  writing_.stop(Code::Cancelled);
  return true;
}

bool PendingExchange::can_discard() const noexcept {
  return !awaits_continue_ && reader_.refusal() == Status::Ok &&
         reader_.decoder().left().value_or(0) <= discard_bytes_max;
}

void PendingExchange::begin_discarding() noexcept { discarded_ = reader_.discard_held(); }

std::size_t PendingExchange::discard(std::string_view bytes) noexcept {
  const std::size_t used = reader_.discard(bytes);
  discarded_ += used;
  return used;
}

bool PendingExchange::is_discard_over() const noexcept {
  return reader_.refusal() != Status::Ok || discarded_ > discard_bytes_max;
}

// --- the handler ---------------------------------------------------------------------------------------------------

void PendingExchange::send(Response& response, std::string_view body) {
  // The body is copied, because the task that writes the response may read it after the receive buffer is gone.
  static_cast<void>(keep_body(body));
  set_body(body_.view());
  send(response);
}

void PendingExchange::run_due() {
  is_due_ = false;
  state_ == State::Streaming ? run_writer() : run();
}

void PendingExchange::run() {
  const ScopedSpan in_span(span());
  if (worker_.queue_delay().may_be_costly(match().index)) worker_.queue_delay().begins();
  if (clock() != nullptr) handler_began_ = worker_.loop().precise_now();
  if (is_at_once() && !collects_) return end_handler(call_at_once());
  state_ = State::Handling;
  until_ = worker_.loop().now() + request_timeout();
  if (collects_) until_ = until_ + worker_.limits().body_timeout;
  if (const auto told = deadline_told()) until_ = std::min(until_, *told);
  const auto done = [](StartCore& run) noexcept {
    PendingExchange& self = *static_cast<Run&>(run).owner;
    self.carrier_.resume(&PendingExchange::handler_done);
  };
  try {
    const flight::Doing doing(&tell, &request());
    if (!run_.begin(call_later(), done, {.deadline = until_, .span = &span()})) return note_wait();
  } catch (...) {
    // The handler is not a coroutine and has thrown an exception, so there is no task.
    return end_handler(Error::from_exception());
  }
  handler_done();
}

Duration PendingExchange::request_timeout() const noexcept {
  return match().options->request_timeout.value_or(worker_.limits().request_timeout);
}

// Called when a task begins to wait: until this call, the task has used the worker's time.
void PendingExchange::note_wait() {
  const Instant now = worker_.loop().precise_now();
  if (std::exchange(has_waited_, true)) {
    worker_.queue_delay().went_on(match().index, now);
  } else {
    worker_.queue_delay().worked(match().index, now);
  }
}

void PendingExchange::handler_done() {
  if (abandoned_) return carrier_.end();
  end_handler(run_.take());
}

// Called when the handler has ended; makes the response from its result.
void PendingExchange::end_handler(Result<Response> result) {
  const ScopedSpan in_span(span());
  if (clock() != nullptr) {
    clock()->add(stage::handler, worker_.loop().precise_now() - handler_began_ - inside_handler(*clock()));
  }
  respond(std::move(result));
}

void PendingExchange::respond(Result<Response> result) {
  if (reader_.is_lost()) {
    record_cut(cut_now());
    return carrier_.reset();
  }
  // is_refused is true even if the rejected bytes were the last part of the body.
  const bool is_refused = reader_.refusal() != Status::Ok;
  if (is_refused && !result) {
    result = refuse(reader_.refusal(), reader_.reason());
    if (reader_.refusal() == Status::TooManyRequests) result->header("Retry-After", "1");
  }
  const bool wants_upgrade = result && result->is_upgrade();
  conclude(result, wants_upgrade && carrier_.can_upgrade() && !reads_body() && !is_refused);
  send(*result);
}

void PendingExchange::send(Response& response) {
  const Status status = response.status();
  const std::size_t bytes = response.content().size();
  const bool streams = streams_out(response);
  carrier_.write_head(response);
  if (streams) return begin_streaming(response);
  if (response.is_upgrade()) [[unlikely]] {
    upgrade_ = std::move(response.upgrade_);
  }
  record(status, bytes, has_waited_);
  carrier_.end();
}

// --- the body of the response --------------------------------------------------------------------------------------

void PendingExchange::begin_streaming(Response& response) {
  streamed_ = std::move(response.streamed_);
  writer_.emplace(streamed_.length());
  writer_->exchange_ = this;
  writer_->transforms_ = streamed_.transforms();
  status_ = response.status();
  is_due_ = true;
  state_ = State::Streaming;
}

void PendingExchange::run_writer() {
  const ScopedSpan in_span(span());
  const auto done = [](StartCore& writing) noexcept {
    PendingExchange& self = *static_cast<Writing&>(writing).owner;
    self.carrier_.resume(&PendingExchange::writer_done);
  };
  try {
    const flight::Doing doing(&tell, &request());
    Task<> task = [&] {
      const Trampoline::Deferring deferring;  // If the function is not a coroutine, tasks that it wakes are deferred.
      return streamed_.write(*writer_);
    }();
    if (!writing_.begin(std::move(task), done, {.span = &span()})) return note_wait();
  } catch (...) {
    return end_streaming(Error::from_exception());
  }
  writer_done();
}

void PendingExchange::writer_done() {
  if (abandoned_) return carrier_.end();
  end_streaming(writing_.take());
}

void PendingExchange::end_streaming(Result<> result) {
  const ScopedSpan in_span(span());
  BodyWriter& writer = *writer_;
  if (result && writer.length_ && writer.written() != *writer.length_) {
    result = Error::from_bug(Bug("the body of a response is shorter than the length that was announced for it"));
  }
  if (result) result = writer.end();  // Carrier::end() queues the tail.
  if (result) {
    record(status_, writer.queued_, has_waited_);
    return carrier_.end();
  }
  if (!reader_.is_lost()) {
    if (carrier_.take_back()) {
      state_ = State::Handling;
      return respond(std::move(result).error());
    }
    const Error& error = result.error();
    if (error.is_bug()) worker_.counts.bugs.add();
    // If the request's body was rejected, the client has caused the failure, so the level is info, as for a response
    // that is not streamed.
    const bool is_clients = reader_.refusal() != Status::Ok && !error.is_bug() && !error.is_from_environment();
    worker_.failures().log("the body of a response failed; its connection was reset", error,
                           is_clients ? Level::Info : Level::Error, request().route(),
                           log::field("method", request().head().method_text()), log::field("path", request().path()),
                           log::field("bytes", writer.queued_));
  }
  record_cut(Cut::Response);
  carrier_.reset();
}

bool PendingExchange::write(std::string_view& rest) noexcept {
  const std::size_t before = rest.size();
  const bool is_done = carrier_.write_body(rest);
  writer_->queued_ += before - rest.size();
  return is_done;
}

void PendingExchange::go_on_writing() {
  BodyWriter::Write* const write = std::exchange(writer_->waiting_, nullptr);
  if (write == nullptr) return;
  if (!write->go_on()) {
    writer_->waiting_ = write;
  } else if (!write->cancelled_) {
    write->wake();
  }
}

// --- time and the end ----------------------------------------------------------------------------------------------

Instant PendingExchange::body_deadline() const noexcept {
  const Limits& limits = worker_.limits();
  const Instant at = collects_ ? body_until_ : reads_ ? read_began_ + limits.body_timeout : until_;
  if (limits.body_rate_min == 0) return at;
  const std::uint64_t delivered = reads_ ? reader_.decoder().delivered() : decoder_.delivered();
  const Instant began = reads_ ? read_began_ - read_waited_ : body_began_;
  const auto earned = Duration::seconds(static_cast<std::int64_t>(delivered / limits.body_rate_min)) +
                      Duration::nanoseconds(static_cast<std::int64_t>(delivered % limits.body_rate_min * 1'000'000'000 /
                                                                      limits.body_rate_min));
  return std::min(at, began + limits.body_rate_grace + earned);
}

Instant PendingExchange::deadline() const noexcept {
  if (state_ == State::Receiving) return body_deadline();
  const Instant at = reader_.is_waited_for() ? body_deadline() : Instant::never();
  return state_ == State::Handling ? std::min(at, until_) : at;
}

PendingExchange::TimedOut PendingExchange::time_out() noexcept {
  if (state_ == State::Receiving) return TimedOut::Nothing;
  if (reader_.is_waited_for() && worker_.loop().now() >= body_deadline()) {
    reader_.refuse(Status::RequestTimeout, late_body);
    return TimedOut::Reader;
  }
  if (state_ == State::Streaming) return TimedOut::Nothing;
  run_.stop(Code::DeadlineExceeded);
  return TimedOut::Handler;
}

void PendingExchange::abandon() noexcept {
  abandoned_ = true;
  run_.stop(Code::Cancelled);
  writing_.stop(Code::Cancelled);
}

}  // namespace keel::http
