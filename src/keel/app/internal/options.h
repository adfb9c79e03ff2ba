// keel/app/internal/options.h — the settings of an App in the words of its parts.

#pragma once

#include <string>
#include <vector>

#include "keel/app/log_writer.h"
#include "keel/app/settings.h"
#include "keel/db/sqlite/database.h"
#include "keel/http/server/server.h"
#include "keel/io/runtime.h"
#include "keel/observe/log_ring.h"

namespace keel::app::internal {

log::RingOptions ring_options(const Settings& settings);
// What is recorded at all: the most talkative level that somebody may ask for.
Level recorded_level(const Settings& settings);
std::vector<LogSink> sinks_of(const Settings& settings);
LogWriterOptions log_options(const Settings& settings);
io::RuntimeOptions runtime_options(const Settings& settings);
http::Limits limits_of(const NetworkSettings& network);
// Without metrics.
http::ServerOptions server_options(const Settings& settings, const Address& address);
db::DatabaseOptions database_options(const Settings& settings);

// The folder for `file`, and those above it.
Result<> make_folder_of(const std::string& file);
// For every file that logging.sinks names.
Result<> make_log_folders(const Settings& settings);

}  // namespace keel::app::internal
