// keel/app/internal/database_options.h — pairs each setting of the database with the option that it sets.

#pragma once

#include "keel/app/settings.h"
#include "keel/db/postgres/database.h"
#include "keel/db/sqlite/database.h"

namespace keel::app::internal {

// Calls `f(setting, option)` for each setting that maps directly to an option of the database. `settings` and `options`
// may be const.
template <class Settings, class Options, class F>
void each_database_option(Settings& settings, Options& options, F f) {
  f(settings.path, options.path);
  f(settings.pool_size, options.pool_size);
  f(settings.timeout, options.busy_timeout);
  f(settings.cache_kib, options.cache_kib);
  f(settings.buffer_bytes, options.buffer_bytes);
  f(settings.synchronous, options.synchronous);
  f(settings.checkpoint_pages, options.checkpoint_pages);
  f(settings.group_max, options.writer.group_max);
  f(settings.queue_max, options.writer.queued_max);
  f(settings.hold_max, options.writer.hold_max);
}

// Calls `f(setting, option)` for each setting that maps directly to an option of PostgreSQL.
template <class Settings, class Options, class F>
void each_postgres_option(Settings& settings, Options& options, F f) {
  f(settings.connections, options.connections);
  f(settings.wait_max, options.wait_max);
  f(settings.statement_timeout, options.statement_timeout);
  f(settings.max_age, options.max_age);
  f(settings.pooler, options.pooler);
}

}  // namespace keel::app::internal
