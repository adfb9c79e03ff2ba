#include "keel/db/migrations.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "keel/base/ascii.h"
#include "keel/base/host.h"
#include "keel/db/internal/sha256.h"

namespace keel::db {
namespace {

namespace fs = std::filesystem;

std::string checksum_of(std::string_view text) {
  std::string digits;
  for (const std::uint8_t byte : sha256(text)) digits += fmt::format("{:02x}", byte);
  return digits;
}

// The FNV-1a hash: the table may still contain checksums of this kind, which an earlier version of this library wrote.
std::string former_checksum_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

template <class... A>
Error refuse(Code code, fmt::format_string<A...> text, A&&... arguments) {
  return Error::text(code, fmt::format(text, std::forward<A>(arguments)...));
}

// The number NNNN in NNNN_name.sql; 0 when the name does not have this form.
int version_of(std::string_view name) {
  if (name.size() < 10 || name[4] != '_' || !name.ends_with(".sql")) return 0;
  int version = 0;
  for (const char c : name.substr(0, 4)) {
    if (!ascii::is_digit(c)) return 0;
    version = version * 10 + (c - '0');
  }
  return version;
}

constexpr std::string_view migration_databases[] = {"sqlite", "postgres"};
constexpr std::string_view down_suffix = ".down.sql";
constexpr std::string_view no_transaction = "-- keel: no transaction";

bool has_no_transaction(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
  return line == no_transaction;
}

// The file name with another number.
std::string renumbered(std::string_view name, int version) { return fmt::format("{:04}{}", version, name.substr(4)); }

Result<std::string> read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Error::from_errno("open", errno);
  std::string text;
  char piece[16 * 1024];
  ssize_t got = 0;
  while ((got = ::read(fd, piece, sizeof piece)) > 0) text.append(piece, static_cast<std::size_t>(got));
  const int error = errno;
  ::close(fd);
  if (got < 0) return Error::from_errno("read", error);
  return text;
}

Result<> write_new_file(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return Error::from_errno("open", errno).because("migrations: " + path);
  const ssize_t written = ::write(fd, text.data(), text.size());
  const int error = written < 0 ? errno : ENOSPC;
  ::close(fd);
  if (written != static_cast<ssize_t>(text.size()))
    return Error::from_errno("write", error).because("migrations: " + path);
  return {};
}

// The parts of the name of a migration's file; the stem of 0001_users.sql, 0001_users.postgres.sql, 0001_users.down.sql
// and 0001_users.sqlite.down.sql is "0001_users".
struct FileName {
  std::string_view stem;
  std::string_view database;  // If not "", the file is only for this database.
  bool is_down = false;
};
FileName file_name(std::string_view name) {
  FileName parts;
  const auto take = [&](std::string_view suffix) {
    if (!name.ends_with(suffix)) return false;
    name.remove_suffix(suffix.size());
    return true;
  };
  parts.is_down = take(down_suffix);
  if (!parts.is_down) take(".sql");
  for (const std::string_view database : migration_databases) {
    if (!name.ends_with(database)) continue;
    const std::string_view stem = name.substr(0, name.size() - database.size());
    if (stem.size() < 7 || !stem.ends_with('.')) continue;
    parts.database = database;
    name = stem.substr(0, stem.size() - 1);
    break;
  }
  parts.stem = name;
  return parts;
}

// The files that have the same number and name: the file for every database, and the file for this database.
struct Versions {
  std::optional<Migration> common;
  std::optional<Migration> own;
  std::string other;  // The name of a file that is only for another database.
};

Result<std::map<std::string, Versions>> read_files(const std::string& folder, std::string_view database, bool is_down) {
  std::error_code error;
  fs::directory_iterator files(folder, error);
  if (error) return Error::from_errno("", error.value()).as(Code::NotFound).because("migrations: " + folder);
  std::map<std::string, Versions> found;
  for (const fs::directory_entry& file : files) {
    Migration migration;
    migration.name = file.path().filename().string();
    if (migration.name.starts_with('.')) continue;
    migration.version = version_of(migration.name);
    if (migration.version == 0) {
      return refuse(Code::InvalidArgument,
                    "migrations: {}: the files must be named NNNN_name.sql, with numbers from "
                    "0001",
                    file.path().string());
    }
    const FileName name = file_name(migration.name);
    if (name.is_down != is_down) continue;
    Versions& versions = found[std::string(name.stem)];
    if (!name.database.empty() && name.database != database) {
      versions.other = migration.name;
      continue;
    }
    KEEL_TRY(migration.text, read_file(file.path().string()).because("migrations: " + file.path().string()));
    migration.checksum = checksum_of(migration.text);
    migration.has_transaction = !has_no_transaction(migration.text);
    (name.database.empty() ? versions.common : versions.own) = std::move(migration);
  }
  return found;
}

Result<> check_numbers(const std::vector<Migration>& found, const std::string& folder) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    const int expected = static_cast<int>(i) + 1;
    if (found[i].version == expected) continue;
    if (i > 0 && found[i].version == found[i - 1].version) {
      return refuse(
          Code::InvalidArgument,
          "migrations: {} and {} have the same number: give the later one the next free number: mv {}/{} {}/{}",
          found[i - 1].name, found[i].name, folder, found[i].name, folder,
          renumbered(found[i].name, found.back().version + 1));
    }
    return refuse(Code::InvalidArgument,
                  "migrations: {} follows number {:04}, so {:04} is missing: files must be numbered without gaps",
                  found[i].name, expected - 1, expected);
  }
  return {};
}

Result<std::vector<Migration>> read_folder(const std::string& folder, std::string_view database) {
  KEEL_TRY(auto ups, read_files(folder, database, false));
  std::vector<Migration> found;
  for (auto& [stem, versions] : ups) {
    if (versions.own || versions.common) {
      found.push_back(versions.own ? *std::move(versions.own) : *std::move(versions.common));
    } else if (!database.empty()) {
      return refuse(
          Code::InvalidArgument,
          "migrations: {} is for another database, and there is no {}.{}.sql: write that file, even if it contains "
          "only a comment",
          versions.other, stem, database);
    } else {
      found.push_back({});
      found.back().name = versions.other;
      found.back().version = version_of(versions.other);
    }
  }
  KEEL_TRY_VOID(check_numbers(found, folder));
  KEEL_TRY(auto downs, read_files(folder, database, true));
  for (auto& [stem, versions] : downs) {
    const auto of = std::ranges::find_if(found, [&](const Migration& up) { return file_name(up.name).stem == stem; });
    const std::string& name = versions.own      ? versions.own->name
                              : versions.common ? versions.common->name
                                                : versions.other;
    if (of == found.end()) {
      return refuse(Code::InvalidArgument,
                    "migrations: {} undoes {}.sql, which does not exist: rename it after the file that it should undo",
                    name, stem);
    }
    if (!versions.own && !versions.common) continue;
    Migration down = versions.own ? *std::move(versions.own) : *std::move(versions.common);
    if (!down.has_transaction) {
      return refuse(Code::InvalidArgument,
                    "migrations: {}: a file that undoes another one always runs in one transaction: remove \"{}\"",
                    down.name, no_transaction);
    }
    of->down_name = std::move(down.name);
    of->down_text = std::move(down.text);
  }
  return found;
}

// Makes the error for a row of the table for which there is no matching file.
Error missing_file(std::string_view name, int version, const std::vector<Migration>& migrations) {
  if (version < 1 || static_cast<std::size_t>(version) > migrations.size()) {
    return refuse(Code::FailedPrecondition,
                  "migrations: {} was applied to this database, but its file is missing: run a program that contains "
                  "the file, or restore the file, for example with git checkout",
                  name);
  }
  const std::string& other = migrations[static_cast<std::size_t>(version) - 1].name;
  return refuse(Code::FailedPrecondition,
                "migrations: {} was applied to this database, but its file is missing, and {} has the same number. If "
                "the second file is new, restore the missing file, and give the new file the next number: mv {} {}",
                name, other, other, renumbered(other, migrations.back().version + 1));
}

// Checks that the applied rows match the files; returns the version that the database has reached. Rows whose checksum
// is of the old kind get a checksum of the new kind. `may_differ`: the file that was applied last may have changed
// since.
Result<int> check_applied(MigrationTarget& target, const std::vector<Migration>& migrations, bool may_differ = false) {
  int reached = 0;
  Result<> agrees;
  // The error for the row that was checked last; it is dropped if no other row follows and `may_differ` is set.
  Result<> changed;
  std::vector<const Migration*> former;
  auto check = [&](int version, std::string_view name, std::string_view checksum) {
    reached = version;
    if (agrees && !changed) agrees = std::move(changed);
    if (!agrees) return;
    if (version < 1 || static_cast<std::size_t>(version) > migrations.size() ||
        file_name(migrations[static_cast<std::size_t>(version) - 1].name).stem != file_name(name).stem) {
      agrees = missing_file(name, version, migrations);
      return;
    }
    const Migration& file = migrations[static_cast<std::size_t>(version) - 1];
    const bool is_former = checksum.size() == 16;
    const std::string expected = is_former ? former_checksum_of(file.text) : file.checksum;
    if (is_former) former.push_back(&file);
    if (expected != checksum) {
      changed =
          refuse(Code::FailedPrecondition,
                 "migrations: {} has changed since it was applied (its checksum is {}, but was {}): write a new file "
                 "with keel migrate new, and restore this one, for example with git checkout{}",
                 file.name, expected, checksum,
                 file.down_name.empty() ? "" : "; or apply it again with keel migrate redo, if it is the last one");
    }
  };
  KEEL_TRY_VOID(target.for_each_applied(check));
  if (agrees && !changed && !may_differ) agrees = std::move(changed);
  KEEL_TRY_VOID(std::move(agrees));
  for (const Migration* file : former) KEEL_TRY_VOID(target.set_checksum(*file));
  return reached;
}

// Adds the file's name and line to an error.
Error in_file(std::string_view name, int line, const Error& error) {
  if (line == 0) return refuse(error.code(), "migrations: {}: {}", name, error.message());
  return refuse(error.code(), "migrations: {}:{}: {}", name, line, error.message());
}

Result<> run(MigrationTarget& target, const Migration& migration) {
  int line = 0;
  if (Result<> done = target.run(migration, line); !done) return in_file(migration.name, line, done.error());
  return {};
}

std::int64_t now_sec() { return Host::current().wall_ns() / 1'000'000'000; }

// Runs the statements of a file that has no transaction: rolls back the current transaction before the statements, and
// begins a new transaction after them.
Result<> run_steps(MigrationTarget& target, const Migration& migration) {
  KEEL_TRY_VOID(target.roll_back());
  int line = 0;
  Result<bool> more = true;
  while (more && *more) more = target.run_step(migration, line);
  if (!more) return in_file(migration.name, line, more.error());
  return target.begin();
}

// Runs `work` in a transaction, which is committed if `work` returns true.
template <class F>
Result<bool> in_transaction(MigrationTarget& target, F work) {
  Result<bool> done = [&]() -> Result<bool> {
    KEEL_TRY_VOID(target.begin());
    return work();
  }();
  if (done) {
    if (Result<> committed = target.commit(); !committed) done = std::move(committed).error();
  }
  KEEL_TRY_VOID(target.roll_back());
  return done;
}

// In one transaction, takes the lock, checks what other processes have applied, and applies the next file. Returns
// false if there are no more files to apply.
Result<bool> apply_next(MigrationTarget& target, const std::vector<Migration>& migrations, int last, int& version) {
  return in_transaction(target, [&]() -> Result<bool> {
    KEEL_TRY(version, check_applied(target, migrations));
    if (version >= last) return false;
    const Migration& next = migrations[static_cast<std::size_t>(version)];
    if (next.has_transaction) {
      KEEL_TRY_VOID(run(target, next));
    } else {
      KEEL_TRY_VOID(run_steps(target, next));
      // Meanwhile another process may have run the last statement and recorded the file.
      KEEL_TRY(const int reached, check_applied(target, migrations));
      if (reached >= next.version) {
        version = reached;
        return true;
      }
    }
    KEEL_TRY_VOID(target.record(next, now_sec()));
    ++version;
    return true;
  });
}

// Undoes the file that was applied last, in the current transaction. Returns false if no file is applied.
Result<bool> undo(MigrationTarget& target, const std::vector<Migration>& migrations, bool may_differ, int& version) {
  KEEL_TRY(version, check_applied(target, migrations, may_differ));
  if (version == 0) return false;
  const Migration& last = migrations[static_cast<std::size_t>(version) - 1];
  if (last.down_name.empty()) {
    return refuse(Code::FailedPrecondition,
                  "migrations: {} cannot be undone: there is no {}{}; write it, or undo the change in a new file "
                  "(keel migrate new)",
                  last.name, last.name.substr(0, last.name.size() - 4), down_suffix);
  }
  if (static_cast<std::size_t>(version) < migrations.size() &&
      !migrations[static_cast<std::size_t>(version)].has_transaction) {
    KEEL_TRY(const int steps, target.steps_done(migrations[static_cast<std::size_t>(version)]));
    if (steps != 0) {
      return refuse(Code::FailedPrecondition,
                    "migrations: {}, which comes after {}, is only half applied: finish it first with keel migrate up",
                    migrations[static_cast<std::size_t>(version)].name, last.name);
    }
  }
  Migration down = last;
  down.name = last.down_name;
  down.text = last.down_text;
  KEEL_TRY_VOID(run(target, down));
  KEEL_TRY_VOID(target.forget(last));
  --version;
  return true;
}

// Runs `work` between prepare() and finish().
template <class F>
auto prepared(MigrationTarget& target, F work) -> decltype(work()) {
  KEEL_TRY_VOID(target.prepare());
  auto done = work();
  KEEL_TRY_VOID(target.finish());
  return done;
}

}  // namespace

MigrationTarget::~MigrationTarget() = default;
std::string_view MigrationTarget::database() const { return {}; }
Result<> MigrationTarget::forget(const Migration&) {
  return fail(Code::Unsupported, "this database cannot undo migrations");
}
Result<std::int64_t> MigrationTarget::applied_at(const Migration&) { return 0; }
Result<bool> MigrationTarget::run_step(const Migration&, int&) {
  return fail(Code::Unsupported, "this database runs all files in transactions");
}
Result<int> MigrationTarget::steps_done(const Migration&) { return 0; }

Result<Migrated> migrate(MigrationTarget& target, const std::string& folder, int last) {
  KEEL_TRY(const std::vector<Migration> migrations, read_folder(folder, target.database()));
  const int count = static_cast<int>(migrations.size());
  if (last < 0 || last > count) {
    return refuse(Code::InvalidArgument, "migrations: {} has no file number {:04}: its last file is number {:04}",
                  folder, last, count);
  }
  return prepared(target, [&]() -> Result<Migrated> {
    Migrated migrated;
    Result<bool> more = true;
    while (more && *more) {
      more = apply_next(target, migrations, last == 0 ? count : last, migrated.version);
      if (more && *more) ++migrated.applied;
    }
    if (!more) return std::move(more).error();
    return migrated;
  });
}

Result<Migrated> migrate_down(MigrationTarget& target, const std::string& folder, int count) {
  KEEL_TRY(const std::vector<Migration> migrations, read_folder(folder, target.database()));
  return prepared(target, [&]() -> Result<Migrated> {
    Migrated migrated;
    Result<bool> more = true;
    while (more && *more && migrated.applied < count) {
      more = in_transaction(target, [&] { return undo(target, migrations, false, migrated.version); });
      if (more && *more) ++migrated.applied;
    }
    if (!more) return std::move(more).error();
    return migrated;
  });
}

Result<Migrated> migrate_redo(MigrationTarget& target, const std::string& folder) {
  KEEL_TRY(const std::vector<Migration> migrations, read_folder(folder, target.database()));
  return prepared(target, [&]() -> Result<Migrated> {
    int version = 0;
    bool is_applied = false;
    // The file is undone and applied in one transaction: if the new text has a mistake, the file stays applied in its
    // old form.
    Result<bool> is_undone = in_transaction(target, [&]() -> Result<bool> {
      KEEL_TRY(const bool undone, undo(target, migrations, true, version));
      if (!undone) return false;
      const Migration& file = migrations[static_cast<std::size_t>(version)];
      if (!file.has_transaction) return true;
      KEEL_TRY_VOID(run(target, file));
      KEEL_TRY_VOID(target.record(file, now_sec()));
      ++version;
      is_applied = true;
      return true;
    });
    if (!is_undone) return std::move(is_undone).error();
    if (!*is_undone)
      return refuse(Code::FailedPrecondition, "migrations: there is no applied file that could be applied again");
    if (is_applied) return Migrated{1, version};
    if (Result<bool> applied = apply_next(target, migrations, version + 1, version); !applied) {
      return refuse(applied.error().code(), "{}; the file is now undone: apply it with keel migrate up",
                    applied.error().message());
    }
    return Migrated{1, version};
  });
}

Result<std::vector<MigrationStatus>> migration_status(MigrationTarget& target, const std::string& folder) {
  KEEL_TRY(const std::vector<Migration> migrations, read_folder(folder, target.database()));
  return prepared(target, [&]() -> Result<std::vector<MigrationStatus>> {
    std::vector<MigrationStatus> all;
    Result<> looked = [&]() -> Result<> {
      KEEL_TRY_VOID(target.begin());
      KEEL_TRY(const int reached, check_applied(target, migrations));
      for (const Migration& one : migrations) {
        MigrationStatus status{one.version, one.name, one.version <= reached, 0, !one.down_name.empty(), 0};
        if (status.is_applied) {
          KEEL_TRY(status.applied_at, target.applied_at(one));
        } else if (!one.has_transaction) {
          KEEL_TRY(status.steps_done, target.steps_done(one));
        }
        all.push_back(std::move(status));
      }
      return {};
    }();
    KEEL_TRY_VOID(target.roll_back());
    KEEL_TRY_VOID(std::move(looked));
    return all;
  });
}

Result<std::vector<Migration>> read_migrations(const std::string& folder, std::string_view database) {
  return read_folder(folder, database);
}

Result<int> count_migrations(const std::string& folder) {
  KEEL_TRY(const std::vector<Migration> migrations, read_folder(folder, {}));
  return static_cast<int>(migrations.size());
}

Result<std::string> new_migration(const std::string& folder, std::string_view name, bool has_down) {
  const auto is_of_name = [](char c) { return ascii::is_lower(c) || ascii::is_digit(c) || c == '_'; };
  if (name.empty() || !std::ranges::all_of(name, is_of_name)) {
    return refuse(Code::InvalidArgument, "migrations: {}: a name must consist of a-z, 0-9 and '_', such as add_orders",
                  name);
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return refuse(Code::Unavailable, "migrations: {}: {}", folder, error.message());
  KEEL_TRY(const int count, count_migrations(folder));
  if (count >= 9999)
    return refuse(Code::ResourceExhausted, "migrations: {} has 9999 files, so no number is left", folder);
  const std::string stem = fmt::format("{}/{:04}_{}", folder, count + 1, name);
  KEEL_TRY_VOID(write_new_file(stem + ".sql", "-- What this changes, and why.\n"));
  if (has_down) {
    KEEL_TRY_VOID(
        write_new_file(stem + std::string(down_suffix), fmt::format("-- Undoes {:04}_{}.sql.\n", count + 1, name)));
  }
  return stem + ".sql";
}

}  // namespace keel::db
