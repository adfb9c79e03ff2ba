// The part of Writer for the savepoints of an interactive transaction. In SQLite all savepoints have the same name,
// which SQLite resolves to the innermost savepoint.

#include <algorithm>

#include "keel/db/sqlite/writer.h"

namespace keel::db::sqlite {

void Writer::drop(std::uint64_t transaction, std::uint64_t savepoint) noexcept {
  std::lock_guard lock(mutex_);
  if (held_ != transaction || savepoints_from(savepoint) == 0) return;
  undo_to_ = undo_to_ == 0 ? savepoint : std::min(undo_to_, savepoint);
}

// The number of open savepoints from this savepoint to the innermost one; 0 if this savepoint has ended.
std::size_t Writer::savepoints_from(std::uint64_t savepoint) const noexcept {
  const auto found = std::find(savepoints_.begin(), savepoints_.end(), savepoint);
  return static_cast<std::size_t>(savepoints_.end() - found);
}

Result<> Writer::run_savepoint(Write& write) {
  {
    std::lock_guard lock(mutex_);
    savepoints_.reserve(savepoints_.size() + 1);
  }
  KEEL_TRY_VOID(savepoint_.run());
  std::lock_guard lock(mutex_);
  write.savepoint = ++savepoints_begun_;
  savepoints_.push_back(write.savepoint);
  return {};
}

// Releases the innermost `count` savepoints and keeps their changes.
Result<> Writer::end_savepoints(std::size_t count) noexcept {
  for (; count != 0; --count) {
    KEEL_TRY_VOID(release_.run());
    std::lock_guard lock(mutex_);
    savepoints_.pop_back();
  }
  return {};
}

Result<> Writer::run_release(Write& write) noexcept {
  const std::size_t count = savepoints_from(write.savepoint);
  if (count == 0) return fail(Code::Conflict, "the savepoint has ended");
  return end_savepoints(count);
}

// Rolls back the innermost `count` savepoints, to the state in which the outermost of them was made.
Result<> Writer::undo_savepoints(std::size_t count) noexcept {
  KEEL_TRY_VOID(end_savepoints(count - 1));
  KEEL_TRY_VOID(roll_back_to_.run());
  return end_savepoints(1);
}

}  // namespace keel::db::sqlite
