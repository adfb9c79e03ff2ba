// Rules between the settings of listeners for operators and network.https.

#pragma once

#include "keel/app/settings.h"

namespace keel::app::internal {

void check_admin_https(const Settings& settings, config::Checks& checks);

}  // namespace keel::app::internal
