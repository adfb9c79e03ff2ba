// JSON-Schema-Test-Suite, draft 2020-12, as a program of generated structs: contract_cases_suite SUITE OUT EVERY
//
// Takes of each file the first schema, and then each EVERY-th that the generator takes. Each schema is a file of its
// own, so that "#" is its root; the suite's remotes are files that have the address from which they are served as their
// $id.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cases.h"
#include "keel/base/arena.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_value.h"

namespace keel::cases {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Without those that the generator refuses, as it does what refers to them.
Files remotes_of(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    const bool is_other = name.starts_with("draft") && !name.starts_with("draft2020-12");
    if (!entry.is_regular_file() || is_other || name.starts_with("v1")) continue;
    std::string text = text_of(entry.path());
    if (text.find("json-schema.org/draft/2020-12/meta") != text.npos || text.find("$dynamic") != text.npos) continue;
    const auto value = json::parse<json::Value>(text);
    if (!value || value->kind() != json::Kind::Object) continue;
    const std::string address = "http://localhost:1234/" + name;
    std::string flat = "remote_" + name;
    for (char& c : flat) c = c == '/' ? '_' : c;
    const json::Value* const id = value->find("$id");
    if (id == nullptr) {
      text.insert(text.find('{') + 1, "\"$id\": \"" + address + "\",");
    } else if (id->string() != address) {
      files["at_" + flat] = "{\"$id\": \"" + address + "\", \"$ref\": \"" + std::string(*id->string()) + "\"}";
    }
    files[flat] = std::move(text);
  }
  return files;
}

// What the generated code judges otherwise, and docs/contract.md or docs/from_contract.md says so.
bool is_different(const std::string& file, const std::string& title) {
  return (file == "optional/bignum.json" && title == "integer") || file == "optional/float-overflow.json" ||
         file == "format.json" || file == "optional/format/idn-hostname.json" ||
         file == "optional/unknownKeyword.json" ||
         (file == "optional/format/hostname.json" && title.starts_with("validation of A-label"));
}

// A schema without a type that has properties, or items, is one of objects, or of lists, where a struct is made of it.
bool is_of_other_type(const std::string& file, const std::string& group, const std::string& value) {
  constexpr std::array<std::string_view, 7> titles = {
      "ignores arrays", "ignores strings", "ignores other non-objects",       "ignores non-arrays",
      "ignores null",   "ignores boolean", "JavaScript pseudo-array is valid"};
  return std::find(titles.begin(), titles.end(), value) != titles.end() ||
         (file == "ref.json" && group == "root pointer ref" && (value == "match" || value == "recursive match")) ||
         (file == "ref.json" && group == "simple URN base URI with $ref via the URN");
}

// And a struct does not keep a member that it does not have, which here another one requires.
bool is_not_kept(const std::string& group, const std::string& value) {
  return group == "unevaluatedProperties with dependentSchemas" && value == "with no unevaluated properties";
}

// Why the generator refuses a schema, as docs/contract.md lists it; a default that does not fit, and no value at all.
bool is_published(const std::string& why) {
  constexpr std::array<std::string_view, 9> all = {
      "'$dynamicRef' is not supported",
      "'$dynamicAnchor' is not supported",
      "'dependencies' is not supported",
      "the dialect 'http://localhost:1234/",
      "' is remote: nothing is read from a network",  // Without $dynamicRef there.
      "' is not a keyword of a schema",
      "the character U+0000 is not supported",
      "the default does not fit its schema",
      "'enum' is empty"};
  if (why.find("no schema has the $anchor 'items'") != why.npos) return true;  // That is a $dynamicAnchor.
  return std::any_of(all.begin(), all.end(), [&](std::string_view one) { return why.find(one) != why.npos; });
}

struct Group {
  std::string title;
  Struct made;
};

std::vector<Group> groups_of(const std::string& text) {
  std::vector<Group> groups;
  Arena arena;
  json::Reader in(text, arena);
  in.begin_array();
  while (in.next_element()) {
    Group& group = groups.emplace_back();
    in.begin_object();
    while (const auto key = in.next_key()) {
      if (*key == "description") {
        group.title = in.string();
      } else if (*key == "schema") {
        group.made.schema = in.skip();
      } else if (*key == "tests") {
        in.begin_array();
        while (in.next_element()) {
          Value& value = group.made.values.emplace_back();
          in.begin_object();
          while (const auto name = in.next_key()) {
            if (*name == "description") {
              value.name = in.string();
            } else if (*name == "valid") {
              value.is_valid = in.boolean();
            } else {
              const std::string_view skipped = in.skip();
              if (*name == "data") value.text = skipped;
            }
          }
        }
      } else {
        in.skip();
      }
    }
  }
  if (!in.finish()) std::exit(1);
  return groups;
}

// Whether the generator takes a schema does not depend on the others: each is asked for alone.
int run(const fs::path& suite, const fs::path& out, int every) {
  const Files remotes = remotes_of(suite / "remotes");
  const fs::path folder = suite / "draft2020-12";
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  Files files;
  std::vector<Struct> structs;
  std::string more;
  int schemas = 0;
  int refused = 0;
  int different = 0;
  int typed = 0;
  int number = 0;
  std::size_t values = 0;
  std::size_t other_types = 0;
  for (const fs::path& path : paths) {
    const std::string file = fs::relative(path, folder).string();
    int taken = 0;
    for (Group& group : groups_of(text_of(path))) {
      ++schemas;
      ++number;
      if (is_different(file, group.title)) {
        ++different;
        continue;
      }
      Files alone = {{"case_" + std::to_string(number) + ".json", group.made.schema}};
      Struct one{.name = "Case" + std::to_string(number),
                 .schema = "{\"$ref\": \"" + alone.begin()->first + "\"}",
                 .values = std::move(group.made.values)};
      std::string remote_components;
      if (group.made.schema.find("localhost:1234") != std::string::npos) {
        for (const auto& [name, text] : remotes) {
          remote_components += "\"R" + std::to_string(alone.size()) + "\": {\"$ref\": \"" + name + "\"}, ";
          alone[name] = text;
        }
      }
      alone["api.json"] = document_of({one}, remote_components);
      bool has_type = false;
      std::string why = refusal_of(alone, one.name, has_type);
      // It looks for them in the file of the contract.
      if (group.made.schema.find("\\u0000") != std::string::npos) why = "the character U+0000 is not supported";
      if (!why.empty()) {
        ++refused;
        if (!is_published(why)) {
          std::printf("%s, %s: %s\n", file.c_str(), group.title.c_str(), why.c_str());
          return 1;
        }
        if (std::getenv("CASES_VERBOSE") != nullptr) {
          std::printf("%s, %s: %s\n", file.c_str(), group.title.c_str(), why.c_str());
        }
        continue;
      }
      if (taken++ % every != 0) continue;
      typed += has_type ? 1 : 0;
      if (has_type) {
        other_types += std::erase_if(one.values, [&](const Value& value) {
          return value.is_valid &&
                 (is_of_other_type(file, group.title, value.name) || is_not_kept(group.title, value.name));
        });
      }
      values += one.values.size();
      for (Value& value : one.values) {
        std::string title = file;
        title += ", " + group.title + ": " + value.name;
        value.name = std::move(title);
      }
      if (!remote_components.empty()) more = remote_components;
      files.merge(alone);
      structs.push_back(std::move(one));
    }
  }
  files["api.json"] = document_of(structs, more);
  std::printf(
      "%d schemas: %d refused by the generator and %d judged otherwise, as documented; %zu taken, %d of them with a "
      "type "
      "of their own; %zu values, and %zu left out, most of no object or list where the schema has no type\n",
      schemas, refused, different, structs.size(), typed, values, other_types);
  Program program(out);
  return program.add("suite", files, structs) && program.write() ? 0 : 1;
}

}  // namespace
}  // namespace keel::cases

int main(int count, char** arguments) {
  if (count != 4 || std::atoi(arguments[3]) < 1) {
    std::fprintf(stderr, "expected: %s SUITE OUT EVERY\n", arguments[0]);
    return 2;
  }
  return keel::cases::run(arguments[1], arguments[2], std::atoi(arguments[3]));
}
