// What a server sends for a COPY, cut anywhere, is rows or an error, and the same as in one piece.

#include <cstdint>
#include <string>

#include "keel/base/check.h"
#include "keel/db/postgres/copy_reader.h"
#include "keel/db/postgres/internal/copy_tuple_test.h"

namespace keel::db::postgres {
namespace {

struct Outcome {
  bool is_ok = true;
  std::size_t rows = 0;
  bool is_at_end = false;
  bool operator==(const Outcome&) const = default;
};

Outcome read(std::string_view bytes, std::size_t piece) {
  CopyReader reader(4096);
  Columns columns = testing::two_columns();
  Rows rows;
  Outcome outcome;
  for (std::size_t at = 0; at < bytes.size() && outcome.is_ok; at += piece) {
    outcome.is_ok = reader.receive(bytes.substr(at, piece), columns, rows).is_ok();
  }
  if (outcome.is_ok) outcome.rows = rows.count();
  outcome.is_at_end = outcome.is_ok && reader.is_at_end();
  return outcome;
}

}  // namespace
}  // namespace keel::db::postgres

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::db::postgres;
  if (size < 2) return 0;
  // Most inputs begin with a header that is right.
  std::string bytes = data[0] % 4 == 0 ? std::string() : testing::header();
  bytes.append(reinterpret_cast<const char*>(data) + 2, size - 2);
  KEEL_CHECK(read(bytes, bytes.size() + 1) == read(bytes, data[1] % 17 + 1), "pieces make no difference");
  return 0;
}
