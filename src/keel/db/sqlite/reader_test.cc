#include "keel/db/sqlite/reader.h"

#include <gtest/gtest.h>

#include "keel/db/sqlite/writer.h"
#include "keel/db/testing/folder.h"

namespace keel::db::sqlite::sqlite_reader_test {
namespace {

// What a Reader keeps after a result of 20,000 bytes.
std::size_t kept(std::size_t buffer_bytes) {
  testing::Folder folder;
  const std::string path = folder / "app.db";
  Writer writer(Connection::open({.path = path}).value(), {});
  Reader reader(Connection::open({.path = path, .access = Access::ReadOnly}).value(), writer, nullptr, 1000, 256 * 1024,
                buffer_bytes);
  Rows rows = reader.take_rows();
  EXPECT_EQ(reader.read("select hex(zeroblob(10000))", {}, rows).value(), Reader::Outcome::Done);
  EXPECT_EQ(rows.count(), 1u);
  reader.give_rows(std::move(rows));
  return reader.take_rows().capacity();
}

TEST(Reader, keeps_the_memory_of_a_result_when_it_is_no_more_than_its_buffer) {
  EXPECT_GE(kept(64 * 1024), 20'000u);
  EXPECT_EQ(kept(16 * 1024), 0u);
}

}  // namespace
}  // namespace keel::db::sqlite::sqlite_reader_test
