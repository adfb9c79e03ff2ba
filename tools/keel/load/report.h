// Presents a measurement for people and for programs.
//
// Cost: made once, at the end.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "load/options.h"
#include "load/run.h"

namespace keel::load {

// Without steps there is one measurement. With steps, there is one for each, and before them the one that found the
// capacity, unless it was given.
struct Report {
  struct Part {
    std::optional<double> step;  // The fraction of the capacity.
    Measurement measurement;
  };
  std::vector<Part> parts;
  // If there are steps, the capacity, in requests per second, of which they are fractions.
  std::optional<double> capacity;
};

// The heading of a measurement that begins: the server, and the kind of load.
std::string heading(const Options& options, const Plan& plan);
std::string text(const Measurement& measurement);
// One line for each step.
std::string table(const Report& report);
std::string json(const Options& options, const Report& report);
// One line that replaces the previous one on a terminal.
std::string live_line(const View& view);

// Warnings: responses that were not as expected, requests without a response, and a part in which no request was
// measured.
bool has_errors(const Report& report) noexcept;

}  // namespace keel::load
