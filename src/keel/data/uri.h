// keel/data/uri.h — percent-encoding and query strings (RFC 3986 §2.1, §2.3; WHATWG URL §5.1 for '+' in queries).
//
//   uri::QueryPairs pairs(request.query(), arena);
//   while (auto pair = pairs.next()) {
//     if (pair->key == "page") page = pair->value;
//   }
//   KEEL_TRY_VOID(pairs.finish());
//
// Decoded text is bytes: it need not be UTF-8 (utf8::is_valid tells). A '%' without two hexadecimal digits and "%00"
// are refused with Code::InvalidArgument, because whatever reads the text next may take it differently.
//
// Lifetime: what had nothing to decode is a view into the argument, else into the arena; both must live as long.
// Cost:     O(bytes), no heap.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/base/result.h"

namespace keel::uri {

enum class Plus : bool { Literal, Space };  // In a path '+' is itself; in a query it is a space.
enum class Nul : bool { Refused, Taken };   // "%00": taken by those who give a string with its length on.

// Decodes once. "a%2Fb" becomes "a/b": split a path into segments first.
Result<std::string_view> percent_decode(std::string_view text, Arena& arena, Plus plus = Plus::Literal,
                                        Nul nul = Nul::Refused);
// The same over the bytes themselves; returns the new size, which is not larger. On failure the bytes are unspecified.
Result<std::size_t> percent_decode_in_place(char* text, std::size_t size, Plus plus = Plus::Literal);
// Appends `text` with everything escaped but the unreserved characters: letters, digits, '-', '.', '_', '~'.
void percent_encode(Buffer& out, std::string_view text);

// The pairs of a query string ("a=1&b=x+y&flag"), in order and decoded. Empty parts ("a=1&&b=2") are passed over.
class QueryPairs {
 public:
  struct Pair {
    std::string_view key;
    std::string_view value;  // "" for "flag" and for "flag=".
  };

  // More than `pairs_max` pairs are refused, which bounds the work that a request can ask for.
  QueryPairs(std::string_view query, Arena& arena, int pairs_max = 256, Nul nul = Nul::Refused) noexcept
      : rest_(query), arena_(arena), left_(pairs_max), nul_(nul) {}

  // The next pair; nullopt at the end and at the first error, which sticks.
  std::optional<Pair> next();
  // Code::InvalidArgument when a pair was refused.
  Result<> finish() const;

 private:
  std::string_view rest_;
  Arena& arena_;
  int left_;
  Nul nul_;
  const char* problem_ = nullptr;
};

}  // namespace keel::uri
