// gen/statuses.h — the names of responses.

#pragma once

#include <string>
#include <string_view>

namespace keel::gen {

// "not_found" for "404", "client_error" for "4XX", "other" for "default"; "status_499" for a status for which IANA has
// no name.
std::string name_of_status(std::string_view status);

}  // namespace keel::gen
