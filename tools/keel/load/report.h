// A measurement for people and for programs.
//
// Cost: made once, at the end.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "load/options.h"
#include "load/run.h"

namespace keel::load {

// One measurement, or one for each step, the first perhaps the one that found the capacity.
struct Report {
  struct Part {
    std::optional<double> step;  // Part of the capacity.
    Measurement measurement;
  };
  std::vector<Part> parts;
  std::optional<double> capacity;  // Requests per second that are 100 %, with steps.
};

// A heading for what begins now: what is loaded, and how.
std::string heading(const Options& options, const Plan& plan);
std::string text(const Measurement& measurement);
// One line for each step.
std::string table(const Report& report);
std::string json(const Options& options, const Report& report);
// One line that replaces the one before, for a terminal.
std::string live_line(const View& view);

// Answers that were not as expected, requests without one, and a part in which no request was measured.
bool has_errors(const Report& report) noexcept;

}  // namespace keel::load
