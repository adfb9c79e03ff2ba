#include "graph.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <sstream>

namespace tidy {
namespace {

constexpr std::string_view target_prefix = "keel_";
constexpr std::string_view alias_prefix = "keel::";

// "http/server" of "http_server".
std::string module_of_target(std::string_view name) {
  std::string module(name);
  std::replace(module.begin(), module.end(), '_', '/');
  return module;
}

}  // namespace

Graph parse_layers(const std::vector<std::string>& lines, std::vector<std::string>& problems) {
  Graph graph;
  std::set<std::string> seen;
  for (const std::string& line : lines) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t colon = line.find(':');
    const std::string subject = line.substr(0, colon);
    std::istringstream words(subject);
    std::string name, kind, rest;
    words >> name >> kind >> rest;
    if (colon == std::string::npos || name.empty() || !rest.empty() || (!kind.empty() && kind != "tests")) {
      problems.push_back("a line must begin with `module:` or `module tests:`: " + line);
      continue;
    }
    if (!seen.insert(subject).second) problems.push_back("twice: " + subject);
    Module& module = graph[name];
    std::istringstream used(line.substr(colon + 1));
    for (std::string other; used >> other;) (kind.empty() ? module.uses : module.tests_use).insert(other);
  }
  for (const auto& [name, module] : graph) {
    if (!seen.contains(name)) problems.push_back(name + " has a line for its tests, but no line of its own");
    for (const auto* uses : {&module.uses, &module.tests_use}) {
      for (const std::string& other : *uses) {
        if (!graph.contains(other)) problems.push_back(name + " uses " + other + ", which has no line");
        if (other == name) problems.push_back(name + " uses itself");
      }
    }
    for (const std::string& other : module.tests_use) {
      if (module.uses.contains(other))
        problems.push_back(name + " itself uses " + other + ", so the line of its tests must not list it");
    }
  }
  return graph;
}

std::string module_of(std::string_view path, const Graph& graph) {
  if (path.starts_with("src/")) path.remove_prefix(4);
  if (!path.starts_with("keel/")) return {};
  path.remove_prefix(5);
  if (path.find('/') == std::string_view::npos) return path.ends_with(".h") ? stem(path) : std::string();
  for (std::string at = folder(path); !at.empty(); at = folder(at)) {
    if (graph.contains(at)) return at;
  }
  return std::string(path.substr(0, path.find('/')));
}

std::vector<Command> parse_commands(const std::vector<std::string>& lines) {
  std::vector<Command> commands;
  std::string word;
  int depth = 0;
  bool is_quoted = false;
  const auto end_word = [&] {
    if (!word.empty() && depth > 0) commands.back().arguments.push_back(word);
    if (depth > 0) word.clear();
  };
  for (const std::string& line : lines) {
    for (const char c : line) {
      if (c == '"') {
        is_quoted = !is_quoted;
      } else if (is_quoted) {
        word += c;
      } else if (c == '#') {
        break;
      } else if (c == '(') {
        if (depth++ == 0) {
          commands.push_back({word, {}});
          word.clear();
        }
      } else if (c == ')') {
        end_word();
        --depth;
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        end_word();
      } else {
        word += c;
      }
    }
    end_word();
  }
  return commands;
}

Graph linked(const std::vector<Command>& commands) {
  Graph graph;
  for (const Command& command : commands) {
    const auto& words = command.arguments;
    if (words.empty()) continue;
    std::string name;
    if (command.name == "keel_module") {
      name = module_of_target(words[0]);
      graph[name];
    } else if (command.name == "target_link_libraries" && words[0].starts_with(target_prefix)) {
      name = module_of_target(words[0].substr(target_prefix.size()));
      if (!graph.contains(name)) continue;  // A target that is not a module is a helper of tests.
    }
    if (name.empty()) continue;
    for (const std::string& word : words) {
      if (word.starts_with(alias_prefix)) graph[name].uses.insert(module_of_target(word.substr(alias_prefix.size())));
    }
  }
  return graph;
}

std::string find_circle(const Graph& graph) {
  enum class State { New, Open, Done };
  std::map<std::string, State> states;
  std::vector<std::string> path;
  std::string circle;
  const std::function<bool(const std::string&)> visit = [&](const std::string& name) {
    State& state = states[name];
    if (state == State::Done) return false;
    path.push_back(name);
    if (state == State::Open) {
      for (auto at = std::find(path.begin(), path.end(), name); at != path.end(); ++at) {
        circle += circle.empty() ? *at : " -> " + *at;
      }
      return true;
    }
    state = State::Open;
    if (const auto module = graph.find(name); module != graph.end()) {
      for (const std::string& other : module->second.uses) {
        if (visit(other)) return true;
      }
    }
    path.pop_back();
    states[name] = State::Done;
    return false;
  };
  for (const auto& [name, module] : graph) {
    if (visit(name)) break;
  }
  return circle;
}

std::vector<std::string> edges_beyond(const Graph& more, const Graph& than, std::string_view where) {
  std::vector<std::string> found;
  for (const auto& [name, module] : more) {
    const auto other = than.find(name);
    for (const std::string& used : module.uses) {
      if (other != than.end() && other->second.uses.contains(used)) continue;
      found.push_back(name + " uses " + used + ", " + std::string(where));
    }
  }
  return found;
}

bool is_for_tests(const std::string& path, const std::vector<Include>& included) {
  constexpr std::array kinds = {"_test", "_bench", "_fuzz", "_must_not_compile"};
  const std::string noun = stem(path);
  if (std::any_of(kinds.begin(), kinds.end(), [&](const char* kind) { return noun.ends_with(kind); })) return true;
  return std::any_of(included.begin(), included.end(), [](const Include& include) {
    return include.path.starts_with("gtest/") || include.path.starts_with("benchmark/");
  });
}

}  // namespace tidy
