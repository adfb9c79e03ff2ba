// keel/http/server/internal/connection.h — one HTTP/1.1 connection, as a state machine around its Transport.
//
// Internal to http: users see Server. received() processes incoming bytes, and settle() sends responses. The requests
// of a connection are handled one after the other, in order; the responses to requests that arrive together are sent
// together.
//
// A connection does the framing: it finds the heads and bodies of requests in the received bytes, and writes the heads
// and bodies of responses. A request that is handled synchronously is an Exchange on the stack of the call that
// received the request. A request that takes longer is a PendingExchange, which the connection owns through its carrier
// (connection_carrier.h).
//
// When memory runs out, the affected connection ends without a response; if memory runs out in a handler, the response
// is a 503, as for other errors.
//
//   Head ──complete──▶ (Busy ──done──▶) (Discarding ──over──▶) Head …
//     ├─ response with close ─▶ Lingering ─▶ Ending ─▶ freed when no operation is pending
//     └─ 101 ─▶ Upgrading ─▶ freed; an Upgraded takes its transport and received bytes
//
// If a proxy introduces the connection, the connection starts in Introducing, before Head (introduction.h).
//
// Busy:       a pending exchange exists.
// Discarding: the part of the body that the handler did not read is dropped.
// Upgrading:  the 101 is being sent, and the receive is being ended without losing a byte (upgrade.h).
//
// settle() starts tasks. The code that handles an event must call settle() last, because a task may end immediately,
// and the connection may end with the task.
//
// While a task runs, its connection continues to read, up to a limit. The reads show when the client disconnects: a
// reset stops the task. The end of the client's stream (FIN) does not stop the task, because a client may stop sending
// and wait for its response. A client that has closed both directions looks like one that has only stopped sending,
// until the server sends something and receives a reset. Therefore, after a FIN, a streamed response that sends nothing
// for the idle timeout is aborted together with the connection.
//
// An idle connection has its transport, a send operation and a timer, but no buffer.
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
#include "keel/http/server/internal/held_memory.h"
#include "keel/http/server/internal/introduction.h"
#include "keel/http/server/internal/partial_head.h"
#include "keel/http/server/internal/response_bytes.h"
#include "keel/http/server/internal/send_queue.h"
#include "keel/http/server/response.h"
#include "keel/net/transport.h"

namespace keel::http {

class ConnectionCarrier;
class Exchange;
class PendingExchange;
class ServerWorker;

class Connection final : public Link {
 public:
  // Begins on a descriptor that was just accepted; the connection frees itself when it has ended.
  static void begin(ServerWorker& worker, int fd);

  // What the connection waits for, and since when; this decides whether the connection may be closed to make room for
  // another one. The connection may wait for the next request, for the rest of a head, or, after its last response, for
  // the client to stop sending. nullopt: a request is in progress.
  struct Waiting {
    Instant since;
    bool in_head;
  };
  std::optional<Waiting> waiting() const noexcept;
  // When the server begins to drain, an idle connection is closed after the grace of the drain instead of the idle
  // timeout.
  void begin_drain();
  // Ends the connection without sending the queued bytes. If the end of the current response is marked only by the end
  // of the connection, the connection is reset, so that the client does not take a part of the response for the whole.
  void abort();
  // Ends the connection like abort(), but with a reset if the peer has not received everything: otherwise the kernel
  // would keep the unsent bytes for as long as the peer does not read them.
  void cut();
  // Bytes that the kernel holds because the peer has not received them yet.
  std::uint64_t unread_bytes() noexcept { return is_lost_ ? 0 : out_.unread(transport_); }
  // Ends the connection with a reset, which also drops the bytes that the kernel holds for the peer.
  void reset();
  // The memory that the connection held for its client when it was last counted.
  const Held& held() const noexcept { return held_; }
  // The total number of bytes that the client has received. A system call.
  std::uint64_t bytes_taken() noexcept { return transport_.acknowledged().value_or(out_.bytes_sent()); }
  // For a connection that waits: the time at which the current phase began.
  Instant waits_since() const noexcept { return began_; }

 private:
  friend class ConnectionCarrier;
  enum class Phase : std::uint8_t { Head, Busy, Discarding, Upgrading, Lingering, Ending, Introducing, Introduced };

  // `peer` is the proxy that introduces the connection; null: no proxy.
  Connection(ServerWorker& worker, const Endpoint& endpoint, std::uint32_t client, const Address* peer);
  ~Connection();
  static std::size_t size_of(bool is_introduced) noexcept {
    return sizeof(Connection) + (is_introduced ? sizeof(Introduction) : 0);
  }
  // Destroys the connection and frees its memory.
  void free() noexcept;
  // Runs a call from the loop; std::bad_alloc then ends the connection, and not the process.
  template <class Step>
  void guarded(const Step& step) noexcept {
    try {
      step();
    } catch (const std::bad_alloc&) {
      out_of_memory();
    }
  }
  template <void (Connection::*step)()>
  void on_event() noexcept {
    guarded([this] { (this->*step)(); });
  }
  void out_of_memory() noexcept;
  void received();
  void sent();
  void timed_out();
  void go_on();

  // Not null if a proxy introduces the connection; its facts are valid before the first head arrives.
  Introduction* introduction() noexcept {
    if (!is_introduced_) [[likely]]
      return nullptr;
    return std::launder(reinterpret_cast<Introduction*>(this + 1));
  }
  Remote remote() noexcept { return {transport_.descriptor(), introduction()}; }
  void introduce(std::string_view bytes);
  void begin_layer();
  void reject_introduction(const char* reason);
  void lose_introduction();

  // Incoming bytes.
  [[gnu::always_inline]] void take(std::string_view bytes);
  void take_by_phase(std::string_view bytes);
  void process_kept();
  std::string_view process(std::string_view rest);
  [[gnu::always_inline]] std::string_view begin_request(RequestHead& head, std::string_view received,
                                                        std::size_t head_size, StageClock* clock);
  ConnectionCarrier& hold(const Exchange& exchange, std::string_view head_bytes);
  std::string_view collect_body(std::string_view rest);
  std::string_view begin_reading(const BodyDecoder& decoder, std::string_view rest, bool streams);
  void body_arrived();
  void wake_reader();
  void discard(std::string_view bytes);
  void give_up_body();
  void lose_request();
  void free_exchange();
  bool is_streaming() const noexcept;
  bool can_process() const noexcept;
  [[gnu::always_inline]] bool wants_bytes() const noexcept;

  // The functions through which the exchange in progress uses its carrier.
  void body_wanted();
  void write_head(Response& response);
  bool take_back() noexcept;
  bool write_body(std::string_view& rest) noexcept;
  void end_exchange();
  void reset_exchange();
  void resume(void (PendingExchange::*step)()) noexcept;

  // Outgoing bytes.
  [[gnu::always_inline]] void write(Exchange& exchange, Response& response);
  void follow_send(const Exchange& exchange);
  void reject_and_close(Status status, std::string_view detail, bool head_only);
  std::string_view reject_late(Exchange& exchange, std::string_view rest);
  void go_on_upgrading();
  void record_cut() noexcept;
  void run_due();

  // Sends the queued bytes, continues with the input in in_, and decides whether the connection ends. The call must be
  // the last action of the caller, because it may destroy the connection.
  void settle();
  void flush();
  [[gnu::always_inline]] void send_queued();
  [[gnu::always_inline]] void finish_send();
  void linger_or_end();
  void free_if_quiet();
  [[gnu::always_inline]] Duration idle_timeout() const noexcept;
  [[gnu::always_inline]] Instant deadline() const noexcept;
  Instant deadline_of_work() const noexcept;
  bool waits_for_reader(Instant now);
  void reset_slow_reader();
  bool has_unsent() const noexcept { return out_.is_sending() || !out_.is_empty(); }
  bool has_much_to_read() noexcept;
  void reset_on_close() noexcept;
  void fail(std::int32_t result);
  bool is_idle() const noexcept { return phase_ == Phase::Head && !partial_.has_begun() && !out_.is_sending(); }
  void watch();
  bool is_watched_until(Instant at) const noexcept { return at.is_never() || (timer_.is_running() && at >= timer_.at); }
  // Updates the count of held memory; call it after that memory may have changed.
  [[gnu::always_inline]] void count_held() noexcept;
  void count_waiting() noexcept;

  ServerWorker& worker_;
  Member<Transport, Connection, &Connection::on_event<&Connection::received>> transport_{*this};
  Member<SendQueue, Connection, &Connection::on_event<&Connection::sent>> out_{*this};
  Member<Timer, Connection, &Connection::on_event<&Connection::timed_out>> timer_{*this};
  Member<Job, Connection, &Connection::on_event<&Connection::go_on>> turn_{*this};
  Buffer in_;  // Received bytes that are kept: an incomplete head, or the requests after the one in progress.
  PartialHead partial_;
  // The exchange in progress, if it outlives the call that received its request.
  ConnectionCarrier* exchange_ = nullptr;
  // The time at which the current phase began. In Head: the beginning of the idle time, or the time at which the first
  // byte of a head arrived. While a body is streamed: the time of the last send. In Lingering: the time at which bytes
  // were last received.
  Instant began_;
  std::uint32_t requests_ = 0;
  std::uint32_t client_;  // The place of the connection's client in the worker's ClientTable.
  Phase phase_ = Phase::Head;
  BodyEnd body_end_ = BodyEnd::Length;  // The framing of the response whose head was written last.
  bool close_ : 1 = false;              // The connection ends after the bytes in out_ have been sent.
  bool peer_done_ : 1 = false;          // The peer has stopped sending, or has disconnected.
  // The peer asked the server to close the connection: no further request will arrive.
  bool peer_closes_ : 1 = false;
  // turn_ is posted, because the connection has used its share of this event-loop iteration.
  bool yields_ : 1 = false;
  bool kept_ready_ : 1 = false;  // in_ may contain a complete request.
  bool is_lost_ : 1 = false;  // The peer will not receive further bytes: the connection has failed, or will be reset.
  // True while a task is being started: the bytes that it writes are sent together with the bytes already queued.
  bool gathers_ : 1 = false;
  // Whether a proxy introduces the connection; an Introduction is then stored directly after this object.
  bool is_introduced_ : 1 = false;
  Held held_;
};

}  // namespace keel::http
