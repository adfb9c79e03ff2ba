// keel/db/postgres/internal/inet_text.h — inet and cidr as text, and back.
//
// False: the bytes, or the text, are none of the type, and `to` may have anything behind its end.
//
// Source: network.c of the server.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"

namespace keel::db::postgres {

[[nodiscard]] bool append_inet_text(std::string_view bytes, bool is_cidr, Buffer& to);
[[nodiscard]] bool append_inet_bytes(std::string_view text, bool is_cidr, Buffer& to);

}  // namespace keel::db::postgres
