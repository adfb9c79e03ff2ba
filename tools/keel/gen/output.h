// gen/output.h — the files that are generated from a contract.
//
//   Problems problems;
//   const auto document = Document::load("api.yaml", read_regular_file, problems);
//   const std::vector<File> files = generate(*document, {.space = "api"}, problems);   // none after a problem
//
// types.h has the structs of the schemas, each tag a header with its operations and their handler, security.h the
// verifiers where the contract asks for any, and api.h mount(); client.h what the clients are given, and each tag a
// header with its client; part_1.cc to part_N.cc have the definitions. The same document gives the same bytes, whatever
// the order of its keys.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gen/folder.h"
#include "openapi/document.h"
#include "openapi/problems.h"

namespace keel::gen {

struct Options {
  std::string space = "api";  // The namespace, and the folder that is included: "shop::api" is in "api/".
  int parts = 4;
  bool has_server = true;   // The handlers and mount().
  bool has_client = false;  // The clients: client.h, and "products_client.h" for each tag.
  std::vector<std::string> operations =
      {};                           // The operationIds that are wanted, or with a '-' in front those that are not.
  std::string source = "api.yaml";  // What the files say that they are made from.
};

// The document has just been loaded: it is linted here. All that is found is in `problems`; what only the generator
// finds, once lint() finds no error. `keel api lint` is this without the files.
std::vector<File> generate(openapi::Document& document, const Options& options, openapi::Problems& problems);

// "types.h", and what else has a fixed name for CMake: "part_1.cc", …
std::string part_name(int index);

}  // namespace keel::gen
