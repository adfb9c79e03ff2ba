// keel/db/postgres/internal/fake_table_test.h — for tests: a table of a FakeServer, and statements on it.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/db/postgres/testing/fake_server.h"
#include "keel/db/session.h"
#include "keel/task/task.h"

namespace keel::db::postgres::testing {

// A table of one column, committed as a server commits. Statements: "insert" of one value; "select $1" gives it back;
// "select these $1" that many rows from 0, "select many" 5,000 and "select few" 400, "select held" waits for a cancel;
// "copy" into the table; "copy (select few" out in the binary format, of others in text.
struct Table : FakeDatabase {
  FakeStatement prepare(std::string_view sql) override {
    if (sql.starts_with("insert")) return {.parameters = {oid::int8}};
    if (sql.starts_with("select many") || sql.starts_with("select few")) return {.columns = {{"n", oid::int8}}};
    if (sql.starts_with("copy")) return {};
    if (sql.starts_with("select held")) return {.columns = {{"n", oid::int8}}};
    if (sql.starts_with("select")) return {.parameters = {oid::int8}, .columns = {{"n", oid::int8}}};
    return {.error = FakeError{"42601", "syntax error"}};
  }
  FakeResult execute(std::uint64_t session, std::string_view sql, std::span<const FakeValue> arguments) override {
    if (sql.starts_with("select many")) return {.rows = first(5000)};
    if (sql.starts_with("select held")) return {.rows = first(1), .is_held = true};
    if (sql.starts_with("select these")) return {.rows = first(std::stoi(*arguments[0]))};
    if (sql.starts_with("copy (select few")) {
      return {.rows = first(few), .copy = FakeResult::Copy::Out, .copy_types = {oid::int8}};
    }
    if (sql.starts_with("copy (")) return {.rows = {{"1"}}, .copy = FakeResult::Copy::Out};
    if (sql.starts_with("copy")) return {.copy = FakeResult::Copy::In};
    if (sql.starts_with("select")) return {.rows = {{*arguments[0]}}};
    pending[session].push_back(*arguments[0]);
    return {.tag = "INSERT 0 1"};
  }
  FakeResult copied(std::uint64_t session, std::string_view, std::string_view data) override {
    std::size_t count = 0;
    for (; !data.empty(); ++count) {
      const std::size_t end = data.find('\n');
      pending[session].emplace_back(data.substr(0, end));
      data.remove_prefix(end + 1);
    }
    return {.tag = "COPY " + std::to_string(count)};
  }
  std::optional<FakeError> begin(std::uint64_t) override { return std::exchange(begin_error, std::nullopt); }
  void commit(std::uint64_t session) override {
    for (const std::string& value : pending[session]) ++rows[value];
    roll_back(session);
  }
  void roll_back(std::uint64_t session) override {
    pending[session].clear();
    marks[session].clear();
  }
  std::optional<FakeError> savepoint(std::uint64_t session, std::string_view name) override {
    if (savepoint_error) return std::exchange(savepoint_error, std::nullopt);
    marks[session].emplace_back(name, pending[session].size());
    return std::nullopt;
  }
  void release(std::uint64_t session, std::string_view name) override { unwind(session, name, false); }
  void roll_back_to(std::uint64_t session, std::string_view name) override { unwind(session, name, true); }
  void unwind(std::uint64_t session, std::string_view name, bool undoes) {
    auto& all = marks[session];
    while (!all.empty() && all.back().first != name) all.pop_back();
    if (all.empty()) return;
    if (undoes) {
      pending[session].resize(all.back().second);
    } else {
      all.pop_back();
    }
  }

  static std::vector<FakeRow> first(int count) {
    std::vector<FakeRow> rows;
    for (int i = 0; i < count; ++i) rows.push_back({std::to_string(i)});
    return rows;
  }

  static constexpr int few = 400;
  std::optional<FakeError> begin_error = {};      // Of the next transaction.
  std::optional<FakeError> savepoint_error = {};  // Of the next savepoint.
  std::map<std::uint64_t, std::vector<std::string>> pending;
  std::map<std::uint64_t, std::vector<std::pair<std::string, std::size_t>>> marks;
  std::map<std::string, int> rows;
};

// A row of it.
struct Counted {
  std::int64_t n = 0;
};

inline Task<> insert(Session& session, std::int64_t n) { co_await session.execute("insert into t values ($1)", n); }
inline Task<> insert_in_group(Session& session, std::int64_t n) {
  co_await session.execute("insert into t values ($1) -- group\n", n);
}
inline Task<> insert_twice(Session& session, std::int64_t n) {
  Transaction transaction = co_await session.begin();
  co_await transaction.execute("insert into t values ($1)", n);
  co_await transaction.execute("insert into t values ($1)", n + 1'000'000);
  co_await transaction.commit();
}
inline Task<std::int64_t> read_back(Session& session, std::int64_t n) {
  std::int64_t found = -1;
  auto keep = [&](const Row& row) { found = row.integer(0); };
  co_await session.query("select $1", keep, n);
  co_return found;
}

}  // namespace keel::db::postgres::testing
