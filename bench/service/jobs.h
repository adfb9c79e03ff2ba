// GET /job: a job that the pool "jobs" does, while its request waits on the loop. With monitoring on it counts, sets a
// gauge and fills a histogram.

#pragma once

#include "keel/app/app.h"
#include "keel/http/server/router.h"
#include "keel/observe/metric.h"

class Jobs {
 public:
  // The app outlives this, and this outlives the router.
  explicit Jobs(keel::app::App& app);
  void mount(keel::http::Router& router) { router.get("/job", *this, &Jobs::run); }

 private:
  keel::Task<keel::http::Response> run(keel::http::Request& request);

  keel::ThreadPool& pool_;
  const bool is_monitored_;
  const keel::metrics::Counter done_;
  const keel::metrics::Gauge last_;
  const keel::metrics::Histogram took_;
};
