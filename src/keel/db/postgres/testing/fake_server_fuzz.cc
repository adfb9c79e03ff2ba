// Whatever a client sends, a fake server answers with well-formed messages, or closes.

#include <cstdint>
#include <string>

#include "keel/base/check.h"
#include "keel/db/postgres/reader.h"
#include "keel/db/postgres/testing/fake_server.h"

namespace keel::db::postgres::testing {
namespace {

struct Anything : FakeDatabase {
  FakeStatement prepare(std::string_view sql) override {
    return {.parameters = {oid::int8}, .columns = {{"a", oid::text}}, .error = sql.empty() ? std::nullopt : nothing};
  }
  FakeResult execute(std::uint64_t, std::string_view sql, std::span<const FakeValue>) override {
    return {.rows = {{"x"}, {std::nullopt}},
            .copy = static_cast<FakeResult::Copy>(sql.size() % 3),
            .is_held = sql.size() % 7 == 6};
  }
  std::optional<FakeError> nothing;
};

}  // namespace
}  // namespace keel::db::postgres::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::db::postgres;
  if (size < 1) return 0;
  testing::Anything database;
  testing::FakeServer server(database);
  const std::string startup("\0\0\0\x10\0\x03\0\0user\0a\0\0", 16);
  if (data[0] % 4 != 0) server.receive(startup);
  server.output().clear();
  server.receive({reinterpret_cast<const char*>(data) + 1, size - 1});
  server.release();
  Reader reader;
  std::string_view bytes = server.output().view();
  if (data[0] % 4 != 0) {
    while (true) {
      const auto message = reader.next(bytes);
      KEEL_CHECK(message.is_ok(), "what it answers is well-formed");
      if (!*message) break;
    }
    KEEL_CHECK(!reader.is_within_message(), "and whole");
  }
  return 0;
}
