#include "keel/telemetry/recorder.h"

#include <gtest/gtest.h>

#include "keel/observe/flight_recorder.h"

namespace keel::telemetry::recorder_test {
namespace {

TEST(Recorders, are_written_newest_first) {
  const FlightRecorder recorder(2);
  flight::Entry request;
  request.verb = "GET";
  request.object = "/users/{id}";
  request.outcome = 200;
  request.bytes = 31;
  request.started = Instant::from_ns(1'000'000'000);
  request.took = 250_us;
  request.trace = {1, 2};
  flight::note(request);
  request.verb = "";
  request.object = "";
  request.outcome = 404;
  flight::note(request);

  Buffer out;
  write_recorders(out, Instant::from_ns(3'500'000'000));

  EXPECT_EQ(out.view(), R"({"workers":[{"worker":2,"requests":[)"
                        R"({"method":"","route":"","status":404,"bytes":31,"ago":2.5,"duration":0.00025,)"
                        R"("trace":"00000000000000010000000000000002"},)"
                        R"({"method":"GET","route":"/users/{id}","status":200,"bytes":31,"ago":2.5,"duration":0.00025,)"
                        R"("trace":"00000000000000010000000000000002"}]}]})");
}

TEST(Recorders, are_none_without_workers) {
  Buffer out;
  write_recorders(out, Instant());

  EXPECT_EQ(out.view(), R"({"workers":[]})");
}

}  // namespace
}  // namespace keel::telemetry::recorder_test
