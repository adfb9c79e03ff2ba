// keel/db/postgres/internal/statements.h — the statements that one connection has prepared, at most `max` of them.
//
// The one that was used longest ago makes room, and is closed at the server with what is sent next. A statement is
// named by a hash of its text, so that it has one name on every connection, as a pooler that keeps statements wants it.
//
// Lifetime: a Statement that somebody uses (users != 0) stays.
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
  std::string_view text;  // The Sql's.
  std::string numbered;   // What the server is sent in its place; empty: the text.
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

  // The statement of `sql`, new or not. std::bad_alloc.
  Statement& find(const Sql& sql);
  // The server does not have it as it was described: it is prepared again under another name.
  void renew(Statement& statement);
  // Of those that had to make room, or were renewed: the names that are to be closed at the server. The caller clears
  // it.
  std::vector<std::string>& to_close() noexcept { return to_close_; }
  // Of a connection that has ended; nobody uses one.
  void forget() noexcept;

  std::size_t size() const noexcept { return by_text_.size(); }

 private:
  const std::size_t max_;
  std::unordered_map<std::string_view, std::unique_ptr<Statement>> by_text_;
  List<Statement> by_use_;  // The one that was used last is the last.
  std::vector<std::string> to_close_;
  std::uint64_t renewed_ = 0;
};

}  // namespace keel::db::postgres::internal
