#include "keel/db/internal/sha256.h"

#include <bit>
#include <cstring>

namespace keel::db {
namespace {

constexpr std::size_t block_bytes = 64;

// FIPS 180-4 §4.2.2.
constexpr std::uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t load(const unsigned char* from) noexcept {
  return std::uint32_t{from[0]} << 24 | std::uint32_t{from[1]} << 16 | std::uint32_t{from[2]} << 8 | from[3];
}

// §6.2.2.
void mix(std::uint32_t (&hash)[8], const unsigned char* block) noexcept {
  std::uint32_t schedule[64];
  for (int t = 0; t < 16; ++t) schedule[t] = load(block + 4 * t);
  for (int t = 16; t < 64; ++t) {
    const std::uint32_t early = schedule[t - 15];
    const std::uint32_t late = schedule[t - 2];
    schedule[t] = schedule[t - 16] + (std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3) + schedule[t - 7] +
                  (std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = hash;
  for (int t = 0; t < 64; ++t) {
    const std::uint32_t first =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + constants[t] + schedule[t];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const std::uint32_t mixed[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) hash[i] += mixed[i];
}

}  // namespace

std::array<std::uint8_t, 32> sha256(std::string_view text) noexcept {
  // §5.3.3.
  std::uint32_t hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t done = 0;
  for (; text.size() - done >= block_bytes; done += block_bytes) mix(hash, bytes + done);

  // FIPS 180-4 §5.1.1: the padding consists of a 1 bit, zeros, and the length in bits.
  unsigned char last[2 * block_bytes] = {};
  const std::size_t rest = text.size() - done;
  if (rest != 0) std::memcpy(last, bytes + done, rest);
  last[rest] = 0x80;
  const std::size_t size = rest < block_bytes - 8 ? block_bytes : 2 * block_bytes;
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (std::size_t i = 0; i < 8; ++i) last[size - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
  for (std::size_t at = 0; at < size; at += block_bytes) mix(hash, last + at);

  std::array<std::uint8_t, 32> digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(hash[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

}  // namespace keel::db
