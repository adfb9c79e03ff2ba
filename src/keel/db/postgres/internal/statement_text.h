// keel/db/postgres/internal/statement_text.h — what a client can find out from a statement's text alone.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel::db::postgres::internal {

struct TextFacts {
  // It certainly changes nothing: it may share a Sync with others, and be sent again if its answer was lost. If a
  // function that it calls changes something nevertheless, `-- volatile` in the text says that.
  bool is_read = false;
  // `-- group`: a write that may share a transaction with others.
  bool is_group = false;
};

// One pass over the text; literals, quoted names and comments are skipped, except for the two marks.
TextFacts facts_of(std::string_view text) noexcept;

// The text with parameters as $1, $2, …, in the order in which the names first occur.
std::string with_numbers(std::string_view text);

// The word that begins or ends a transaction ("commit") in a script of several statements; empty: there is none.
std::string_view find_transaction_control(std::string_view script) noexcept;

// The statements of a script, each from its first byte, without blanks and comments before it and the semicolon behind.
std::vector<std::string_view> statements_of(std::string_view script);

// What is known about a statement that PostgreSQL rejects within a transaction.
struct AloneFacts {
  bool is_alone = false;  // create index concurrently, vacuum, create database, …
  // Whether it can be run again after it has run completely or partly: false without `if [not] exists`.
  bool is_repeatable = true;
  std::string_view index;  // The index that is created concurrently, unless its name is quoted.
};
AloneFacts alone_facts_of(std::string_view statement) noexcept;

// The line, from 1, of the character `position` (from 1, in characters of UTF-8) of `text`; 0 for position 0.
int line_of(std::string_view text, int position) noexcept;

}  // namespace keel::db::postgres::internal
