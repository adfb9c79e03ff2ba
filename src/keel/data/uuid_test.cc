#include "keel/data/uuid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "keel/base/host.h"

namespace keel::uuid_test {
namespace {

class SeededHost final : public Host {
 public:
  explicit SeededHost(std::int64_t wall) : wall_(wall) {}
  Instant now() noexcept override { return Instant::from_ns(wall_); }
  std::int64_t wall_ns() noexcept override { return wall_; }
  std::uint64_t random() noexcept override { return random_ += 0x9e3779b97f4a7c15u; }
  void secret(std::span<std::byte> out) noexcept override { secret_from_random(out); }
  void start_timer(Timer&, Instant) noexcept override {}
  void stop_timer(Timer&) noexcept override {}
  std::unique_ptr<Thread> start_thread(const char*, Function<void()>) override { return nullptr; }
  void set_wall(std::int64_t wall) { wall_ = wall; }

 private:
  std::int64_t wall_;
  std::uint64_t random_ = 7;
};

std::string text_of(const Uuid& id) { return std::string(id.text().view()); }

TEST(Uuid, reads_and_writes_the_examples_of_its_rfc) {
  // RFC 9562 §4 and appendix A: versions 1, 4, 6, 7, 8; §5.9 and §5.10: nil and max.
  for (const std::string text : {"f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "919108f7-52d1-4320-9bac-f847db4148a8",
                                 "1ec9414c-232a-6b00-b3c8-9f6bdeced846", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
                                 "2489e9ad-2ee2-8e00-8ec9-32d5f69181c0", "00000000-0000-0000-0000-000000000000",
                                 "ffffffff-ffff-ffff-ffff-ffffffffffff"}) {
    const Uuid id = Uuid::parse(text).value();
    EXPECT_EQ(text_of(id), text);
    std::string upper = text;
    std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    EXPECT_EQ(Uuid::parse(upper).value(), id);
  }
  EXPECT_EQ(Uuid::parse("017f22e2-79b0-7cc3-98c4-dc0c0c07398f").value().version(), 7);
  EXPECT_TRUE(Uuid().is_nil());
}

TEST(Uuid, reads_no_other_byte_at_any_place) {
  const std::string good = "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50";
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = good;
      text[at] = static_cast<char>(byte);
      const bool is_digit = std::string_view("0123456789abcdefABCDEF").find(text[at]) != std::string_view::npos;
      const bool is_good = good[at] == '-' ? byte == '-' : is_digit;
      ASSERT_EQ(Uuid::parse(text).is_ok(), is_good) << text;
    }
  }
}

TEST(Uuid, has_36_characters) {
  const std::string good = "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50";
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(Uuid::parse(good.substr(0, size))) << size;
  for (const std::string& text : {good + " ", good + "0", " " + good, "{" + good + "}", "urn:uuid:" + good,
                                  std::string("0192f7a83c1b7d2e9f006b1c2d3e4f50")}) {
    const Result<Uuid> id = Uuid::parse(text);
    ASSERT_FALSE(id) << text;
    EXPECT_EQ(id.error().code(), Code::InvalidArgument);
    EXPECT_EQ(id.error().message(), Uuid::expected);
  }
}

TEST(Uuid, v4_has_its_version_and_variant_and_is_random) {
  std::set<Uuid> ids;
  for (int i = 0; i < 1000; ++i) {
    const Uuid id = Uuid::v4();
    const std::string text = text_of(id);
    ASSERT_EQ(text[14], '4') << text;
    ASSERT_NE(std::string_view("89ab").find(text[19]), std::string_view::npos) << text;
    ASSERT_TRUE(ids.insert(id).second) << text;
  }
}

TEST(Uuid, v7_begins_with_the_time) {
  SeededHost host(0x017f22e2'79b0 * 1'000'000);
  const std::string text = text_of(Uuid::v7(host));
  EXPECT_EQ(text.substr(0, 18), "017f22e2-79b0-7000");
  EXPECT_NE(std::string_view("89ab").find(text[19]), std::string_view::npos) << text;

  // The nanoseconds within: 999,999 is 0xf423f.
  SeededHost late(0x017f22e2'79b0 * 1'000'000 + 999'999);
  EXPECT_EQ(text_of(Uuid::v7(late)).substr(0, 20), "017f22e2-79b0-7f42-8");
  EXPECT_EQ(std::to_integer<int>(Uuid::v7(late).bytes()[5]), 0xb1) << "the next nanosecond is of the next millisecond";
}

TEST(Uuid, v7_grows_also_when_the_clock_stands_or_goes_back) {
  SeededHost host(1'700'000'000'000'000'000);
  Uuid last;
  for (int i = 0; i < 3'000; ++i) {
    if (i == 1'000) host.set_wall(1'600'000'000'000'000'000);
    if (i == 2'000) host.set_wall(1'700'000'000'000'999'000);
    const Uuid id = Uuid::v7(host);
    ASSERT_GT(id, last);
    ASSERT_GT(text_of(id), text_of(last));
    last = id;
  }
}

TEST(Uuid, repeats_with_its_seed) {
  SeededHost one(42);
  SeededHost other(42);
  EXPECT_EQ(Uuid::v7(one), Uuid::v7(other));
  EXPECT_EQ(Uuid::v4(one), Uuid::v4(other));
  EXPECT_NE(Uuid::v4(one), Uuid::v4(one));
}

TEST(Uuid, is_a_key_of_tables) {
  std::unordered_set<Uuid> ids;
  std::set<std::size_t> hashes;
  for (int i = 0; i < 1000; ++i) {
    const Uuid id = Uuid::v7();
    ids.insert(id);
    hashes.insert(std::hash<Uuid>()(id));
  }
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_GT(hashes.size(), 990u);
  static_assert(TextValue<Uuid>);
}

}  // namespace
}  // namespace keel::uuid_test
