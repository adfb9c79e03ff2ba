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
  Outcome (*run)(std::string_view text, bool is_response);
};

// Of a table that is generated; the last one has no name.
extern const Case all[];

// As a client writes a request, or a service a response.
template <class T>
std::string written(const T& value, bool is_response) {
  Buffer out;
  json::Writer writer(out, is_response ? json::Writer::Omit::WriteOnly : json::Writer::Omit::ReadOnly);
  json::write(writer, value);
  return std::string(out.view());
}

template <class T>
Outcome run(std::string_view text, bool is_response) {
  const json::ReaderOptions options = {.is_response = is_response};
  Outcome outcome;
  Arena arena;
  Violations wrong;
  T value;
  outcome.is_valid = json::read(value, text, arena, wrong, options);
  if (outcome.is_valid != wrong.empty()) outcome.fault = "the result and the violations contradict each other";
  if (!outcome.is_valid) {
    outcome.why = wrong.error().describe();
    return outcome;
  }
  outcome.written = written(value, is_response);
  const bool is_whole = outcome.written == json::write(value);
  T again;
  Violations wrong_again;
  if (!json::read(again, outcome.written, arena, wrong_again, options)) {
    outcome.fault = "what is written is not read: " + wrong_again.error().describe();
  } else if (is_whole && !(again == value)) {
    outcome.fault = "what is written is read as another value";
  } else if (written(again, is_response) != outcome.written) {
    outcome.fault = "what is read again is written as another text";
  }
  return outcome;
}

}  // namespace keel::cases
