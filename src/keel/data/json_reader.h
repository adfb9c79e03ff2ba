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

// The first problem, and where it is. `line` and `column` begin at 1; the column counts bytes.
struct Problem {
  enum class Cause : std::uint8_t {
    Syntax,  // The text is not JSON, or is nested too deeply: its content is unknown (HTTP: 400).
    // The value is valid JSON, but not of the requested kind or range, or breaks a rule of the caller (HTTP: 422).
    Value,
  };
  Cause cause;
  const char* message;  // A literal: "expected a string".
  std::size_t offset;
  std::size_t line;
  std::size_t column;
  const char* keyword = "";  // A keyword of JSON Schema (a string literal), or "": see violations.h.
};

// Bounds of what a reader accepts.
struct ReaderOptions {
  int depth_max = 128;  // The maximum of open objects and arrays, 1 to 128; deeper nesting is a Syntax problem.
  // A longer text is a Syntax problem before any of it is read. This also bounds the size of what the text is read
  // into: a Value (json_value.h) takes up to sixteen times as much memory as the text.
  std::size_t bytes_max = std::size_t{256} << 20;
  // For the types that a contract generates (docs/from_contract.md): the text is a response, in which a required
  // member may be absent if it is `writeOnly`. Otherwise it is a request, in which a `readOnly` one may be.
  bool is_response = false;
};

// Reads one JSON text step by step. The caller calls the function for the kind that it expects. The first problem is
// kept: every later call returns immediately with an empty value (nullopt, 0, "", false), so that code can read without
// checks and call finish() at the end. Bytes after the value, an empty text, a byte-order mark, lone surrogates,
// ill-formed UTF-8 and raw control characters are problems. A repeated member is reported twice, and the caller decides
// whether to accept it (RFC 8259 §4 leaves this open); one bit per member suffices to detect it. A value must be read
// or skipped (skip() for a member that the caller does not know) before the next key or element is requested; anything
// else is a Bug (base/bug.h).
//
// A Value problem is reported immediately, before the text after that value is examined.
//
// Lifetime: strings are views into the text, or into the arena if they had escapes; they may contain U+0000.
//           Text and arena must outlive the Reader.
// Cost:     O(bytes), each byte is read once (escaped strings twice); about 1 KB on the stack.
class Reader {
 public:
  Reader(std::string_view text, Arena& arena, ReaderOptions options = {});

  // The kind of the next value, judged by its first character; None at the end of the text or after a problem. Consumes
  // nothing.
  Kind peek();

  // Enters an object; then call next_key() until it returns nullopt.
  bool begin_object();
  // The key of the next member, whose value must be read next; nullopt at the end of the object, which the reader then
  // leaves.
  std::optional<std::string_view> next_key();
  // The same, but faster when the text continues with `likely`, a key with its quotes and colon ("\"id\":"): the
  // returned key is then a view into `likely`, not into the text.
  std::optional<std::string_view> next_key(std::string_view likely);
  bool begin_array();
  // True when an element follows; false at the end of the array, which the reader then leaves.
  bool next_element();

  std::string_view string();
  // The result is exact. Integers are, as in JSON Schema, not only 16 but also 16.0 and 1.6e1; 16.5 is not an integer.
  std::int64_t int64() { return int64(integer_range<std::int64_t>); }
  std::uint64_t uint64() { return uint64(integer_range<std::uint64_t>); }
  // Reads an integer of a narrower range, as in integer_range<std::int8_t>: a number outside of it is a Value problem
  // that names the bounds. The range of uint64() begins at 0.
  std::int64_t int64(const IntegerRange& range);
  std::uint64_t uint64(const IntegerRange& range);
  // Correctly rounded. Numbers too large or too small for a finite double (1e999, 1e-999) are Value problems.
  double number();
  // A number as it is written; only its grammar is checked.
  std::string_view number_text();
  bool boolean();
  // A string that is a T, such as Uuid or Timestamp (base/text_value.h); any other string is a Value problem with
  // T::expected as its message, and returns T().
  template <TextValue T>
  T value() {
    // Decimal is a type that reads itself: it may be a number.
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
  // Consumes a null if one is next; otherwise does nothing.
  bool try_null();
  // Skips one value of any kind, and checks its syntax; returns its text.
  std::string_view skip();

  // Reports a problem that the caller found in the value read last: fail("must not be negative"); with `member`, in a
  // member of the object just left: fail("is required", "name", "required"). `keyword` is the violated keyword of JSON
  // Schema, if there is one. All arguments are string literals. Ignored after an earlier problem.
  void fail(const char* message, const char* member = nullptr, const char* keyword = "") noexcept;

  // Reports a problem that makes the text malformed, such as a repeated member: a Syntax problem.
  void fail_malformed(const char* message) noexcept;

  // The position of a value that is to be read twice.
  class Mark {
    friend class Reader;
    const char* at_;
    std::uint64_t level_;
    int depth_;
  };
  Mark mark();
  // Goes back to the mark; the container around it must not have ended. False after a problem, and when the bytes read
  // again would exceed 1 MiB plus eight times the size of the text, which is a Syntax problem; this keeps the time
  // linear for every text.
  bool rewind(const Mark& mark);

  // Used by callers that report every problem. Continues after a Value problem: drops the problem, and skips the rest
  // of the wrong value and of all containers nested deeper than `depth`. False after a Syntax problem, which is kept,
  // or when skipping meets one.
  bool resume(int depth);
  // The number of open containers.
  int depth() const noexcept { return depth_; }
  // The value of the option is_response.
  bool is_response() const noexcept { return is_response_; }

  // Succeeds when the text ends after the value and there was no problem; else returns error().
  Result<> finish();
  bool failed() const noexcept { return state_ == State::Failed; }
  // Meaningful only after failed().
  Problem problem() const;
  // Appends the JSON Pointer (RFC 6901) of the value that has the problem: "/user/tags/2"; "" is the whole text.
  void append_path(Buffer& out) const;
  // Code::InvalidArgument: "expected a string at line 1 column 17 (/user/name)". One allocation.
  Error error() const;

 private:
  friend class internal::Cursor;
  static constexpr int depth_limit = 128;
  // First: a container has just begun. Value: a value must be read next. Next: a value has been read.
  enum class State : std::uint8_t { First, Value, Next, Failed };

  bool begin(char bracket, const char* expected);
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
  const char* value_;      // The position of the value that is read next, or that was read last.
  std::size_t again_ = 0;  // Bytes that rewind() has made readable again.
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
  // For each open container: the offset after the current key's opening quote (0: none yet), or the number of elements
  // begun; doubled, plus 1 for arrays.
  std::uint64_t level_[depth_limit];
};

// The text of the value at a JSON Pointer (RFC 6901), without decoding the rest: "/lines/0/sku". If a member is
// repeated, the first one counts. NotFound when there is none; InvalidArgument when `pointer` is not a JSON Pointer,
// and when the text is malformed before the end of the value. The rest of the text is not checked. json::parse<T>()
// (json_parse.h) can read the returned text.
Result<std::string_view> find(std::string_view text, std::string_view pointer);

}  // namespace keel::json
