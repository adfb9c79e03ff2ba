// Schemas with values that are valid for them or not, made into a program of generated structs: run.h.
//
//   Program program(folder);
//   program.add("suite", files, {{"Case1", values}});    // "suite/types.h" and "suite/part_1.cc"
//   program.write();                                     // table.cc, and values.txt
//
// Each schema is that of the only member of a struct, so that one that makes no struct has a reader as well.

#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "openapi/problems.h"

namespace keel::cases {

using Files = std::map<std::string, std::string>;

struct Value {
  std::string name;
  bool is_valid;                               // In a request.
  std::string text;                            // JSON.
  std::optional<bool> is_valid_response = {};  // Empty: as in a request.
};

struct Struct {
  std::string name;    // Of the struct, and of the component: "Case12".
  std::string schema;  // JSON: of its member "value".
  std::vector<Value> values;
};

// A document with these components; `more` stands in front of them: "\"Node\": {…}, ".
std::string document_of(const std::vector<Struct>& structs, const std::string& more = {});

// "" when the generator takes the document api.json of these files, else the first thing that it says. `has_type` tells
// whether the member "value" of the component `name` is of a type of its own rather than a json::Value.
std::string refusal_of(const Files& files, const std::string& name, bool& has_type);

class Program {
 public:
  explicit Program(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Generates the document api.json of these files. False when that fails, which it prints.
  bool add(const std::string& space, const Files& files, const std::vector<Struct>& structs);
  // False when a file cannot be written.
  bool write();

 private:
  bool write_file(const std::string& name, const std::string& text) const;

  std::filesystem::path folder_;
  std::string includes_;
  std::string rows_;
  std::string values_;
};

}  // namespace keel::cases
