// Converts the fields of a form to the JSON that they represent. This JSON is then read like any other JSON.

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "keel/base/arena.h"
#include "keel/base/function.h"
#include "keel/contract/internal/texts.h"
#include "keel/contract/parameter.h"
#include "keel/data/violations.h"
#include "keel/http/server/multipart.h"

namespace keel::contract::internal {

struct Pair {
  std::string_view name;
  std::string_view text;
};

// "/2/color" becomes "[2][color]".
std::string part_of(std::string_view pointer);

// Writes fields as the members of an object; repeated fields become the elements of a list. Calls `twice` for a field
// that is repeated although it is not a list.
void write_members(Texts& texts, std::span<const Pair> pairs, std::span<const Field> fields, Form others,
                   FunctionRef<void(std::string_view)> twice);

// Reads the fields into a value, and adds the violations to `wrong`.
void read_fields(Arena& arena, std::span<const Pair> pairs, std::span<const Field> fields, Form others, ReadField read,
                 void* value, Violations& wrong);

// Whether a Content-Type matches one of the `media_types`, such as "image/png, image/*"; "" allows every type.
bool is_of_media_types(std::string_view content_type, std::string_view media_types) noexcept;
// The media type in `media_types`, if there is only one and it is not a range; else "".
std::string_view only_type_of(std::string_view media_types) noexcept;
// Adds a violation if the part's media type is not one that its field allows. A part that is not a file may always be
// text/plain, which is also the type of a part that was sent without a Content-Type (RFC 7578 §4.4).
void check_media_type(const http::FormPart& part, std::span<const Field> fields, Violations& wrong);
// Adds the violation for a part whose media type is wrong.
void add_wrong_type(std::string_view field, std::string_view media_types, Violations& wrong);

}  // namespace keel::contract::internal
