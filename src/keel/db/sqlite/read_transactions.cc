#include "keel/db/sqlite/read_transactions.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "keel/base/host.h"
#include "keel/observe/log.h"

namespace keel::db::sqlite {
namespace {

void end_on(Connection& connection) noexcept {
  if (!connection.is_autocommit()) static_cast<void>(connection.run_script("rollback").has_value());
}

}  // namespace

Result<std::uint64_t> ReadTransactions::begin(std::unique_ptr<Connection>& connection, std::source_location place) {
  if (count() >= transactions_max) {
    return fail(Code::ResourceExhausted, "the limit on open read-only transactions is reached");
  }
  // The first read in the transaction takes the snapshot, so begin() includes a read.
  if (Result<> begun = connection->run_script("begin; select count(*) from sqlite_schema"); !begun) {
    end_on(*connection);
    return std::move(begun).error();
  }
  std::lock_guard lock(mutex_);
  const std::uint64_t number = bit | ++begun_;
  Open& open = open_[number];
  open.connection = std::move(connection);
  open.place = place;
  open.begun = Host::current().now();
  return number;
}

ReadTransactions::Open* ReadTransactions::find(std::uint64_t transaction) noexcept {
  const auto found = open_.find(transaction);
  return found == open_.end() || found->second.has_ended ? nullptr : &found->second;
}

Result<std::unique_ptr<Connection>> ReadTransactions::take(std::uint64_t transaction) {
  std::lock_guard lock(mutex_);
  Open* const open = find(transaction);
  if (open == nullptr || open->connection == nullptr) return fail(Code::Conflict, "the transaction has ended");
  return std::move(open->connection);
}

std::unique_ptr<Connection> ReadTransactions::give_back(std::uint64_t transaction,
                                                        std::unique_ptr<Connection> connection) {
  {
    std::lock_guard lock(mutex_);
    if (Open* const open = find(transaction)) {
      open->connection = std::move(connection);
      return nullptr;
    }
    open_.erase(transaction);
  }
  end_on(*connection);
  return connection;
}

std::unique_ptr<Connection> ReadTransactions::end(std::uint64_t transaction) noexcept {
  std::unique_ptr<Connection> connection;
  {
    std::lock_guard lock(mutex_);
    Open* const open = find(transaction);
    if (open == nullptr) return nullptr;
    if (open->connection == nullptr) {
      open->has_ended = true;
      return nullptr;
    }
    connection = std::move(open->connection);
    open_.erase(transaction);
  }
  end_on(*connection);
  return connection;
}

bool ReadTransactions::is_open(std::uint64_t transaction) const noexcept {
  std::lock_guard lock(mutex_);
  return const_cast<ReadTransactions*>(this)->find(transaction) != nullptr;
}

Result<std::uint64_t> ReadTransactions::savepoint(std::uint64_t transaction) {
  std::lock_guard lock(mutex_);
  Open* const open = find(transaction);
  if (open == nullptr) return fail(Code::Conflict, "the transaction has ended");
  open->savepoints.push_back(open->next_savepoint);
  return open->next_savepoint++;
}

bool ReadTransactions::release(std::uint64_t transaction, std::uint64_t savepoint) noexcept {
  std::lock_guard lock(mutex_);
  Open* const open = find(transaction);
  if (open == nullptr) return false;
  const auto found = std::find(open->savepoints.begin(), open->savepoints.end(), savepoint);
  if (found == open->savepoints.end()) return false;
  open->savepoints.erase(found, open->savepoints.end());
  return true;
}

std::size_t ReadTransactions::count() const noexcept {
  std::lock_guard lock(mutex_);
  return open_.size();
}

Duration ReadTransactions::age() const noexcept {
  std::lock_guard lock(mutex_);
  if (open_.empty()) return {};
  return Host::current().now() - open_.begin()->second.begun;  // Their numbers increase.
}

Duration ReadTransactions::warn_of_held(Duration limit) noexcept {
  const Instant now = Host::current().now();
  std::lock_guard lock(mutex_);
  for (auto& [number, open] : open_) {
    if (open.is_logged || open.has_ended) continue;
    if (now - open.begun < limit) return open.begun + limit - now;
    open.is_logged = true;
    log::Logger("db").warn("a transaction has been open for longer than held_warning: commit it earlier, or destroy it",
                           log::field("begun_at", fmt::format("{}:{}", open.place.file_name(), open.place.line())));
  }
  return {};
}

void ReadTransactions::clear() noexcept {
  std::lock_guard lock(mutex_);
  open_.clear();
}

}  // namespace keel::db::sqlite
