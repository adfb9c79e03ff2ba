// One connection of a generator: a state machine on a transport.
//
// While the connection has room for outstanding requests, it sends the generator's requests; it reads the responses
// without copying them. All requests that become due in one call are sent with one write. After a failure, the
// connection reports the kind of failure to the generator and is reopened: immediately if the connection had already
// received a response, otherwise after a pause.
//
// Threads:  the thread of the generator's loop.
// Lifetime: is_closed() must be true before the connection is destroyed.
// Cost:     about 1 KB, and 24 bytes for each request that may be outstanding.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/list.h"
#include "keel/base/member.h"
#include "keel/base/time.h"
#include "keel/http/message/response_reader.h"
#include "keel/io/op.h"
#include "keel/net/transport.h"
#include "load/mix.h"

namespace keel::load {

class Generator;
enum class Failure : std::uint8_t;

class Connection : public Link {  // The generator uses the link for its list of connections with room.
 public:
  struct Outstanding {
    Instant intended;
    Instant sent;
    const Request* request;
  };

  Connection(Generator& generator, int depth);

  void open() noexcept;
  // Takes at most `max` requests from the generator, as long as there is room for them, and sends them.
  void fill(Instant now, std::size_t max) noexcept;
  // Checks the clock: gives up operations that take too long, and reconnects after a pause.
  void check_time(Instant now) noexcept;
  // Ends permanently. Outstanding requests fail with `failure`.
  void end(Failure failure) noexcept;

  bool is_closed() const noexcept { return state_ == State::Closed; }
  bool is_idle() const noexcept { return count_ == 0; }
  bool has_room() const noexcept { return state_ == State::Open && !closes_ && count_ < depth_; }

 private:
  enum class State : std::uint8_t { Closed, Waiting, Connecting, Open, Closing };

  void connected() noexcept;
  void received() noexcept;
  void has_sent() noexcept;
  void take(std::string_view bytes) noexcept;
  void collect(std::string_view data) noexcept;
  void finish_response(std::string_view last) noexcept;
  void begin_response() noexcept;
  std::size_t place(std::size_t index) const noexcept;
  void peer_ended(std::int32_t result) noexcept;
  void stage(const Request& request, bool closes);
  void flush() noexcept;
  void fail(Failure failure) noexcept;
  void cannot_connect(const Error& why) noexcept;
  void begin_close() noexcept;
  void close_if_quiet() noexcept;

  Generator& generator_;
  Member<io::Connect, Connection, &Connection::connected> connect_;
  Member<Transport, Connection, &Connection::received> transport_;
  Member<io::SendPart, Connection, &Connection::has_sent> send_;
  State state_ = State::Closed;
  bool ends_ = false;  // It ends permanently.
  // True after the last request of this connection was queued, or after the server announced its last response.
  bool closes_ = false;
  bool has_response_ = false;  // Whether this connection has received a response.
  // While Connecting, the time at which connecting began; while Waiting, the time at which the wait ends.
  Instant since_;
  std::uint64_t begun_ = 0;  // The number of requests that were sent on this connection.
  std::size_t first_ = 0;    // The oldest entry of outstanding_, which is a ring.
  std::size_t count_ = 0;    // The number of outstanding requests.
  const std::size_t depth_;  // The size of the ring.
  std::vector<Outstanding> outstanding_;
  http::ResponseReader reader_;
  Buffer body_;  // The body of the current response, if it is checked and arrives in pieces.
  bool body_is_too_long_ = false;
  std::string_view staged_text_;  // The only staged request, if its text is fixed; the text is sent without a copy.
  Buffer staged_;                 // If staged_text_ is empty, the bytes of all staged requests, one after the other.
  Buffer sending_;
};

}  // namespace keel::load
