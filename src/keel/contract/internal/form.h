// Converts the fields of a form to the JSON that they represent, which is then read like any JSON.

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

// Writes fields as the members of an object; repeated fields become the elements of a list. A repeated member that is
// not a list is passed to `twice`.
void write_members(Texts& texts, std::span<const Pair> pairs, std::span<const Field> fields, Form others,
                   FunctionRef<void(std::string_view)> twice);

// Reads the fields into a value, and adds their violations.
void read_fields(Arena& arena, std::span<const Pair> pairs, std::span<const Field> fields, Form others, ReadField read,
                 void* value, Violations& wrong);

// Whether a Content-Type is one of "image/png, image/*"; "" allows every type.
bool is_of_media_types(std::string_view content_type, std::string_view media_types) noexcept;
// The media type, if there is only one and it is not a range; else "".
std::string_view only_type_of(std::string_view media_types) noexcept;
// Adds a violation if the part has another type than its field. A part that is not a file may always be text/plain,
// which is also the type of a part that was sent without a Content-Type (RFC 7578 §4.4).
void check_media_type(const http::FormPart& part, std::span<const Field> fields, Violations& wrong);
// Adds the violation of a part with a wrong type.
void add_wrong_type(std::string_view field, std::string_view media_types, Violations& wrong);

}  // namespace keel::contract::internal
