// keel/db/postgres/internal/statements.h — the statements that one connection has prepared, at most `max` of them.
//
// The least recently used one is removed, and closed at the server with the next group. A statement is named by a hash
// of its text, so that it has the same name on every connection, as poolers that keep statements need.
//
// Lifetime: a Statement in use (users != 0) is never removed.
// Cost:     find(): a hash of the text.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "keel/base/list.h"
#include "keel/db/postgres/columns.h"
#include "keel/db/postgres/oid.h"
#include "keel/db/sql.h"

namespace keel::db::postgres::internal {

struct Statement : Link {
  std::string_view text;  // The text of the Sql.
  std::string numbered;   // The text that is sent instead; empty: `text`.
  std::string name;
  std::vector<Oid> parameters;
  Columns columns;
  bool is_described = false;
  bool is_asked_for = false;  // Its description is on its way.
  int users = 0;

  std::string_view sent() const noexcept { return numbered.empty() ? text : numbered; }
};

class Statements {
 public:
  explicit Statements(std::size_t max) noexcept : max_(max) {}
  ~Statements() { forget(); }
  Statements(const Statements&) = delete;
  Statements& operator=(const Statements&) = delete;

  // The statement of `sql`, which is created if necessary. Throws std::bad_alloc.
  Statement& find(const Sql& sql);
  // The server no longer has it as described: it is prepared again under another name.
  void renew(Statement& statement);
  // The names of removed or renewed statements, which must be closed at the server. The caller clears
  // it.
  std::vector<std::string>& to_close() noexcept { return to_close_; }
  // For a connection that has ended; no statement may be in use.
  void forget() noexcept;

  std::size_t size() const noexcept { return by_text_.size(); }

 private:
  const std::size_t max_;
  std::unordered_map<std::string_view, std::unique_ptr<Statement>> by_text_;
  List<Statement> by_use_;  // The most recently used one is last.
  std::vector<std::string> to_close_;
  std::uint64_t renewed_ = 0;
};

}  // namespace keel::db::postgres::internal
