// A schema and a value that are made of the input: the tables and the validator by the book agree, and reading ahead
// finds the same violations with their places.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "keel/contract/internal/maker.h"
#include "keel/data/json_write.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel;
  std::size_t at = 0;
  const auto below = [&](std::size_t limit) -> std::uint32_t {
    return at == size ? 0 : data[at++] % static_cast<std::uint32_t>(limit);
  };
  contract::testing::Maker maker(below);
  const json::Value document = maker.document();
  const json::Value value = maker.value();
  const contract::testing::Tables tables(document);
  Violations wrong;
  const bool is_valid = contract::check(value, tables.root(), wrong);
  if (is_valid != wrong.empty()) std::abort();
  if (is_valid != contract::testing::Book(document).is_valid(value)) std::abort();

  const std::string text = json::write(value);
  Arena arena;
  json::Reader in(text, arena);
  Violations ahead;
  if (contract::check_ahead(in, tables.root(), ahead) != is_valid || ahead.size() != wrong.size()) std::abort();
  for (std::size_t i = 0; i < ahead.size(); ++i) {
    if (ahead[i].pointer != wrong[i].pointer || ahead[i].message != wrong[i].message || ahead[i].line != 1)
      std::abort();
  }
  if (in.failed() != wrong.has_more()) std::abort();
  return 0;
}
