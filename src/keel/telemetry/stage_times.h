// keel/telemetry/stage_times.h — shows how requests spend their time: GET /admin/stages.
//
//   write_stage_times_text(body, server.stage_times());
//
//   route                 measured   mean us   parse   route   …   write
//   GET /api/users/{id}      1,024     12.41     0.3     0.1   …     2.0
//
// The numbers are means in microseconds over the requests that were measured (ServerOptions::measured_every); routes
// without a measured request are left out. As JSON: {"routes":[{"method":"GET","route":"/api/users/{id}",
//   "measured":1024,"written":1020,"stages":{"parse":307200,…}}]}, in nanoseconds, summed over all measured requests;
//   `written` is the number of requests that the time of `write` covers.
//
// Threads: any.

#pragma once

#include <span>

#include "keel/base/buffer.h"
#include "keel/http/server/stages.h"

namespace keel::telemetry {

// Writes the times of `routes` as a table for people.
void write_stage_times_text(Buffer& out, std::span<const http::RouteStages> routes);
// Writes the times of `routes` as JSON.
void write_stage_times_json(Buffer& out, std::span<const http::RouteStages> routes);

}  // namespace keel::telemetry
