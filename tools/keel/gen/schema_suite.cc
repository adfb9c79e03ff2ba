// Writes the schemas of JSON-Schema-Test-Suite as tables: schema_suite SUITE OUT PARTS FILE...
//
// Each schema is a separate file of a document, so that "#" refers to the root of the schema. Each remote file of the
// suite has as its $id the address from which it would be served. The suite's groups are numbered in the order of the
// files.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "gen/cpp.h"
#include "gen/schema_tables.h"
#include "keel/base/arena.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_value.h"
#include "keel/data/json_write.h"

namespace keel::gen {
namespace {

using Files = std::map<std::string, std::string>;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write(const std::filesystem::path& path, const std::string& text) {
  if (text_of(path) != text) std::ofstream(path, std::ios::binary) << text;
}

Files remotes_of(const std::filesystem::path& folder) {
  Files files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = std::filesystem::relative(entry.path(), folder).string();
    const bool is_other = name.starts_with("draft") && !name.starts_with("draft2020-12");
    if (!entry.is_regular_file() || is_other || name.starts_with("v1")) continue;
    std::string text = text_of(entry.path());
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

// The texts of the schemas of a file.
std::vector<std::string> schemas_of(const std::string& text) {
  std::vector<std::string> schemas;
  Arena arena;
  json::Reader in(text, arena);
  in.begin_array();
  while (in.next_element()) {
    in.begin_object();
    while (const auto key = in.next_key()) {
      const bool is_schema = *key == "schema";
      const std::string_view value = in.skip();
      if (is_schema) schemas.emplace_back(value);
    }
  }
  if (!in.finish()) std::exit(1);
  return schemas;
}

int run(int count, char** arguments) {
  const std::filesystem::path suite = arguments[1];
  const std::filesystem::path out = arguments[2];
  const auto parts_count = static_cast<std::size_t>(std::atoi(arguments[3]));
  const Files remotes = remotes_of(suite / "remotes");
  const std::string begin = "#include \"keel/contract/schema.h\"\n\n";
  std::vector<std::string> parts(parts_count, begin);
  std::string declarations;
  std::string index = begin + "#include \"gen/schema_suite.h\"\n\n";
  std::string rows;
  std::size_t number = 0;
  for (int i = 4; i < count; ++i) {
    for (const std::string& schema : schemas_of(text_of(suite / "draft2020-12" / arguments[i]))) {
      ++number;
      Files files = {{"schema_" + std::to_string(number) + ".json", schema}};
      std::string components = "\"S\": {\"$ref\": \"" + files.begin()->first + "\"}";
      if (schema.find("localhost:1234") != schema.npos) {
        for (const auto& [name, text] : remotes) {
          components += ", \"R" + std::to_string(files.size()) + "\": {\"$ref\": \"" + name + "\"}";
          files[name] = text;
        }
      }
      files["api.json"] =
          "{\"openapi\": \"3.1.0\", \"info\": {\"title\": \"t\", \"version\": \"1\"}, \"paths\": {}, \"components\": "
          "{\"schemas\": {" +
          components + "}}}";
      openapi::Problems loading;
      openapi::Problems problems;
      const auto read = [&](const std::string& path) -> Result<std::string> {
        const auto found = files.find(path);
        if (found == files.end()) return fail(Code::NotFound, "there is no such file");
        return found->second;
      };
      const auto document = openapi::Document::load("api.json", read, loading);
      std::string row = "  {" + literal(arguments[i]) + ", nullptr, ";
      std::string why;
      if (document == nullptr) {
        why = "cannot be loaded";
      } else {
        SchemaTables tables(*document, problems);
        const std::string space = "case_" + std::to_string(number);
        std::string name = tables.name_of(*document->root().find("components")->find("schemas")->find("S"));
        for (const openapi::Problem& problem : problems.sorted()) {
          if (why.empty()) why = problem.text;
        }
        for (const openapi::Problem& problem : loading.sorted()) {
          if (!why.empty() && problem.text.find("remote") != problem.text.npos) why += "; " + problem.text;
        }
        if (why.empty()) {
          parts[number % parts_count] +=
              "namespace " + space + " {\n" + tables.declarations() + tables.definitions() + "}\n";
          if (!name.starts_with("keel::")) {
            declarations += "namespace " + space + " { extern const keel::contract::Schema " + name + "; }\n";
            name = space + "::" + name;
          }
          row = "  {" + literal(arguments[i]) + ", &" + name + ", ";
        }
      }
      rows += row + literal(why) + "},\n";
    }
  }
  for (std::size_t i = 0; i < parts.size(); ++i) write(out / ("suite_" + std::to_string(i + 1) + ".cc"), parts[i]);
  index += declarations + "\nnamespace keel::gen {\nconst SuiteSchema suite_schemas[] = {\n" + rows + "};\n" +
           "const std::size_t suite_schemas_count = sizeof suite_schemas / sizeof *suite_schemas;\n}\n";
  write(out / "suite_index.cc", index);
  return 0;
}

}  // namespace
}  // namespace keel::gen

int main(int count, char** arguments) { return count < 5 ? 1 : keel::gen::run(count, arguments); }
