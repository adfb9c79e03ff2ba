#include "keel/data/json_reader.h"

#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "keel/base/ascii.h"
#include "keel/base/bug.h"
#include "keel/data/internal/json_scan.h"
#include "keel/data/internal/json_text.h"
#include "keel/data/internal/pointer_parts.h"
#include "keel/data/internal/whole_number.h"
#include "keel/data/utf8.h"

namespace keel::json {
namespace {

using internal::plain_run;

bool is_high_surrogate(unsigned unit) noexcept { return (unit & 0xFC00) == 0xD800; }
bool is_low_surrogate(unsigned unit) noexcept { return (unit & 0xFC00) == 0xDC00; }

// `raw` must have been checked by scan_string(). The result is never longer than `raw`.
char* unescape_to(std::string_view raw, char* to) noexcept {
  const char* at = raw.data();
  const char* const end = at + raw.size();
  const auto hex4 = [](const char* digits) {
    const auto value = [&](int i) { return static_cast<unsigned>(ascii::hex_value(digits[i])); };
    return value(0) << 12 | value(1) << 8 | value(2) << 4 | value(3);
  };
  while (at != end) {
    at = internal::copy_to_slash(at, end, to);
    if (at == end) break;
    const char letter = at[1];
    at += 2;
    switch (letter) {
      case 'b':
        *to++ = '\b';
        break;
      case 'f':
        *to++ = '\f';
        break;
      case 'n':
        *to++ = '\n';
        break;
      case 'r':
        *to++ = '\r';
        break;
      case 't':
        *to++ = '\t';
        break;
      case 'u': {
        char32_t point = hex4(at);
        at += 4;
        if (is_high_surrogate(point)) {
          point = 0x10000 + ((point & 0x3FF) << 10) + (hex4(at + 2) & 0x3FF);
          at += 6;
        }
        to += utf8::encode(point, to);
        break;
      }
      default:
        *to++ = letter;
    }
  }
  return to;
}

}  // namespace

Reader::Reader(std::string_view text, Arena& arena, ReaderOptions options)
    : begin_(text.data()),
      end_(begin_ + text.size()),
      at_(begin_),
      value_(begin_),
      arena_(arena),
      depth_max_(options.depth_max),
      is_response_(options.is_response) {
  KEEL_EXPECT(depth_max_ >= 1 && depth_max_ <= depth_limit, "depth_max of a JSON reader must be from 1 to 128");
  if (text.size() > options.bytes_max) [[unlikely]]
    refuse(Problem::Cause::Syntax, "the text is longer than allowed", begin_);
}

void Reader::refuse(Problem::Cause cause, const char* message, const char* where, const char* keyword) noexcept {
  if (state_ == State::Failed) return;
  state_before_ = state_;
  state_ = State::Failed;
  cause_ = cause;
  message_ = message;
  where_ = where;
  keyword_ = keyword;
}

void Reader::fail(const char* message, const char* member, const char* keyword) noexcept {
  if (state_ == State::Failed) return;
  member_ = member;
  refuse(Problem::Cause::Value, message, member != nullptr ? at_ : value_, keyword);
}

void Reader::fail_malformed(const char* message) noexcept { refuse(Problem::Cause::Syntax, message, value_); }

// Most texts contain no white space.
[[gnu::always_inline]] inline void Reader::skip_space() noexcept {
  if (at_ != end_ && static_cast<std::uint8_t>(*at_) <= 0x20) [[unlikely]]
    at_ = internal::behind_space(at_, end_);
}

// This function and the next two are inlined into each of their callers below, because these three functions take most
// of the reading time.
[[gnu::always_inline]] inline bool Reader::value_due() {
  if (state_ != State::Value) [[unlikely]] {
    KEEL_EXPECT(state_ == State::Failed,
                "a JSON value is read where none is expected: read each value only once, at the start or after "
                "next_key() or next_element()");
    return false;
  }
  skip_space();
  value_ = at_;
  return true;
}

Kind Reader::peek() {
  if (!value_due() || at_ == end_) return Kind::None;
  switch (*at_) {
    case '{':
      return Kind::Object;
    case '[':
      return Kind::Array;
    case '"':
      return Kind::String;
    case 't':
    case 'f':
      return Kind::Boolean;
    case 'n':
      return Kind::Null;
    default:
      return ascii::is_digit(*at_) || *at_ == '-' ? Kind::Number : Kind::None;
  }
}

// The syntax of the value is checked first, because text that is not JSON is a Syntax problem, whatever the caller
// expected.
void Reader::mismatch(const char* expected) {
  const char* const where = value_;
  skip();
  refuse(Problem::Cause::Value, expected, where, "type");
}

bool Reader::begin(char bracket, const char* expected) {
  if (!value_due()) return false;
  if (at_ == end_ || *at_ != bracket) {
    mismatch(expected);
    return false;
  }
  if (depth_ == depth_max_) {
    refuse(Problem::Cause::Syntax, "nested too deeply", at_);
    return false;
  }
  ++at_;
  level_[depth_++] = bracket == '[' ? 1 : 0;
  state_ = State::First;
  return true;
}

bool Reader::begin_object() { return begin('{', "expected an object"); }
bool Reader::begin_array() { return begin('[', "expected an array"); }

// Returns true if another member or element must follow; false if the container has ended, or after a problem.
[[gnu::always_inline]] inline bool Reader::after_value(char closing, const char* expected) {
  if (state_ == State::Failed) return false;
  if (state_ == State::Value) [[unlikely]]
    value_is_left();
  KEEL_EXPECT(depth_ > 0 && (level_[depth_ - 1] & 1) == (closing == ']' ? 1u : 0u),
              closing == ']' ? "next_element() is called outside of a JSON array"
                             : "next_key() is called outside of a JSON object");
  skip_space();
  if (at_ == end_) {
    refuse(Problem::Cause::Syntax, "unexpected end of text", at_);
    return false;
  }
  if (*at_ == closing) {
    ++at_;
    --depth_;
    state_ = State::Next;
    return false;
  }
  if (state_ == State::First) return true;
  if (*at_ != ',') {
    refuse(Problem::Cause::Syntax, expected, at_);
    return false;
  }
  ++at_;
  skip_space();
  return true;
}

// The function is cold, because the path is computed only for the message.
void Reader::value_is_left() const {
  Buffer path;
  append_path(path);
  throw_bug(
      "the JSON value at \"" + std::string(path.view()) +
          "\" is neither read nor skipped before the next value is read: call skip() for a member that is not known",
      std::source_location::current());
}

[[gnu::always_inline]] inline bool Reader::member(std::string_view& raw, bool& escaped, std::string_view likely) {
  if (!after_value('}', "expected ',' or '}'")) return false;
  if (internal::begins_with(at_, end_, likely)) {
    level_[depth_ - 1] = static_cast<std::uint64_t>(at_ + 1 - begin_) << 1;
    raw = likely.substr(1, likely.size() - 3);
    at_ += likely.size();
    state_ = State::Value;
    return true;
  }
  level_[depth_ - 1] = 0;
  if (at_ == end_ || *at_ != '"') {
    refuse(Problem::Cause::Syntax, at_ == end_ ? "unexpected end of text" : "expected a key in quotes", at_);
    return false;
  }
  const auto key_offset = static_cast<std::uint64_t>(at_ + 1 - begin_);
  if (!internal::take_string(at_, end_, raw) && !scan_string(raw, escaped)) return false;
  level_[depth_ - 1] = key_offset << 1;
  skip_space();
  if (at_ == end_ || *at_ != ':') {
    refuse(Problem::Cause::Syntax, at_ == end_ ? "unexpected end of text" : "expected ':'", at_);
    return false;
  }
  ++at_;
  state_ = State::Value;
  return true;
}

[[gnu::always_inline]] inline std::optional<std::string_view> Reader::key(std::string_view likely) {
  std::string_view raw;
  bool escaped = false;
  if (!member(raw, escaped, likely)) return std::nullopt;
  return escaped ? unescape(raw) : raw;
}

std::optional<std::string_view> Reader::next_key() { return key({}); }
std::optional<std::string_view> Reader::next_key(std::string_view likely) { return key(likely); }

bool Reader::next_element() {
  if (!after_value(']', "expected ',' or ']'")) return false;
  level_[depth_ - 1] += 2;
  state_ = State::Value;
  return true;
}

Reader::Mark Reader::mark() {
  Mark mark;
  value_due();
  mark.at_ = at_;
  mark.level_ = depth_ > 0 ? level_[depth_ - 1] : 0;
  mark.depth_ = depth_;
  return mark;
}

bool Reader::rewind(const Mark& mark) {
  if (failed()) return false;
  const auto bytes = static_cast<std::size_t>(at_ - mark.at_);
  if (bytes > (std::size_t{1} << 20) + 8 * static_cast<std::size_t>(end_ - begin_) - again_) {
    refuse(Problem::Cause::Syntax,
           "objects that need a tag are nested too deeply: the tag of each object must be its first member", at_);
    return false;
  }
  again_ += bytes;
  at_ = value_ = mark.at_;
  depth_ = mark.depth_;
  if (depth_ > 0) level_[depth_ - 1] = mark.level_;
  state_ = State::Value;
  return true;
}

bool Reader::resume(int depth) {
  if (state_ != State::Failed || cause_ == Problem::Cause::Syntax) return false;
  state_ = state_before_;
  member_ = nullptr;
  std::string_view raw;
  bool escaped = false;
  for (;;) {
    if (state_ == State::Value) skip();
    if (failed() || depth_ <= depth) return !failed();
    if ((level_[depth_ - 1] & 1) != 0) {
      next_element();
    } else {
      member(raw, escaped);
    }
  }
}

bool Reader::scan_string(std::string_view& raw, bool& escaped) noexcept {
  const char* const first = ++at_;
  for (;;) {
    at_ += plain_run(at_, static_cast<std::size_t>(end_ - at_));
    if (at_ == end_) {
      refuse(Problem::Cause::Syntax, "unexpected end of text in a string", at_);
      return false;
    }
    if (*at_ == '"') {
      raw = {first, at_++};
      return true;
    }
    if (*at_ == '\\') {
      escaped = true;
      if (!scan_escape()) return false;
    } else if (static_cast<std::uint8_t>(*at_) < 0x20) {
      refuse(Problem::Cause::Syntax, "control character in a string", at_);
      return false;
    } else {
      do {
        const int length = utf8::sequence_length(at_, end_);
        if (length == 0) {
          refuse(Problem::Cause::Syntax, "string is not UTF-8", at_);
          return false;
        }
        at_ += length;
      } while (at_ != end_ && static_cast<std::uint8_t>(*at_) >= 0x80);
    }
  }
}

bool Reader::scan_escape() noexcept {
  const char* const slash = at_++;
  const char letter = at_ != end_ ? *at_++ : '\0';
  switch (letter) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      return true;
    case 'u': {
      unsigned unit = 0;
      unsigned low = 0;
      if (!scan_hex4(unit)) break;
      if (!is_high_surrogate(unit) && !is_low_surrogate(unit)) return true;
      if (is_high_surrogate(unit) && end_ - at_ >= 2 && at_[0] == '\\' && at_[1] == 'u') {
        at_ += 2;
        if (scan_hex4(low) && is_low_surrogate(low)) return true;
      }
      refuse(Problem::Cause::Syntax, "lone surrogate in a string", slash);
      return false;
    }
    default:
      break;
  }
  refuse(Problem::Cause::Syntax, "bad escape in a string", slash);
  return false;
}

bool Reader::scan_hex4(unsigned& unit) noexcept {
  if (end_ - at_ < 4) return false;
  for (int i = 0; i < 4; ++i) {
    const int digit = ascii::hex_value(*at_++);
    if (digit < 0) return false;
    unit = unit << 4 | static_cast<unsigned>(digit);
  }
  return true;
}

std::string_view Reader::unescape(std::string_view raw) {
  auto* text = static_cast<char*>(arena_.allocate(raw.size(), 1));
  const auto size = static_cast<std::size_t>(unescape_to(raw, text) - text);
  arena_.extend(text, raw.size(), size);  // Returns the unused part of the memory to the arena.
  return {text, size};
}

std::string_view Reader::string() {
  if (!value_due()) return {};
  std::string_view text;
  if (internal::take_string(at_, end_, text)) {
    state_ = State::Next;
    return text;
  }
  if (at_ == end_ || *at_ != '"') {
    mismatch("expected a string");
    return {};
  }
  std::string_view raw;
  bool escaped = false;
  if (!scan_string(raw, escaped)) return {};
  state_ = State::Next;
  return escaped ? unescape(raw) : raw;
}

bool Reader::scan_number(std::string_view& raw, bool& whole) noexcept {
  const char* const first = at_;
  const auto digits = [this] {
    const char* const before = at_;
    while (at_ != end_ && ascii::is_digit(*at_)) ++at_;
    return at_ - before;
  };
  whole = true;
  if (*at_ == '-') ++at_;
  const bool zero = at_ != end_ && *at_ == '0';
  const auto count = digits();
  bool good = count != 0;
  if (zero && count > 1) {
    refuse(Problem::Cause::Syntax, "number with a leading zero", first);
    return false;
  }
  if (good && at_ != end_ && *at_ == '.') {
    ++at_;
    whole = false;
    good = digits() != 0;
  }
  if (good && at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    ++at_;
    whole = false;
    if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    good = digits() != 0;
  }
  if (!good) {
    refuse(Problem::Cause::Syntax, "number without a digit where a digit is required", at_);
    return false;
  }
  raw = {first, at_};
  return true;
}

bool Reader::number_due(std::string_view& raw, bool& whole, const char* expected) {
  if (!value_due()) return false;
  if (at_ == end_ || (*at_ != '-' && !ascii::is_digit(*at_))) {
    mismatch(expected);
    return false;
  }
  if (!scan_number(raw, whole)) return false;
  state_ = State::Next;
  return true;
}

void Reader::refuse_beyond(const IntegerRange& range, bool is_below) noexcept {
  fail(range.expected, nullptr, internal::range_keyword(range, is_below));
}

// Reads a number that has a fraction, an exponent, a minus sign, or more digits than most numbers.
template <class T>
T Reader::whole_number(const IntegerRange& range) {
  std::string_view raw;
  bool whole = false;
  if (!number_due(raw, whole, "expected an integer")) return 0;
  char room[internal::whole_room];
  if (!whole && !internal::to_whole(raw, room)) {
    fail("expected an integer", nullptr, "type");
    return 0;
  }
  T value = 0;
  if (raw == "-0") return 0;
  const bool fits = std::from_chars(raw.data(), raw.data() + raw.size(), value).ec == std::errc();
  if (fits && std::cmp_greater_equal(value, range.least) && std::cmp_less_equal(value, range.most)) return value;
  refuse_beyond(range, raw[0] == '-');
  return 0;
}

std::int64_t Reader::int64(const IntegerRange& range) {
  if (!value_due()) return 0;
  std::int64_t value = 0;
  if (!internal::take_integer(at_, end_, value)) return whole_number<std::int64_t>(range);
  state_ = State::Next;
  if (range.contains(value)) return value;
  refuse_beyond(range, value < 0);
  return 0;
}

std::uint64_t Reader::uint64(const IntegerRange& range) {
  if (!value_due()) return 0;
  std::int64_t small = 0;
  if (at_ == end_ || *at_ == '-' || !internal::take_integer(at_, end_, small)) {
    return whole_number<std::uint64_t>(range);
  }
  state_ = State::Next;
  if (range.contains(small)) [[likely]]
    return static_cast<std::uint64_t>(small);
  refuse_beyond(range, false);
  return 0;
}

double Reader::number() {
  if (!value_due()) return 0;
  double value = 0;
  if (internal::take_double(at_, end_, value)) {
    state_ = State::Next;
    return value;
  }
  std::string_view raw;
  bool whole = false;
  if (!number_due(raw, whole)) return 0;
  const auto end = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  if (end.ec == std::errc() && std::isfinite(value)) return value;
  fail("number out of range", nullptr, "format");
  return 0;
}

std::string_view Reader::number_text() {
  std::string_view raw;
  bool whole = false;
  return number_due(raw, whole) ? raw : std::string_view();
}

bool Reader::take_literal(std::string_view word) {
  if (!std::string_view(at_, end_).starts_with(word)) {
    refuse(Problem::Cause::Syntax, "expected a value", at_);
    return false;
  }
  at_ += word.size();
  state_ = State::Next;
  return true;
}

bool Reader::boolean() {
  if (peek() == Kind::Boolean) return *at_ == 't' ? take_literal("true") : (take_literal("false"), false);
  if (!failed()) mismatch("expected true or false");
  return false;
}

void Reader::null() {
  if (!try_null() && !failed()) mismatch("expected null");
}

bool Reader::try_null() { return peek() == Kind::Null && take_literal("null"); }

std::string_view Reader::skip() {
  if (!value_due()) return {};
  const char* const first = at_;
  const int outside = depth_;
  std::string_view raw;
  std::int64_t number = 0;
  bool flag = false;
  if (internal::take_string(at_, end_, raw) || internal::take_integer(at_, end_, number)) {
    state_ = State::Next;
    return {first, at_};
  }
  do {
    switch (peek()) {
      case Kind::Object:
        begin_object();
        break;
      case Kind::Array:
        begin_array();
        break;
      case Kind::String:
        if (scan_string(raw, flag)) state_ = State::Next;
        break;
      case Kind::Number:
        if (scan_number(raw, flag)) state_ = State::Next;
        break;
      case Kind::Boolean:
        boolean();
        break;
      case Kind::Null:
        null();
        break;
      case Kind::None:
        if (at_ != end_) {
          const bool mark = std::string_view(at_, end_).starts_with("\xEF\xBB\xBF");
          refuse(Problem::Cause::Syntax, mark ? "byte-order mark before the value" : "expected a value", at_);
        } else {
          refuse(Problem::Cause::Syntax, depth_ == 0 ? "the text is empty" : "unexpected end of text", at_);
        }
    }
    // Closes each container that ends at this position, and stops when another value follows.
    while (depth_ > outside && !failed() && !((level_[depth_ - 1] & 1) != 0 ? next_element() : member(raw, flag))) {
    }
  } while (depth_ > outside && !failed());
  value_ = first;
  return failed() ? std::string_view() : std::string_view(first, at_);
}

Result<> Reader::finish() {
  if (!failed()) {
    KEEL_EXPECT(depth_ == 0 && state_ == State::Next,
                "finish() is called before the whole JSON value is read: call next_key() until it returns nullopt, "
                "and next_element() until it returns false");
    skip_space();
    if (at_ != end_) refuse(Problem::Cause::Syntax, "unexpected text after the value", at_);
  }
  if (failed()) return error();
  return {};
}

Problem Reader::problem() const {
  KEEL_EXPECT(failed(), "problem() and error() must be called only on a JSON reader that has failed");
  const auto offset = static_cast<std::size_t>(where_ - begin_);
  std::size_t line = 1;
  const char* line_begin = begin_;
  for (const char* at = begin_; at != where_; ++at) {
    if (*at == '\n') {
      ++line;
      line_begin = at + 1;
    }
  }
  return {cause_, message_, offset, line, static_cast<std::size_t>(where_ - line_begin) + 1, keyword_};
}

void Reader::append_path(Buffer& out) const {
  const auto append_number = [&out](std::uint64_t value) {
    char* to = out.reserve(20);
    out.commit(static_cast<std::size_t>(std::to_chars(to, to + 20, value).ptr - to));
  };
  for (int i = 0; i < depth_ && level_[i] > 1; ++i) {
    out.push_back('/');
    const std::uint64_t value = level_[i] >> 1;
    if ((level_[i] & 1) != 0) {
      append_number(value - 1);
      continue;
    }
    const char* const first = begin_ + value;
    const char* last = first;
    while (*last != '"') last += *last == '\\' ? 2 : 1;
    Buffer name;
    char* const to = name.reserve(static_cast<std::size_t>(last - first));
    name.commit(static_cast<std::size_t>(unescape_to({first, last}, to) - to));
    keel::internal::append_name(out, name.view());
  }
  if (member_ != nullptr) {
    out.push_back('/');
    keel::internal::append_name(out, member_);
  }
}

Error Reader::error() const {
  const Problem found = problem();
  Buffer text;
  const auto append_number = [&text](std::size_t value) {
    char* to = text.reserve(20);
    text.commit(static_cast<std::size_t>(std::to_chars(to, to + 20, value).ptr - to));
  };
  text.append(found.message);
  text.append(" at line ");
  append_number(found.line);
  text.append(" column ");
  append_number(found.column);
  Buffer path;
  append_path(path);
  if (!path.empty()) {
    text.append(" (");
    text.append(path.view());
    text.push_back(')');
  }
  return Error::text(Code::InvalidArgument, text.view());
}

}  // namespace keel::json
