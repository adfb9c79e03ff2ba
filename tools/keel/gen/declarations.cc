// The part of Types that writes types.h.

#include <algorithm>
#include <array>

#include "gen/cpp.h"
#include "gen/made.h"

namespace keel::gen {
namespace {

using openapi::Kind;
using openapi::Node;

std::string comment_of(std::string_view indent, const Node* schema) {
  if (schema == nullptr || !schema->is(Kind::Map)) return {};
  const std::string_view description = schema->string("description");
  return comment(indent, description.empty() ? schema->string("title") : description);
}

std::string initialiser_of(const Member& member) {
  const bool is_plain = member.presence == Presence::Required || member.presence == Presence::Default;
  if (!is_plain || member.is_boxed) return member.presence == Presence::Nullable ? "" : "{}";
  const std::string& given = member.initialiser;
  if (!given.empty() && given != "{}") return " = " + given;
  if (member.type->is_nullable) return given;
  switch (member.type->shape) {
    case Shape::Boolean:
      return " = false";
    case Shape::Integer:
      return " = 0";
    case Shape::Number:
      return " = 0";
    case Shape::Enum:
      return "{}";
    default:
      return given;
  }
}

void write_enum(std::string& out, const Made& type) {
  const char* const base = type.enumerators.size() <= 256 ? "std::uint8_t" : "std::uint16_t";
  const std::string before = "enum class " + type.name + " : " + base + ' ';
  std::string line = before + '{';
  for (const std::string& one : type.enumerators) line += (line.back() == '{' ? " " : ", ") + one;
  line += " };\n";
  if (line.size() <= width + 1) {
    out += line;
  } else {
    out += before + "{\n";
    for (const std::string& one : type.enumerators) out += "  " + one + ",\n";
    out += "};\n";
  }
  std::vector<std::string> names;
  for (const std::string_view one : type.wire_names) names.push_back(literal(one));
  const std::string constant = type.word + "_names";
  const std::string text = list("", "inline constexpr std::string_view " + constant + "[] = ", names, ";");
  const bool is_short = text.find('\n') + 1 == text.size();
  out += is_short ? text : "// clang-format off\n" + text + "// clang-format on\n";  // It would make columns of it.
  out += "constexpr const auto& enum_names(" + type.name + ") { return " + constant + "; }\n";
}

void write_functions(std::string& out, const std::string& name) {
  out += "  void read_json(keel::json::Reader& in, keel::Violations& wrong);\n";
  out += "  void write_json(keel::json::Writer& out) const;\n";
  out += call("  friend bool operator==", "(", {"const " + name + '&', "const " + name + '&'}, ") = default;") + "};\n";
}

void write_struct(std::string& out, const Made& type) {
  out += "struct " + type.name + " {\n";
  for (const Member& member : type.members) {
    out += comment_of("  ", member.schema == type.schema ? nullptr : member.schema);
    out += "  " + spelling_of(member) + ' ' + member.name + initialiser_of(member) + ";\n";
  }
  if (type.additional != nullptr) {
    out += "  // All other members.\n";
    out += "  std::map<std::string, " + type.additional->spelling + "> " + type.additional_name + "{};\n";
  }
  const std::size_t count = type.members.size() + (type.additional != nullptr ? 1 : 0);
  if (count > 40 && count <= 64) {
    std::vector<std::string> pairs;
    for (const Member& member : type.members) {
      pairs.push_back(literal(member.name) + ", &" + type.name + "::" + member.name);
    }
    if (type.additional != nullptr) {
      pairs.push_back(literal(type.additional_name) + ", &" + type.name + "::" + type.additional_name);
    }
    out += "\n  // clang-format off\n  static constexpr auto fields = keel::fields(\n";
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      out += "      " + pairs[i] + (i + 1 == pairs.size() ? ");\n" : ",\n");
    }
    out += "  // clang-format on\n";
  }
  if (count != 0) out += '\n';
  write_functions(out, type.name);
}

void write_variant(std::string& out, const Made& type) {
  std::vector<std::string> alternatives;
  for (const Made* const one : type.alternatives) alternatives.push_back(one->spelling);
  const std::string before = "struct " + type.name + " : std::variant";
  out += call(before, "<", alternatives, "> {");
  out += "  using variant::variant;\n\n";
  write_functions(out, type.name);
}

}  // namespace

std::string Types::header_includes() {
  return "#include <array>\n"
         "#include <cstddef>\n"
         "#include <cstdint>\n"
         "#include <map>\n"
         "#include <optional>\n"
         "#include <string>\n"
         "#include <string_view>\n"
         "#include <variant>\n"
         "#include <vector>\n"
         "\n"
         "#include \"keel/data/box.h\"\n"
         "#include \"keel/data/fields.h\"\n"
         "#include \"keel/data/json_value.h\"\n"
         "#include \"keel/data/patch.h\"\n"
         "#include \"keel/data/timestamp.h\"\n"
         "#include \"keel/data/uuid.h\"\n"
         "#include \"keel/data/violations.h\"\n";
}

std::string Types::header() const {
  if (!state_->failed.empty()) return {};
  state_->prepare();
  const std::vector<const Made*> order = state_->ordered();
  std::string out;
  std::vector<const Made*> defined;
  std::vector<const Made*> ahead;
  for (const Made* const type : order) {
    const auto mention = [&](const Type& content) {
      const Made* const found = content_of(content).type;
      const auto is_in = [&](const std::vector<const Made*>& list) {
        return std::find(list.begin(), list.end(), found) != list.end();
      };
      if (found == nullptr || found == type || found->shape == Shape::Enum) return;
      if (!is_in(defined) && !is_in(ahead)) ahead.push_back(found);
    };
    for (const Member& member : type->members) mention(*member.type);
    for (const Made* const one : type->alternatives) mention(*one);
    if (type->additional != nullptr) mention(*type->additional);
    defined.push_back(type);
  }
  std::sort(ahead.begin(), ahead.end(), [](const Made* a, const Made* b) { return a->name < b->name; });
  for (const Made* const one : ahead) out += "struct " + one->name + ";\n";
  for (const Made* const type : order) {
    if (!out.empty()) out += '\n';
    out += comment_of("", type->schema);
    if (type->shape == Shape::Enum) {
      write_enum(out, *type);
      continue;
    }
    if (type->shape == Shape::Variant) {
      write_variant(out, *type);
    } else {
      write_struct(out, *type);
    }
  }
  if (!state_->functions.empty()) {
    if (!out.empty()) out += '\n';
    out += "// For the sources that are generated with this header.\nnamespace internal {\n\n";
    for (const auto& [name, function] : state_->functions) out += function.declaration;
    out += "\n}  // namespace internal\n";
  }
  return out;
}

}  // namespace keel::gen
