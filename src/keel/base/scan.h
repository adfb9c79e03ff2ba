// keel/base/scan.h — searches text for the next byte of a set, 16 bytes or more at a time.
//
// Each find_… returns the first byte of [at, end) that belongs to its set, or end. `begin` is the start of the readable
// memory (begin <= at). The last bytes are read with one load, which may overlap bytes that were already searched. No
// byte outside of [begin, end) is read, so text may end at a page boundary.
//
// find uses SSE2, which every x86-64 processor has. Use find for the header names and header values of requests, which
// are so short that selecting wider vectors would cost more than it saves. find_long is for texts that may be long, and
// selects the widest vectors of the processor. On processors other than x86-64, find and find_long search byte by byte
// with a table of the set.
//
// Threads: any.
// Cost:    5 to 12 instructions for 16 bytes. Inline, because a call would cost as much as a short search.
// Source:  the wide forms look up both halves of a byte in tables: G. Langdale and D. Lemire, "Parsing Gigabytes of
//          JSON per Second" (2019).

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace keel::scan {

// The sets: has() tests one byte, and mask() tests a vector of bytes.
struct Control {  // Bytes below 0x20 except HTAB, and DEL: bytes that no header value may contain (RFC 9110 §5.5).
  static constexpr bool has(unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; }
#ifdef __SSE2__
  static __m128i mask(__m128i x) {
    const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x);
    const __m128i tab = _mm_cmpeq_epi8(x, _mm_set1_epi8('\t'));
    const __m128i del = _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7f));
    return _mm_or_si128(_mm_andnot_si128(tab, low), del);
  }
#endif
};

struct NotLetterOrDash {  // Every byte except A-Z, a-z and '-': nearly every header name ends at such a byte.
  static constexpr bool has(unsigned char c) { return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'); }
#ifdef __SSE2__
  static __m128i mask(__m128i x) {
    const __m128i from_a = _mm_sub_epi8(_mm_or_si128(x, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
    const __m128i letter = _mm_cmpeq_epi8(_mm_min_epu8(from_a, _mm_set1_epi8(25)), from_a);
    const __m128i dash = _mm_cmpeq_epi8(x, _mm_set1_epi8('-'));
    return _mm_cmpeq_epi8(_mm_or_si128(letter, dash), _mm_setzero_si128());
  }
#endif
};

struct NotHostByte {  // Every byte except letters, digits, '-' and '.': nearly every host name ends at such a byte.
  static constexpr bool has(unsigned char c) { return NotLetterOrDash::has(c) && c != '.' && !(c >= '0' && c <= '9'); }
#ifdef __SSE2__
  static __m128i mask(__m128i x) {
    const __m128i from_a = _mm_sub_epi8(_mm_or_si128(x, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
    const __m128i letter = _mm_cmpeq_epi8(_mm_min_epu8(from_a, _mm_set1_epi8(25)), from_a);
    // '-', '.', '/' and the digits '0' to '9' are consecutive in ASCII.
    const __m128i from_dash = _mm_sub_epi8(x, _mm_set1_epi8('-'));
    const __m128i other = _mm_cmpeq_epi8(_mm_min_epu8(from_dash, _mm_set1_epi8('9' - '-')), from_dash);
    const __m128i slash = _mm_cmpeq_epi8(x, _mm_set1_epi8('/'));
    return _mm_or_si128(_mm_cmpeq_epi8(_mm_or_si128(letter, other), _mm_setzero_si128()), slash);
  }
#endif
};

// The first byte that a request target may not contain (RFC 3986 §3.3, §3.4): control bytes, space, bytes from 0x7f up
// and "#<>\^`{|}. An exact search would need more comparisons. To save comparisons, the search also stops at '!' and
// '~', and in a path also at each of "$%=?".
struct QueryStop {
  static constexpr bool has(unsigned char c) {
    return c <= '#' || c >= '{' || c == '<' || c == '>' || c == '\\' || c == '^' || c == '`';
  }
#ifdef __SSE2__
  static __m128i mask(__m128i x) {
    // The comparisons are signed, so bytes of 0x80 and above compare as negative.
    const __m128i ends = _mm_or_si128(_mm_cmplt_epi8(x, _mm_set1_epi8('#' + 1)), _mm_cmpgt_epi8(x, _mm_set1_epi8('z')));
    const __m128i angles = _mm_cmpeq_epi8(_mm_or_si128(x, _mm_set1_epi8(2)), _mm_set1_epi8('>'));
    return _mm_or_si128(_mm_or_si128(ends, angles), backslash_caret_or_backtick(x));
  }
  static __m128i backslash_caret_or_backtick(__m128i x) {
    const __m128i two = _mm_cmpeq_epi8(_mm_or_si128(x, _mm_set1_epi8(2)), _mm_set1_epi8('^'));
    return _mm_or_si128(two, _mm_cmpeq_epi8(x, _mm_set1_epi8('`')));
  }
#endif
};

// A superset of the bytes that end a path: '?', '#' and the bytes that a path may not contain.
struct PathStop {
  static constexpr bool has(unsigned char c) {
    return c <= '%' || c >= '{' || (c >= '<' && c <= '?') || c == '\\' || c == '^' || c == '`';
  }
#ifdef __SSE2__
  static __m128i mask(__m128i x) {
    const __m128i ends = _mm_or_si128(_mm_cmplt_epi8(x, _mm_set1_epi8('%' + 1)), _mm_cmpgt_epi8(x, _mm_set1_epi8('z')));
    const __m128i four = _mm_cmpeq_epi8(_mm_or_si128(x, _mm_set1_epi8(3)), _mm_set1_epi8('?'));
    return _mm_or_si128(_mm_or_si128(ends, four), QueryStop::backslash_caret_or_backtick(x));
  }
#endif
};

// Quote, backslash, controls and bytes from 0x80 up: the bytes that cannot be copied unchanged between a text and a
// JSON string.
struct JsonStop {
  static constexpr bool has(unsigned char c) { return c < 0x20 || c >= 0x80 || c == '"' || c == '\\'; }
#ifdef __SSE2__
  static __m128i mask(__m128i x) {
    // The comparison is signed, so it also finds bytes from 0x80 up, which are negative.
    const __m128i small = _mm_cmplt_epi8(x, _mm_set1_epi8(0x20));
    const __m128i quote = _mm_cmpeq_epi8(x, _mm_set1_epi8('"'));
    return _mm_or_si128(_mm_or_si128(small, quote), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
  }
#endif
};

// Returns the first byte of [at, end) that is in Set, or end; searches one byte at a time.
template <class Set>
inline const char* find_portable(const char* at, const char* end) {
  while (at != end && !Set::has(static_cast<unsigned char>(*at))) ++at;
  return at;
}

template <class Set>
inline const char* find(const char* begin, const char* at, const char* end) {
#ifdef __SSE2__
  while (end - at >= 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const unsigned hits = static_cast<unsigned>(_mm_movemask_epi8(Set::mask(block)));
    if (hits != 0) return at + static_cast<unsigned>(__builtin_ctz(hits));
    at += 16;
  }
  const unsigned rest = static_cast<unsigned>(end - at);
  if (end - begin >= 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(end - 16));
    const unsigned hits = static_cast<unsigned>(_mm_movemask_epi8(Set::mask(block))) >> (16 - rest);
    return hits != 0 ? at + static_cast<unsigned>(__builtin_ctz(hits)) : end;
  }
#else
  static_cast<void>(begin);
#endif
  return find_portable<Set>(at, end);
}

#ifdef __SSE2__
namespace internal {

// A set as two tables. A byte c is in the set if by_high[c >> 4] and by_low[c & 15] have a common bit. The sixteen
// bytes with the same c >> 4 form a row. Equal rows share one bit, and different rows have different bits, so a set may
// have at most eight different rows.
struct Nibbles {
  alignas(16) unsigned char by_low[16] = {};
  alignas(16) unsigned char by_high[16] = {};
};

template <class Set>
consteval Nibbles nibbles() {
  Nibbles tables;
  unsigned rows[8] = {};
  unsigned count = 0;
  for (unsigned high = 0; high < 16; ++high) {
    unsigned row = 0;
    for (unsigned low = 0; low < 16; ++low)
      row |= Set::has(static_cast<unsigned char>(high * 16 + low)) ? 1u << low : 0u;
    if (row == 0) continue;
    unsigned bit = 0;
    while (bit < count && rows[bit] != row) ++bit;
    if (bit == 8) throw "a set can have at most eight different rows of sixteen bytes";
    if (bit == count) rows[count++] = row;
    tables.by_high[high] = static_cast<unsigned char>(1u << bit);
    for (unsigned low = 0; low < 16; ++low) {
      if ((row >> low & 1) != 0) tables.by_low[low] = static_cast<unsigned char>(tables.by_low[low] | 1u << bit);
    }
  }
  return tables;
}

// A set in two forms: for wide vectors, and for narrow vectors.
struct Far {
  Nibbles nibbles;
  const char* (*find)(const char* begin, const char* at, const char* end);
};
template <class Set>
inline constexpr Far far = {nibbles<Set>(), &find<Set>};

// Searches with the widest vectors that suit this processor. The 64 bytes before `at` must be readable.
const char* find_far(const Far& set, const char* at, const char* end) noexcept;

// Continues a search that found nothing in the first block. Not inlined, so that a hit in the first block does not pay
// for saving the registers of a call.
template <class Set>
[[gnu::noinline]] const char* find_behind(const char* at, const char* end) {
  constexpr std::ptrdiff_t near = 48;
  if (end - at <= near) return find<Set>(at - 16, at, end);
  const char* const found = find<Set>(at - 16, at, at + near);
  return found != at + near ? found : find_far(far<Set>, at + near, end);
}

}  // namespace internal
#endif

// Searches a text of any length; no byte before `at` is read. Input beyond 64 bytes is searched with the widest vectors
// that the processor has: AVX-512 (only if it does not slow the processor down), AVX2, or SSE2. The processor is
// checked once.
// Cost: a function call after the first 16 bytes. For the names and values of requests, find() is cheaper, because it
//       makes no call.
template <class Set>
inline const char* find_long(const char* at, const char* end) {
#ifdef __SSE2__
  if (end - at >= 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const unsigned hits = static_cast<unsigned>(_mm_movemask_epi8(Set::mask(block)));
    return hits != 0 ? at + __builtin_ctz(hits) : internal::find_behind<Set>(at + 16, end);
  }
#endif
  return find_portable<Set>(at, end);
}

// Whether there is a byte of Set in the `size` bytes at `at`; no byte before `at` is read. Short texts need no loop.
template <class Set>
inline bool has(const char* at, std::size_t size) {
  const char* const end = at + size;
#ifdef __SSE2__
  if (size - 8 < 8) {
    const __m128i front = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
    const __m128i back = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(end - 8));
    return _mm_movemask_epi8(Set::mask(_mm_unpacklo_epi64(front, back))) != 0;
  }
#endif
  return find<Set>(at, at, end) != end;
}

// Returns the first byte of [at, end) that belongs to the set in the name of the function, or end.
inline const char* find_control(const char* begin, const char* at, const char* end) {
  return find<Control>(begin, at, end);
}
inline const char* find_not_letter_or_dash(const char* begin, const char* at, const char* end) {
  return find<NotLetterOrDash>(begin, at, end);
}
inline const char* find_not_host_byte(const char* begin, const char* at, const char* end) {
  return find<NotHostByte>(begin, at, end);
}
inline const char* find_path_stop(const char* begin, const char* at, const char* end) {
  return find<PathStop>(begin, at, end);
}
inline const char* find_query_stop(const char* begin, const char* at, const char* end) {
  return find<QueryStop>(begin, at, end);
}

// The first 2 bytes at `at` as one number, to compare short words in one step. All bytes of the number must be
// readable.
inline std::uint16_t load16(const char* at) {
  std::uint16_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}
// The first 4 bytes as a number in the machine's byte order.
inline std::uint32_t load32(const char* at) {
  std::uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}
// The first 8 bytes as a number in the machine's byte order.
inline std::uint64_t load64(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Whether the `size` bytes at `a` and at `b` are the same. For a few bytes, this comparison costs less than a function
// call would.
inline bool is_same(const char* a, const char* b, std::size_t size) {
  if (size > 16) return std::memcmp(a, b, size) == 0;
  if (size >= 8) {
    return ((load64(a) ^ load64(b)) | (load64(a + size - 8) ^ load64(b + size - 8))) == 0;
  }
  if (size >= 4) return ((load32(a) ^ load32(b)) | (load32(a + size - 4) ^ load32(b + size - 4))) == 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

// True if the N-1 bytes at `at` equal `text`, ignoring the case of letters. `text` must be 4 to 24 bytes long and
// consist of lower-case letters, digits and '-'. The bytes at `at` must be bytes that a header name may contain:
// setting bit 0x20 in such a byte changes only A-Z into a letter, a digit or '-'. In text with other bytes, a control
// byte could be taken for a letter, a digit or '-'.
template <std::size_t N>
inline bool same_word(const char* at, const char (&text)[N]) {
  constexpr std::size_t size = N - 1;
  static_assert(size >= 4 && size <= 24);
  if constexpr (size < 8) {
    constexpr std::uint32_t fold = 0x20202020;
    const std::uint32_t head = (load32(at) | fold) ^ load32(text);
    const std::uint32_t tail = (load32(at + size - 4) | fold) ^ load32(text + size - 4);
    return (head | tail) == 0;
  } else {
    constexpr std::uint64_t fold = 0x2020202020202020;
    std::uint64_t diff = (load64(at) | fold) ^ load64(text);
    diff |= (load64(at + size - 8) | fold) ^ load64(text + size - 8);
    if constexpr (size > 16) diff |= (load64(at + 8) | fold) ^ load64(text + 8);
    return diff == 0;
  }
}

}  // namespace keel::scan
