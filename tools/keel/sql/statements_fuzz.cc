// Any bytes are a source: tokens stand in it in order, and each byte of a statement has a place in it.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "sql/statements.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::sql;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::size_t end = 0;
  for (const Token& token : tokens_of(text)) {
    if (token.offset < end || text.compare(token.offset, token.text.size(), token.text) != 0) std::abort();
    end = token.offset + token.text.size();
    const bool is_text = token.kind == Token::Kind::Text;
    if (token.origin.size() != (is_text ? token.value.size() + 1 : 0)) std::abort();
  }
  Sources sources;
  sources.add("a.cc", text);
  const Sources::Found found = sources.find();
  for (const Statement& statement : found.statements) {
    if (statement.origin.size() != statement.text.size() + 1) std::abort();
    for (const Place& place : statement.origin) {
      if (place.source != 0 || place.offset > size) std::abort();
    }
    sources.describe(statement.origin.back());
  }
  for (const Unknown& unknown : found.unknown) {
    if (unknown.argument.empty() ||
        text.compare(unknown.place.offset, unknown.argument.size(), unknown.argument) != 0) {
      std::abort();
    }
  }
  return 0;
}
