// Rules for the TLS settings of network.https, of listeners for operators, of clients and of pools.

#pragma once

#include "keel/app/settings.h"

namespace keel::app::internal {

// Rejects the text of a PEM file where the name of a PEM file is expected. The error message does not repeat the text
// of the file, because the text may be a private key.
void refuse_pem(config::Checks& checks, const std::string& path, const std::string& value);

void check_admin_https(const Settings& settings, config::Checks& checks);

}  // namespace keel::app::internal
