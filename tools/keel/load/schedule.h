// The times at which requests are due. These times are decided before the first request is sent, so the load does not
// depend on the server.
//
//   Schedule due({.from = 1000, .to = 1000, .arrivals = Arrivals::Poisson, .seed = 1}, thread, threads);
//   Duration at = due.next();                // since the beginning of the run; rises, never ends
//
// Together, the requests of all threads have the requested rate. Evenly spaced requests are given to the threads in
// turn. For random arrivals, each thread generates its share of the rate by itself, because Poisson processes add up to
// a Poisson process.
//
// Cost: a few additions and, for random arrivals, a logarithm; nothing is stored, however far the server falls behind.

#pragma once

#include <cstdint>

#include "keel/base/time.h"
#include "load/random.h"

namespace keel::load {

enum class Arrivals : std::uint8_t { Constant, Poisson };

// A rate per second: constant, or growing evenly from one value to another and then constant.
struct Rate {
  double from = 0;
  double to = 0;
  Duration over = Duration();

  // The number of requests that are due within the time `at` after the beginning of the run.
  double due_by(Duration at) const noexcept;
  // The inverse of due_by(): the time by which `count` requests are due.
  Duration when(double count) const noexcept;
};

class Schedule {
 public:
  struct Options {
    Rate rate;
    Arrivals arrivals = Arrivals::Constant;
    std::uint64_t seed = 1;
  };
  Schedule(const Options& options, int thread, int threads) noexcept;

  Duration next() noexcept;

 private:
  Rate rate_;
  Arrivals arrivals_;
  double threads_;
  double count_;
  Random random_;
};

}  // namespace keel::load
