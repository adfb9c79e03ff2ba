// keel/db/postgres/internal/statements.h — the statements that one connection has prepared, at most `max` of them.
//
// The least recently used statement is evicted, and closed at the server with the next message. A statement is named by
// a hash of its text, so that it has the same name on every connection; a pooler that keeps prepared statements
// requires this.
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
  std::string_view text;  // The text of the Sql.
  std::string numbered;   // The text with numbered parameters if it is sent instead; else empty.
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

  // Returns the statement for `sql`, and adds it if it is new. Throws std::bad_alloc.
  Statement& find(const Sql& sql);
  // Call it when the server's statement no longer matches its description: it is then prepared again under another
  // name.
  void renew(Statement& statement);
  // The names of evicted or renewed statements, which are to be closed at the server. The caller must clear the list.
  std::vector<std::string>& to_close() noexcept { return to_close_; }
  // Forgets all statements after the connection has ended; none is in use.
  void forget() noexcept;

  std::size_t size() const noexcept { return by_text_.size(); }

 private:
  const std::size_t max_;
  std::unordered_map<std::string_view, std::unique_ptr<Statement>> by_text_;
  List<Statement> by_use_;  // Ordered by use; the most recently used statement is the last.
  std::vector<std::string> to_close_;
  std::uint64_t renewed_ = 0;
};

}  // namespace keel::db::postgres::internal
