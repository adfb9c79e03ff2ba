#include "keel/db/migrations.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
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

// FNV-1a, which a table that an earlier version has written may still have.
std::string former_checksum_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

template <class... A>
Error refuse(Code code, fmt::format_string<A...> text, A&&... arguments) {
  return Error::text(code, fmt::format(text, std::forward<A>(arguments)...));
}

// NNNN of NNNN_name.sql; 0 when the name is another.
int version_of(std::string_view name) {
  if (name.size() < 10 || name[4] != '_' || !name.ends_with(".sql")) return 0;
  int version = 0;
  for (const char c : name.substr(0, 4)) {
    if (!ascii::is_digit(c)) return 0;
    version = version * 10 + (c - '0');
  }
  return version;
}

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

Result<std::vector<Migration>> read_folder(const std::string& folder) {
  std::error_code error;
  fs::directory_iterator files(folder, error);
  if (error) return refuse(Code::NotFound, "migrations: {}: {}", folder, error.message());
  std::vector<Migration> found;
  for (const fs::directory_entry& file : files) {
    Migration migration;
    migration.name = file.path().filename().string();
    if (migration.name.starts_with('.')) continue;
    migration.version = version_of(migration.name);
    if (migration.version == 0) {
      return refuse(Code::InvalidArgument, "migrations: {}: files are named NNNN_name.sql, from 0001",
                    file.path().string());
    }
    KEEL_TRY(migration.text, read_file(file.path().string()).because("migrations: " + file.path().string()));
    migration.checksum = checksum_of(migration.text);
    found.push_back(std::move(migration));
  }
  std::sort(found.begin(), found.end(), [](const Migration& a, const Migration& b) { return a.name < b.name; });
  for (std::size_t i = 0; i < found.size(); ++i) {
    const int expected = static_cast<int>(i) + 1;
    if (found[i].version == expected) continue;
    if (i > 0 && found[i].version == found[i - 1].version) {
      return refuse(Code::InvalidArgument,
                    "migrations: {} and {} have the same number: give the later one the next free number",
                    found[i - 1].name, found[i].name);
    }
    return refuse(Code::InvalidArgument,
                  "migrations: {} follows number {:04}: {:04} is missing; files are numbered without gaps",
                  found[i].name, expected - 1, expected);
  }
  return found;
}

// What has been applied agrees with the files; the version reached. Rows with a checksum of the former kind get one of
// today's.
Result<int> check_applied(MigrationTarget& target, const std::vector<Migration>& migrations) {
  int reached = 0;
  Result<> agrees;
  std::vector<const Migration*> former;
  auto check = [&](int version, std::string_view name, std::string_view checksum) {
    reached = version;
    if (!agrees) return;
    if (version < 1 || static_cast<std::size_t>(version) > migrations.size() ||
        migrations[static_cast<std::size_t>(version) - 1].name != name) {
      agrees =
          refuse(Code::FailedPrecondition, "migrations: {} was applied to this database and its file is missing", name);
      return;
    }
    const Migration& file = migrations[static_cast<std::size_t>(version) - 1];
    const bool is_former = checksum.size() == 16;
    const std::string expected = is_former ? former_checksum_of(file.text) : file.checksum;
    if (is_former) former.push_back(&file);
    if (expected != checksum) {
      agrees = refuse(Code::FailedPrecondition,
                      "migrations: {} has changed since it was applied (checksum {}, applied {}): write a new file",
                      file.name, expected, checksum);
    }
  };
  KEEL_TRY_VOID(target.for_each_applied(check));
  KEEL_TRY_VOID(std::move(agrees));
  for (const Migration* file : former) KEEL_TRY_VOID(target.set_checksum(*file));
  return reached;
}

Result<> apply(MigrationTarget& target, const Migration& migration) {
  int line = 0;
  if (Result<> done = target.run(migration, line); !done) {
    const Error& error = done.error();
    if (line == 0) return refuse(error.code(), "migrations: {}: {}", migration.name, error.message());
    return refuse(error.code(), "migrations: {}:{}: {}", migration.name, line, error.message());
  }
  return target.record(migration, Host::current().wall_ns() / 1'000'000'000);
}

// One transaction: takes the lock, looks what others have done meanwhile, applies the next one. False: none is left.
Result<bool> apply_next(MigrationTarget& target, const std::vector<Migration>& migrations, int& version) {
  const auto work = [&]() -> Result<bool> {
    KEEL_TRY_VOID(target.begin());
    KEEL_TRY(version, check_applied(target, migrations));
    if (static_cast<std::size_t>(version) == migrations.size()) return false;
    KEEL_TRY_VOID(apply(target, migrations[static_cast<std::size_t>(version)]));
    ++version;
    return true;
  };
  Result<bool> applied = work();
  if (applied) {
    if (Result<> committed = target.commit(); !committed) applied = std::move(committed).error();
  }
  KEEL_TRY_VOID(target.roll_back());
  return applied;
}

}  // namespace

MigrationTarget::~MigrationTarget() = default;

Result<Migrated> migrate(MigrationTarget& target, const std::string& folder) {
  KEEL_TRY(const std::vector<Migration> migrations, read_folder(folder));
  KEEL_TRY_VOID(target.prepare());
  Migrated migrated;
  Result<bool> more = true;
  while (more && *more) {
    more = apply_next(target, migrations, migrated.version);
    if (more && *more) ++migrated.applied;
  }
  KEEL_TRY_VOID(target.finish());
  if (!more) return std::move(more).error();
  return migrated;
}

}  // namespace keel::db
