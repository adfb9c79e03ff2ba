// keel/http/server/internal/connection.h — one HTTP/1.1 connection: a state machine around its Transport.
//
// Internal to http: users see Server. Bytes come in by received(), answers go out by settle(); requests of one
// connection are answered one after the other, in order, and those that arrive together with one send.
//
// It frames: heads and bodies are found in what comes, and written to what goes out. A request that is answered
// synchronously is an Exchange on the stack of the call that brought it; one that takes longer is a PendingExchange,
// which the connection carries (connection_carrier.h).
//
// Out of memory ends the connection that met it without a response; in a handler it is a 503 like another error.
//
//   Head ──complete──▶ (Busy ──done──▶) (Discarding ──over──▶) Head …
//     ├─ answer with close ─▶ Lingering ─▶ Ending ─▶ freed when no operation is pending
//     └─ 101 ─▶ Upgrading ─▶ freed, its transport and what had come being an Upgraded's
//
// One that a proxy introduces begins before Head (introduction.h).
//
// Busy: there is a pending exchange. Discarding: what the handler has not read of the body is thrown away. Upgrading:
// the 101 leaves, and the receive ends without losing a byte (upgrade.h).
//
// Tasks are begun by settle(), which is the last thing that happens: they may end immediately, and with them the
// connection.
//
// While a task runs the connection continues reading what may follow, up to a bound, and so sees that the client is
// gone: a reset stops the task. The end of the stream (FIN) does not: a client may finish writing and wait for its
// response. A client that closed both directions looks the same until the server sends something and gets a reset. A
// streamed response that has nothing to send for the idle timeout is therefore aborted with the connection.
//
// Idle, a connection owns its transport, a send and a timer, and no buffer.
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
#include "keel/http/server/internal/held_memory.h"
#include "keel/http/server/internal/introduction.h"
#include "keel/http/server/internal/partial_head.h"
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

  // Who is closed when others need its place. It has waited between two requests, for the rest of a head, or for a
  // client to stop sending behind its last response. Nullopt: something is under way.
  struct Waiting {
    Instant since;
    bool in_head;
  };
  std::optional<Waiting> waiting() const noexcept;
  // An idle connection now has the grace of the drain instead of the idle timeout.
  void begin_drain();
  // Ends without sending what is left. Part of a response that ends with its connection does not look whole: a reset.
  void abort();
  // The same, and resets the connection where the peer has not taken everything: the kernel would keep the rest for it
  // for as long as it likes.
  void cut();
  // What the kernel has for a peer that has not taken it.
  std::uint64_t unread_bytes() noexcept { return is_lost_ ? 0 : out_.unread(transport_); }
  // Ends with a reset, and what the kernel has for the peer goes, too.
  void reset();
  // What it holds for its client, as it was counted.
  const Held& held() const noexcept { return held_; }
  // How many bytes its client has taken in all. A system call.
  std::uint64_t bytes_taken() noexcept { return transport_.acknowledged().value_or(out_.bytes_sent()); }
  // Since when it waits for what it waits for.
  Instant waits_since() const noexcept { return began_; }

 private:
  friend class ConnectionCarrier;
  enum class Phase : std::uint8_t { Head, Busy, Discarding, Upgrading, Lingering, Ending, Introducing, Introduced };

  // `peer`: who introduces it; null: nobody.
  Connection(ServerWorker& worker, const Endpoint& endpoint, std::uint32_t client, const Address* peer);
  ~Connection();
  static std::size_t size_of(bool is_introduced) noexcept {
    return sizeof(Connection) + (is_introduced ? sizeof(Introduction) : 0);
  }
  // Ends its life and gives its memory back.
  void free() noexcept;
  // What the loop calls: std::bad_alloc ends the connection, not the process.
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

  // Before the first head, where a proxy introduces it.
  Introduction* introduction() noexcept {
    return is_introduced_ ? std::launder(reinterpret_cast<Introduction*>(this + 1)) : nullptr;
  }
  Remote remote() noexcept { return {transport_.descriptor(), introduction()}; }
  void introduce(std::string_view bytes);
  void begin_layer();
  void reject_introduction(const char* reason);
  void lose_introduction();

  // What comes in.
  void take(std::string_view bytes);
  void take_by_phase(std::string_view bytes);
  void process_kept();
  std::string_view process(std::string_view rest);
  std::string_view begin_request(RequestHead& head, std::string_view received, std::size_t head_size,
                                 StageClock* clock);
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

  // What the exchange in progress asks for, as its carrier.
  void body_wanted();
  void write_head(Response& response);
  bool take_back() noexcept;
  bool write_body(std::string_view& rest) noexcept;
  void end_exchange();
  void reset_exchange();
  void resume(void (PendingExchange::*step)()) noexcept;

  // What goes out.
  void write(Exchange& exchange, Response& response);
  void follow_send(const Exchange& exchange);
  void reject_and_close(Status status, std::string_view detail, bool head_only);
  std::string_view reject_late(Exchange& exchange, std::string_view rest);
  void go_on_upgrading();
  void record_cut() noexcept;
  void run_due();

  // Sends what is there, continues with what was kept, decides whether this is the end. The last thing a caller does:
  // the connection may be gone afterwards.
  void settle();
  void flush();
  void finish_send();
  void linger_or_end();
  void free_if_quiet();
  [[gnu::always_inline]] Duration idle_timeout() const noexcept;
  [[gnu::always_inline]] Instant deadline() const noexcept;
  bool waits_for_reader(Instant now);
  void reset_slow_reader();
  bool has_unsent() const noexcept { return out_.is_sending() || !out_.is_empty(); }
  bool has_much_to_read() noexcept;
  void reset_on_close() noexcept;
  void fail(std::int32_t result);
  bool is_idle() const noexcept { return phase_ == Phase::Head && !partial_.has_begun() && !out_.is_sending(); }
  void watch();
  // What it holds may have changed.
  [[gnu::always_inline]] void count_held() noexcept;
  void count_waiting() noexcept;

  ServerWorker& worker_;
  Member<Transport, Connection, &Connection::on_event<&Connection::received>> transport_{*this};
  Member<SendQueue, Connection, &Connection::on_event<&Connection::sent>> out_{*this};
  Member<Timer, Connection, &Connection::on_event<&Connection::timed_out>> timer_{*this};
  Member<Job, Connection, &Connection::on_event<&Connection::go_on>> turn_{*this};
  Buffer in_;  // Bytes that wait: a head or chunk cut short, or requests behind one in progress.
  PartialHead partial_;
  ConnectionCarrier* exchange_ = nullptr;  // The exchange that outlives the call which brought its request.
  // When this phase began. In Head: the start of the idle time, or the first byte of a head. While a body is streamed:
  // the last send. In Lingering: the last received bytes.
  Instant began_;
  std::uint32_t requests_ = 0;
  std::uint32_t client_;  // The index of the connection in the worker's table.
  Phase phase_ = Phase::Head;
  BodyEnd body_end_ = BodyEnd::Length;  // Of the response whose head was written last.
  bool close_ : 1 = false;              // Bytes that are sent after those in out_.
  bool peer_done_ : 1 = false;          // It has finished writing, or is gone.
  bool peer_closes_ : 1 = false;        // It asked for the close: nothing more will come.
  bool yields_ : 1 = false;             // turn_ is posted: it has had its share of this turn.
  bool kept_ready_ : 1 = false;         // in_ may hold a whole request.
  bool is_lost_ : 1 = false;            // What was sent will not be read: it has failed, or will be reset.
  bool gathers_ : 1 = false;            // A task is being begun: what it writes leaves with what is there already.
  bool is_introduced_ : 1 = false;      // Or is to be: an Introduction lies behind this.
  Held held_;
};

}  // namespace keel::http
