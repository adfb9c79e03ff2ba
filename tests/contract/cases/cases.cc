#include "cases.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "gen/output.h"
#include "gen/schema_tables.h"
#include "gen/types.h"
#include "openapi/document.h"
#include "openapi/lint.h"

namespace keel::cases {
namespace {

openapi::ReadFile reader_of(const Files& files) {
  return [&files](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return fail(Code::NotFound, "there is no such file");
    return found->second;
  };
}

std::string first_error(const openapi::Problems& problems) {
  for (const openapi::Problem& one : problems.sorted()) {
    if (one.severity == openapi::Problem::Severity::Error) return one.text;
  }
  return problems.errors() == 0 ? "" : "an error that it does not name";
}

}  // namespace

std::string document_of(const std::vector<Struct>& structs, const std::string& more) {
  std::string text =
      "{\"openapi\": \"3.1.0\", \"info\": {\"title\": \"Cases\", \"version\": \"1\"}, \"paths\": {}, \"components\": "
      "{\"schemas\": {" +
      more;
  for (const Struct& one : structs) {
    if (&one != structs.data()) text += ", ";
    text += '"' + one.name +
            "\": {\"type\": \"object\", \"required\": [\"value\"], \"properties\": {\"value\": " + one.schema + "}}";
  }
  return text + "}}}";
}

std::string refusal_of(const Files& files, const std::string& name, bool& has_type) {
  openapi::Problems problems;
  const auto document = openapi::Document::load("api.json", reader_of(files), problems);
  if (document == nullptr || problems.errors() != 0) return "it cannot be loaded: " + first_error(problems);
  openapi::lint(*document, problems);
  if (problems.errors() != 0) return first_error(problems);
  gen::Names names;
  gen::SchemaTables tables(*document, problems);
  gen::Types types(*document, problems, names);
  types.set_name_schema([&](const openapi::Node& schema) { return tables.name_of(schema); });
  const openapi::Node& schemas = *document->root().find("components")->find("schemas");
  const gen::Type* const type = types.type_of(*schemas.find(name), name);
  if (problems.errors() != 0) return first_error(problems);
  has_type = type != nullptr && !type->members.empty() && type->members[0].type->shape != gen::Shape::Any;
  return "";
}

bool Program::add(const std::string& space, const Files& files, const std::vector<Struct>& structs) {
  openapi::Problems problems;
  const auto document = openapi::Document::load("api.json", reader_of(files), problems);
  std::vector<gen::File> made;
  if (document != nullptr) made = gen::generate(*document, {.space = space, .parts = 1}, problems);
  if (made.empty()) {
    std::fprintf(stderr, "%s: %s\n", space.c_str(), first_error(problems).c_str());
    return false;
  }
  if (!write_file(space + "/api.json", files.at("api.json"))) return false;  // For who looks at a fault.
  for (const gen::File& file : made) {
    if (!write_file(space + '/' + file.name, file.text)) return false;
  }
  includes_ += "#include \"" + space + "/types.h\"\n";
  for (const Struct& one : structs) {
    const std::string name = space + "::" + one.name;
    rows_ += "    {\"" + name + "\", &run<" + name + ">},\n";
    for (const Value& value : one.values) {
      std::string text = value.text;
      std::replace(text.begin(), text.end(), '\n', ' ');  // A line break stands in no string of JSON.
      std::string title = value.name;
      std::replace(title.begin(), title.end(), '\n', ' ');
      std::replace(title.begin(), title.end(), '\t', ' ');
      const bool is_valid_response = value.is_valid_response.value_or(value.is_valid);
      const char* const verdict = value.is_valid      ? is_valid_response ? "valid" : "request"
                                  : is_valid_response ? "response"
                                                      : "invalid";
      values_ += name + '\t' + verdict + '\t' + title + "\t{\"value\": " + text + "}\n";
    }
  }
  return true;
}

bool Program::write() {
  return write_file("table.cc", "#include \"run.h\"\n" + includes_ +
                                    "\nnamespace keel::cases {\n\nconst Case all[] = {\n" + rows_ +
                                    "    {nullptr, nullptr},\n};\n\n}  // namespace keel::cases\n") &&
         write_file("values.txt", values_);
}

bool Program::write_file(const std::string& name, const std::string& text) const {
  const std::filesystem::path path = folder_ / name;
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::ifstream before(path, std::ios::binary);
  if (before && std::string(std::istreambuf_iterator<char>(before), {}) == text) return true;
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) std::fprintf(stderr, "%s cannot be written\n", path.c_str());
  return static_cast<bool>(out);
}

}  // namespace keel::cases
