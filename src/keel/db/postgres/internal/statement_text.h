// keel/db/postgres/internal/statement_text.h — facts that a client can learn from a statement's text alone.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel::db::postgres::internal {

struct TextFacts {
  // The statement changes no data: it may share a Sync with others, and be sent again if its response was lost. A
  // statement that calls a function that changes data must contain `-- volatile`; it is then not a read.
  bool is_read = false;
  // The text contains `-- group`: a write that may share a transaction with others.
  bool is_group = false;
  // The statement begins or ends a transaction, or sets a savepoint, which only the client itself may do.
  bool is_control = false;
};

// Cost: one pass over the text. Ignores literals, quoted names and comments, except for the two marks.
TextFacts facts_of(std::string_view text) noexcept;

// The text with its named parameters replaced by $1, $2, …, in the order of their first occurrence.
std::string with_numbers(std::string_view text);

// The word that begins or ends a transaction ("commit") in a script of several statements; empty when there is none.
// The `begin atomic … end` of a function's body does not count.
std::string_view find_transaction_control(std::string_view script) noexcept;

// The statements of a script, without the blanks and comments before each of them and the semicolon after it.
std::vector<std::string_view> statements_of(std::string_view script);

// Facts about a statement that PostgreSQL does not allow in a transaction.
struct AloneFacts {
  bool is_alone = false;  // create index concurrently, vacuum, create database, …
  // Whether the statement can run again after it ran wholly or partly, because it has `if [not] exists` where it needs
  // it.
  bool is_repeatable = true;
  std::string index = {};  // The index that is created concurrently, as the statement writes it.
  std::string table = {};  // Its table.
};
AloneFacts alone_facts_of(std::string_view statement);

// The line of `text`, counted from 1, that contains the character number `position`, counted from 1 in UTF-8
// characters; 0 for position 0.
int line_of(std::string_view text, int position) noexcept;

}  // namespace keel::db::postgres::internal
