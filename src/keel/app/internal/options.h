// keel/app/internal/options.h — the settings of an App in the words of its parts.

#pragma once

#include <string>
#include <vector>

#include "keel/app/settings.h"
#include "keel/http/server/server.h"
#include "keel/io/runtime.h"
#include "keel/net/tls/context.h"
#include "keel/telemetry/log_writer.h"

namespace keel::app::internal {

// What is recorded at all: the most talkative level that somebody may ask for.
Level recorded_level(const Settings& settings);
// A sink without a format of its own is text when it is standard error and that is a terminal now, else JSON.
std::vector<telemetry::LogSink> sinks_of(const Settings& settings);
telemetry::LogWriterOptions log_options(const Settings& settings);
io::RuntimeOptions runtime_options(const Settings& settings);
http::Limits limits_of(const NetworkSettings& network);
// Without metrics, and in plain text.
http::ServerOptions server_options(const Settings& settings, const Address& address);

// Of what is on.
tls::ServerOptions tls_options(const HttpsSettings& https);

// The folder for `file`, and those above it; with mode 0700 those that were not there.
Result<> make_folder_of(const std::string& file);
// For every file that logging.sinks names.
Result<> make_log_folders(const Settings& settings);

}  // namespace keel::app::internal
