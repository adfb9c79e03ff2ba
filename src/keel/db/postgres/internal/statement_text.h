// keel/db/postgres/internal/statement_text.h — facts about a statement that a client can derive from its text alone.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel::db::postgres::internal {

struct TextFacts {
  // The statement changes no data, so it may share a Sync with others, and may be sent again if its response was lost.
  // The text of a statement that calls a function that changes data must contain `-- volatile`, so that the statement
  // does not count as a read.
  bool is_read = false;
  // The text contains `-- group`: the statement is a write that may share a transaction with other writes.
  bool is_group = false;
  // The statement begins or ends a transaction, or sets a savepoint; only the client library itself may send this
  // statement.
  bool is_control = false;
};

// Cost: one pass over the text. Ignores literals, quoted names, and comments except `-- volatile` and `-- group`.
TextFacts facts_of(std::string_view text) noexcept;

// Returns the text with its named parameters replaced by $1, $2, …, in the order of their first occurrence.
std::string with_numbers(std::string_view text);

// Returns the word of a script that begins or ends a transaction, such as "commit"; empty if there is none. The words
// of a function's body, `begin atomic … end`, do not count.
std::string_view find_transaction_control(std::string_view script) noexcept;

// Returns the statements of a script, without the blanks and comments before them, and without the semicolons after
// them.
std::vector<std::string_view> statements_of(std::string_view script);

// Facts about a statement that PostgreSQL does not allow in a transaction.
struct AloneFacts {
  bool is_alone = false;  // create index concurrently, vacuum, create database, …
  // True if the statement may run again after it has run wholly or partly: it contains `if [not] exists`, or needs no
  // such clause.
  bool is_repeatable = true;
  // For `create index concurrently`: the name of the new index, as the statement writes it.
  std::string index = {};
  std::string table = {};  // Its table.
};
AloneFacts alone_facts_of(std::string_view statement);

// Returns the number of the line of `text` that contains the character at `position`. Lines and UTF-8 characters are
// counted from 1; the result for position 0 is 0.
int line_of(std::string_view text, int position) noexcept;

}  // namespace keel::db::postgres::internal
