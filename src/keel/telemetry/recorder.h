// keel/telemetry/recorder.h — the last requests of each worker, as JSON: GET /admin/recorder.
//
// {"workers":[{"worker":0,"requests":[{"method":"GET","route":"/users/{id}","status":200,"bytes":31,
//   "ago":0.0021,"duration":0.000017,"trace":"000…1"}]}]}, newest first, times in seconds.
//
// Threads: any, while the workers exist (observe/flight_recorder.h).

#pragma once

#include "keel/base/buffer.h"
#include "keel/base/time.h"

namespace keel::telemetry {

// Appends the recorders of all workers as JSON; ages are counted from `now`.
void write_recorders(Buffer& out, Instant now);

}  // namespace keel::telemetry
