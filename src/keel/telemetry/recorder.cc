#include "keel/telemetry/recorder.h"

#include <fmt/core.h>

#include "keel/data/json.h"
#include "keel/observe/flight_recorder.h"

namespace keel::telemetry {

void write_recorders(Buffer& out, Instant now) {
  json::Writer json(out);
  json.begin_object().key("workers").begin_array();
  FlightRecorder::each([&](const FlightRecorder& recorder) {
    json.begin_object().key("worker").integer(recorder.worker()).key("requests").begin_array();
    recorder.last(FlightRecorder::entries_max, [&](const flight::Entry& request) {
      json.begin_object();
      json.key("method").string(request.verb);
      json.key("route").string(request.object);
      json.key("status").unsigned_integer(request.outcome);
      json.key("bytes").unsigned_integer(request.bytes);
      json.key("ago").number((now - request.started).count_seconds());
      json.key("duration").number(request.took.count_seconds());
      json.key("trace").string(fmt::format("{:016x}{:016x}", request.trace.high, request.trace.low));
      json.end_object();
    });
    json.end_array().end_object();
  });
  json.end_array().end_object();
}

}  // namespace keel::telemetry
