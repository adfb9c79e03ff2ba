#include "keel/data/binary_stream.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "keel/base/bug.h"
#include "keel/data/internal/binary_heads.h"
#include "keel/data/utf8.h"

namespace keel::binary {

using internal::Head;
using internal::Token;

template <class Format>
void Stream<Format>::feed(std::string_view bytes) {
  KEEL_EXPECT(at_ == end_ || failed(), "a Stream must be fed only after next() has consumed all bytes fed before");
  at_ = bytes.data();
  end_ = bytes.data() + bytes.size();
}

// Returns false if the item is incomplete, in which case its bytes are kept, and after a problem.
template <class Format>
bool Stream<Format>::take_head(Head& head) {
  const auto room = static_cast<std::size_t>(end_ - at_);
  if (room == 0) return false;
  if (held_ == 0 && room >= head_bytes_max) {
    const char* const behind = Format::take(at_, end_, head);
    if (behind == nullptr) {
      refuse("a byte that cannot begin a value");
      return false;
    }
    offset_ += static_cast<std::uint64_t>(behind - at_);
    at_ = behind;
    return true;
  }
  char whole[head_bytes_max] = {};
  const std::size_t more = std::min(room, head_bytes_max - held_);
  std::memcpy(whole, hold_, held_);
  std::memcpy(whole + held_, at_, more);
  const char* const behind = Format::take(whole, whole + held_ + more, head);
  if (behind != nullptr) {
    const std::size_t taken = static_cast<std::size_t>(behind - whole) - held_;
    at_ += taken;
    offset_ += taken;
    held_ = 0;
    return true;
  }
  // Finds out whether more bytes can complete the head. Two fillers are tried: 0x00 can make a simple value too small
  // to be valid, and 0xff can make a length too large.
  bool is_possible = false;
  for (const int filler : {0x00, 0xff}) {
    std::memset(whole + held_ + more, filler, head_bytes_max - held_ - more);
    is_possible = is_possible || Format::take(whole, whole + head_bytes_max, head) != nullptr;
  }
  if (!is_possible) {
    refuse("a byte that cannot begin a value");
    return false;
  }
  std::memcpy(hold_ + held_, at_, more);
  held_ = static_cast<std::uint8_t>(held_ + more);
  offset_ += more;
  at_ += more;
  return false;
}

template <class Format>
bool Stream<Format>::is_key_due() const noexcept {
  if (depth_ == 0) return false;
  const std::uint64_t bit = std::uint64_t{1} << (depth_ - 1);
  if ((is_map_ & bit) == 0) return false;
  const std::uint64_t left = left_[depth_ - 1];
  return left == unknown_count ? (is_odd_ & bit) == 0 : left % 2 == 0;
}

// Called when a value or a key has been read.
template <class Format>
void Stream<Format>::complete() noexcept {
  is_tagged_ = false;
  if (depth_ == 0) {
    has_value_ = true;
  } else if (left_[depth_ - 1] == unknown_count) {
    is_odd_ ^= std::uint64_t{1} << (depth_ - 1);
  } else {
    --left_[depth_ - 1];
  }
}

template <class Format>
auto Stream<Format>::end_container() -> const Event* {
  --depth_;
  const bool is_map = (is_map_ >> depth_ & 1) != 0;
  complete();
  return give(is_map ? Type::EndObject : Type::EndArray);
}

template <class Format>
auto Stream<Format>::next() -> const Event* {
  if (failed()) return nullptr;
  if (is_in_text_) return take_piece();
  if (depth_ != 0 && left_[depth_ - 1] == 0) return end_container();
  if (depth_ == 0 && has_value_ && !is_sequence_ && !is_tagged_) {
    return at_ == end_ ? nullptr : refuse("unexpected bytes after the value");
  }
  return take_value();
}

template <class Format>
auto Stream<Format>::take_value() -> const Event* {
  Head head;
  if (!take_head(head)) return nullptr;
  const bool is_key = is_key_due();
  if (head.token == Token::Break) {
    const bool is_open = depth_ != 0 && left_[depth_ - 1] == unknown_count && !is_tagged_;
    const bool is_behind_key = depth_ != 0 && (is_map_ >> (depth_ - 1) & 1) != 0 && !is_key;
    return is_open && !is_behind_key ? end_container() : refuse("a stop code (break) where a value is expected");
  }
  if (is_key && head.token != Token::Text) return refuse("a key that is not a text");
  switch (head.token) {
    case Token::Text:
    case Token::Bytes:
    case Token::Extension:
      is_in_text_ = true;
      is_text_ = head.token == Token::Text;
      is_in_pieces_ = head.number == unknown_count && head.token != Token::Extension;
      in_text_ = is_in_pieces_ ? 0 : head.number;
      is_key_ = is_key;
      key_size_ = 0;
      if (head.token == Token::Extension) {
        return give(Type::Extension, static_cast<std::uint64_t>(std::int64_t{head.extension}));
      }
      return take_piece();
    case Token::Array:
    case Token::Map: {
      const bool is_map = head.token == Token::Map;
      if (depth_ == depth_max) return refuse("nested too deeply");
      if (is_map && head.number != unknown_count && head.number >> 62 != 0) {
        return refuse("a count is larger than the bytes that follow");
      }
      const std::uint64_t bit = std::uint64_t{1} << depth_;
      is_map_ = is_map ? is_map_ | bit : is_map_ & ~bit;
      is_odd_ &= ~bit;
      left_[depth_++] = is_map && head.number != unknown_count ? 2 * head.number : head.number;
      is_tagged_ = false;
      return give(is_map ? Type::BeginObject : Type::BeginArray, head.number);
    }
    case Token::Tag:
      is_tagged_ = true;
      return give(Type::Tag, head.number);
    case Token::Real:
      complete();
      give(Type::Real);
      event_.real = std::bit_cast<double>(head.number);
      return &event_;
    case Token::Unsigned:
      complete();
      return give(Type::Unsigned, head.number);
    case Token::Negative:
      complete();
      return give(Type::Negative, head.number);
    case Token::Boolean:
      complete();
      return give(Type::Boolean, head.number);
    case Token::Null:
      complete();
      return give(Type::Null);
    default:
      complete();
      return give(Type::Simple, head.number);
  }
}

// Returns whether the text is still valid UTF-8 after this piece; with `is_last`, the text must also end with a
// complete character. Keeps the bytes of a character that is incomplete.
template <class Format>
bool Stream<Format>::check_text(std::string_view piece, bool is_last) {
  while (held_ != 0 && !piece.empty()) {
    hold_[held_++] = piece.front();
    piece.remove_prefix(1);
    if (utf8::sequence_length(hold_, hold_ + held_) != 0) {
      held_ = 0;
    } else if (held_ == 4) {
      return false;
    }
  }
  if (held_ != 0) return !is_last;
  piece.remove_prefix(utf8::valid_prefix(piece));
  if (piece.size() >= 4 || (is_last && !piece.empty())) return false;
  std::memcpy(hold_, piece.data(), piece.size());
  held_ = static_cast<std::uint8_t>(piece.size());
  return true;
}

template <class Format>
auto Stream<Format>::take_piece() -> const Event* {
  for (;;) {
    bool is_last = !is_in_pieces_ && in_text_ == 0;  // It is empty.
    std::string_view piece;
    if (is_in_pieces_ && in_text_ == 0) {
      Head head;
      if (!take_head(head)) return nullptr;
      if (head.token == Token::Break) {
        is_last = true;
      } else if (head.token != (is_text_ ? Token::Text : Token::Bytes) || head.number == unknown_count) {
        return refuse("a piece of a string has a different type from the string");
      } else {
        in_text_ = head.number;
        continue;
      }
    } else if (!is_last) {
      if (at_ == end_) return nullptr;
      const std::uint64_t size = std::min<std::uint64_t>(in_text_, static_cast<std::uint64_t>(end_ - at_));
      piece = {at_, static_cast<std::size_t>(size)};
      if (is_text_ && !check_text(piece, size == in_text_)) return refuse("a text that is not UTF-8");
      at_ += size;
      offset_ += size;
      in_text_ -= size;
      is_last = !is_in_pieces_ && in_text_ == 0;
    }
    if (is_key_) {
      if (piece.size() > key_bytes_max - key_size_) return refuse("a key that is too long");
      if (!piece.empty()) std::memcpy(key_ + key_size_, piece.data(), piece.size());
      key_size_ = static_cast<std::uint8_t>(key_size_ + piece.size());
      if (!is_last) continue;
      piece = {key_, key_size_};
    }
    if (is_last) {
      is_in_text_ = false;
      complete();
    }
    give(is_key_ ? Type::Key : is_text_ ? Type::String : Type::Bytes);
    event_.is_last = is_last;
    event_.text = piece;
    return &event_;
  }
}

template <class Format>
Result<> Stream<Format>::finish() {
  const bool is_whole = depth_ == 0 && !is_in_text_ && held_ == 0 && !is_tagged_ && (has_value_ || is_sequence_);
  if (!failed() && !is_whole) refuse(offset_ == 0 ? "the input is empty" : "unexpected end of the bytes");
  if (failed()) return error();
  return {};
}

template <class Format>
Error Stream<Format>::error() const {
  KEEL_EXPECT(failed(), "error() must be called only on a Stream that has failed");
  return Error::text(Code::InvalidArgument, std::string(message_) + " at byte " + std::to_string(offset_));
}

static_assert(sizeof(Stream<Cbor>) <= 1024, "a Stream must not be larger than 1 KB");

template class Stream<Cbor>;
template class Stream<MessagePack>;

}  // namespace keel::binary
