// keel/db/postgres/internal/statements.h — the statements, at most `max`, that one connection has prepared.
//
// The least recently used statement is evicted; a Close for it is sent with the next message. A statement is named
// after a hash of its text, because poolers that keep prepared statements require that a statement has the same name on
// every connection.
//
// Lifetime: a Statement that is in use (users != 0) is not evicted.
// Cost:     find() hashes the text.

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
  std::string_view text;  // The text of the Sql object.
  std::string numbered;   // The text with numbered parameters, if that is sent instead of `text`; else empty.
  std::string name;
  std::vector<Oid> parameters;
  Columns columns;
  bool is_described = false;
  bool is_asked_for = false;  // Whether the description of the statement was requested.
  int users = 0;

  std::string_view sent() const noexcept { return numbered.empty() ? text : numbered; }
};

class Statements {
 public:
  explicit Statements(std::size_t max) noexcept : max_(max) {}
  ~Statements() { forget(); }
  Statements(const Statements&) = delete;
  Statements& operator=(const Statements&) = delete;

  // Returns the Statement for `sql`; adds a Statement if there is none. Throws std::bad_alloc.
  Statement& find(const Sql& sql);
  // Call it when the statement on the server no longer matches its description; the statement is then prepared again,
  // under another name.
  void renew(Statement& statement);
  // The names of statements that were evicted or renewed, and must be closed on the server. The caller must clear the
  // list.
  std::vector<std::string>& to_close() noexcept { return to_close_; }
  // Forgets all statements; call it after the connection has ended, when no statement is in use.
  void forget() noexcept;

  std::size_t size() const noexcept { return by_text_.size(); }

 private:
  const std::size_t max_;
  std::unordered_map<std::string_view, std::unique_ptr<Statement>> by_text_;
  List<Statement> by_use_;  // In the order of use: the last statement is the one most recently used.
  std::vector<std::string> to_close_;
  std::uint64_t renewed_ = 0;
};

}  // namespace keel::db::postgres::internal
