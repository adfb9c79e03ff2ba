// keel/io/testing/shrink.h — reduces a failing simulated run to a minimal one that still fails.
//
//   sim::Shrunk least = sim::shrink(options, [](const sim::SimOptions& tried) {
//     World world(tried);
//     return sim::Trial{.failed = !world.run(), .struck = world.simulation.struck()};
//   });
//   std::puts(least.options.to_string().c_str());     // seed=7 … only=reset:3:0
//
// Leaves out faults (half of them at a time, then a quarter, and so on down to one) as long as the run still fails (A.
// Zeller and R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002), and then makes the run regular: a
// single latency, and sends that complete immediately. At the end, every fault that remains is needed for the failure.
// The test itself chooses the size of the scenario, such as the number of clients and messages: it can try smaller
// scenarios, and shrink each one that fails.
//
// Result:  the options of the last run that failed, with `only` set. If no run failed, the given options are returned.
// Cost:    with n faults that struck, about n log n runs, at most `runs_max`.

#pragma once

#include <vector>

#include "keel/base/function.h"
#include "keel/io/testing/simulation.h"

namespace keel::sim {

// The outcome of one run: its faults, and whether it failed.
struct Trial {
  bool failed = false;
  std::vector<Fault> struck = {};  // The result of Simulation::struck().
};

// The smallest set of faults that still fails.
struct Shrunk {
  SimOptions options;
  int runs = 0;  // The number of runs that shrink() made.
};

Shrunk shrink(const SimOptions& failing, FunctionRef<Trial(const SimOptions&)> run, int runs_max = 1000);

}  // namespace keel::sim
