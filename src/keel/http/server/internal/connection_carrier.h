// keel/http/server/internal/connection_carrier.h — the exchange in progress of an HTTP/1.1 connection, together with
// its carrier.
//
// Internal to http. A ConnectionCarrier is the pending exchange and its carrier in one object, which is allocated in
// the worker's pool only while a request needs it, so that an idle connection takes no memory for it. The
// ConnectionCarrier forwards the calls of the exchange to the connection.
//
// Threads: the worker.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "keel/http/server/internal/carrier.h"
#include "keel/http/server/internal/connection.h"
#include "keel/http/server/internal/pending_exchange.h"

namespace keel::http {

class ConnectionCarrier final : private Carrier, public PendingExchange {
 public:
  // Makes a pending exchange from `begun`, whose head arrived as `head_bytes`; `begun` and `head_bytes` are copied.
  static ConnectionCarrier* make(Connection& connection, const Exchange& begun, std::string_view head_bytes);
  // The tasks of the exchange must have ended.
  static void free(ConnectionCarrier* carrier) noexcept;

  // Records that the head of the response begins at `at` in the queue; until let_go() is called, the head has not been
  // sent and can be removed from the queue.
  void keep_head(std::size_t at) noexcept { head_at_ = at; }
  void let_go() noexcept { head_at_.reset(); }
  std::optional<std::size_t> kept_head() const noexcept { return head_at_; }
  // While `holds` is true, the head is not sent, but waits for the request's body that 100 (Continue) has asked for, or
  // for a part of the response's body.
  void hold_head(bool holds) noexcept { holds_head_ = holds; }
  bool holds_head() const noexcept { return holds_head_; }

 private:
  ConnectionCarrier(Connection& connection, const Exchange& begun, std::string_view head_bytes)
      : PendingExchange(static_cast<Carrier&>(*this), connection.client_, begun, head_bytes), connection_(connection) {}
  ~ConnectionCarrier() = default;

  void read_body() noexcept override { connection_.on_event<&Connection::body_wanted>(); }
  void write_head(Response& response) override { connection_.write_head(response); }
  bool take_back() noexcept override { return connection_.take_back(); }
  bool write_body(std::string_view& rest) noexcept override { return connection_.write_body(rest); }
  void end() override { connection_.end_exchange(); }
  void reset() override { connection_.reset_exchange(); }
  void resume(void (PendingExchange::*step)()) noexcept override { connection_.resume(step); }
  bool can_upgrade() const noexcept override { return !connection_.close_; }

  Connection& connection_;
  std::optional<std::size_t> head_at_;
  bool holds_head_ = false;
};

}  // namespace keel::http
