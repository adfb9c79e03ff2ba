#include "keel/data/binary_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/base/copy.h"
#include "keel/data/internal/binary_heads.h"
#include "keel/data/internal/binary_texts.h"
#include "keel/data/internal/pointer_parts.h"
#include "keel/data/utf8.h"

namespace keel::binary {
namespace {

using internal::Head;
using internal::Token;

// Whether a CBOR tag only suggests how to show or convert the value, and does not change what the value means.
bool is_hint(std::uint64_t tag) noexcept {
  return (tag >= 21 && tag <= 23) || (tag >= 32 && tag <= 36) || tag == 1004 || tag == 55799;
}

constexpr std::uint64_t tag_bignum = 2;
constexpr std::uint64_t tag_negative_bignum = 3;

Kind kind_of(Token token) noexcept {
  switch (token) {
    case Token::Unsigned:
    case Token::Negative:
    case Token::Real:
      return Kind::Number;
    case Token::Bytes:
      return Kind::Bytes;
    case Token::Text:
      return Kind::String;
    case Token::Array:
      return Kind::Array;
    case Token::Map:
      return Kind::Object;
    case Token::Boolean:
      return Kind::Boolean;
    case Token::Null:
      return Kind::Null;
    case Token::Break:
      return Kind::None;
    default:
      return Kind::Other;
  }
}

constexpr const char* truncated = "unexpected end of the bytes";
constexpr const char* no_head = "a byte that cannot begin a value";
constexpr const char* too_many = "a count is larger than the bytes that follow";
constexpr const char* too_long = "a length is larger than the bytes that follow";

template <class Format>
const char* why_no_head(const char* at, const char* end) noexcept {
  // Finds out whether more bytes would have completed a valid head.
  char room[10] = {};
  const auto left = static_cast<std::size_t>(end - at);
  std::memcpy(room, at, left < sizeof room ? left : sizeof room);
  Head head;
  return left < sizeof room && Format::take(room, room + sizeof room, head) != nullptr ? truncated : no_head;
}

}  // namespace

template <class Format>
Reader<Format>::Reader(std::string_view bytes, Arena& arena, ReaderOptions options)
    : begin_(bytes.data()),
      end_(bytes.data() + bytes.size()),
      at_(begin_),
      value_(begin_),
      arena_(arena),
      depth_max_(options.depth_max) {
  KEEL_EXPECT(options.depth_max >= 1 && options.depth_max <= depth_limit, "depth_max of a Reader must be from 1 to 64");
  if (bytes.size() > options.bytes_max) malformed("the input is larger than bytes_max");
}

template <class Format>
void Reader<Format>::refuse(Problem::Cause cause, const char* message, const char* where,
                            const char* keyword) noexcept {
  if (failed()) return;
  cause_ = cause;
  message_ = message;
  where_ = where;
  keyword_ = keyword;
}

template <class Format>
void Reader<Format>::fail(const char* message) noexcept {
  refuse(Problem::Cause::Value, message, value_);
}
template <class Format>
void Reader<Format>::fail_malformed(const char* message) noexcept {
  refuse(Problem::Cause::Syntax, message, value_);
}

// Moves to the value itself, past any tags that are only hints.
template <class Format>
bool Reader<Format>::is_due() {
  if (failed()) [[unlikely]]
    return false;
  value_ = at_;
  for (;;) {
    if (at_ == end_) [[unlikely]] {
      malformed(begin_ == end_ ? "the input is empty" : truncated);
      return false;
    }
    if constexpr (!Format::has_indefinite) return true;
    if (static_cast<std::uint8_t>(*at_) >> 5 != 6) [[likely]]
      return true;
    Head head;
    const char* const behind = Format::take(at_, end_, head);
    if (behind == nullptr || !is_hint(head.number)) return true;
    at_ = behind;
  }
}

// Returns the end of the next head; null if the input contains no further head, in which case the problem has been
// reported.
template <class Format>
const char* Reader<Format>::take_head(Head& head) {
  const char* const behind = Format::take(at_, end_, head);
  if (behind == nullptr) malformed(why_no_head<Format>(at_, end_));
  return behind;
}

template <class Format>
Kind Reader<Format>::peek() {
  if (!is_due()) return Kind::None;
  Head head;
  if (take_head(head) == nullptr) return Kind::None;
  if (head.token == Token::Tag && (head.number == tag_bignum || head.number == tag_negative_bignum))
    return Kind::Number;
  return kind_of(head.token);
}

template <class Format>
bool Reader<Format>::begin(bool is_object) {
  if (!is_due()) return false;
  Head head;
  const char* const behind = take_head(head);
  if (behind == nullptr) return false;
  if (head.token != (is_object ? Token::Map : Token::Array)) {
    mismatch(is_object ? "expected an object" : "expected an array");
    return false;
  }
  if (depth_ == depth_max_) {
    malformed("nested too deeply");
    return false;
  }
  const auto left = static_cast<std::uint64_t>(end_ - behind);
  if (head.number != unknown && head.number > (is_object ? left / 2 : left)) {
    malformed(too_many);
    return false;
  }
  at_ = behind;
  due_ = nullptr;
  level_[depth_++] = {head.number, is_object ? 1u : 0u};
  return true;
}
template <class Format>
bool Reader<Format>::begin_object() {
  return begin(true);
}
template <class Format>
bool Reader<Format>::begin_array() {
  return begin(false);
}

// Moves to the next key or element. Returns false at the end of the container, which the Reader then leaves, and after
// a problem.
template <class Format>
bool Reader<Format>::step(bool is_object) {
  if (failed()) [[unlikely]]
    return false;
  if (depth_ == 0 || (level_[depth_ - 1].place & 1) != (is_object ? 1u : 0u) || at_ == due_) [[unlikely]] {
    throw_bug(at_ == due_ ? "the value of a key or an element was neither read nor skipped"
                          : "a key is read outside of an object, or an element outside of an array",
              std::source_location::current());
  }
  Level& level = level_[depth_ - 1];
  bool has_ended = level.left == 0;
  if (level.left == unknown) {
    if (at_ == end_) {
      malformed(truncated);
      return false;
    }
    has_ended = *at_ == '\xFF';
    if (has_ended) ++at_;
  } else if (!has_ended) {
    --level.left;
  }
  if (!has_ended) return true;
  --depth_;
  due_ = nullptr;
  return false;
}

template <class Format>
bool Reader<Format>::take_key(std::string_view& key) {
  Head head;
  if (at_ == end_) {
    malformed(truncated);
    return false;
  }
  const char* const behind = take_head(head);
  if (behind == nullptr) return false;
  if (head.token != Token::Text) {
    if (head.token == Token::Break) {
      malformed("a stop code (break) where a key is expected");
    } else {
      level_[depth_ - 1].place = 1;
      value_ = at_;
      mismatch("has a key that is not a text", "propertyNames");
      --depth_;  // The problem belongs to the object, not to a member.
    }
    return false;
  }
  level_[depth_ - 1].place = static_cast<std::uint64_t>(at_ - begin_ + 1) << 1 | 1;
  at_ = behind;
  if (!take_text(head.number, true, key)) return false;
  due_ = at_;
  return true;
}

template <class Format>
std::optional<std::string_view> Reader<Format>::next_key() {
  std::string_view key;
  if (!step(true) || !take_key(key)) return std::nullopt;
  return key;
}

template <class Format>
bool Reader<Format>::next_element() {
  if (!step(false)) return false;
  level_[depth_ - 1].place += 2;
  due_ = at_;
  return true;
}

// Reads the head of the string's next piece; returns false at the end of the string.
template <class Format>
bool Reader<Format>::next_piece(bool is_text, std::uint64_t& size) {
  Head head;
  const char* const behind = at_ == end_ ? nullptr : Format::take(at_, end_, head);
  if (behind == nullptr) {
    malformed(at_ == end_ ? truncated : why_no_head<Format>(at_, end_));
    return false;
  }
  if (head.token == Token::Break) {
    at_ = behind;
    return false;
  }
  if (head.token != (is_text ? Token::Text : Token::Bytes) || head.number == unknown) {
    malformed("a piece of a string has a different type from the string");
    return false;
  }
  at_ = behind;
  size = head.number;
  return true;
}

// Reads the content of a text or of a byte string, after the head has been read. `size` is unknown if the string comes
// in pieces, after which a stop code ("break") follows.
template <class Format>
bool Reader<Format>::take_text(std::uint64_t size, bool is_text, std::string_view& to) {
  if (size != unknown) [[likely]] {
    if (size > static_cast<std::uint64_t>(end_ - at_)) {
      malformed(too_long);
      return false;
    }
    to = {at_, static_cast<std::size_t>(size)};
    if (is_text && !utf8::is_valid(to)) {
      malformed("a text that is not UTF-8");
      return false;
    }
    at_ += size;
    return true;
  }
  std::size_t all = 0;
  const char* const first = at_;
  while (next_piece(is_text, size)) {
    std::string_view piece;
    if (!take_text(size, is_text, piece)) return false;
    all += piece.size();
  }
  if (failed()) return false;
  auto* const text = static_cast<char*>(arena_.allocate(all, 1));
  char* end = text;
  for (const char* at = first;;) {
    Head head;
    at = Format::take(at, end_, head);
    if (head.token == Token::Break) break;
    copy_short(end, at, static_cast<std::size_t>(head.number));
    end += head.number;
    at += head.number;
  }
  to = {text, all};
  return true;
}

// Reads the head if a string of this type follows.
template <class Format>
bool Reader<Format>::take_string(bool is_text, std::uint64_t& size) {
  Head head;
  const char* const behind = take_head(head);
  if (behind == nullptr) return false;
  if (head.token != (is_text ? Token::Text : Token::Bytes)) {
    mismatch(is_text ? "expected a string" : "expected bytes");
    return false;
  }
  at_ = behind;
  size = head.number;
  return true;
}

template <class Format>
std::string_view Reader<Format>::string() {
  if (!is_due()) return {};
  std::uint64_t size = 0;
  std::string_view text;
  return take_string(true, size) && take_text(size, true, text) ? text : std::string_view();
}

template <class Format>
std::span<const std::byte> Reader<Format>::bytes() {
  if (!is_due()) return {};
  std::uint64_t size = 0;
  std::string_view bytes;
  if (!take_string(false, size) || !take_text(size, false, bytes)) return {};
  return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
}

// A negative number is returned as `magnitude` = -1 - the number. Returns false after a problem; a problem is reported
// with the bounds of `range`, or, without a `range`, in general words. The caller compares the number with the range.
template <class Format>
bool Reader<Format>::integer(bool& is_negative, std::uint64_t& magnitude, const IntegerRange* range) {
  if (!is_due()) return false;
  Head head;
  const char* behind = take_head(head);
  if (behind == nullptr) return false;
  const char* const beyond = range != nullptr ? range->expected : "number out of range";
  is_negative = head.token == Token::Negative;
  magnitude = head.number;
  if (head.token == Token::Unsigned || head.token == Token::Negative) [[likely]] {
    at_ = behind;
    return true;
  }
  if (head.token == Token::Real) {
    const auto number = std::bit_cast<double>(head.number);
    at_ = behind;
    // This comparison also rejects NaN, which is not equal to itself.
    if (number != std::trunc(number) || std::isinf(number)) {
      mismatch("expected an integer");
      return false;
    }
    is_negative = number < 0;
    if (number >= 0x1p64 || number < -0x1p64) {
      mismatch(beyond, "format");
      return false;
    }
    // The absolute value of -2^64 is the only absolute value that does not fit into 64 bits.
    magnitude =
        number == -0x1p64 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(std::abs(number)) - (is_negative ? 1 : 0);
    return true;
  }
  if (head.token == Token::Tag && (head.number == tag_bignum || head.number == tag_negative_bignum)) {
    is_negative = head.number == tag_negative_bignum;
    const char* const tag = at_;
    at_ = behind;
    const std::span<const std::byte> digits = bytes();
    value_ = tag;
    if (failed()) {
      if (cause_ == Problem::Cause::Value) message_ = "expected an integer";
      return false;
    }
    magnitude = 0;
    for (const std::byte digit : digits) {
      if (magnitude >> 56 != 0) {
        mismatch(beyond, "format");
        return false;
      }
      magnitude = magnitude << 8 | static_cast<std::uint64_t>(digit);
    }
    return true;
  }
  mismatch(range != nullptr ? "expected an integer" : "expected a number");
  return false;
}

template <class Format>
std::int64_t Reader<Format>::int64(const IntegerRange& range) {
  bool is_negative = false;
  std::uint64_t magnitude = 0;
  if (!integer(is_negative, magnitude, &range)) return 0;
  if (magnitude <= std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    const auto number = static_cast<std::int64_t>(magnitude);
    const std::int64_t value = is_negative ? -1 - number : number;
    if (range.contains(value)) [[likely]]
      return value;
  }
  mismatch(range.expected, "format");
  return 0;
}

template <class Format>
std::uint64_t Reader<Format>::uint64(const IntegerRange& range) {
  bool is_negative = false;
  std::uint64_t magnitude = 0;
  if (!integer(is_negative, magnitude, &range)) return 0;
  if (!is_negative && magnitude <= range.most) [[likely]]
    return magnitude;
  mismatch(range.expected, "format");
  return 0;
}

template <class Format>
double Reader<Format>::number() {
  if (!is_due()) return 0;
  Head head;
  const char* const behind = Format::take(at_, end_, head);
  if (behind != nullptr && head.token == Token::Real) {
    at_ = behind;
    return std::bit_cast<double>(head.number);
  }
  bool is_negative = false;
  std::uint64_t magnitude = 0;
  if (!integer(is_negative, magnitude, nullptr)) return 0;
  if (!is_negative) return static_cast<double>(magnitude);
  // The absolute value is converted as one integer, because a difference of doubles would be rounded twice.
  const std::uint64_t size = magnitude + 1;
  return size == 0 ? -0x1p64 : -static_cast<double>(size);
}

template <class Format>
NumberKind Reader<Format>::number_kind() {
  if (!is_due()) return NumberKind::Unsigned;
  Head head;
  Format::take(at_, end_, head);
  if (head.token == Token::Real) return NumberKind::Real;
  const bool is_negative =
      head.token == Token::Tag ? head.number == tag_negative_bignum : head.token == Token::Negative;
  return is_negative ? NumberKind::Negative : NumberKind::Unsigned;
}

template <class Format>
bool Reader<Format>::boolean() {
  if (!is_due()) return false;
  Head head;
  const char* const behind = take_head(head);
  if (behind == nullptr) return false;
  if (head.token != Token::Boolean) {
    mismatch("expected true or false");
    return false;
  }
  at_ = behind;
  return head.number != 0;
}

template <class Format>
bool Reader<Format>::try_null() {
  if (peek() != Kind::Null) return false;
  ++at_;
  return true;
}
template <class Format>
void Reader<Format>::null() {
  if (!try_null() && !failed()) mismatch("expected null");
}

template <class Format>
std::optional<std::uint64_t> Reader<Format>::try_tag() {
  if (!is_due()) return std::nullopt;
  Head head;
  const char* const behind = take_head(head);
  if (behind == nullptr || head.token != Token::Tag) return std::nullopt;
  at_ = behind;
  return head.number;
}

// Called when an item of a container has been skipped; leaves each container that ends with this item. Returns true
// when depth_ equals `outer`.
template <class Format>
bool Reader<Format>::complete(int outer) noexcept {
  for (; depth_ != outer; --depth_) {
    Level& level = level_[depth_ - 1];
    if (level.left == unknown) {
      level.place ^= 2;
      return false;
    }
    if (--level.left != 0) return false;
  }
  return true;
}

// Skips a value, but only the head of a container. `is_open`: whether the value is a container, whose items follow.
template <class Format>
bool Reader<Format>::skip_head(int outer, bool& is_open) {
  is_open = false;
  Head head;
  bool is_tagged = false;
  do {
    const char* const behind = at_ == end_ ? nullptr : Format::take(at_, end_, head);
    if (behind == nullptr) {
      malformed(begin_ == end_ ? "the input is empty" : at_ == end_ ? truncated : why_no_head<Format>(at_, end_));
      return false;
    }
    if (head.token == Token::Break) {
      // In a map, the stop code ("break") is allowed only before a key.
      if (is_tagged || depth_ == outer || level_[depth_ - 1].left != unknown || (level_[depth_ - 1].place & 3) == 3) {
        malformed("a stop code (break) where a value is expected");
        return false;
      }
      --depth_;
    }
    is_tagged = head.token == Token::Tag;
    at_ = behind;
  } while (is_tagged);
  const auto left = static_cast<std::uint64_t>(end_ - at_);
  switch (head.token) {
    case Token::Text:
    case Token::Bytes:
      return skip_string(head.number, head.token == Token::Text);
    case Token::Extension:
      if (head.number > left) malformed(too_long);
      if (!failed()) at_ += head.number;
      return !failed();
    case Token::Array:
    case Token::Map: {
      const bool is_map = head.token == Token::Map;
      if (head.number != unknown && head.number > (is_map ? left / 2 : left)) malformed(too_many);
      if (depth_ == depth_max_) malformed("nested too deeply");
      if (failed()) return false;
      is_open = head.number != 0;
      if (is_open) {
        level_[depth_++] = {head.number == unknown ? unknown : head.number * (is_map ? 2 : 1), is_map ? 1u : 0u};
      }
      return true;
    }
    default:
      return true;
  }
}

template <class Format>
bool Reader<Format>::skip_string(std::uint64_t size, bool is_text) {
  std::string_view piece;
  if (size != unknown) return take_text(size, is_text, piece);
  while (next_piece(is_text, size)) {
    if (!take_text(size, is_text, piece)) return false;
  }
  return !failed();
}

template <class Format>
std::string_view Reader<Format>::skip() {
  if (failed()) return {};
  const char* const begin = at_;
  value_ = at_;
  const int outer = depth_;
  bool is_open = false;
  do {
    if (const char* const behind = internal::pass_short<Format>(at_, end_)) {
      at_ = behind;
      is_open = false;
    } else if (!skip_head(outer, is_open)) {
      depth_ = outer;
      return {};
    }
  } while (is_open || !complete(outer));
  due_ = nullptr;
  return {begin, static_cast<std::size_t>(at_ - begin)};
}

template <class Format>
Result<> Reader<Format>::finish() {
  if (!failed() && at_ != end_) malformed("unexpected bytes after the value");
  if (failed()) return error();
  return {};
}

template <class Format>
Problem Reader<Format>::problem() const {
  KEEL_EXPECT(failed(), "problem() and error() must be called only on a Reader that has failed");
  return {cause_, message_, static_cast<std::size_t>(where_ - begin_), keyword_};
}

template <class Format>
void Reader<Format>::append_path(Buffer& out) const {
  for (int i = 0; i < depth_; ++i) {
    const std::uint64_t place = level_[i].place;
    if ((place & 1) == 0) {
      if (place == 0) continue;  // No element of this container has been read yet, so the path ends here.
      out.push_back('/');
      out.append(std::to_string(place / 2 - 1));
      continue;
    }
    if (place == 1) continue;
    out.push_back('/');
    const char* const key = begin_ + (place >> 1) - 1;
    Head head;
    const char* const text = Format::take(key, end_, head);
    if (head.number == unknown) {
      out.append("…");
    } else {
      keel::internal::append_name(out,
                                  {text, std::min<std::size_t>(head.number, static_cast<std::size_t>(end_ - text))});
    }
  }
}

template <class Format>
Error Reader<Format>::error() const {
  const Problem what = problem();
  Buffer path;
  append_path(path);
  std::string text = what.message + (" at byte " + std::to_string(what.offset));
  if (!path.empty()) text.append(" (").append(path.view()).append(")");
  return Error::text(Code::InvalidArgument, text);
}

template class Reader<Cbor>;
template class Reader<MessagePack>;

}  // namespace keel::binary
