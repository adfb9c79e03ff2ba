// keel/http/server/internal/pending_exchange.h — an exchange that outlives the call which brought its request: memory
// of its own, the body that is still to come, and the tasks that make the response.
//
// Internal to http. It knows its connection as a Carrier, which frames bytes and is made with it.
//
//   Receiving ──body is whole──▶ Handling ──head is written──▶ Streaming ──▶ Carrier::end()
//
// Receiving: the whole body is put together. Handling: the handler runs; it may read the body itself (body_reader.h).
// Streaming: a task writes the body of the response (body_writer.h). A handler that is synchronous passes through.
//
// Where a task is begun that may end immediately, and would then write a response in the middle of the connection's
// work, the exchange is due instead, until the connection calls run_due().
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

// What a request is made of when the bytes that brought it are gone.
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
  // How far it has come, when its connection ends now.
  Cut cut_now() const noexcept;
  void record_cut(Cut during);

  // --- the body of the request

  // It is put together, and the exchange run when it is whole.
  void begin_collecting(const BodyDecoder& decoder);
  // More of it, perhaps with what follows, which is left in `rest`. Rejected: `status` and `reason` say why; Done: it
  // is whole; else more is needed.
  ChunkStep collect(std::string_view& rest);
  // The handler reads it: `first` has come already. The exchange is due.
  void begin_reading(const BodyDecoder& decoder, std::string_view first, bool awaits_continue);
  // The same, but it is put together for the handler, once middleware has let the request pass.
  void begin_guarded(const BodyDecoder& decoder, std::string_view first, bool awaits_continue);
  // The handler reads the body. or could, and some of it is to come.
  bool reads_body() const noexcept { return reads_ && !reader_.is_over(); }
  bool has_read_body() const noexcept { return reads_ && reader_.is_over(); }
  BodyReader& reader() noexcept { return reader_; }
  const BodyReader& reader() const noexcept { return reader_; }
  // The client waits for 100 (Continue); true once.
  bool take_awaits_continue() noexcept { return std::exchange(awaits_continue_, false); }
  // The handler begins to wait.
  void mark_waiting() noexcept {
    read_began_ = worker_.loop().now();
    if (body_until_.is_never()) body_until_ = read_began_ + worker_.limits().body_timeout;
  }
  // Bytes have come for the reader, which stay where they are until it asks for more. True: wake it.
  bool arrived(std::string_view bytes) noexcept;
  // The rest will not come. False: the handler has not begun, and the exchange is to be freed.
  bool lose_body() noexcept;
  // Whether the rest may be thrown away, so that another request can follow.
  bool can_discard() const noexcept;
  // Throws away what of it has come; then bytes that have just come, and says how many of them belonged to it.
  void begin_discarding() noexcept;
  std::size_t discard(std::string_view bytes) noexcept;
  // It cannot be told where the next request begins, or that would take too long.
  bool is_discard_over() const noexcept;

  // --- the handler, and the body of the response

  // Sends a response that is concluded already, and that takes longer than the call; `body` is that of the request.
  void send(Response& response, std::string_view body);
  // Calls the handler.
  void run();
  // A task waits to be begun.
  bool is_due() const noexcept { return is_due_; }
  void run_due();
  // There may be room for the task that waits to write. The last thing its caller does.
  void go_on_writing();
  // What is left of a streamed body at its end, for which there is always room; and the trailers behind it.
  std::string_view tail() const noexcept { return writer_->tail(); }
  std::string_view trailers() const noexcept { return writer_->trailers_.lines(); }
  // What continues with the connection, once an upgrade was sent.
  Upgraded* release_upgrade() noexcept { return upgrade_.release(); }
  // For BodyWriter.
  bool write(std::string_view& rest) noexcept;

  // --- time and the end

  // By when something has to have come, or be done.
  Instant deadline() const noexcept;
  // It has passed: the reader is to be woken, to find its body rejected; or the handler has been asked to end; or
  // nothing is running that could be told.
  enum class TimedOut : std::uint8_t { Reader, Handler, Nothing };
  TimedOut time_out() noexcept;
  // For the rest of a body that is thrown away.
  Instant until() const noexcept { return until_; }
  void set_until(Instant until) noexcept { until_ = until; }
  bool is_running() const noexcept { return run_.is_running() || writing_.is_running(); }
  // The connection is gone. Carrier::end() follows once the task that runs has ended.
  void abandon() noexcept;

 protected:
  // What `begun` is, whose head came as `head_bytes`: both are copied. `carrier` outlives this. `client` is a place in
  // the worker's table.
  PendingExchange(Carrier& carrier, std::uint32_t client, const Exchange& begun, std::string_view head_bytes);
  ~PendingExchange();  // Its tasks have ended.

 private:
  Instant body_deadline() const noexcept;
  Duration request_timeout() const noexcept;
  bool is_collecting() const noexcept { return collects_ && !reader_.is_over(); }
  Status keep_body(std::string_view part);
  Result<> keep(Chunk part) override;
  void end_body() noexcept override;
  Duration handler_timeout() const noexcept override { return request_timeout(); }
  void answer(Result<Response> result);
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
  bool reads_ = false;     // The handler reads the body,
  bool collects_ = false;  // A middleware waits for the whole body.
  bool awaits_continue_ = false;
  bool abandoned_ = false;
  bool has_waited_ = false;     // One of its tasks has.
  Status status_ = Status::Ok;  // Of the response whose body is streamed.
  Instant until_;               // The body has to be there by then; later, the task has to have ended.
  // The body, when the handler does not read it.
  BodyDecoder decoder_;
  Buffer body_;                // The whole body.
  std::size_t body_held_ = 0;  // The part of the worker's body_bytes that the body takes.
  Instant body_began_;
  // And when it does.
  struct Reader : BodyReader {
    PendingExchange* owner = nullptr;
  } reader_;
  Instant body_until_ = Instant::never();  // When it is put together: by when it has to be whole.
  Instant read_began_;                     // When the reader began to wait.
  Duration read_waited_;                   // How long it had waited before.
  std::size_t discarded_ = 0;
  StageClock stages_;      // The stages of a measured request.
  Instant handler_began_;  // When the handler of a measured request began.
  struct Run : Start<Response> {
    PendingExchange* owner = nullptr;
  } run_;
  // The body of the response, when it is streamed.
  StreamedBody streamed_;
  Upgrade upgrade_;
  std::optional<BodyWriter> writer_;
  struct Writing : Start<void> {
    PendingExchange* owner = nullptr;
  } writing_;
};

}  // namespace keel::http
