// keel/config/internal/printer.h — a configuration as text for people: what --print-config and --help print.
//
// Threads: values.
// Cost:    only when a text is printed.

#pragma once

#include <string>
#include <string_view>

#include "keel/config/origins.h"
#include "keel/config/schema.h"

namespace keel::config::internal {

std::string describe(const Schema& schema, const Origins& origins);
std::string help(const Schema& schema, std::string_view env_prefix);

}  // namespace keel::config::internal
