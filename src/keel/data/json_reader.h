// keel/data/json_reader.h — reads one JSON text (RFC 8259) by cursor, without a tree of values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/base/text_value.h"

namespace keel::json {
namespace internal {
class Cursor;
}

// The kinds of JSON values; None at the end of the document.
enum class Kind : std::uint8_t { Object, Array, String, Number, Boolean, Null, None };

// What was wrong first, and where. `line` and `column` begin at 1; the column counts bytes.
struct Problem {
  enum class Cause : std::uint8_t {
    Syntax,  // Not JSON, or nested too deeply: nothing can be said about its content (HTTP: 400).
    Value,   // JSON, but not what was asked for: kind, range, or the caller's own rule (HTTP: 422).
  };
  Cause cause;
  const char* message;  // A literal: "expected a string".
  std::size_t offset;
  std::size_t line;
  std::size_t column;
  const char* keyword = "";  // Of JSON Schema, a literal, or "": violations.h.
};

// Bounds of what a reader accepts.
struct ReaderOptions {
  int depth_max = 128;  // Open objects and arrays, 1 to 128; deeper is a Syntax problem.
  // A longer text is a Syntax problem before any of it is read. It bounds what is made of the text: a Value
  // (json_value.h) takes up to sixteen times as much.
  std::size_t bytes_max = std::size_t{256} << 20;
};

// Reads one JSON text by cursor. The caller asks for what it expects. The first problem sticks: from then on every
// call returns at once with an empty value (nullopt, 0, "", false), so a reader is written without checks and asks
// finish() at the end. Bytes after the value, an empty text, a byte-order mark, lone surrogates, ill-formed UTF-8 and
// raw control characters are problems. A member that occurs twice is shown twice: the caller decides (RFC 8259 §4
// leaves it open; a bit per member seen is enough). A value is read or skipped before the next key or element is asked
// for, a member that the caller does not know by skip(); anything else is a Bug (base/bug.h).
//
// A Value problem is reported as soon as it is met; the text behind that value has not been looked at then.
//
// Lifetime: strings are views into the text, or into the arena when they had escapes; they may contain U+0000.
//           Text and arena outlive the Reader.
// Cost:     O(bytes), each byte seen once (escaped strings twice); about 1 KB on the stack.
class Reader {
 public:
  Reader(std::string_view text, Arena& arena, ReaderOptions options = {});

  // What the value ahead begins like; None at the end of the text or after a problem. Takes nothing.
  Kind peek();

  // Enters an object; then next_key() until it gives nothing.
  bool begin_object();
  // The key of the next member, whose value is then due; nullopt when the object has ended (and was left).
  std::optional<std::string_view> next_key();
  // The same, faster where the text goes on with `likely`, a key with its quotes and colon ("\"id\":"): the key is then
  // a view into `likely`, not into the text.
  std::optional<std::string_view> next_key(std::string_view likely);
  bool begin_array();
  // True when an element is due; false when the array has ended (and was left).
  bool next_element();

  std::string_view string();
  // Exact: 16, and as JSON Schema has it 16.0 and 1.6e1 too; 16.5 is no integer. What does not fit is refused.
  std::int64_t int64();
  std::uint64_t uint64();
  // Correctly rounded. Numbers that a finite double cannot approximate (1e999, 1e-999) are refused.
  double number();
  // A number as it was written, checked against the grammar only.
  std::string_view number_text();
  bool boolean();
  // A string that is a T, such as Uuid or Timestamp (base/text_value.h); another one is a Value problem with
  // T::expected as its message, and gives T().
  template <TextValue T>
  T value() {
    const std::string_view text = string();
    if (failed()) return T();
    Result<T> parsed = T::parse(text);
    if (parsed) return *std::move(parsed);
    fail(T::expected, nullptr, "format");
    return T();
  }
  void null();
  // Takes a null if one is due; otherwise nothing happens.
  bool try_null();
  // Passes over one value of any kind, checking its syntax; returns its text.
  std::string_view skip();

  // The caller's own verdict on the value taken last: fail("must not be negative"); with `member`, on a member of the
  // object just left: fail("is required", "name", "required"). `keyword` is that of JSON Schema, where there is one.
  // All are literals. Ignored after an earlier problem.
  void fail(const char* message, const char* member = nullptr, const char* keyword = "") noexcept;

  // The same for what makes the text malformed, such as a member given twice: a Syntax problem.
  void fail_malformed(const char* message) noexcept;

  // Where a value is due that is read twice.
  class Mark {
    friend class Reader;
    const char* at_;
    std::uint64_t level_;
    int depth_;
  };
  Mark mark();
  // Goes back to it; what it is in has not ended. False after a problem, and when more would be read again than 1 MiB
  // and eight times the text, which is a Syntax problem: no text makes the time more than linear.
  bool rewind(const Mark& mark);

  // For a caller that reports every problem. After a Value problem: forgets it, passes over what is left of the value
  // that it is about and of the containers within the `depth` outermost ones, and goes on there. False after a Syntax
  // problem, which stays, or when one is met.
  bool resume(int depth);
  // Of the containers that are open.
  int depth() const noexcept { return depth_; }

  // The text has ended after the value and there was no problem; else error().
  Result<> finish();
  bool failed() const noexcept { return state_ == State::Failed; }
  // The rest only after failed().
  Problem problem() const;
  // Appends the JSON Pointer (RFC 6901) of the value that the problem is about: "/user/tags/2"; "" is the whole text.
  void append_path(Buffer& out) const;
  // Code::InvalidArgument: "expected a string at line 1 column 17 (/user/name)". One allocation.
  Error error() const;

 private:
  friend class internal::Cursor;
  static constexpr int depth_limit = 128;
  enum class State : std::uint8_t { First, Value, Next, Failed };  // Container just begun; value due; value taken.

  bool begin(char bracket, const char* expected);
  bool member(std::string_view& raw, bool& escaped, std::string_view likely = {});
  bool after_value(char closing, const char* expected);
  bool value_due();
  [[noreturn, gnu::cold]] void value_is_left() const;
  bool scan_string(std::string_view& raw, bool& escaped) noexcept;
  bool scan_escape() noexcept;
  bool scan_hex4(unsigned& unit) noexcept;
  bool scan_number(std::string_view& raw, bool& whole) noexcept;
  bool number_due(std::string_view& raw, bool& whole);
  bool take_literal(std::string_view word);
  std::string_view unescape(std::string_view raw);
  void skip_space() noexcept;
  void mismatch(const char* expected);
  void refuse(Problem::Cause cause, const char* message, const char* where, const char* keyword = "") noexcept;

  const char* begin_;
  const char* end_;
  const char* at_;
  const char* value_;      // Where the value that is due, or was taken last, begins.
  std::size_t again_ = 0;  // Bytes that rewind() has given back.
  Arena& arena_;
  int depth_ = 0;
  int depth_max_;
  State state_ = State::Value;
  State state_before_ = State::Value;  // The problem.
  Problem::Cause cause_ = Problem::Cause::Syntax;
  const char* message_ = nullptr;
  const char* keyword_ = "";
  const char* member_ = nullptr;
  const char* where_ = nullptr;
  // Of each open container: the offset behind the current key's opening quote (0: none yet), or the number of
  // elements begun; doubled, plus 1 for arrays.
  std::uint64_t level_[depth_limit];
};

// The text of the value at a JSON Pointer (RFC 6901), without reading the rest into anything: "/lines/0/sku". Of a
// member that occurs twice, the first. NotFound when there is none; InvalidArgument when what is passed on the way
// there is malformed, which is all that is looked at. json::parse<T>() (json_parse.h) then reads what it gives.
Result<std::string_view> find(std::string_view text, std::string_view pointer);

}  // namespace keel::json
