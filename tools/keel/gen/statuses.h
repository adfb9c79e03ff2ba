// gen/statuses.h — the names of responses.

#pragma once

#include <string>
#include <string_view>

namespace keel::gen {

// "not_found" of "404", "client_error" of "4XX", "other" of "default"; "status_499" of one that IANA has no name for.
std::string name_of_status(std::string_view status);

}  // namespace keel::gen
