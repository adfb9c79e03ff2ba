// keel/http/server/stage.h — where the time of a request goes, in the order in which a simple one passes through the
// stages.
//
//   const StageTimer timer(http::stage::validate);   // in a handler that reads its body as a value
//
// What each took of the requests that are measured: Server::stage_times(), Server-Timing, http_stage_seconds.

#pragma once

#include <string_view>

#include "keel/observe/span.h"

namespace keel::http {

namespace stage {
inline constexpr Stage parse{0};      // The head, from bytes to fields.
inline constexpr Stage route{1};      // Which handler it is for.
inline constexpr Stage body{2};       // Waiting for the rest of the body.
inline constexpr Stage validate{3};   // Reading the body as a value.
inline constexpr Stage handler{4};    // All of the handler that is no other stage.
inline constexpr Stage serialize{7};  // The response, from values to bytes; before it are the stages of the database.
inline constexpr Stage record{8};     // Logs, metrics, the flight recorder.
inline constexpr Stage write{9};      // From the response's bytes to the end of the send that has them.
}  // namespace stage

// The number of stages.
inline constexpr int stage_count = 10;
static_assert(stage_count <= stages_max);
// The names of the stages, in their order.
inline constexpr std::string_view stage_names[stage_count] = {
    "parse", "route", "body", "validate", "handler", "database_wait", "database", "serialize", "record", "write"};
// The name of a stage, as in `http_stage_duration_seconds`.
constexpr std::string_view to_string(Stage stage) noexcept { return stage_names[static_cast<int>(stage)]; }

// The parts of a handler's time that are stages of their own.
inline Duration inside_handler(const StageClock& clock) noexcept {
  return clock.of(stage::validate) + clock.of(Stage::DatabaseWait) + clock.of(Stage::Database) +
         clock.of(stage::serialize);
}

}  // namespace keel::http
