#include "keel/db/postgres/internal/pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "keel/base/check.h"
#include "keel/db/postgres/error.h"
#include "keel/io/loop.h"
#include "keel/observe/log.h"

namespace keel::db::postgres::internal {
namespace {

constexpr std::size_t known_max = 8192;

}  // namespace

Pool::Pool(const Settings& settings, io::Loop& loop, std::atomic<std::uint64_t>& numbers)
    : settings_(settings),
      loop_(loop),
      numbers_(numbers),
      resolver_(settings.lookups != nullptr ? *settings.lookups : static_cast<Executor&>(loop), {},
                settings.options.look_up
                    ? Resolver::Lookup([&settings](const std::string& host) { return settings.options.look_up(host); })
                    : Resolver::Lookup(&Resolver::system_lookup)),
      flush_(*this, [](Job& job) noexcept { static_cast<Posted&>(job).pool.dispatch(); }),
      close_(*this, [](Job& job) noexcept {
        Pool& pool = static_cast<Posted&>(job).pool;
        pool.is_closing_ = true;
        pool.listenings_.for_each([](Listening& listening) { listening.close(); });
        pool.schedule();
      }) {
  group_.reserve(settings.options.group_max);
  for (int i = 0; i < settings.options.connections; ++i) {
    connections_.push_back(std::make_unique<Connection>(*this, i));
  }
  ended_early_.resize(connections_.size());
}

Pool::~Pool() {
  KEEL_CHECK(listenings_.empty(), "Notifications must be destroyed before their database");
  KEEL_CHECK(waiting_.empty() && again_.empty(), "a database must outlive its tasks");
}

void Pool::begin() {
  for (const auto& connection : connections_) connection->begin();
}

void Pool::close() noexcept {
  if (!is_close_posted_.exchange(true)) loop_.post(close_);
}

Pool::Known& Pool::known(const Sql& sql) {
  const auto found = known_.find(sql.text().data());
  if (found != known_.end()) return found->second;
  if (known_.size() >= known_max) known_.clear();
  return known_.emplace(sql.text().data(), Known{facts_of(sql.text())}).first->second;
}

void Pool::note_read(const Sql& sql, bool is_slow) noexcept {
  const auto found = known_.find(sql.text().data());
  if (found == known_.end()) return;
  std::uint8_t& slow = found->second.slow;
  if (is_slow && slow < slow_max) ++slow;
  if (!is_slow && slow > 0) --slow;
}

void Pool::submit(Call& call) noexcept {
  calls_.add();
  Result<> taken = [&]() -> Result<> {
    const Known* const of = call.has_statement() ? &known(call.sql) : nullptr;
    if (of != nullptr && of->facts.is_control) [[unlikely]] {
      // If the statement were run, the transaction would stay open on a connection of the pool, and other callers'
      // writes would become part of it.
      return fail(Code::Internal,
                  "a statement cannot begin or end a transaction, or set a savepoint: begin a transaction with begin() "
                  "of the database, and end it with commit() or by destroying it; make a savepoint with savepoint() of "
                  "the transaction");
    }
    if (call.transaction() != 0) {
      Connection* const connection = find(call.transaction());
      if (connection == nullptr) return why_over(call.transaction());
      call.is_read = of != nullptr && of->facts.is_read;
      connection->submit(call);
      return {};
    }
    if (is_closing_) return fail(Code::Unavailable, "the database is closed");
    if (unreachable_) {
      counters_.refused.add();
      return unreachable_->clone();
    }
    if (waiting_count_ >= settings_.options.waiting_max) {
      counters_.refused.add();
      return fail(Code::ResourceExhausted,
                  "too many statements wait for a connection to the database (limit: waiting_max)");
    }
    if (of != nullptr) {
      call.is_read = of->facts.is_read;
      call.is_group = of->facts.is_group && !of->facts.is_read;
      call.is_alone = call.is_read && of->slow >= slow_alone;
    }
    waiting_.push_back(call);
    ++waiting_count_;
    schedule();
    return {};
  }();
  if (taken) return;
  calls_.subtract();
  call.finish(std::move(taken));
}

void Pool::withdraw(Call& call) noexcept {
  call.unlink();
  calls_.subtract();
  if (call.transaction() == 0) --waiting_count_;
  count();
}

Connection* Pool::find(std::uint64_t transaction) noexcept {
  const std::size_t index = transaction & 0xff;
  if (index >= connections_.size() || connections_[index]->transaction() != transaction) return nullptr;
  return connections_[index].get();
}

Error Pool::why_over(std::uint64_t transaction) const noexcept {
  const std::size_t index = transaction & 0xff;
  if (index < ended_early_.size()) {
    for (const EndedEarly::One& one : ended_early_[index].last) {
      if (one.transaction != transaction) continue;
      if (one.why == Early::Expired) {
        return Error(Code::DeadlineExceeded,
                     "the transaction kept its connection for longer than hold_max, and was rolled back");
      }
      return Error(Code::Unavailable, "the connection to the database was lost while the transaction was open")
          .from_environment();
    }
  }
  return Error(Code::Conflict, "the transaction has ended");
}

void Pool::ended_early(std::uint64_t transaction, Early why) noexcept {
  EndedEarly& of_connection = ended_early_[transaction & 0xff];
  of_connection.last[of_connection.count++ % of_connection.last.size()] = {transaction, why};
}

void Pool::schedule() noexcept {
  if (std::exchange(is_scheduled_, true)) return;
  loop_.defer(flush_);
}

Connection* Pool::find_free() noexcept {
  for (const auto& connection : connections_) {
    if (connection->is_free()) return connection.get();
  }
  return nullptr;
}

// Collects the calls that are sent together with `first`, the first of the waiting calls.
void Pool::collect(Call& first, std::vector<Call*>& into) {
  into.clear();
  into.push_back(&first);
  if (first.is_alone || !(first.is_read || first.is_group)) return;
  waiting_.for_each([&](Call& call) {
    if (into.size() >= settings_.options.group_max || call.is_alone) return;
    if (call.is_read != first.is_read || call.is_group != first.is_group) return;
    waiting_.remove(call);
    into.push_back(&call);
  });
}

void Pool::dispatch() {
  is_scheduled_ = false;
  while (!again_.empty() || !waiting_.empty()) {
    Connection* const connection = find_free();
    if (connection == nullptr) break;
    Call& first = *(!again_.empty() ? again_.pop_front() : waiting_.pop_front());
    collect(first, group_);
    waiting_count_ -= group_.size();
    const Instant now = loop_.now();
    for (const Call* const call : group_) {
      if (call->since == now) continue;
      counters_.waits.add();
      counters_.wait_ns.add(static_cast<std::uint64_t>((now - call->since).count_ns()));
    }
    if (first.kind() != Call::Kind::Begin) {
      connection->send(group_);
      continue;
    }
    const std::size_t index =
        static_cast<std::size_t>(std::find_if(connections_.begin(), connections_.end(),
                                              [&](const auto& one) { return one.get() == connection; }) -
                                 connections_.begin());
    const std::uint64_t number = (numbers_.fetch_add(1, std::memory_order_relaxed) + 1) << 8 | index;
    connection->begin_transaction(number, first);
    first.set_transaction(number);
    first.note_sent();
    first.finish({});
    calls_.subtract();
  }
  watch_waiting();
  count();
  if (is_closing_) end_if_done();  // This call must come last, because it may destroy the pool.
}

void Pool::count() noexcept {
  std::uint64_t size = 0;
  std::uint64_t in_use = 0;
  std::uint64_t oldest_ns = 0;
  for (const auto& connection : connections_) {
    if (connection->is_connected()) {
      const auto since_ns = static_cast<std::uint64_t>((connection->since() - Instant()).count_ns());
      oldest_ns = oldest_ns == 0 ? since_ns : std::min(oldest_ns, since_ns);
    }
    size += connection->is_connected() ? 1 : 0;
    in_use += connection->is_in_use() ? 1 : 0;
  }
  counters_.size.set(size);
  counters_.in_use.set(in_use);
  counters_.oldest_ns.set(oldest_ns);
  counters_.waiting.set(waiting_count_);
}

// Starts or stops the timer for the call that has waited longest.
void Pool::watch_waiting() noexcept {
  if (waiting_.empty() && again_.empty()) {
    if (wait_timer_.is_running()) loop_.stop_timer(wait_timer_);
    return;
  }
  if (wait_timer_.is_running()) return;
  const Call& first = waiting_.empty() ? again_.front() : waiting_.front();
  loop_.start_timer(wait_timer_, first.since + settings_.options.wait_max);
}

void Pool::wait_is_over() noexcept {
  const Instant now = loop_.now();
  for (List<Call>* const list : {&again_, &waiting_}) {
    while (!list->empty() && list->front().since + settings_.options.wait_max <= now) {
      Call& call = *list->pop_front();
      --waiting_count_;
      calls_.subtract();
      counters_.timeouts.add();
      call.finish(Error::text(Code::ResourceExhausted,
                              fmt::format("no connection to the database became free within {} ms; connections of this "
                                          "worker: {}",
                                          settings_.options.wait_max.count_ns() / 1'000'000, connections_.size())));
    }
  }
  watch_waiting();
  count();
}

void Pool::fail_waiting(const Error& why) noexcept {
  List<Call> all;
  all.splice_back(again_);
  all.splice_back(waiting_);
  waiting_count_ = 0;
  while (Call* const call = all.pop_front()) {
    counters_.refused.add();
    calls_.subtract();
    call->finish(why.clone());
  }
  count();
}

void Pool::connected(Connection&) noexcept {
  counters_.connects.add();
  const bool is_again = unreachable_.has_value();
  if (is_again) log::Logger("db").info("the database can be reached again");
  unreachable_.reset();
  if (is_again && settings_.on_outage) settings_.on_outage();
  schedule();
}

void Pool::rejected(const Call& call, const Error& error) noexcept {
  // The call comes from check_writes(), so it is already known that the server cannot write.
  if (call.is_check) return counters_.checks_failed.add();
  counters_.failures.add();
  if (is_disk_error(error)) counters_.disk_errors.add();
  if (!is_disk_error(error) && !is_read_only_error(error)) return;
  if (!settings_.cannot_write.exchange(true, std::memory_order_relaxed) && settings_.on_outage) settings_.on_outage();
}

void Pool::disconnected(const Error* why) noexcept {
  count();
  if (why == nullptr) return;
  for (const auto& connection : connections_) {
    if (connection->is_connected()) return;
  }
  const bool was_reached = !unreachable_;
  unreachable_ =
      Error::text(Code::Unavailable, "the database cannot be reached: " + why->describe()).from_environment();
  // Each worker logs an outage once.
  if (was_reached) log::Logger("db").warn("the database cannot be reached; trying again", *why);
  fail_waiting(*unreachable_);
  if (was_reached && settings_.on_outage) settings_.on_outage();
}

void Pool::send_again(Call& call) noexcept {
  again_.push_back(call);
  ++waiting_count_;
  schedule();
}

void Pool::end_if_done() noexcept {
  if (!waiting_.empty() || !again_.empty()) return;
  for (const auto& connection : connections_) {
    if (connection->is_free() || !connection->is_connected()) connection->end();
  }
  bool is_listened_to = false;
  listenings_.for_each([&](Listening& listening) { is_listened_to = is_listened_to || listening.is_used(); });
  if (is_listened_to) return;
  // The pool has ended if no connection has begun, or all connections have ended.
  if (std::all_of(connections_.begin(), connections_.end(), [](const auto& one) { return one->has_ended(); })) {
    has_ended_.store(true, std::memory_order_release);
  }
}

void Pool::ended(Connection&) noexcept { schedule(); }

}  // namespace keel::db::postgres::internal
