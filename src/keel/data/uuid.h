// keel/data/uuid.h — ids that can be made without a central authority: UUIDs (RFC 9562).
//
//   const Uuid id = Uuid::v7();                                   // in the order in which they were made
//   out.key("id").string(id.text());                              // "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50"
//   KEEL_TRY(Uuid id, request.path_param<Uuid>("id"));            // 400 when it is none
//   co_await session.execute("insert into orders (id) values ($1)", id);   // a text of 36 characters
//   const Uuid id = row.get<Uuid>(0);
//
// v4   122 random bits, from Host::secret(): nobody can guess one.
// v7   the calendar's milliseconds in its first 48 bits, the nanoseconds within in the next 20, then 54 bits from
//      Host::secret(). Each is greater than all before it from the same worker (or from all plain threads together),
//      as bytes and as text, also within one nanosecond and while the calendar is set back: new rows go to the end of
//      an index. It tells when it was made; for tokens use v4, or data/token.h.
//
// In a simulation, UUIDs of v4 and v7 come from the simulation's clock and seed, so that a run can be repeated exactly.
//
// Text:    8-4-4-4-12 hexadecimal digits, which are written in lower case and read in either case; without braces and
//          without "urn:uuid:". UUIDs of every version can be read, including the nil and the max UUID: the bits of the
//          variant and the version are not checked.
// Errors:  parse() returns InvalidArgument.
// Threads: a value.
// Cost:    16 bytes and no heap memory; v4 and v7 take a system call (Host::secret).

#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "keel/base/result.h"
#include "keel/base/text_value.h"

namespace keel {

class Host;

class Uuid {
 public:
  static constexpr std::size_t text_size = 36;
  using Text = ShortText<text_size>;
  static constexpr const char* expected = "expected a UUID such as 0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50";

  // The nil UUID: all zeros.
  constexpr Uuid() = default;
  // The bytes, in the order of the text.
  explicit constexpr Uuid(const std::array<std::byte, 16>& bytes) noexcept : bytes_(bytes) {}

  static Uuid v4();
  static Uuid v4(Host& host);
  static Uuid v7();
  static Uuid v7(Host& host);

  static Result<Uuid> parse(std::string_view text) noexcept;

  Text text() const noexcept;
  // Writes text_size characters, and returns the position after them.
  char* write(char* to) const noexcept;

  constexpr const std::array<std::byte, 16>& bytes() const noexcept { return bytes_; }
  constexpr bool is_nil() const noexcept { return *this == Uuid(); }
  // The version, 1 to 8, of a UUID that follows RFC 9562; for any other UUID, the number that its bits happen to
  // contain.
  constexpr int version() const noexcept { return static_cast<int>(bytes_[6] >> 4); }

  // UUIDs have the same order as their texts.
  constexpr auto operator<=>(const Uuid&) const noexcept = default;

 private:
  std::array<std::byte, 16> bytes_{};
};

}  // namespace keel

// This hash has no key: for a table in which untrusted clients choose the ids, use siphash() of bytes()
// (base/siphash.h) instead.
template <>
struct std::hash<keel::Uuid> {
  std::size_t operator()(const keel::Uuid& id) const noexcept {
    std::uint64_t words[2];
    std::memcpy(words, id.bytes().data(), sizeof words);
    return static_cast<std::size_t>((words[0] ^ words[1] >> 32 ^ words[1] << 32) * 0x9e3779b97f4a7c15u);
  }
};
