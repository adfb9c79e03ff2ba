// keel/io/testing/shrink.h — from a simulated run that fails to the least that still fails.
//
//   sim::Shrunk least = sim::shrink(options, [](const sim::SimOptions& tried) {
//     World world(tried);
//     return sim::Trial{.failed = !world.run(), .struck = world.simulation.struck()};
//   });
//   std::puts(least.options.to_string().c_str());     // seed=7 … only=reset:3:0
//
// Leaves out faults, half of them, a quarter, … one at a time, for as long as the run still fails (A. Zeller and
// R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002), and then makes what is left regular: one
// latency, sends that complete immediately. In the end every single fault that is left is needed. The size of the
// scenario, clients and messages, is the test's own: it tries smaller ones and shrinks each that fails.
//
// Result:  options whose run has failed the last time, with `only` set. Those given when they did not fail at all.
// Cost:    one run for each try; the number of faults that struck times its logarithm, at most `runs_max`.

#pragma once

#include <vector>

#include "keel/base/function.h"
#include "keel/io/testing/simulation.h"

namespace keel::sim {

// One run: its faults, and whether it failed.
struct Trial {
  bool failed = false;
  std::vector<Fault> struck = {};  // Simulation::struck().
};

// The smallest set of faults that still fails.
struct Shrunk {
  SimOptions options;
  int runs = 0;  // The number of runs that it took.
};

Shrunk shrink(const SimOptions& failing, FunctionRef<Trial(const SimOptions&)> run, int runs_max = 1000);

}  // namespace keel::sim
