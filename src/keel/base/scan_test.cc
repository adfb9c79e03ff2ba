#include "keel/base/scan.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace keel {
namespace {

// The block and the portable form agree at every size, start and position of the hit, in memory of exactly that
// size (a sanitizer sees a read outside).
template <class Set>
void agrees_with_the_table() {
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (std::size_t size : {1u, 7u, 15u, 16u, 17u, 31u, 40u}) {
      const std::unique_ptr<char[]> bytes(new char[size]);
      for (std::size_t hit = 0; hit < size; ++hit) {
        std::memset(bytes.get(), 'x', size);
        bytes[hit] = static_cast<char>(byte);
        for (std::size_t at : {std::size_t{0}, size / 2, size}) {
          const char* const from = bytes.get() + at;
          const char* const end = bytes.get() + size;
          ASSERT_EQ(scan::find<Set>(bytes.get(), from, end), scan::find_portable<Set>(from, end))
              << "byte " << byte << " at " << hit << " of " << size << " from " << at;
        }
      }
    }
  }
}

TEST(Scan, compares_every_byte_of_texts_of_every_length) {
  for (std::size_t size = 0; size <= 40; ++size) {
    // In memory of exactly that size.
    const std::unique_ptr<char[]> a(new char[size]);
    const std::unique_ptr<char[]> b(new char[size]);
    std::memset(a.get(), 'x', size);
    std::memset(b.get(), 'x', size);
    EXPECT_TRUE(scan::is_same(a.get(), b.get(), size)) << size;
    for (std::size_t at = 0; at < size; ++at) {
      b[at] = 'y';
      EXPECT_FALSE(scan::is_same(a.get(), b.get(), size)) << at << " of " << size;
      b[at] = 'x';
    }
  }
}

TEST(Scan, finds_controls_as_the_table_does) { agrees_with_the_table<scan::Control>(); }
TEST(Scan, finds_the_end_of_a_name_as_the_table_does) { agrees_with_the_table<scan::NotLetterOrDash>(); }
TEST(Scan, finds_the_end_of_a_host_as_the_table_does) { agrees_with_the_table<scan::NotHostByte>(); }
TEST(Scan, finds_the_end_of_a_path_as_the_table_does) { agrees_with_the_table<scan::PathStop>(); }
TEST(Scan, finds_the_end_of_a_query_as_the_table_does) { agrees_with_the_table<scan::QueryStop>(); }

TEST(Scan, lets_tabs_and_high_bytes_stand_in_a_value) {
  const std::string text = "caf\xc3\xa9\tau lait and more\x7f.";
  const char* const end = text.data() + text.size();

  EXPECT_EQ(scan::find_control(text.data(), text.data(), end) - text.data(), 22);
}

TEST(Scan, compares_words_without_regard_to_case) {
  EXPECT_TRUE(scan::same_word("HoSt", "host"));
  EXPECT_FALSE(scan::same_word("hosu", "host"));
  EXPECT_TRUE(scan::same_word("Expect", "expect"));
  EXPECT_FALSE(scan::same_word("exPact", "expect"));
  EXPECT_TRUE(scan::same_word("CONTENT-LENGTH", "content-length"));
  EXPECT_FALSE(scan::same_word("content_length", "content-length"));
  EXPECT_TRUE(scan::same_word("Transfer-Encoding", "transfer-encoding"));
  EXPECT_FALSE(scan::same_word("transfer-dncoding", "transfer-encoding"));
  EXPECT_FALSE(scan::same_word("transfer-encodinh", "transfer-encoding"));
}

}  // namespace
}  // namespace keel
