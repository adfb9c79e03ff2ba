// gen/output.h — generates the files of a contract.
//
//   Problems problems;
//   const auto document = Document::load("api.yaml", read_regular_file, problems);
//   const std::vector<File> files = generate(*document, {.space = "api"}, problems);   // none after a problem
//
// types.h has the structs of the schemas; each tag has a header with its operations and their handler, and security.h
// has the verifiers if the contract needs any; api.h has mount(). client.h has what all clients use, and each tag has a
// header with its client. part_1.cc to part_N.cc have the definitions. The same document gives the same bytes, whatever
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
  std::string space = "api";  // The namespace, and the folder used in #include: "shop::api" is in "api/".
  int parts = 4;
  bool has_server = true;   // The handlers and mount().
  bool has_client = false;  // The clients: client.h, and for each tag a file such as products_client.h.
  std::vector<std::string> operations =
      // The operationIds to generate code for or, with a '-' before each, those to leave out.
      {};
  std::string source = "api.yaml";  // The source document that the generated files name in their first lines.
};

// The document must have just been loaded: it is linted here. All findings go to `problems`; those that only the
// generator can find are added if lint() finds no error. `keel api lint` does the same without writing files.
std::vector<File> generate(openapi::Document& document, const Options& options, openapi::Problems& problems);

// "types.h", and the other file names that CMake must know: "part_1.cc", …
std::string part_name(int index);

}  // namespace keel::gen
