#include "keel/base/scan.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/internal/scan_kernels.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace keel::scan_test {
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
TEST(Scan, finds_the_end_of_plain_text_in_json_as_the_table_does) { agrees_with_the_table<scan::JsonStop>(); }

// One page that may be read, between two that may not.
class Page {
 public:
  Page() : bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const all = mmap(nullptr, 3 * bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    KEEL_CHECK(all != MAP_FAILED, "three pages can be mapped");
    first_ = static_cast<char*>(all);
    KEEL_CHECK(mprotect(begin(), bytes_, PROT_READ | PROT_WRITE) == 0, "a page can be made readable");
  }
  ~Page() { munmap(first_, 3 * bytes_); }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  char* begin() const { return first_ + bytes_; }
  char* end() const { return begin() + bytes_; }

 private:
  const std::size_t bytes_;
  char* first_ = nullptr;
};

constexpr char hit_byte = '\x01';  // Is in every set; 'x' is in none.

// Each form finds a hit at each place of a text of each length up to `longest`, at `begin_of(length)`, and the end when
// there is none. Around the text, as far as there is memory, everything would be a hit.
template <class Set>
void finds_every_hit(const Page& page, std::size_t longest, char* (*begin_of)(const Page& page, std::size_t length)) {
  for (std::size_t length = 0; length <= longest; ++length) {
    std::memset(page.begin(), hit_byte, static_cast<std::size_t>(page.end() - page.begin()));
    char* const begin = begin_of(page, length);
    char* const end = begin + length;
    std::memset(begin, 'x', length);
    for (std::size_t hit = 0; hit <= length; ++hit) {
      char* const expected = begin + hit;
      if (hit < length) *expected = hit_byte;
      ASSERT_EQ(scan::find<Set>(begin, begin, end), expected) << "of " << length;
      ASSERT_EQ(scan::find_long<Set>(begin, end), expected) << "of " << length;
#ifdef __SSE2__
      for (const auto& kernel : scan::internal::kernels()) {
        if (hit < 64 || !kernel.runs_here()) continue;
        ASSERT_EQ(kernel.find(scan::internal::far<Set>, begin + 64, end), expected) << kernel.name << " of " << length;
      }
#endif
      if (hit < length) *expected = 'x';
    }
  }
}

char* at_the_beginning_of(const Page& page, std::size_t) { return page.begin(); }
char* at_the_end_of(const Page& page, std::size_t length) { return page.end() - length; }

template <class Set>
void finds_every_hit_at_both_ends_of_a_page() {
  const Page page;
  finds_every_hit<Set>(page, 200, &at_the_beginning_of);
  finds_every_hit<Set>(page, 200, &at_the_end_of);
}

TEST(Scan, finds_every_control_in_texts_of_every_length) { finds_every_hit_at_both_ends_of_a_page<scan::Control>(); }
TEST(Scan, finds_every_end_in_names_of_every_length) {
  finds_every_hit_at_both_ends_of_a_page<scan::NotLetterOrDash>();
}
TEST(Scan, finds_every_end_in_hosts_of_every_length) { finds_every_hit_at_both_ends_of_a_page<scan::NotHostByte>(); }
TEST(Scan, finds_every_end_in_paths_of_every_length) { finds_every_hit_at_both_ends_of_a_page<scan::PathStop>(); }
TEST(Scan, finds_every_end_in_queries_of_every_length) { finds_every_hit_at_both_ends_of_a_page<scan::QueryStop>(); }
TEST(Scan, finds_every_end_in_json_of_every_length) { finds_every_hit_at_both_ends_of_a_page<scan::JsonStop>(); }

template <std::size_t... offsets>
void finds_every_control_at(const Page& page, std::index_sequence<offsets...>) {
  (finds_every_hit<scan::Control>(page, 130, [](const Page& p, std::size_t) { return p.begin() + 1 + offsets; }), ...);
}
TEST(Scan, finds_every_control_at_every_alignment) {
  const Page page;
  finds_every_control_at(page, std::make_index_sequence<64>());
}

#ifdef __SSE2__
// One for each form: what this processor lacks is skipped where one sees it.
class ScanForm : public ::testing::TestWithParam<scan::internal::Kernel> {};

// The tables of the wide forms are made of the same sets.
template <class Set>
void has_the_same_bytes(const scan::internal::Kernel& kernel) {
  std::string text(64 + 130, 'x');
  for (unsigned byte = 0; byte < 256; ++byte) {
    text[64 + 70] = static_cast<char>(byte);
    const char* const at = text.data() + 64;
    const char* const end = text.data() + text.size();
    EXPECT_EQ(kernel.find(scan::internal::far<Set>, at, end), scan::find_portable<Set>(at, end)) << "byte " << byte;
  }
}

TEST_P(ScanForm, has_the_same_bytes_in_a_set) {
  if (!GetParam().runs_here()) GTEST_SKIP() << "this processor does not have it";
  has_the_same_bytes<scan::Control>(GetParam());
  has_the_same_bytes<scan::NotLetterOrDash>(GetParam());
  has_the_same_bytes<scan::NotHostByte>(GetParam());
  has_the_same_bytes<scan::PathStop>(GetParam());
  has_the_same_bytes<scan::QueryStop>(GetParam());
  has_the_same_bytes<scan::JsonStop>(GetParam());
}
INSTANTIATE_TEST_SUITE_P(Scan, ScanForm,
                         ::testing::ValuesIn(scan::internal::kernels().begin(), scan::internal::kernels().end()),
                         [](const auto& kernel) { return std::string(kernel.param.name); });

TEST(Scan, uses_the_widest_form_that_the_processor_has) {
  const std::string used = scan::internal::best_kernel().name;
  bool later = false;
  for (const auto& kernel : scan::internal::kernels()) {
    if (kernel.name == used) {
      later = true;
    } else if (later) {
      EXPECT_FALSE(kernel.runs_here()) << kernel.name;
    }
  }
  EXPECT_TRUE(later) << used;
  EXPECT_STREQ(scan::internal::kernels().front().name, "sse2");
  EXPECT_TRUE(scan::internal::kernels().front().runs_here());
}
#endif

TEST(Scan, keeps_what_the_fuzzer_looks_for) {
  constexpr unsigned seed = 20251122;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) {
    std::string input(random() % 400, 'x');
    for (std::size_t at = 0; at < input.size(); at += 1 + random() % 120) input[at] = static_cast<char>(random());
    EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()), 0);
  }
}

TEST(Scan, lets_tabs_and_high_bytes_stand_in_a_value) {
  const std::string text = "caf\xc3\xa9\tau lait and more\x7f.";
  const char* const end = text.data() + text.size();

  EXPECT_EQ(scan::find_control(text.data(), text.data(), end) - text.data(), 22);
}

TEST(Scan, tells_whether_a_text_of_any_length_has_a_control) {
  for (std::size_t size = 0; size <= 40; ++size) {
    const std::vector<char> plain(size, 'a');
    ASSERT_FALSE(scan::has<scan::Control>(plain.data(), size)) << size;
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<char> text = plain;
      text[at] = '\n';
      ASSERT_TRUE(scan::has<scan::Control>(text.data(), size)) << size << " bytes, at " << at;
    }
  }
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
}  // namespace keel::scan_test
