// keel/db/postgres/internal/statement_text.h — what a client can tell from a statement's text alone.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel::db::postgres::internal {

struct TextFacts {
  // It surely changes nothing: it may share a Sync with others, and be sent again when its answer was lost. A function
  // that it calls may change something nevertheless: `-- volatile` in the text says that.
  bool is_read = false;
  // `-- group`: a write that may share a transaction with others.
  bool is_group = false;
};

// One pass over the text; literals, quoted names and comments are left alone, but for the two marks.
TextFacts facts_of(std::string_view text) noexcept;

// The text with parameters as $1, $2, …, in the order in which their names come first.
std::string with_numbers(std::string_view text);

// The word that begins or ends a transaction ("commit") in a script of several statements; empty: there is none.
std::string_view find_transaction_control(std::string_view script) noexcept;

// The statements of a script, each from its first byte, without blanks and comments before it and the semicolon behind.
std::vector<std::string_view> statements_of(std::string_view script);

// What a statement is that PostgreSQL does not take in a transaction.
struct AloneFacts {
  bool is_alone = false;      // create index concurrently, vacuum, create database, …
  bool is_repeatable = true;  // When it has run already, or half: false of one without `if [not] exists`.
  std::string_view index;     // That is created concurrently, where its name is in no quotes.
};
AloneFacts alone_facts_of(std::string_view statement) noexcept;

// The line, from 1, of the character `position` (from 1, in characters of UTF-8) of `text`; 0 for position 0.
int line_of(std::string_view text, int position) noexcept;

}  // namespace keel::db::postgres::internal
