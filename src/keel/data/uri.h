// keel/data/uri.h — percent-encoding and query strings (RFC 3986 §2.1, §2.3; WHATWG URL §5.1 for '+' in queries).
//
//   uri::QueryPairs pairs(request.query(), arena);
//   while (auto pair = pairs.next()) {
//     if (pair->key == "page") page = pair->value;
//   }
//   KEEL_TRY_VOID(pairs.finish());
//
// Decoded text may contain any bytes; utf8::is_valid() checks whether the text is UTF-8. A '%' that is not followed by
// two hexadecimal digits, and "%00", are rejected with Code::InvalidArgument, because other programs may interpret such
// text differently.
//
// Lifetime: a text without escapes is returned as a view into the argument, any other text as a view into the arena;
//           both must outlive the result.
// Cost:     O(bytes), no heap memory.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/base/result.h"

namespace keel::uri {

enum class Plus : bool { Literal, Space };  // In a path '+' stands for itself; in a query it stands for a space.
// Whether "%00" is decoded. Use Nul::Taken only if you pass on the decoded text together with its length.
enum class Nul : bool { Refused, Taken };

// Decodes once. "a%2Fb" is decoded to "a/b", so split a path into segments before you decode it.
Result<std::string_view> percent_decode(std::string_view text, Arena& arena, Plus plus = Plus::Literal,
                                        Nul nul = Nul::Refused);
// Decodes the text in place; returns the new size, which is never larger. After an error, the content of `text` is
// unspecified.
Result<std::size_t> percent_decode_in_place(char* text, std::size_t size, Plus plus = Plus::Literal);
// Appends `text`, with every character escaped except the unreserved characters: letters, digits, '-', '.', '_', '~'.
void percent_encode(Buffer& out, std::string_view text);

// Reads the pairs of a query string ("a=1&b=x+y&flag") in order, and decodes them. Empty parts ("a=1&&b=2") are
// skipped.
class QueryPairs {
 public:
  struct Pair {
    std::string_view key;
    std::string_view value;  // "" for "flag" and for "flag=".
  };

  // A query with more than `pairs_max` pairs is rejected, which limits the work that a request can cause.
  QueryPairs(std::string_view query, Arena& arena, int pairs_max = 256, Nul nul = Nul::Refused) noexcept
      : rest_(query), arena_(arena), left_(pairs_max), nul_(nul) {}

  // Returns the next pair; nullopt at the end, and after the first error.
  std::optional<Pair> next();
  // Code::InvalidArgument if a pair was rejected.
  Result<> finish() const;

 private:
  std::string_view rest_;
  Arena& arena_;
  int left_;
  Nul nul_;
  const char* problem_ = nullptr;
};

}  // namespace keel::uri
