// Any bytes are a file of queries: what is not one is said, and each byte of a statement has a place in it.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "sql/lexemes.h"
#include "sql/query_file.h"
#include "sql/syntax.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::sql;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::size_t end = 0;
  for (const Lexeme& lexeme : lexemes_of(text)) {
    if (lexeme.offset < end || text.compare(lexeme.offset, lexeme.text.size(), lexeme.text) != 0) std::abort();
    end = lexeme.offset + lexeme.text.size();
    (void)lexeme.value();
  }
  Problems problems;
  problems.add_file("a.sql", text);
  const QueryFile file = read_queries(0, problems);
  for (const Query& query : file.queries) {
    for (const Query::Piece& piece : query.pieces) {
      if (piece.is_sort ? piece.origin.size() != 1 : piece.origin.size() != piece.text.size()) std::abort();
      for (const Place& place : piece.origin) {
        if (place.source != 0 || place.offset > size) std::abort();
      }
      (void)parse_statement(piece.text);
    }
    if (query.pieces.empty() && !problems.has_any()) std::abort();
  }
  (void)problems.describe();
  return 0;
}
