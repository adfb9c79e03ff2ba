// keel/db/postgres/internal/inet_text.h — converts inet and cidr to text, and back.
//
// The functions return false if the bytes, or the text, are not a value of the type; the bytes of `to` after its former
// end are then unspecified.
//
// Source: network.c of the server.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"

namespace keel::db::postgres {

[[nodiscard]] bool append_inet_text(std::string_view bytes, bool is_cidr, Buffer& to);
[[nodiscard]] bool append_inet_bytes(std::string_view text, bool is_cidr, Buffer& to);

}  // namespace keel::db::postgres
