#include "keel/data/binary_writer.h"

#include <bit>
#include <limits>
#include <source_location>
#include <type_traits>

#include "keel/base/bug.h"
#include "keel/data/internal/binary_heads.h"
#include "keel/data/internal/binary_numbers.h"

namespace keel::binary {
namespace {

using internal::Token;

constexpr std::size_t head_bytes_max = 9;

template <class Format>
void put_head(Buffer& out, Token token, std::uint64_t number) {
  if constexpr (std::is_same_v<Format, MessagePack>) {
    if (number > std::numeric_limits<std::uint32_t>::max()) {
      throw_bug("a value of 4 GiB or more, or of 2^32 or more elements, cannot be written in MessagePack",
                std::source_location::current());
    }
  }
  char* const at = out.reserve(head_bytes_max);
  out.commit(static_cast<std::size_t>(Format::put(at, token, number) - at));
}

}  // namespace

template <class Format>
Writer<Format>& Writer<Format>::begin_object(std::size_t members) {
  put_head<Format>(out_, Token::Map, members);
  return *this;
}
template <class Format>
Writer<Format>& Writer<Format>::begin_array(std::size_t elements) {
  put_head<Format>(out_, Token::Array, elements);
  return *this;
}
template <class Format>
Writer<Format>& Writer<Format>::string(std::string_view text) {
  put_head<Format>(out_, Token::Text, text.size());
  out_.append(text);
  return *this;
}
template <class Format>
Writer<Format>& Writer<Format>::bytes(std::span<const std::byte> bytes) {
  put_head<Format>(out_, Token::Bytes, bytes.size());
  out_.append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return *this;
}
template <class Format>
Writer<Format>& Writer<Format>::integer(std::int64_t value) {
  char* const at = out_.reserve(head_bytes_max);
  out_.commit(static_cast<std::size_t>(internal::put_integer<Format>(at, value) - at));
  return *this;
}
template <class Format>
Writer<Format>& Writer<Format>::unsigned_integer(std::uint64_t value) {
  char* const at = out_.reserve(head_bytes_max);
  out_.commit(static_cast<std::size_t>(Format::put(at, Token::Unsigned, value) - at));
  return *this;
}
template <class Format>
Writer<Format>& Writer<Format>::number(double value) {
  char* const at = out_.reserve(head_bytes_max);
  out_.commit(static_cast<std::size_t>(internal::put_double(Format(), at, value) - at));
  return *this;
}
template <class Format>
Writer<Format>& Writer<Format>::single(float value) {
  if constexpr (std::is_same_v<Format, Cbor>) return number(static_cast<double>(value));
  char* const at = out_.reserve(head_bytes_max);
  *at = '\xCA';
  internal::put_big_endian(at + 1, std::bit_cast<std::uint32_t>(value));
  out_.commit(5);
  return *this;
}
template <class Format>
Writer<Format>& Writer<Format>::boolean(bool value) {
  out_.push_back(value ? Format::true_byte : Format::false_byte);
  return *this;
}
template <class Format>
Writer<Format>& Writer<Format>::null() {
  out_.push_back(Format::null_byte);
  return *this;
}

template <class Format>
Writer<Format>& Writer<Format>::timestamp(Timestamp time) {
  if constexpr (std::is_same_v<Format, Cbor>) {
    if (time.nanosecond() == 0) {
      out_.push_back('\xC1');
      return integer(time.unix_seconds());
    }
    out_.push_back('\xC0');
    return string(time.text());
  } else {
    const std::int64_t seconds = time.unix_seconds();
    const std::uint32_t ns = time.nanosecond();
    char* const at = out_.reserve(15);
    char* end = nullptr;
    if (seconds >= 0 && seconds >> 34 == 0) {
      const std::uint64_t both = std::uint64_t{ns} << 34 | static_cast<std::uint64_t>(seconds);
      const bool is_short = both >> 32 == 0;
      *at = is_short ? '\xD6' : '\xD7';
      at[1] = '\xFF';
      end = is_short ? internal::put_big_endian(at + 2, static_cast<std::uint32_t>(both))
                     : internal::put_big_endian(at + 2, both);
    } else {
      *at = '\xC7';
      at[1] = '\x0C';
      at[2] = '\xFF';
      end = internal::put_big_endian(internal::put_big_endian(at + 3, ns), static_cast<std::uint64_t>(seconds));
    }
    out_.commit(static_cast<std::size_t>(end - at));
    return *this;
  }
}
template <class Format>
Writer<Format>& Writer<Format>::date(Date date) {
  if constexpr (std::is_same_v<Format, Cbor>) out_.append("\xD9\x03\xEC");
  return string(date.text());
}
template <class Format>
Writer<Format>& Writer<Format>::uuid(const Uuid& id) {
  if constexpr (std::is_same_v<Format, Cbor>) out_.append("\xD8\x25");
  return bytes(id.bytes());
}
template <class Format>
Writer<Format>& Writer<Format>::raw(std::string_view value) {
  out_.append(value);
  return *this;
}

template class Writer<Cbor>;
template class Writer<MessagePack>;

}  // namespace keel::binary
