// keel/data/binary_reader.h — reads one value of CBOR (RFC 8949) or MessagePack by cursor, without a tree of values.
//
//   void read_binary(auto& in, Money& money) {       // for cbor::Reader and message_pack::Reader
//     in.begin_array();
//     if (in.next_element()) money.cents = in.int64();
//     if (in.next_element()) money.currency = in.string();
//     if (in.next_element()) in.fail("has more than two elements");
//   }
//
// Structs need none of this: cbor.h and message_pack.h read them whole. The functions are those of json::Reader
// (json_reader.h), so that a type may be read from all three by one function.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/base/text_value.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::binary {
namespace internal {
template <class Format>
class Access;
struct Head;
}  // namespace internal

struct Cbor;
struct MessagePack;

// Other: a tag or an extension that has no meaning here, or a simple value of CBOR that is none of these.
enum class Kind : std::uint8_t { Object, Array, String, Bytes, Number, Boolean, Null, Other, None };

// How a number is written.
enum class NumberKind : std::uint8_t { Unsigned, Negative, Real };

// What was wrong first, and where.
struct Problem {
  enum class Cause : std::uint8_t {
    Syntax,  // Not of this format, or nested too deeply: nothing can be said about its content (HTTP: 400).
    Value,   // Of it, but not what was asked for: kind, range, or the caller's own rule (HTTP: 422).
  };
  Cause cause;
  const char* message;  // A literal: "expected a string".
  std::size_t offset;   // In bytes, from 0.
  // Of JSON Schema, which the value breaks: "type", "format"; "" where there is none (violations.h).
  const char* keyword = "";
};

// Bounds of what a reader accepts.
struct ReaderOptions {
  int depth_max = 64;                              // Open objects and arrays, 1 to 64; deeper is a Syntax problem.
  std::size_t bytes_max = std::size_t{256} << 20;  // More is a Syntax problem before any of it is read.
};

// Reads one value by cursor. The caller asks for what it expects. The first problem sticks: from then on every call
// returns at once with an empty value, so a reader is written without checks and asks finish() at the end.
//
// CBOR:        lengths may be indefinite. Bignums (tags 2 and 3) are integers as far as they fit. Tags that only say
//              how to show or convert what follows (21 to 23, 32 to 36, 55799) are passed over; any other that the
//              caller does not ask for is a Value problem. undefined is null.
// MessagePack: a timestamp is the extension -1.
// Both:        keys are texts; another key is a Value problem of its object. A number is an integer when it is whole,
//              also as floating point. Texts are UTF-8. A member that occurs twice is shown twice.
//
// A value is read or skipped before the next key or element is asked for: anything else is a Bug (base/bug.h). Every
// length and count is compared with the bytes that are left before anything is done for it.
//
// Lifetime: strings are views into the bytes, or into the arena where they came in pieces. Bytes and arena outlive the
//           Reader.
// Threads:  one at a time.
// Cost:     O(bytes); about 1 KB on the stack, no heap.
template <class Format>
class Reader {
 public:
  Reader(std::string_view bytes, Arena& arena, ReaderOptions options = {});

  // What the value ahead is; None at the end of the bytes or after a problem. Takes nothing but tags without a meaning.
  Kind peek();

  // Enters an object; then next_key() until it gives nothing.
  bool begin_object();
  // The key of the next member, whose value is then due; nullopt when the object has ended (and was left).
  std::optional<std::string_view> next_key();
  bool begin_array();
  // True when an element is due; false when the array has ended (and was left).
  bool next_element();

  std::string_view string();
  std::span<const std::byte> bytes();
  // Exact; what does not fit, or is not whole, is a Value problem.
  std::int64_t int64();
  std::uint64_t uint64();
  // The nearest, of an integer too. Also NaN and the infinities.
  double number();
  // Of the number that is ahead; takes nothing.
  NumberKind number_kind();
  bool boolean();
  void null();
  // Takes a null if one is due; otherwise nothing happens.
  bool try_null();
  // Takes the tag of CBOR that is ahead, if one is, and gives its number.
  std::optional<std::uint64_t> try_tag();
  // CBOR: tags 0 and 1; MessagePack: the extension -1. Both: a text of RFC 3339 too.
  Timestamp timestamp();
  // CBOR: tag 37. Both: 16 bytes, or its text, too.
  Uuid uuid();
  // A string that is a T (base/text_value.h); another one is a Value problem with T::expected as its message.
  template <TextValue T>
  T value() {
    const std::string_view text = string();
    if (failed()) return T();
    Result<T> parsed = T::parse(text);
    if (parsed) return *std::move(parsed);
    fail(T::expected);
    return T();
  }
  // Passes over one value of any kind, tags included, checking its form; returns its bytes.
  std::string_view skip();

  // The caller's own verdict on the value taken last: fail("must not be negative"). A literal. Ignored after an earlier
  // problem.
  void fail(const char* message) noexcept;
  // The same for what makes the bytes malformed, such as a member given twice: a Syntax problem.
  void fail_malformed(const char* message) noexcept;

  int depth() const noexcept { return depth_; }  // Of the containers that are open.
  // The bytes have ended after the value and there was no problem; else error().
  Result<> finish();
  bool failed() const noexcept { return message_ != nullptr; }
  // The rest only after failed().
  Problem problem() const;
  // Appends the JSON Pointer (RFC 6901) of the value that the problem is about: "/user/tags/2"; "" is the whole.
  void append_path(Buffer& out) const;
  // Code::InvalidArgument: "expected a string at byte 17 (/user/name)". One allocation.
  Error error() const;

 private:
  friend class internal::Access<Format>;
  static constexpr int depth_limit = 64;
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};

  // Of an open container: what is left in it (unknown: until a break), and the offset of the key read last behind 1, or
  // the number of elements begun behind 0; the lowest bit.
  struct Level {
    std::uint64_t left;
    std::uint64_t place;
  };

  bool is_due();
  const char* take_head(internal::Head& head);
  bool begin(bool is_object);
  bool step(bool is_object);
  bool take_key(std::string_view& key);
  bool take_string(bool is_text, std::uint64_t& size);
  bool take_text(std::uint64_t size, bool is_text, std::string_view& to);
  bool next_piece(bool is_text, std::uint64_t& size);
  Timestamp seconds(const char* begin);
  Timestamp extension_time(std::uint64_t size, const char* behind);
  bool complete(int outer) noexcept;
  bool skip_head(int outer, bool& is_open);
  bool skip_string(std::uint64_t size, bool is_text);
  bool integer(bool& is_negative, std::uint64_t& magnitude);
  void mismatch(const char* expected, const char* keyword = "type") noexcept {
    refuse(Problem::Cause::Value, expected, value_, keyword);
  }
  void malformed(const char* message) noexcept { refuse(Problem::Cause::Syntax, message, at_); }
  void refuse(Problem::Cause cause, const char* message, const char* where, const char* keyword = "") noexcept;

  const char* begin_;
  const char* end_;
  const char* at_;
  const char* value_;          // Where the value that was taken last begins.
  const char* due_ = nullptr;  // Where the value of the key that was given, or the element, begins.
  Arena& arena_;
  int depth_ = 0;
  int depth_max_;
  Problem::Cause cause_ = Problem::Cause::Syntax;
  const char* message_ = nullptr;
  const char* where_ = nullptr;
  const char* keyword_ = "";
  Level level_[depth_limit];
};

extern template class Reader<Cbor>;
extern template class Reader<MessagePack>;

}  // namespace keel::binary
