// What a program that is made of cases.h runs: generated structs, each with values that are valid for it or not.

#pragma once

#include <string>
#include <string_view>

#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"

namespace keel::cases {

struct Outcome {
  bool is_valid = false;
  std::string why;      // What the reader says of a value that is not valid.
  std::string written;  // What the writer makes of one that is.
  std::string fault;    // What is wrong with the writer: it is not read, or it is read as another value; else "".
};

struct Case {
  const char* name;
  Outcome (*run)(std::string_view text);
};

// Of a table that is generated; the last one has no name.
extern const Case all[];

template <class T>
Outcome run(std::string_view text) {
  Outcome outcome;
  Arena arena;
  Violations wrong;
  T value;
  outcome.is_valid = json::read(value, text, arena, wrong);
  if (outcome.is_valid != wrong.empty()) outcome.fault = "the result and the violations contradict each other";
  if (!outcome.is_valid) {
    outcome.why = wrong.error().describe();
    return outcome;
  }
  outcome.written = json::write(value);
  T again;
  Violations wrong_again;
  if (!json::read(again, outcome.written, arena, wrong_again)) {
    outcome.fault = "what is written is not read: " + wrong_again.error().describe();
  } else if (!(again == value)) {
    outcome.fault = "what is written is read as another value";
  } else if (json::write(again) != outcome.written) {
    outcome.fault = "what is read again is written as another text";
  }
  return outcome;
}

}  // namespace keel::cases
