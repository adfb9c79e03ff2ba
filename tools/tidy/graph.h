// The modules of src/keel and what each may use: layers.txt as a graph, and the same graph as CMake sees it.
//
// A module is a folder below src/keel, named by its path: `base`, `http/server`. The target of http/server is
// keel_http_server; a file belongs to the module whose name is the longest beginning of its path.

#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tree.h"

namespace tidy {

struct Module {
  std::set<std::string> uses;
  std::set<std::string> tests_use;  // The modules that the module's tests, benchmarks and fuzzers may use in addition.
};
using Graph = std::map<std::string, Module>;

// Reads lines `module: modules it uses` and `module tests: modules only its tests use`; '#' begins a comment line. A
// line of another form, or a repeated module, adds an entry to `problems`.
Graph parse_layers(const std::vector<std::string>& lines, std::vector<std::string>& problems);

// "http/server" for "src/keel/http/server/internal/exchange.h" and for "keel/http/server/router.h", "http" for
// "keel/http.h"; empty for other paths.
std::string module_of(std::string_view path, const Graph& graph);

// A command of a CMakeLists.txt with its arguments, without quotes and comments.
struct Command {
  std::string name;
  std::vector<std::string> arguments;
};
std::vector<Command> parse_commands(const std::vector<std::string>& lines);

// The modules that the given commands make with keel_module(), and what the modules link.
Graph linked(const std::vector<Command>& commands);

// One cycle of `uses`, as "a -> b -> a"; empty if there is none.
std::string find_circle(const Graph& graph);

// The edges that `more` has and `than` does not have, as "MODULE uses OTHER, WHERE".
std::vector<std::string> edges_beyond(const Graph& more, const Graph& than, std::string_view where);

// Whether a file belongs to tests, benchmarks or fuzzers, or is shared by them; such files are in no library.
bool is_for_tests(const std::string& path, const std::vector<Include>& included);

}  // namespace tidy
