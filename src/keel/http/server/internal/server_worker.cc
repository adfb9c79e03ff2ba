#include "keel/http/server/internal/server_worker.h"

#include <algorithm>
#include <cstring>

#include "keel/base/check.h"
#include "keel/base/hex.h"
#include "keel/base/host.h"
#include "keel/http/server/internal/connection.h"
#include "keel/http/server/internal/upgraded.h"
#include "keel/http/server/problem.h"

namespace keel::http {

ServerWorker::ServerWorker(const Shared& shared, io::Loop& loop, const ListenerPart& listener,
                           std::uint32_t connections_max, std::size_t body_bytes_max)
    : shared_(shared),
      loop_(loop),
      engine_(loop.engine()),
      limits_(shared.options.limits),
      records_(loop, shared.options, counts, shared.metrics, shared.router.routes().size() + 1),
      acceptor_(*this, listener, connections_max),
      trace_high_(Host::current().random()),
      arrival_{&engine_, shared.options.trusted_proxies},
      delay_(loop, shared.router.routes().size() + 1) {
  counts.connections_max.set(connections_max);
  counts.body_bytes_max.set(body_bytes_max);
}

ServerWorker::~ServerWorker() {
  KEEL_CHECK(connections_.empty() && upgraded_.empty() && acceptor_.is_closed(),
             "a server has ended its connections before it is destroyed");
}

void ServerWorker::change(const Limits& limits, bool access_log, std::uint32_t connections_max,
                          std::size_t body_bytes_max) {
  counts.connections_max.set(connections_max);
  counts.body_bytes_max.set(body_bytes_max);
  limits_ = limits;
  records_.set_access_log(access_log);
  acceptor_.change(connections_max);
}

void ServerWorker::begin_drain(Duration grace, Listening listening) {
  if (draining_) return;
  draining_ = true;
  grace_ = grace;
  acceptor_.begin_drain(grace, listening);
  connections_.for_each([](Connection& connection) { connection.begin_drain(); });
  upgraded_.for_each([](Upgraded& upgraded) { upgraded.stop(); });
  check_drained();
}

void ServerWorker::abort_all() {
  begin_drain(Duration(), Listening::GoesOn);  // At once; the socket may be somebody else's, too.
  acceptor_.abort();
  connections_.for_each([](Connection& connection) { connection.abort(); });
}

Response ServerWorker::reject(Status status, std::string_view reason, int fd) {
  counts.requests.add();
  counts.refused.add();
  Response response = refuse(status, reason);
  char id_text[2 * hex_digits];
  std::string_view id;
  if (options().request_ids) {
    const log::TraceId trace = next_trace();
    write_hex(write_hex(id_text, trace.high), trace.low);
    id = {id_text, sizeof id_text};
    response.header("X-Request-Id", id);
  }
  records_.rejected(status, reason, id, fd);
  return response;
}

void ServerWorker::add(Connection& connection) {
  connections_.push_back(connection);
  counts.connections.add();
}

void ServerWorker::add(Upgraded& upgraded) {
  upgraded_.push_back(upgraded);
  counts.upgraded.add();
}

void ServerWorker::ended() {
  counts.connections.subtract();
  acceptor_.resume_with_room();
  check_drained();
}

void ServerWorker::check_drained() {
  if (closed_ || !draining_ || !acceptor_.is_closed() || !connections_.empty() || !upgraded_.empty()) return;
  closed_ = true;
  scratch_.release();
  // From here on it may be destroyed.
  std::atomic<int>& open_workers = shared_.open_workers;
  open_workers.fetch_sub(1, std::memory_order_acq_rel);
  open_workers.notify_all();
}

void ServerWorker::write_date() noexcept {
  const std::int64_t wall = loop_.wall_ns();
  char* const date = ok_and_date_ + ok_line_bytes;
  std::memcpy(ok_and_date_, status_line(Status::Ok).data(), ok_line_bytes);
  std::memcpy(date, "Date: ", 6);
  std::memcpy(format_date(wall / 1'000'000'000, date + 6), "\r\n", 2);
  // The calendar may be set: it is looked at ten times a second.
  const auto left = Duration::nanoseconds(1'000'000'000 - wall % 1'000'000'000);
  date_until_ = loop_.now() + std::min(left, 100_ms);
}

bool ServerWorker::rejects_late(int fd, Instant since) noexcept {
  const bool was = delay_.is_overloaded();
  Duration delay;
  const bool rejects = delay_.rejects(fd, since, limits_.queue_delay_max, delay);
  if (was != delay_.is_overloaded()) {
    if (was) {
      log().info("no longer overloaded", log::field("worker", loop_.index()),
                 log::field("refused", counts.overloaded.get()));
    } else {
      log().warn("overloaded, refusing what comes too late", log::field("worker", loop_.index()),
                 log::field("delay", delay));
    }
  }
  return rejects;
}

}  // namespace keel::http
