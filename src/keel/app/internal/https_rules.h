// Rules of the settings of TLS: of network.https, of listeners for operators, of clients and of pools.

#pragma once

#include "keel/app/settings.h"

namespace keel::app::internal {

// Rejects the text of a PEM file where the name of one is expected. The message does not repeat the text, which may be
// a private key.
void refuse_pem(config::Checks& checks, const std::string& path, const std::string& value);

void check_admin_https(const Settings& settings, config::Checks& checks);

}  // namespace keel::app::internal
