// keel/http/server/internal/pending_exchange.h — an exchange that outlives the call that received its request: it has
// its own memory, receives the rest of the body, and runs the tasks that make the response.
//
// Internal to http. The exchange uses its connection through a Carrier, which does the framing and is created together
// with the exchange.
//
//   Receiving ──body is whole──▶ Handling ──head is written──▶ Streaming ──▶ Carrier::end()
//
// Receiving: the whole body is collected.
// Handling:  the handler runs; it may read the body itself (body_reader.h). An exchange with a synchronous handler
//            passes through this state immediately.
// Streaming: a task writes the body of the response (body_writer.h).
//
// A task may end immediately after its start, and would then write a response in the middle of the connection's work.
// Therefore the exchange does not start a task itself: the exchange is only marked as due, and the connection calls
// run_due().
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

// The memory of an exchange: the head is copied, because the received bytes are freed.
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
  // The stage in which the request would be interrupted if its connection ended now.
  Cut cut_now() const noexcept;
  void record_cut(Cut during);

  // --- the body of the request

  // Begins to collect the body; the handler starts when the body is complete.
  void begin_collecting(const BodyDecoder& decoder);
  // Adds received bytes to the body; bytes that follow the body are left in `rest`. Refused: `status` and `reason` say
  // why the body was rejected. Done: the body is complete. If the result is neither Refused nor Done, the body needs
  // more bytes.
  ChunkStep collect(std::string_view& rest);
  // Begins an exchange whose handler reads the body: `first` is the part that has already arrived. This call makes the
  // exchange due: the connection then calls run_due().
  void begin_reading(const BodyDecoder& decoder, std::string_view first, bool awaits_continue);
  // Begins an exchange whose body is collected after middleware has accepted the request.
  void begin_guarded(const BodyDecoder& decoder, std::string_view first, bool awaits_continue);
  // True while a part of the body has not arrived, and the handler reads the body or may still read it.
  bool reads_body() const noexcept { return reads_ && !reader_.is_over(); }
  bool has_read_body() const noexcept { return reads_ && reader_.is_over(); }
  BodyReader& reader() noexcept { return reader_; }
  const BodyReader& reader() const noexcept { return reader_; }
  // Whether the client waits for 100 (Continue); after the first call, the result is false.
  bool take_awaits_continue() noexcept { return std::exchange(awaits_continue_, false); }
  // Call this function when the handler begins to wait for bytes.
  void mark_waiting() noexcept {
    read_began_ = worker_.loop().now();
    if (body_until_.is_never()) body_until_ = read_began_ + worker_.limits().body_timeout;
  }
  // Passes received bytes to the reader; the bytes must stay valid until the reader asks for more. True: wake it.
  bool arrived(std::string_view bytes) noexcept;
  // Call this function when the rest of the body will not arrive. Returns false if the handler has not started; the
  // exchange then has to be freed.
  bool lose_body() noexcept;
  // Whether the rest of the body may be discarded, so that another request can follow.
  bool can_discard() const noexcept;
  // begin_discarding() discards the part of the body that has arrived. discard() discards newly received bytes and
  // returns how many of them belonged to the body.
  void begin_discarding() noexcept;
  std::size_t discard(std::string_view bytes) noexcept;
  // Whether the connection must end because the beginning of the next request cannot be found or would be found too
  // late.
  bool is_discard_over() const noexcept;

  // --- the handler, and the body of the response

  // Sends a response for which a synchronous exchange is not enough, because the response is streamed or upgrades the
  // connection; `body` is the body of the request.
  void send(Response& response, std::string_view body);
  // Calls the handler.
  void run();
  // Whether a task is due to be started.
  bool is_due() const noexcept { return is_due_; }
  void run_due();
  // Call this function when there may be room for the task that waits in a write. The call must be the last action of
  // the caller.
  void go_on_writing();
  // For a streamed body that has ended: the bytes that are not queued yet, for which there is always room, and the
  // trailers.
  std::string_view tail() const noexcept { return writer_->tail(); }
  std::string_view trailers() const noexcept { return writer_->trailers_.lines(); }
  // Completes when the server begins to drain.
  Event::Wait until_drain() noexcept { return worker_.draining().wait(); }
  // Releases the object that takes over the connection after an upgrade.
  Upgraded* release_upgrade() noexcept { return upgrade_.release(); }
  // Used by BodyWriter.
  bool write(std::string_view& rest) noexcept;

  // --- time and the end

  // The time by which the exchange must have made progress or be complete.
  Instant deadline() const noexcept;
  // Call this function when the deadline has passed. Returns who has exceeded the deadline:
  //   Reader   the reader has to be woken, and will find that its body was rejected.
  //   Handler  the handler has been asked to end.
  //   Nothing  no task is running.
  enum class TimedOut : std::uint8_t { Reader, Handler, Nothing };
  TimedOut time_out() noexcept;
  // The time by which the rest of a discarded body must have arrived.
  Instant until() const noexcept { return until_; }
  void set_until(Instant until) noexcept { until_ = until; }
  bool is_running() const noexcept { return run_.is_running() || writing_.is_running(); }
  // Call this function when the connection has ended. When the running task has ended, Carrier::end() is called.
  void abandon() noexcept;

 protected:
  // Makes a pending exchange from `begun`, whose head arrived as `head_bytes`; `begun` and `head_bytes` are copied.
  // `carrier` outlives this. `client` is the place of the client in the worker's ClientTable.
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
  bool has_waited_ = false;     // Whether one of the exchange's tasks has been suspended.
  Status status_ = Status::Ok;  // For a streamed body: the status of its response.
  // Until the body is complete: the time by which it must be complete; afterwards: the deadline of the task.
  Instant until_;
  // Decodes the body if it is collected before the handler starts.
  BodyDecoder decoder_;
  Buffer body_;                // The whole body.
  std::size_t body_held_ = 0;  // How much of the worker's body_bytes this body takes.
  Instant body_began_;
  // Passes the body to the handler, or to the collector, piece by piece.
  struct Reader : BodyReader {
    PendingExchange* owner = nullptr;
  } reader_;
  // For a body that is collected after middleware: the time by which it must be complete.
  Instant body_until_ = Instant::never();
  Instant read_began_;    // The time at which the reader began to wait.
  Duration read_waited_;  // The total time of the reader's earlier waits.
  std::size_t discarded_ = 0;
  StageClock stages_;      // The body of a streamed response.
  Instant handler_began_;  // The time at which the handler of a measured request began.
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
