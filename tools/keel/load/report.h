// Presents a measurement for people and for programs.
//
// Cost: a report is made only once, at the end.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "load/options.h"
#include "load/run.h"

namespace keel::load {

// Without --steps there is one measurement. With --steps, there is one measurement for each step. If the capacity was
// not given, the measurement that found the capacity comes first.
struct Report {
  struct Part {
    std::optional<double> step;  // The step's rate, as a fraction of the capacity; absent if the part is not a step.
    Measurement measurement;
  };
  std::vector<Part> parts;
  // With --steps, the capacity in requests per second, of which the steps are fractions.
  std::optional<double> capacity;
};

// The heading that is printed when a measurement begins: it names the server and the kind of load.
std::string heading(const Options& options, const Plan& plan);
std::string text(const Measurement& measurement);
// The report of a run with --steps, with one line for each step.
std::string table(const Report& report);
std::string json(const Options& options, const Report& report);
// The current state as one line, which replaces the previous line on a terminal.
std::string live_line(const View& view);

// Whether there is anything to warn of: responses that were not as expected, requests without a response, or a part of
// the run in which no request was measured.
bool has_errors(const Report& report) noexcept;

}  // namespace keel::load
