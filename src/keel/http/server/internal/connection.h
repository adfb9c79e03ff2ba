// keel/http/server/internal/connection.h — one HTTP/1.1 connection: a state machine around one Receive and one Send.
//
// Internal to http: users see Server. Bytes come in by received(), answers go out by settle(); requests of one
// connection are answered one after the other, in order, and those that arrive together with one send.
//
// Out of memory ends the connection that met it without an answer; in a handler it is a 503 like another error.
//
//   Head ──complete──▶ (Body ──complete──▶) (Handling ──done──▶) (Streaming ──done──▶) (Discarding ──over──▶) Head …
//     ├─ answer with close ─▶ Lingering ─▶ Ending ─▶ freed when no operation is pending
//     └─ 101 ─▶ Upgrading ─▶ freed, its descriptor and what had come being an Upgraded's
//
// Body: a whole body is put together. Handling: a Task handler runs, and may read the body itself (body_reader.h).
// Streaming: the answer's body is being written by a task (body_writer.h). Discarding: what the handler has not read of
// the body is thrown away. Upgrading: the 101 leaves, and the receive ends without losing a byte (upgrade.h).
//
// Tasks are begun by settle(), which is the last thing that happens: they may end at once, and with them the
// connection.
//
// While a task runs the connection goes on reading what may follow, up to a bound, and so sees that the client is gone:
// a reset stops the task. The end of the stream (FIN) does not: a client may finish writing and wait for its answer.
// One that closes altogether sends the same and answers what we send with a reset; an answer that streams and has
// nothing to send for the idle time-out ends with the connection.
//
// Idle, a connection owns its two operations and a timer, and no buffer.
//
// Threads: the worker.

#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/list.h"
#include "keel/base/member.h"
#include "keel/base/wheel.h"
#include "keel/exec/executor.h"
#include "keel/http/message/parser.h"
#include "keel/http/server/internal/answer.h"
#include "keel/http/server/response.h"
#include "keel/http/server/router.h"
#include "keel/io/op.h"

namespace keel::http {

class Acceptor;
class Upgraded;
struct Exchange;

// How far a request had come whose connection ended before it was answered.
enum class Cut : std::uint8_t { Head, Body, Handler };
inline constexpr int cut_count = 3;
// "head", "body", "handler".
std::string_view to_string(Cut during) noexcept;

class Connection final : public Link {
 public:
  // On a descriptor just accepted; frees itself when it has ended.
  static void begin(Acceptor& acceptor, int fd);

  // Since when it has been between two requests, with nothing received of the next one, or has waited for a client to
  // stop sending behind its last answer: who is closed when others need its place. Nullopt: something is under way.
  std::optional<Instant> idle_since() const noexcept;
  // An idle connection now has the grace of the drain instead of the idle time-out.
  void begin_drain();
  // Ends without sending what is left.
  void end();

  // For BodyWriter: takes as much of `rest` as may be queued. True: all of it, or nothing more ever will be.
  bool push_body(std::string_view& rest) noexcept;

 private:
  enum class Phase : std::uint8_t { Head, Body, Handling, Streaming, Discarding, Upgrading, Lingering, Ending };
  struct Partial;  // A head cut short, with the limits that it began under.

  Connection(Acceptor& acceptor, int fd);
  ~Connection();
  // What the loop calls: std::bad_alloc ends the connection, not the process.
  template <void (Connection::*step)()>
  void guarded() noexcept {
    try {
      (this->*step)();
    } catch (const std::bad_alloc&) {
      out_of_memory();
    }
  }
  void out_of_memory() noexcept;
  void received();
  void sent();
  void timed_out();
  void go_on();

  void take(std::string_view bytes);
  void process_kept();
  std::string_view process(std::string_view rest);
  std::string_view begin_request(RequestHead& head, std::string_view received, std::size_t head_size,
                                 StageClock* clock);
  std::string_view feed_body(std::string_view rest);
  Exchange& activate(const Request& request, std::string_view head_bytes);
  bool keep_body(std::string_view part);
  std::string_view refuse_body(bool head_only);
  std::string_view refuse_late(Request& request, std::string_view rest);
  std::string_view begin_reading(std::string_view rest);
  void body_wanted();
  void body_arrived();
  void wake_reader();
  void lose_body();
  void discard(std::string_view bytes);
  void give_up_body();
  void run_due();
  void run_exchange();
  void answer_exchange(Result<Response> result);
  void task_done();
  void finish_exchange();
  void begin_streaming(Response& response, BodyEnd end);
  void run_streaming();
  void end_streaming(Result<> result);
  void streaming_done();
  void queue_body(std::string_view piece);
  void go_on_writing();
  void free_exchange();
  void free_partial() noexcept;

  void respond(Request& request, const Router::Match& match, Result<Response>&& result);
  void record(Request& request, const Router::Match& match, Status status, std::size_t bytes);
  void log_answer(Request& request, Status status, std::size_t bytes, Duration took);
  void refuse_and_close(Status status, std::string_view detail, bool head_only);
  Response answer_upgrade(const RequestHead& head, Response wanted);
  void begin_upgrade(Upgraded* upgraded, log::TraceId trace) noexcept;
  void go_on_upgrading();
  void record_cut() noexcept;
  void record_cut(Cut during) noexcept;
  bool can_process() const noexcept;
  [[gnu::always_inline]] bool wants_bytes() const noexcept;

  // Sends what is there, goes on with what was kept, decides whether this is the end. The last thing a caller does:
  // the connection may be gone afterwards.
  void settle();
  void flush();
  void finish_send();
  void linger_or_end();
  void free_if_quiet();
  [[gnu::always_inline]] Instant deadline() const noexcept;
  Instant body_deadline() const noexcept;
  [[gnu::always_inline]] Instant send_deadline() const noexcept;
  bool takes_too_little();
  void cut_slow_reader();
  void watch();

  Acceptor& acceptor_;
  Member<io::Receive, Connection, &Connection::guarded<&Connection::received>> receive_{*this};
  Member<io::Send, Connection, &Connection::guarded<&Connection::sent>> send_{*this};
  Member<Timer, Connection, &Connection::guarded<&Connection::timed_out>> timer_{*this};
  Member<Job, Connection, &Connection::guarded<&Connection::go_on>> turn_{*this};
  Buffer in_;      // Bytes that wait: a head or chunk cut short, or requests behind one in progress.
  Buffer out_;     // Answers not handed to send_ yet.
  Buffer flight_;  // What send_ is sending.
  Buffer large_;   // A body too large to copy: goes out behind out_.
  iovec parts_[2];
  Partial* partial_ = nullptr;
  Exchange* exchange_ = nullptr;  // A request that outlives the call that brought it.
  Upgraded* upgraded_ = nullptr;  // In Upgrading: what goes on with the connection.
  Instant began_;       // When this phase began; in Head the idle time, or a head's first byte; in Streaming since when
                        // nothing has been sent, in Lingering since when nothing has come.
  Instant send_began_;  // In Lingering: when that began.
  std::uint64_t sent_seen_ = 0;  // Of send_, when its time was up last.
  Instant rate_began_;           // Since when the rate of this send is looked at, and
  std::uint64_t taken_ = 0;      // 1 more than the peer had taken by then; 0: that is not known.
  std::uint32_t requests_ = 0;
  Phase phase_ = Phase::Head;
  bool close_ = false;        // After what is in out_.
  bool peer_done_ = false;    // It has finished writing, or is gone.
  bool peer_closes_ = false;  // It asked for the close: nothing more will come.
  bool yields_ = false;       // turn_ is posted: it has had its share of this turn.
  bool kept_ready_ = false;   // in_ may hold a whole request.
  bool large_flies_ = false;  // large_ is a part of what send_ is sending.
};

}  // namespace keel::http
