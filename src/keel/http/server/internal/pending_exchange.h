// keel/http/server/internal/pending_exchange.h — an exchange that outlives the call that received its request: its own
// memory, the rest of the body, and the tasks that make the response.
//
// Internal to http. It uses its connection through a Carrier, which does the framing and is created with the exchange.
//
//   Receiving ──body is whole──▶ Handling ──head is written──▶ Streaming ──▶ Carrier::end()
//
// Receiving: the whole body is collected. Handling: the handler runs; it may read the body itself (body_reader.h).
// Streaming: a task writes the body of the response (body_writer.h). A synchronous handler passes through these states
// immediately.
//
// A task that is started may end immediately and write a response in the middle of the connection's work. Therefore the
// exchange is only marked as due until the connection calls run_due().
//
// Threads: the worker.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/http/message/body_decoder.h"
#include "keel/http/server/body_reader.h"
#include "keel/http/server/body_writer.h"
#include "keel/http/server/internal/body_collector.h"
#include "keel/http/server/internal/exchange.h"
#include "keel/task/start.h"

namespace keel::http {

class Carrier;

// The memory of a request whose received bytes have been freed.
struct ExchangeMemory {
  ExchangeMemory(const RequestHead& begun, std::string_view head_bytes);
  Arena own_arena;
  RequestHead own_head;
};

class PendingExchange : private ExchangeMemory, public Exchange, private BodyCollector {
 public:
  enum class State : std::uint8_t { Receiving, Handling, Streaming };

  State state() const noexcept { return state_; }
  bool is_streaming() const noexcept { return state_ == State::Streaming; }
  // The stage that the request has reached if its connection ends now.
  Cut cut_now() const noexcept;
  void record_cut(Cut during);

  // --- the body of the request

  // The body is collected, and the handler starts when the body is complete.
  void begin_collecting(const BodyDecoder& decoder);
  // Adds more of the body; bytes that follow the body are left in `rest`. Rejected: `status` and `reason` say why;
  // Done: the body is complete; otherwise more bytes are needed.
  ChunkStep collect(std::string_view& rest);
  // The handler reads it: `first` has already arrived. The exchange is due.
  void begin_reading(const BodyDecoder& decoder, std::string_view first, bool awaits_continue);
  // Begins a route whose body is collected after middleware has let the request pass.
  void begin_guarded(const BodyDecoder& decoder, std::string_view first, bool awaits_continue);
  // The handler reads the body, or could read it, and a part of the body has not arrived.
  bool reads_body() const noexcept { return reads_ && !reader_.is_over(); }
  bool has_read_body() const noexcept { return reads_ && reader_.is_over(); }
  BodyReader& reader() noexcept { return reader_; }
  const BodyReader& reader() const noexcept { return reader_; }
  // Whether the client waits for 100 (Continue); true only once.
  bool take_awaits_continue() noexcept { return std::exchange(awaits_continue_, false); }
  // The handler begins to wait.
  void mark_waiting() noexcept {
    read_began_ = worker_.loop().now();
    if (body_until_.is_never()) body_until_ = read_began_ + worker_.limits().body_timeout;
  }
  // Bytes have arrived for the reader; they must stay valid until it asks for more. True: wake it.
  bool arrived(std::string_view bytes) noexcept;
  // The rest of the body will not arrive. False: the handler has not started, and the exchange has to be freed.
  bool lose_body() noexcept;
  // Whether the rest of the body may be dropped, so that another request can follow.
  bool can_discard() const noexcept;
  // begin_discarding() drops the part of the body that has arrived. discard() drops newly received bytes and returns
  // how many of them belonged to the body.
  void begin_discarding() noexcept;
  std::size_t discard(std::string_view bytes) noexcept;
  // The place where the next request begins cannot be found, or that would take too long.
  bool is_discard_over() const noexcept;

  // --- the handler, and the body of the response

  // Sends a response that is complete but takes longer than the call; `body` is that of the request.
  void send(Response& response, std::string_view body);
  // Calls the handler.
  void run();
  // A task waits to be started.
  bool is_due() const noexcept { return is_due_; }
  void run_due();
  // There may be room for the task that waits to write. The call must be the caller's last action.
  void go_on_writing();
  // When a streamed body has ended: the rest of it, for which there is always room, and the trailers after it.
  std::string_view tail() const noexcept { return writer_->tail(); }
  std::string_view trailers() const noexcept { return writer_->trailers_.lines(); }
  // Completes when the server begins to drain.
  Event::Wait until_drain() noexcept { return worker_.draining().wait(); }
  // Releases the object that takes over the connection after an upgrade has been sent.
  Upgraded* release_upgrade() noexcept { return upgrade_.release(); }
  // Used by BodyWriter.
  bool write(std::string_view& rest) noexcept;

  // --- time and the end

  // The time by which the exchange has to make progress or complete.
  Instant deadline() const noexcept;
  // What a passed deadline means. Reader: the reader has to be woken, and finds its body rejected; Handler: the handler
  // has been asked to end; Nothing: no task is running.
  enum class TimedOut : std::uint8_t { Reader, Handler, Nothing };
  TimedOut time_out() noexcept;
  // The time limit for the rest of a body that is dropped.
  Instant until() const noexcept { return until_; }
  void set_until(Instant until) noexcept { until_ = until; }
  bool is_running() const noexcept { return run_.is_running() || writing_.is_running(); }
  // The connection has ended. Carrier::end() is called when the running task has ended.
  void abandon() noexcept;

 protected:
  // Makes a pending exchange from `begun`, whose head arrived as `head_bytes`; both are copied. `carrier` outlives
  // this. `client` is the client's place in the worker's table.
  PendingExchange(Carrier& carrier, std::uint32_t client, const Exchange& begun, std::string_view head_bytes);
  ~PendingExchange();  // The tasks of the exchange must have ended.

 private:
  Instant body_deadline() const noexcept;
  Duration request_timeout() const noexcept;
  bool is_collecting() const noexcept { return collects_ && !reader_.is_over(); }
  Status keep_body(std::string_view part);
  Result<> keep(Chunk part) override;
  void end_body() noexcept override;
  Duration handler_timeout() const noexcept override { return request_timeout(); }
  void end_handler(Result<Response> result);
  void respond(Result<Response> result);
  void send(Response& response);
  void begin_streaming(Response& response);
  void run_writer();
  void handler_done();
  void writer_done();
  void end_streaming(Result<> result);
  void note_wait();

  Carrier& carrier_;
  const std::uint32_t client_;
  State state_ = State::Receiving;
  bool is_due_ = false;
  bool reads_ = false;     // The handler reads the body.
  bool collects_ = false;  // A middleware waits for the whole body.
  bool awaits_continue_ = false;
  bool abandoned_ = false;
  bool has_waited_ = false;     // True once one of its tasks has been suspended.
  Status status_ = Status::Ok;  // The status of the response whose body is streamed.
  // The time by which the body must be complete; once it is complete, the deadline of the task.
  Instant until_;
  // Decodes the body if the handler does not read it.
  BodyDecoder decoder_;
  Buffer body_;                // The whole body.
  std::size_t body_held_ = 0;  // The part of the worker's body_bytes that the body takes.
  Instant body_began_;
  // Passes the body to the handler if the handler reads it.
  struct Reader : BodyReader {
    PendingExchange* owner = nullptr;
  } reader_;
  Instant body_until_ = Instant::never();  // If the body is collected: the time by which it has to be complete.
  Instant read_began_;                     // When the reader began to wait.
  Duration read_waited_;                   // The total time of the reader's earlier waits.
  std::size_t discarded_ = 0;
  StageClock stages_;      // The stages of a measured request.
  Instant handler_began_;  // When the handler of a measured request began.
  struct Run : Start<Response> {
    PendingExchange* owner = nullptr;
  } run_;
  // The body of the response, if it is streamed.
  StreamedBody streamed_;
  Upgrade upgrade_;
  std::optional<BodyWriter> writer_;
  struct Writing : Start<void> {
    PendingExchange* owner = nullptr;
  } writing_;
};

}  // namespace keel::http
