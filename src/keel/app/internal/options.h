// keel/app/internal/options.h — converts the settings of an App to the options of its parts.

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

// The level that has to be recorded: the most verbose one that the settings ask for.
Level recorded_level(const Settings& settings);
// A sink without a format of its own is text when it is standard error and that is a terminal now, else JSON.
std::vector<telemetry::LogSink> sinks_of(const Settings& settings);
telemetry::LogWriterOptions log_options(const Settings& settings);
io::RuntimeOptions runtime_options(const Settings& settings);
http::Limits limits_of(const NetworkSettings& network);
// The options without metrics and without TLS.
http::ServerOptions server_options(const Settings& settings, const Address& address);

// The options for TLS; `https` must be enabled.
tls::ServerOptions tls_options(const HttpsSettings& https);

// The key with which a user can change `address`. For `keys` that begin with "network.http.", it is
// "network.http.port".
std::string key_of_place(const Address& address, std::string_view keys);
// Adds what to do about an address that is taken, not allowed or not of this machine to the error of listening there.
// `keys` begins the keys of that address, such as "network.http." before port.
Result<> with_remedy(Result<> listening, const Address& address, std::string_view keys);

// Adds what to do about a limit of the system that was reached, descriptors, to an error that ends the start.
Error with_remedy(Error error);

// Creates the folder of `file` and those above it; new ones have mode 0700.
Result<> make_folder_of(const std::string& file);
// Does this for every file that logging.sinks names.
Result<> make_log_folders(const Settings& settings);

}  // namespace keel::app::internal
