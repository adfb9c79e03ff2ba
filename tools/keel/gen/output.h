// gen/output.h — generates the files of a contract.
//
//   Problems problems;
//   const auto document = Document::load("api.yaml", read_regular_file, problems);
//   const std::vector<File> files = generate(*document, {.space = "api"}, problems);   // none after a problem
//
// types.h contains the structs of the schemas. For each tag there is a header with its operations and their handler.
// security.h contains the verifiers, if the contract needs any, and api.h contains mount(). client.h contains the code
// that all clients use, and for each tag there is a header with its client. part_1.cc to part_N.cc contain the
// definitions. The same document gives the same files, byte by byte, whatever the order of its keys.

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
  bool has_server = true;  // Whether to generate the handlers and mount().
  // Whether to generate the clients: client.h, and for each tag a file such as products_client.h.
  bool has_client = false;
  std::vector<std::string> operations =
      // The operationIds of the operations to generate or, with a '-' before each, of the operations to leave out.
      {};
  std::string source = "api.yaml";  // The name of the source document, for the first lines of the generated files.
};

// The document must have just been loaded: this function calls lint(). All findings go to `problems`; findings that
// only the generator can make are added if lint() finds no error. `keel api lint` calls this function too, but does not
// write the files.
std::vector<File> generate(openapi::Document& document, const Options& options, openapi::Problems& problems);

// The name of a source with definitions: "part_1.cc" for 1. CMake must know the names of all these sources.
std::string part_name(int index);

}  // namespace keel::gen
