#include "keel/base/random_stream.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "keel/base/host.h"
#include "keel/base/internal/chacha20.h"

namespace keel::random_stream_test {
namespace {

using State = std::array<std::uint32_t, internal::chacha20_state_words>;
using Output = std::array<std::uint32_t, internal::chacha20_state_words * internal::chacha20_blocks>;

// A host whose secrets are bytes that count from `next`.
class CountingHost final : public Host {
 public:
  Instant now() noexcept override { return Instant(); }
  std::int64_t wall_ns() noexcept override { return 0; }
  std::uint64_t random() noexcept override { return 0; }
  void secret(std::span<std::byte> out) noexcept override {
    for (std::byte& byte : out) byte = static_cast<std::byte>(next++);
    ++asked;
  }
  void start_timer(Timer&, Instant) noexcept override {}
  void stop_timer(Timer&) noexcept override {}
  std::unique_ptr<Thread> start_thread(const char*, Function<void()>) override { return nullptr; }

  unsigned next = 0;
  int asked = 0;
};

// The values that a key gives, as the header says: the last first, and the first 256 bits are the next key.
std::vector<std::uint64_t> expected_values(State& state) {
  Output out;
  internal::chacha20_kernels().front().compute(state, out);
  std::copy_n(out.begin(), 8, state.begin() + 4);
  std::vector<std::uint64_t> values;
  for (std::size_t i = out.size(); i > 8; i -= 2) values.push_back(std::uint64_t{out[i - 1]} << 32 | out[i - 2]);
  return values;
}

TEST(RandomStream, gives_the_bits_of_its_key_and_replaces_the_key_by_the_first_of_them) {
  CountingHost host;
  RandomStream stream(host);
  // "expand 32-byte k", the key of CountingHost, counter 0 and a nonce of zeros.
  State state = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, 0x03020100, 0x07060504,
                 0x0b0a0908, 0x0f0e0d0c, 0x13121110, 0x17161514, 0x1b1a1918, 0x1f1e1d1c};

  for (int round = 0; round < 3; ++round) {
    const std::vector<std::uint64_t> values = expected_values(state);
    ASSERT_EQ(values.size(), 124u);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(stream.next(), values[i]) << round << ", " << i;
  }
  EXPECT_EQ(host.asked, 1);
}

TEST(RandomStream, keeps_nothing_of_what_it_gave) {
  CountingHost host;
  RandomStream stream(host);
  std::vector<std::uint64_t> given;
  for (int i = 0; i < 100; ++i) given.push_back(stream.next());

  std::array<std::byte, sizeof stream> memory;
  std::memcpy(memory.data(), static_cast<const void*>(&stream), sizeof stream);

  for (const std::uint64_t value : given) {
    for (std::size_t at = 0; at + sizeof value <= memory.size(); at += 4) {
      EXPECT_NE(std::memcmp(memory.data() + at, &value, sizeof value), 0) << at;
    }
  }
}

TEST(RandomStream, has_about_as_many_ones_as_zeros) {
  RandomStream stream(Host::system());
  int ones = 0;
  for (int i = 0; i < 10'000; ++i) ones += std::popcount(stream.next());
  EXPECT_NEAR(ones, 320'000, 12 * 400);  // Twelve standard deviations.
}

TEST(RandomStream, is_not_repeated_by_the_child_of_a_fork) {
  RandomStream stream(Host::system());
  stream.next();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);

  const pid_t child = ::fork();
  if (child == 0) {
    const std::uint64_t value = stream.next();
    ::_exit(::write(ends[1], &value, sizeof value) == sizeof value ? 0 : 1);
  }
  const std::uint64_t mine = stream.next();
  std::uint64_t childs = 0;
  ASSERT_EQ(::read(ends[0], &childs, sizeof childs), static_cast<ssize_t>(sizeof childs));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::close(ends[0]);
  ::close(ends[1]);

  EXPECT_EQ(status, 0);
  EXPECT_NE(childs, mine);
  RandomStream other(Host::system());
  EXPECT_NE(other.next(), childs);
}

}  // namespace
}  // namespace keel::random_stream_test
