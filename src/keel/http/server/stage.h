// keel/http/server/stage.h — the stages of a request, in the order in which a simple request passes through them.
//
//   const StageTimer timer(http::stage::validate);   // in a handler that reads its body as a value
//
// The times of measured requests appear in Server::stage_times(), in the field Server-Timing, and in the metric
// http_stage_duration_seconds.

#pragma once

#include <string_view>

#include "keel/observe/span.h"

namespace keel::http {

namespace stage {
inline constexpr Stage parse{0};     // Parsing the bytes of the head.
inline constexpr Stage route{1};     // Finding the handler.
inline constexpr Stage body{2};      // Waiting for the rest of the body.
inline constexpr Stage validate{3};  // Reading the body into a value.
inline constexpr Stage handler{4};   // Running the handler, except for the parts that are other stages.
// Turning the response into bytes; the two stages of the database come before this one.
inline constexpr Stage serialize{7};
inline constexpr Stage record{8};  // Writing log lines, metrics and the entry of the flight recorder.
inline constexpr Stage write{9};   // Sending: from the complete response to the end of the send that contains it.
}  // namespace stage

// The number of stages above.
inline constexpr int stage_count = 10;
static_assert(stage_count <= stages_max);
// The names of the stages, in their order.
inline constexpr std::string_view stage_names[stage_count] = {
    "parse", "route", "body", "validate", "handler", "database_wait", "database", "serialize", "record", "write"};
// The name of a stage, as used in `http_stage_duration_seconds`.
constexpr std::string_view to_string(Stage stage) noexcept { return stage_names[static_cast<int>(stage)]; }

// The total time of those parts of a handler that are stages themselves.
inline Duration inside_handler(const StageClock& clock) noexcept {
  return clock.of(stage::validate) + clock.of(Stage::DatabaseWait) + clock.of(Stage::Database) +
         clock.of(stage::serialize);
}

}  // namespace keel::http
