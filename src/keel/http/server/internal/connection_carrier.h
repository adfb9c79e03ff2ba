// keel/http/server/internal/connection_carrier.h — the exchange in progress of an HTTP/1.1 connection, whose carrier is
// the connection.
//
// Internal to http. A ConnectionCarrier contains the exchange and is allocated in the worker's pool, so that an idle
// connection needs no memory for it. It forwards the calls of the exchange to the connection.
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
  // Makes a pending exchange from `begun`, whose head arrived as `head_bytes`; both are copied.
  static ConnectionCarrier* make(Connection& connection, const Exchange& begun, std::string_view head_bytes);
  // Call it when the tasks of the exchange have ended.
  static void free(ConnectionCarrier* carrier) noexcept;

  // The head of the response, which begins at `at`, is not sent until let_go() is called.
  void keep_head(std::size_t at) noexcept { head_at_ = at; }
  void let_go() noexcept { head_at_.reset(); }
  std::optional<std::size_t> kept_head() const noexcept { return head_at_; }
  // The head also waits for the body that 100 (Continue) has asked for, or for a part of the response's body.
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
