#include "keel/db/sqlite/writer.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <string>

#include "keel/base/check.h"

namespace keel::db::sqlite {
namespace {

// An infinite time cannot be added to a clock, and no caller needs a longer time than this.
constexpr Duration hold_limit = 1_h;
// The pauses between attempts to take the lock while another process has it; the last pause is repeated.
constexpr Duration lock_delays[] = {1_ms, 2_ms, 5_ms, 10_ms, 20_ms, 50_ms};
constexpr int lock_delays_count = static_cast<int>(std::size(lock_delays));
constexpr log::Message writes_again = "the disk accepts writes again";
constexpr const char* held_too_long = "the transaction held the writer for too long and was rolled back";
constexpr const char* waits_for_itself =
    "this write would wait for the transaction that its own task holds: "
    "run it on the transaction instead of the database, or after commit()";

// Numbers are unique across all writers, so that the task that holds one writer is not mistaken for the holder of
// another.
std::atomic<std::uint64_t> transactions_begun{0};

void mark_begun(Write& write) noexcept {
  write.state = Write::State::Begun;
  if (write.is_timed) write.begun = Host::current().now();
}

}  // namespace

Writer::Writer(std::unique_ptr<Connection> connection, const WriterOptions& options, Executor* executor)
    : connection_(std::move(connection)),
      options_(options),
      lock_timeout_(connection_->busy_timeout()),
      executor_(executor),
      log_("db.writer"),
      sleeping_(executor != nullptr) {}

Writer::~Writer() { stop(); }

Result<> Writer::start() {
  KEEL_CHECK(thread_ == nullptr, "a writer can be started only once");
  const auto prepare = [this](Statement& statement, const char* text) -> Result<> {
    KEEL_TRY(statement, connection_->prepare_control(text));
    return {};
  };
  KEEL_TRY_VOID(prepare(begin_, "begin immediate"));
  KEEL_TRY_VOID(prepare(commit_, "commit"));
  KEEL_TRY_VOID(prepare(roll_back_, "rollback"));
  KEEL_TRY_VOID(prepare(savepoint_, "savepoint keel_write"));
  KEEL_TRY_VOID(prepare(release_, "release keel_write"));
  KEEL_TRY_VOID(prepare(roll_back_to_, "rollback to keel_write"));
  // Callers that wait for a commit are notified before the due checkpoint runs.
  connection_->wal().defer();
  // The writer itself waits for the lock, so SQLite must not wait.
  connection_->set_busy_timeout(Duration());
  if (executor_ == nullptr) thread_ = Host::current().start_thread("db-writer", [this] { work(); });
  return {};
}

void Writer::stop() noexcept {
  {
    std::lock_guard lock(mutex_);
    KEEL_CHECK(executor_ == nullptr || (sleeping_ && queue_.empty() && !holds_ && !timer_.is_running()),
               "a database on an executor must be idle when it is closed");
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_ != nullptr) thread_->join();
  thread_.reset();
  if (connection_ != nullptr) {
    // The checkpoint is best effort: pages that cannot be moved now stay in the WAL, and the next start finds them
    // there.
    connection_->set_busy_timeout(100_ms);
    (void)connection_->checkpoint().is_ok();
    for (Statement* statement : {&begin_, &commit_, &roll_back_, &savepoint_, &release_, &roll_back_to_}) {
      *statement = Statement();
    }
    connection_.reset();
  }
}

bool Writer::push(Write& write) noexcept {
  std::lock_guard lock(mutex_);
  if (write.transaction != 0) {
    if (held_ != write.transaction || dropped_) {
      write.result = write.transaction == expired_ ? fail(Code::DeadlineExceeded, held_too_long)
                                                   : fail(Code::Conflict, "the transaction has ended");
      return false;
    }
    held_queue_.push_back(write);
  } else {
    if (stopping_) {
      write.result = fail(Code::Unavailable, "the database is closing");
      return false;
    }
    if (stats_.queued >= options_.queued_max) {
      ++stats_.refused;
      write.result = fail(Code::ResourceExhausted, "the queue of writes is full");
      return false;
    }
    if (held_ != 0 && !dropped_ && write.context != nullptr && write.context->holds(held_number(held_))) {
      write.result = fail(Code::Internal, waits_for_itself);
      return false;
    }
    write.locked_until = Host::current().now() + lock_timeout_;
    write.has_waited = !sleeping_ || holds_ || (!queue_.empty() && queue_.front().kind == Write::Kind::Begin);
    queue_.push_back(write);
    ++stats_.queued;
  }
  write.state = Write::State::Queued;
  if (sleeping_) wake();
  return true;
}

bool Writer::withdraw(Write& write) noexcept {
  std::lock_guard lock(mutex_);
  if (write.state != Write::State::Queued) return false;
  write.unlink();
  if (write.transaction == 0) --stats_.queued;
  write.state = Write::State::Idle;
  return true;
}

void Writer::drop(std::uint64_t transaction) noexcept {
  std::lock_guard lock(mutex_);
  if (held_ != transaction) return;
  dropped_ = true;
  if (sleeping_) wake();
}

WriterStats Writer::stats() const noexcept {
  std::lock_guard lock(mutex_);
  return stats_;
}

bool Writer::is_idle() const noexcept {
  std::lock_guard lock(mutex_);
  return sleeping_ && queue_.empty() && !holds_ && !timer_.is_running();
}

void Writer::wake() noexcept {
  if (executor_ == nullptr) {
    wake_.notify_one();
    return;
  }
  sleeping_ = false;
  executor_->post(job_);
}

// Does one step on an executor, and posts a job for the next step if there is more to do.
void Writer::run_job() noexcept {
  Lock lock(mutex_);
  if (has_work()) step(lock);
  sleeping_ = true;
  if (has_work()) wake();
}

void Writer::on_timer() noexcept {
  Lock lock(mutex_);
  if (sleeping_) wake();
}

bool Writer::has_work() const noexcept {
  if (holds_) return dropped_ || !held_queue_.empty() || Host::current().now() >= hold_until_;
  return !queue_.empty() && (lock_retries_ == 0 || Host::current().now() >= retry_at_);
}

void Writer::work() noexcept {
  Lock lock(mutex_);
  while (true) {
    sleeping_ = true;
    if (holds_) {
      const Duration left = hold_until_ - Host::current().now();
      wake_.wait_for(lock, std::chrono::nanoseconds(left.count_ns()),
                     [this] { return dropped_ || !held_queue_.empty(); });
    } else if (lock_retries_ != 0 && !queue_.empty()) {
      sleeping_ = false;  // A write that arrives before the retry must wait for the lock, too.
      wake_.wait_for(lock, std::chrono::nanoseconds((retry_at_ - Host::current().now()).count_ns()));
    } else {
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    }
    sleeping_ = false;
    if (holds_ || !queue_.empty()) {
      step(lock);
    } else if (stopping_) {
      return;
    }
  }
}

// Does the next piece of work: it commits a group, or runs one statement of the interactive transaction.
void Writer::step(Lock& lock) noexcept {
  if (holds_) return step_held(lock);
  if (timer_.is_running()) Host::current().stop_timer(timer_);
  // The writer takes the database's lock before it takes the group from the queue, because a write can be withdrawn
  // while it is in the queue.
  lock.unlock();
  Result<> begun = begin_.run();
  const bool is_locked = !begun && (sqlite3_errcode(connection_->handle()) & 0xff) == SQLITE_BUSY;
  const bool disk_failed = !begun && outcome_of_error() == Outcome::DiskFailed;
  lock.lock();
  if (is_locked) {
    wait_for_lock(lock, begun.error());
    return;
  }
  lock_retries_ = 0;
  Writes group;
  const bool alone = take_group(group);
  lock.unlock();
  if (!begun) {
    if (disk_failed) count_disk_error(are_checks(group));
    fail_all(group, begun.error());
  } else if (group.empty()) {
    roll_back();
  } else if (alone) {
    begin_hold(*group.pop_front());
  } else {
    commit_group(group);
  }
  connection_->wal().checkpoint_if_due();
  lock.lock();
  note_wal();
}

void Writer::take_from_queue(Write& write) noexcept {
  mark_begun(write);
  --stats_.queued;
  if (!write.has_waited) return;
  ++stats_.waits;
  stats_.wait_time = stats_.wait_time + (Host::current().now() - (write.locked_until - lock_timeout_));
}

// Moves writes from the queue to `group`; returns true if the last of them begins an interactive transaction.
bool Writer::take_group(Writes& group) noexcept {
  for (int i = 0; i < options_.group_max && !queue_.empty(); ++i) {
    const bool begins = queue_.front().kind == Write::Kind::Begin;
    if (begins && i > 0) break;
    Write* write = queue_.pop_front();
    take_from_queue(*write);
    group.push_back(*write);
    if (begins) return true;
  }
  return false;
}

// Another process has the lock. Writes whose time limit has passed fail with `error`; the other writes continue to
// wait.
void Writer::wait_for_lock(Lock& lock, const Error& error) noexcept {
  const Instant now = Host::current().now();
  Writes late;
  while (!queue_.empty() && queue_.front().locked_until <= now) {
    Write* write = queue_.pop_front();
    write->has_waited = true;
    take_from_queue(*write);
    ++stats_.late;
    late.push_back(*write);
  }
  if (queue_.empty()) {
    lock_retries_ = 0;
  } else {
    const Duration delay = lock_delays[std::min(lock_retries_, lock_delays_count - 1)];
    retry_at_ = std::min(now + delay, queue_.front().locked_until);
    lock_retries_ = std::min(lock_retries_ + 1, lock_delays_count);
    if (executor_ != nullptr) Host::current().start_timer(timer_, retry_at_);
  }
  lock.unlock();
  fail_all(late, error);
  lock.lock();
}

void Writer::count_disk_error(bool of_checks) noexcept {
  bool begins = false;
  {
    std::lock_guard lock(mutex_);
    if (!of_checks) ++stats_.disk_errors;
    begins = !std::exchange(stats_.disk_fails, true);
  }
  if (begins) {
    log_.error("the disk does not accept writes; writes fail until the disk accepts them again",
               log::field("reason", disk_error_));
    disk_has_changed();
  }
}

void Writer::watch(Function<void()> on_change) noexcept {
  std::lock_guard lock(mutex_);
  on_change_ = std::move(on_change);
}

void Writer::disk_has_changed() noexcept {
  const Function<void()>* on_change = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (!stats_.disk_fails) log_.info(writes_again);
    if (on_change_) on_change = &on_change_;
  }
  if (on_change != nullptr) (*on_change)();
}

void Writer::begin_hold(Write& begin) noexcept {
  hold_until_ = Host::current().now() + std::min(options_.hold_max, hold_limit);
  if (executor_ != nullptr) Host::current().start_timer(timer_, hold_until_);
  {
    std::lock_guard lock(mutex_);
    held_place_ = begin.place;
    held_ = ++transactions_begun;
    holds_ = true;
    dropped_ = false;
    savepoints_.clear();
    undo_to_ = 0;
    begin.transaction = held_;
  }
  finish(begin);
}

void Writer::step_held(Lock& lock) noexcept {
  Write* write = nullptr;
  std::uint64_t undo_to = 0;
  if (!dropped_) {
    if (Host::current().now() >= hold_until_) {
      ++stats_.expired;
      expired_ = held_;
    } else {
      write = held_queue_.pop_front();
      if (write == nullptr) return;
      mark_begun(*write);
      undo_to = std::exchange(undo_to_, 0);
    }
  }
  const bool has_expired = write == nullptr && !dropped_;
  lock.unlock();
  if (has_expired) {
    log_.warn("a transaction was rolled back, because it kept all other writes waiting for hold_max",
              log::field("begun_at", fmt::format("{}:{}", held_place_.file_name(), held_place_.line())));
  }
  if (write == nullptr || !serve_held(*write, undo_to)) {
    end_hold();
    connection_->wal().checkpoint_if_due();
  }
  lock.lock();
  note_wal();
}

void Writer::end_hold() noexcept {
  if (executor_ != nullptr) Host::current().stop_timer(timer_);
  roll_back();
  Writes late;
  {
    std::lock_guard lock(mutex_);
    held_ = 0;
    holds_ = false;
    while (Write* write = held_queue_.pop_front()) {
      mark_begun(*write);
      late.push_back(*write);
    }
  }
  fail_all(late, Error(Code::DeadlineExceeded, held_too_long));
}

// Returns false if the transaction has ended.
bool Writer::serve_held(Write& write, std::uint64_t undo_to) noexcept {
  bool lost = false;
  if (undo_to != 0) {
    write.result = undo_savepoints(savepoints_from(undo_to));
    lost = !write.result;
  }
  if (!lost && write.kind == Write::Kind::Commit) {
    commit_held(write);
    return false;
  }
  if (!lost) {
    const std::int64_t before = connection_->total_changes();
    write.result = run(write);
    // SQLite undoes a statement that fails, but not a statement that Keel ended because its rows were too large.
    const bool stays = !write.result && write.result.error().code() == Code::ResourceExhausted &&
                       sqlite3_errcode(connection_->handle()) == SQLITE_OK && connection_->total_changes() != before;
    lost = stays || connection_->is_autocommit();
    if (lost && write.result) write.result = fail(Code::Conflict, "an error in a statement ended the transaction");
  }
  if (lost) {
    std::lock_guard lock(mutex_);
    held_ = 0;
  }
  finish(write);
  return !lost;
}

void Writer::note_wal() noexcept {
  stats_.wal_pages = connection_->wal().pages();
  stats_.checkpoints = connection_->wal().checkpoints();
}

void Writer::acknowledge(Writes& group, std::uint64_t committed) noexcept {
  if (committed != 0) committed_.fetch_add(1, std::memory_order_acq_rel);
  bool recovers = false;
  {
    std::lock_guard lock(mutex_);
    stats_.writes += committed;
    if (committed != 0) {
      ++stats_.groups;
      note_wal();
      recovers = std::exchange(stats_.disk_fails, false);
    }
    stats_.group_max = std::max(stats_.group_max, committed);
  }
  if (recovers) disk_has_changed();
  finish_all(group);
}

void Writer::fail_all(Writes& group, const Error& error) noexcept {
  group.for_each([&](Write& write) { write.result = error.clone(); });
  finish_all(group);
}

// Posts the writes of each executor together, so that each executor is woken once.
void Writer::finish_all(Writes& group) noexcept {
  while (Write* write = group.pop_front()) {
    Executor* const home = write->home;
    Job* const first = write->done;
    Job* last = first;
    std::uint64_t failed[2] = {};  // Checks: the second.
    if (!write->result) ++failed[write->is_check];
    group.for_each([&](Write& other) {
      if (other.home != home) return;
      if (!other.result) ++failed[other.is_check];
      group.remove(other);
      last->next = other.done;
      last = other.done;
    });
    if (failed[0] + failed[1] != 0) count_failed(failed[0], failed[1]);
    home->post_all(*first, *last);  // Destroyed after this.
  }
}

void Writer::finish(Write& write) noexcept {
  if (!write.result) count_failed(write.is_check ? 0 : 1, write.is_check ? 1 : 0);
  write.home->post(*write.done);  // Destroyed after this.
}

void Writer::count_failed(std::uint64_t writes, std::uint64_t checks) noexcept {
  std::lock_guard lock(mutex_);
  stats_.failed += writes;
  stats_.checks_failed += checks;
}

}  // namespace keel::db::sqlite
