// keel/data/json_reader.h — reads one JSON text (RFC 8259) step by step, without a tree of values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/base/integer_range.h"
#include "keel/base/result.h"
#include "keel/base/text_value.h"

namespace keel::json {
namespace internal {
class Cursor;
}

// The kinds of JSON values; None at the end of the document.
enum class Kind : std::uint8_t { Object, Array, String, Number, Boolean, Null, None };

// The first problem of the text, and its position. `line` and `column` are counted from 1; columns are counted in
// bytes.
struct Problem {
  enum class Cause : std::uint8_t {
    Syntax,  // The text is not JSON, or is nested too deeply, so its content is unknown (HTTP: 400).
    // The value is valid JSON, but does not have the requested kind or range, or breaks a rule of the caller (HTTP:
    // 422).
    Value,
  };
  Cause cause;
  const char* message;  // A literal: "expected a string".
  std::size_t offset;
  std::size_t line;
  std::size_t column;
  // The keyword of JSON Schema that the value violates (a string literal), or "": see violations.h.
  const char* keyword = "";
};

// Limits of the text that a reader accepts.
struct ReaderOptions {
  // The maximum number of objects and arrays that may be open at the same time, 1 to 128; deeper nesting is a Syntax
  // problem.
  int depth_max = 128;
  // A text that is longer is a Syntax problem, reported before any byte is read. bytes_max also bounds the memory of
  // objects that are made from the text: a Value (json_value.h) takes up to sixteen times as much memory as the text.
  std::size_t bytes_max = std::size_t{256} << 20;
  // For the types that a contract generates (docs/from_contract.md): if true, the text is a response, in which a
  // required member may be absent if it is `writeOnly`. If false, the text is a request, in which a required member may
  // be absent if it is `readOnly`.
  bool is_response = false;
};

// Reads one JSON text step by step. The caller calls the function for the kind of value that it expects. The first
// problem is kept: every later call returns immediately with an empty value (nullopt, 0, "", false), so that the caller
// can read without checks and call finish() at the end. The following are problems too: bytes after the value, an empty
// text, a byte-order mark, lone surrogates, ill-formed UTF-8 and raw control characters. A repeated member is returned
// twice, and the caller decides whether to accept it (RFC 8259 §4 leaves this open); to detect repetition, one bit per
// member suffices. A value must be read or skipped (skip() for a member that the caller does not know) before the next
// key or element is requested; otherwise, the request throws a Bug (base/bug.h).
//
// A Value problem is reported immediately, before the text after the value is examined.
//
// Lifetime: strings are views into the text, or into the arena if the strings contained escapes; a string may contain
//           U+0000. The text and the arena must outlive the Reader.
// Cost:     O(bytes), where each byte is read once, or twice in a string with escapes; a Reader takes about 1 KB on the
//           stack.
class Reader {
 public:
  Reader(std::string_view text, Arena& arena, ReaderOptions options = {});

  // Returns the kind of the next value, judged by its first character; None at the end of the text or after a problem.
  // Consumes nothing.
  Kind peek();

  // Enters an object; then call next_key() until it returns nullopt.
  bool begin_object();
  // Returns the key of the next member, whose value must be read next; nullopt at the end of the object, which the
  // reader then leaves.
  std::optional<std::string_view> next_key();
  // Like next_key(), but faster if the text continues with `likely`, a key with its quotes and colon ("\"id\":"); the
  // returned key is then a view into `likely`, not into the text.
  std::optional<std::string_view> next_key(std::string_view likely);
  bool begin_array();
  // Returns true if an element follows; false at the end of the array, which the reader then leaves.
  bool next_element();

  std::string_view string();
  // The result is exact. As in JSON Schema, 16, 16.0 and 1.6e1 are all integers; 16.5 is not an integer.
  std::int64_t int64() { return int64(integer_range<std::int64_t>); }
  std::uint64_t uint64() { return uint64(integer_range<std::uint64_t>); }
  // Reads an integer that must be within `range`, for example within integer_range<std::int8_t>; a number outside the
  // range is a Value problem that names the bounds. The range passed to uint64() must begin at 0.
  std::int64_t int64(const IntegerRange& range);
  std::uint64_t uint64(const IntegerRange& range);
  // Correctly rounded. Numbers too large or too small for a finite double (1e999, 1e-999) are Value problems.
  double number();
  // Returns the text of a number; only the grammar of the number is checked.
  std::string_view number_text();
  bool boolean();
  // Reads a string that is a T, such as a Uuid or a Timestamp (base/text_value.h); any other string is a Value problem
  // whose message is T::expected, and T() is returned.
  template <TextValue T>
  T value() {
    // For example, a Decimal reads itself, because its JSON form may be a number.
    if constexpr (requires(Reader& in, T& one) { read_json(in, one); }) {
      T one;
      read_json(*this, one);
      return one;
    }
    const std::string_view text = string();
    if (failed()) return T();
    Result<T> parsed = T::parse(text);
    if (parsed) return *std::move(parsed);
    fail(T::expected, nullptr, "format");
    return T();
  }
  void null();
  // Consumes a null if the next value is null; otherwise does nothing.
  bool try_null();
  // Skips one value of any kind, and checks its syntax; returns the text of the value.
  std::string_view skip();

  // Reports a problem that the caller found in the last value that was read: fail("must not be negative"); with
  // `member`, the problem is in that member of the object that was just left: fail("is required", "name", "required").
  // `keyword` is the keyword of JSON Schema that the value violates, if any. All arguments must be string literals. The
  // call is ignored if a problem was reported before.
  void fail(const char* message, const char* member = nullptr, const char* keyword = "") noexcept;

  // Reports that the text is malformed, for example because of a repeated member: a Syntax problem.
  void fail_malformed(const char* message) noexcept;

  // The position of a value that the caller reads twice.
  class Mark {
    friend class Reader;
    const char* at_;
    std::uint64_t level_;
    int depth_;
  };
  Mark mark();
  // Goes back to the mark; the container that surrounds the mark must not have ended. Returns false after a problem,
  // and if the bytes that are read again would exceed 1 MiB plus eight times the size of the text. Exceeding this limit
  // is a Syntax problem; the limit keeps the time linear for every text.
  bool rewind(const Mark& mark);

  // For callers that report every problem. Continues after a Value problem: clears the problem, and skips the rest of
  // the wrong value and of all containers that are nested deeper than `depth`. Returns false after a Syntax problem,
  // which is kept, or if a Syntax problem occurs while skipping.
  bool resume(int depth);
  // The number of open containers.
  int depth() const noexcept { return depth_; }
  // The value of the option ReaderOptions::is_response.
  bool is_response() const noexcept { return is_response_; }

  // Succeeds if the text ends after the value and no problem was reported; otherwise returns error().
  Result<> finish();
  bool failed() const noexcept { return state_ == State::Failed; }
  // Must be called only after failed() has returned true.
  Problem problem() const;
  // Appends the JSON Pointer (RFC 6901) of the value to which the problem belongs: "/user/tags/2"; "" means the whole
  // text.
  void append_path(Buffer& out) const;
  // Code::InvalidArgument: "expected a string at line 1 column 17 (/user/name)". One allocation.
  Error error() const;

 private:
  friend class internal::Cursor;
  static constexpr int depth_limit = 128;
  // First: a container has just begun. Value: a value must be read next. Next: a value has been read.
  enum class State : std::uint8_t { First, Value, Next, Failed };

  bool begin(char bracket, const char* expected);
  std::optional<std::string_view> key(std::string_view likely);
  bool member(std::string_view& raw, bool& escaped, std::string_view likely = {});
  bool after_value(char closing, const char* expected);
  bool value_due();
  [[noreturn, gnu::cold]] void value_is_left() const;
  bool scan_string(std::string_view& raw, bool& escaped) noexcept;
  bool scan_escape() noexcept;
  bool scan_hex4(unsigned& unit) noexcept;
  bool scan_number(std::string_view& raw, bool& whole) noexcept;
  bool number_due(std::string_view& raw, bool& whole, const char* expected = "expected a number");
  template <class T>
  T whole_number(const IntegerRange& range);
  [[gnu::cold]] void refuse_beyond(const IntegerRange& range, bool is_below) noexcept;
  bool take_literal(std::string_view word);
  std::string_view unescape(std::string_view raw);
  void skip_space() noexcept;
  void mismatch(const char* expected);
  void refuse(Problem::Cause cause, const char* message, const char* where, const char* keyword = "") noexcept;

  const char* begin_;
  const char* end_;
  const char* at_;
  const char* value_;      // The position of the value that is read next, or of the last value that was read.
  std::size_t again_ = 0;  // The number of bytes that rewind() has made readable again.
  Arena& arena_;
  int depth_ = 0;
  int depth_max_;
  bool is_response_;
  State state_ = State::Value;
  State state_before_ = State::Value;  // The problem.
  Problem::Cause cause_ = Problem::Cause::Syntax;
  const char* message_ = nullptr;
  const char* keyword_ = "";
  const char* member_ = nullptr;
  const char* where_ = nullptr;
  // For each open object: twice the offset of the byte after the opening quote of the current key; 0 before the first
  // key. For each open array: twice the number of elements that have begun, plus 1.
  std::uint64_t level_[depth_limit];
};

// Returns the text of the value at `pointer`, without decoding other values; `pointer` is a JSON Pointer (RFC 6901)
// such as "/lines/0/sku". If a member is repeated, its first occurrence counts. NotFound if the text has no value at
// `pointer`; InvalidArgument if `pointer` is not a JSON Pointer, or if the text is malformed before the end of the
// value. The part of the text after the value is not checked. json::parse<T>() (json_parse.h) can read the returned
// text.
Result<std::string_view> find(std::string_view text, std::string_view pointer);

}  // namespace keel::json
