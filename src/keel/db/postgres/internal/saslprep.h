// keel/db/postgres/internal/saslprep.h — normalizes passwords with SASLprep (RFC 4013), to the extent that scram.h
// states.

#pragma once

#include <string>
#include <string_view>

#include "keel/base/result.h"

namespace keel::db::postgres {

// Unsupported: the password has a character whose normal form is not in the tables of saslprep.cc.
Result<std::string> normalised_password(std::string_view password);

}  // namespace keel::db::postgres
