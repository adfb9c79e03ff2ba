// keel/data/binary_reader.h — reads one value of CBOR (RFC 8949) or MessagePack step by step, without a tree of values.
//
//   void read_binary(auto& in, Money& money) {       // for cbor::Reader and message_pack::Reader
//     in.begin_array();
//     if (in.next_element()) money.cents = in.int64();
//     if (in.next_element()) money.currency = in.string();
//     if (in.next_element()) in.fail("has more than two elements");
//   }
//
// To read a struct, use cbor.h or message_pack.h instead: these read the whole struct. The functions have the same
// names as the functions of json::Reader (json_reader.h), so that one function can read a type from JSON, CBOR and
// MessagePack.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/base/integer_range.h"
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

// Other: a tag or an extension that has no meaning for the Reader, or any other simple value of CBOR.
enum class Kind : std::uint8_t { Object, Array, String, Bytes, Number, Boolean, Null, Other, None };

// How a number is encoded.
enum class NumberKind : std::uint8_t { Unsigned, Negative, Real };

// The first problem of the input, and its position.
struct Problem {
  enum class Cause : std::uint8_t {
    // The input is not in this format, or is nested too deeply, so its content is unknown (HTTP: 400).
    Syntax,
    // The value is well-formed, but does not have the requested kind or range, or breaks a rule of the caller (HTTP:
    // 422).
    Value,
  };
  Cause cause;
  const char* message;  // A literal: "expected a string".
  std::size_t offset;   // The offset in bytes, from 0.
  // The keyword of JSON Schema that the value violates, such as "type" or "format"; may be empty (violations.h).
  const char* keyword = "";
};

// Limits of the input that a reader accepts.
struct ReaderOptions {
  // The maximum number of objects and arrays that may be open at the same time, 1 to 64; deeper nesting is a Syntax
  // problem.
  int depth_max = 64;
  // An input that is longer is a Syntax problem, reported before any byte is read.
  std::size_t bytes_max = std::size_t{256} << 20;
};

// Reads one value step by step. The caller calls the function for the kind of value that it expects. The first problem
// is kept: every later call returns immediately with an empty value, so that the caller can read without checks and
// call finish() at the end.
//
// CBOR:        lengths may be indefinite. Bignums (tags 2 and 3) are integers as far as they fit. Tags that only say
//              how to show or convert what follows (21 to 23, 32 to 36, 1004, 55799) are passed over; any other that
//              the caller does not ask for is a Value problem. undefined is null.
// MessagePack: a timestamp is encoded as the extension -1.
// Both:        in both formats, keys must be texts; an object with any other key has a Value problem. A whole number
//              counts as an integer, even if it is encoded as floating point. Texts are UTF-8. If an object contains a
//              member twice, the Reader returns it twice.
//
// A value must be read or skipped before the next key or element is requested; otherwise, the request throws a Bug
// (base/bug.h). Before a length or a count is used, the Reader checks that the length or count does not exceed the
// number of bytes left.
//
// Lifetime: strings are views into the bytes, or into the arena if the strings came in pieces. The bytes and the arena
//           must outlive the Reader.
// Threads:  one thread at a time.
// Cost:     O(bytes); a Reader takes about 1 KB on the stack and no heap memory.
template <class Format>
class Reader {
 public:
  Reader(std::string_view bytes, Arena& arena, ReaderOptions options = {});

  // Returns the kind of the next value; None at the end of the bytes or after a problem. Consumes nothing except tags
  // without a meaning for the Reader.
  Kind peek();

  // Enters an object; then call next_key() until it returns nullopt.
  bool begin_object();
  // Returns the key of the next member, whose value must be read next; nullopt at the end of the object, which the
  // reader then leaves.
  std::optional<std::string_view> next_key();
  bool begin_array();
  // Returns true if an element follows; false at the end of the array, which the reader then leaves.
  bool next_element();

  std::string_view string();
  std::span<const std::byte> bytes();
  // The result is exact; a number that does not fit, or is not a whole number, is a Value problem.
  std::int64_t int64() { return int64(integer_range<std::int64_t>); }
  std::uint64_t uint64() { return uint64(integer_range<std::uint64_t>); }
  // Reads an integer that must be within `range`, for example within integer_range<std::int8_t>; a number outside the
  // range is a Value problem that names the bounds. The range passed to uint64() must begin at 0.
  std::int64_t int64(const IntegerRange& range);
  std::uint64_t uint64(const IntegerRange& range);
  // Returns the double nearest to the number, even if the number is an integer. The result may be NaN or an infinity.
  double number();
  // Returns how the next number is encoded; consumes nothing.
  NumberKind number_kind();
  bool boolean();
  void null();
  // Consumes a null if the next value is null; otherwise does nothing.
  bool try_null();
  // If a CBOR tag is next, consumes it and returns its number.
  std::optional<std::uint64_t> try_tag();
  // CBOR: a value with tag 0 or 1; MessagePack: the extension -1. In both formats a timestamp may also be a text in the
  // form of RFC 3339.
  Timestamp timestamp();
  // CBOR: tag 37. In both formats a UUID may also be encoded as 16 bytes, or as text.
  Uuid uuid();
  // Reads a string that is a T (base/text_value.h); any other string is a Value problem whose message is T::expected.
  template <TextValue T>
  T value() {
    const std::string_view text = string();
    if (failed()) return T();
    Result<T> parsed = T::parse(text);
    if (parsed) return *std::move(parsed);
    fail(T::expected);
    return T();
  }
  // Skips one value of any kind, including its tags, and checks its form; returns its bytes.
  std::string_view skip();

  // Reports a problem that the caller found in the last value that was read: fail("must not be negative"). `message`
  // must be a string literal. The call is ignored if a problem was reported before.
  void fail(const char* message) noexcept;
  // Reports that the bytes are malformed, for example because of a repeated member: a Syntax problem.
  void fail_malformed(const char* message) noexcept;

  int depth() const noexcept { return depth_; }  // The number of open containers.
  // Succeeds if the bytes end after the value and no problem was reported; otherwise returns error().
  Result<> finish();
  bool failed() const noexcept { return message_ != nullptr; }
  // Must be called only after failed() has returned true.
  Problem problem() const;
  // Appends the JSON Pointer (RFC 6901) of the value to which the problem belongs: "/user/tags/2"; "" means the whole
  // value.
  void append_path(Buffer& out) const;
  // Code::InvalidArgument: "expected a string at byte 17 (/user/name)". One allocation.
  Error error() const;

 private:
  friend class internal::Access<Format>;
  static constexpr int depth_limit = 64;
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};

  // The state of each open container: the number of its values that are still to be read (if the number is unknown,
  // values follow until a stop code, "break"), and either the offset of the last key (lowest bit 1) or the number of
  // elements begun (lowest bit 0).
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
  bool integer(bool& is_negative, std::uint64_t& magnitude, const IntegerRange* range);
  void mismatch(const char* expected, const char* keyword = "type") noexcept {
    refuse(Problem::Cause::Value, expected, value_, keyword);
  }
  void malformed(const char* message) noexcept { refuse(Problem::Cause::Syntax, message, at_); }
  void refuse(Problem::Cause cause, const char* message, const char* where, const char* keyword = "") noexcept;

  const char* begin_;
  const char* end_;
  const char* at_;
  const char* value_;          // The beginning of the last value that was read.
  const char* due_ = nullptr;  // The beginning of the value that follows the last key, or of the current element.
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
