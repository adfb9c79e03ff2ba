#include "keel/base/internal/chacha20.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace keel::chacha20_test {
namespace {

using internal::ChaCha20Kernel;

using State = std::array<std::uint32_t, internal::chacha20_state_words>;
using Output = std::array<std::uint32_t, internal::chacha20_state_words * internal::chacha20_blocks>;

std::uint32_t word_of(std::string_view hex) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 8; i += 2) {
    const auto digit = [](char c) { return static_cast<std::uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
    word |= (digit(hex[i]) << 4 | digit(hex[i + 1])) << 4 * i;
  }
  return word;
}

// Little-endian words, as the RFC writes bytes.
template <std::size_t size>
std::array<std::uint32_t, size> words_of(std::string_view hex) {
  std::array<std::uint32_t, size> words;
  for (std::size_t i = 0; i < size; ++i) words[i] = word_of(hex.substr(8 * i, 8));
  return words;
}

State state_of(std::string_view key, std::uint32_t counter, std::string_view nonce) {
  State state = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  std::ranges::copy(words_of<8>(key), state.begin() + 4);
  state[12] = counter;
  std::ranges::copy(words_of<3>(nonce), state.begin() + 13);
  return state;
}

struct Vector {
  const char* where;
  std::string_view key;
  std::uint32_t counter;
  std::string_view nonce;
  std::string_view block;
};

constexpr std::string_view zero_key = "0000000000000000000000000000000000000000000000000000000000000000";
constexpr std::string_view zero_nonce = "000000000000000000000000";

// RFC 8439.
constexpr Vector vectors[] = {
    {"2.3.2", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 1, "000000090000004a00000000",
     "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4ed2826446079faa0914c2d705d98b02a2b5129cd1de164eb9c"
     "b"
     "d083e8a2503c4e"},
    {"A.1 #1", zero_key, 0, zero_nonce,
     "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc"
     "3"
     "87b669b2ee6586"},
    {"A.1 #2", zero_key, 1, zero_nonce,
     "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed29b721769ce64e43d57133b074d839d531ed1f28510afb45a"
     "c"
     "e10a1f4b794d6f"},
    {"A.1 #3", "0000000000000000000000000000000000000000000000000000000000000001", 1, zero_nonce,
     "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a"
     "6"
     "4addeb006c13a0"},
    {"A.1 #4", "00ff000000000000000000000000000000000000000000000000000000000000", 2, zero_nonce,
     "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7"
     "3"
     "74f4872e99f096"},
    {"A.1 #5", zero_key, 0, "000000000000000000000002",
     "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c78a970e0e955c14f3a88e741b97c286f75f8fc299e8148362f"
     "a"
     "198a39531bed6d"},
};

TEST(ChaCha20, gives_the_blocks_of_the_rfc_with_vectors_of_each_width) {
  for (const ChaCha20Kernel& kernel : internal::chacha20_kernels()) {
    if (!kernel.runs_here()) continue;
    for (const Vector& vector : vectors) {
      // As the first of the sixteen, and as a later one of those that begin with a lower counter.
      for (std::uint32_t j = 0; j <= vector.counter; ++j) {
        const State state = state_of(vector.key, vector.counter - j, vector.nonce);
        Output out;
        kernel.compute(state, out);
        const auto expected = words_of<16>(vector.block);
        for (std::size_t i = 0; i < 16; ++i) {
          EXPECT_EQ(out[16 * i + j], expected[i]) << kernel.name << ", " << vector.where << ", word " << i;
        }
      }
    }
  }
}

TEST(ChaCha20, gives_the_same_sixteen_blocks_with_vectors_of_each_width) {
  const State state = state_of(vectors[0].key, 0xfffffff8, vectors[0].nonce);  // The counter passes its end.
  Output expected;
  internal::chacha20_kernels().front().compute(state, expected);
  for (const ChaCha20Kernel& kernel : internal::chacha20_kernels()) {
    if (!kernel.runs_here()) continue;
    Output out;
    kernel.compute(state, out);
    EXPECT_EQ(out, expected) << kernel.name;
  }
}

}  // namespace
}  // namespace keel::chacha20_test
