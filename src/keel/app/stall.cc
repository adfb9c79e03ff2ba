#include "keel/app/stall.h"

#include <fmt/core.h>

#include <iterator>
#include <string>

#include "keel/io/stall_watch.h"
#include "keel/observe/flight_recorder.h"
#include "keel/observe/log.h"

namespace keel::app {
namespace {

constexpr int last_requests = 8;

std::string recent_requests(int worker) {
  std::string text;
  FlightRecorder::each([&](const FlightRecorder& recorder) {
    if (recorder.worker() != worker) return;
    recorder.last(last_requests, [&text](const flight::Entry& request) {
      fmt::format_to(std::back_inserter(text), "{}{} {} {} {:.3f}ms", text.empty() ? "" : ", ",
                     request.verb.empty() ? "-" : request.verb, request.object.empty() ? "-" : request.object,
                     request.outcome, request.took.count_seconds() * 1e3);
    });
  });
  return text;
}

}  // namespace

struct StallLog::State {
  State(io::Runtime& runtime, Duration bound, metrics::Registry& registry)
      : stalls(registry.counter("worker_stalls_total",
                                "Number of times a worker blocked its event loop for longer than monitoring.stall_ms")),
        seconds(registry.histogram("worker_stall_seconds", "Duration for which a stalled worker blocked its event loop",
                                   metrics::latency_seconds)),
        watch(runtime, bound, [this](const io::Stall& stall) { report(stall); }) {}

  void report(const io::Stall& stall) const {
    if (stall.is_over) {
      seconds.observe(stall.lasted);
      log.info("a worker runs again after a stall", log::field("worker", stall.worker),
               log::field("duration", stall.lasted));
      return;
    }
    if (stall.is_first) stalls.add();
    const Span span{stall.doing.trace};
    const ScopedSpan scoped(span);
    const std::string recent = stall.is_first ? recent_requests(stall.worker) : "";
    log.warn("worker stalled", log::field("worker", stall.worker), log::field("duration", stall.lasted),
             log::field("method", stall.doing.verb), log::field("path", stall.doing.object),
             log::field("stack", stall.stack), log::field("recent", recent));
  }

  const metrics::Counter stalls;
  const metrics::Histogram seconds;
  const log::Logger log{"app.stall"};
  io::StallWatch watch;  // Must be destroyed before the object that records its reports.
};

StallLog::StallLog(io::Runtime& runtime, Duration bound, metrics::Registry& registry)
    : state_(std::make_unique<State>(runtime, bound, registry)) {}

StallLog::~StallLog() = default;

void StallLog::report_all() {
  state_->watch.look_at_all([this](const io::Stall& stall) {
    const Span span{stall.doing.trace};
    const ScopedSpan scoped(span);
    state_->log.info("worker", log::field("worker", stall.worker), log::field("busy", stall.lasted),
                     log::field("method", stall.doing.verb), log::field("path", stall.doing.object),
                     log::field("stack", stall.stack), log::field("recent", recent_requests(stall.worker)));
  });
}

}  // namespace keel::app
