#include "jobs.h"

#include "keel/task/resume_on.h"
#include "keel/task/task.h"

using namespace keel;

Jobs::Jobs(app::App& app)
    : pool_(app.pool("jobs")),
      is_monitored_(app.settings().monitoring.enabled),
      done_(app.metrics().counter("bench_jobs_total", "Jobs that the pool has done.")),
      last_(app.metrics().gauge("bench_job_last", "The number that the last job has found.")),
      took_(app.metrics().histogram("bench_job_seconds", "Time of a job.", metrics::latency_seconds)) {}

Task<http::Response> Jobs::run(http::Request&) {
  Executor& home = *(co_await this_task()).executor;
  co_await resume_on(pool_);
  const Instant began = Host::current().now();
  std::uint32_t number = 1;
  for (int i = 0; i < 1000; ++i) number = number * 1664525 + 1013904223;  // About a microsecond.
  if (is_monitored_) {
    done_.add();
    last_.set(static_cast<double>(number));
    took_.observe(Host::current().now() - began);
  }
  co_await resume_on(home);
  co_return http::Response::text(http::Status::Ok, number == 0 ? "nothing" : "done", "text/plain");
}
