// keel/app/internal/options.h — converts the settings of an App to the options of the App's parts.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "keel/app/settings.h"
#include "keel/base/error.h"
#include "keel/http/server/server.h"
#include "keel/io/runtime.h"
#include "keel/net/tls/context.h"
#include "keel/telemetry/log_writer.h"

namespace keel::app::internal {

// The level from which lines must be recorded: the most verbose level in the settings.
Level recorded_level(const Settings& settings);
// A sink without a configured format writes text if the sink is standard error and standard error is a terminal at the
// time of the call; otherwise it writes JSON.
std::vector<telemetry::LogSink> sinks_of(const Settings& settings);
telemetry::LogWriterOptions log_options(const Settings& settings);
io::RuntimeOptions runtime_options(const Settings& settings);
http::Limits limits_of(const NetworkSettings& network);
// The options, except for metrics and TLS.
http::ServerOptions server_options(const Settings& settings, const Address& address);

// The options for TLS; `https` must be enabled.
tls::ServerOptions tls_options(const HttpsSettings& https);

// The configuration key by which a user can change `address`. For example, if `keys` is "network.http.", the result is
// "network.http.port".
std::string key_of_place(const Address& address, std::string_view keys);
// Adds a remedy to the error of listening at an address that is in use, is not permitted, or does not belong to this
// machine. The configuration keys of the address begin with `keys`, such as "network.http.".
Result<> with_remedy(Result<> listening, const Address& address, std::string_view keys);

// Adds a remedy to an error that ends the start because the system's limit of descriptors was reached.
Error with_remedy(Error error);

// Creates the folder of `file` and its missing parents, with mode 0700.
Result<> make_folder_of(const std::string& file);
// Calls make_folder_of() for every file that logging.sinks names.
Result<> make_log_folders(const Settings& settings);

}  // namespace keel::app::internal
