// The part of Types that writes types.h.

#include <algorithm>
#include <set>

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
  // clang-format is off because it would align the names in columns.
  out += is_short ? text : "// clang-format off\n" + text + "// clang-format on\n";
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

std::string Types::includes_of(std::string_view text, std::initializer_list<std::string_view> others) {
  struct Include {
    std::string_view word;
    std::string_view header;
  };
  static constexpr Include includes[] = {
      {"std::byte", "<cstddef>"},
      {"offsetof(", "<cstddef>"},
      {"int8_t", "<cstdint>"},
      {"int16_t", "<cstdint>"},
      {"int32_t", "<cstdint>"},
      {"int64_t", "<cstdint>"},
      {"std::map", "<map>"},
      {"std::optional", "<optional>"},
      {"std::string", "<string>"},
      {"std::string_view", "<string_view>"},
      {"std::variant", "<variant>"},
      {"std::vector", "<vector>"},
      {"keel::Box", "\"keel/data/box.h\""},
      {"keel::Date", "\"keel/data/date.h\""},
      {"keel::Decimal", "\"keel/data/decimal.h\""},
      {"keel::fields(", "\"keel/data/fields.h\""},
      {"keel::json::Value", "\"keel/data/json_value.h\""},
      {"keel::Patch", "\"keel/data/patch.h\""},
      {"keel::Timestamp", "\"keel/data/timestamp.h\""},
      {"keel::Uuid", "\"keel/data/uuid.h\""},
      {"keel::contract::is_valid(", "\"keel/contract/formats.h\""},
      {"keel::contract::Asked ", "\"keel/contract/input.h\""},
      {"keel::contract::Files<", "\"keel/contract/files.h\""},
      {"keel::contract::ReceivedForm ", "\"keel/contract/files.h\""},
      {"keel::contract::check_ahead", "\"keel/contract/schema.h\""},
      {"keel::contract::choose_ahead", "\"keel/contract/schema.h\""},
      {"keel::Pattern", "\"keel/data/pattern.h\""},
      {"read_json(keel::json::Reader& in_", "\"keel/data/internal/object_table.h\""},
      {"keel::json::internal::", "\"keel/data/internal/object_table.h\""},
      {"keel::http::refuse", "\"keel/http/server/problem.h\""},
  };
  std::set<std::string_view> standard;
  std::set<std::string_view> own;
  const auto add = [&](std::string_view header) { (header[0] == '<' ? standard : own).insert(header); };
  for (const std::string_view header : others) add(header);
  for (const auto& [word, header] : includes) {
    if (text.find(word) != text.npos) add(header);
  }
  std::string lines;
  for (const std::string_view one : standard) lines += "#include " + std::string(one) + '\n';
  if (!standard.empty() && !own.empty()) lines += '\n';
  for (const std::string_view one : own) lines += "#include " + std::string(one) + '\n';
  return lines;
}

std::vector<Types::Header> Types::headers() const {
  if (!state_->failed.empty()) return {{"types.h", {}, {}}};
  state_->prepare();
  const auto mentioned = state_->mentioned();
  std::map<std::string, std::vector<const Made*>> types_of;
  for (const Made* const type : state_->ordered()) types_of[state_->home_of(*type)].push_back(type);
  const std::string last = "types.h";
  types_of[last];
  std::vector<Header> headers;
  Header rest;
  for (const auto& [name, types] : types_of) {
    Header header{name, {}, {}};
    std::set<std::string> includes;
    std::set<const Made*> defined;
    std::set<std::string> ahead;
    for (const Made* const type : types) {
      for (const Made* const one : mentioned.at(type)) {
        if (state_->home_of(*one) != name) {
          includes.insert(state_->home_of(*one));
        } else if (one != type && one->shape != Shape::Enum && !defined.contains(one)) {
          ahead.insert(one->name);
        }
      }
      defined.insert(type);
    }
    std::string& out = header.text;
    for (const std::string& one : ahead) out += "struct " + one + ";\n";
    for (const Made* const type : types) {
      if (!out.empty()) out += '\n';
      out += comment_of("", type->schema);
      if (type->shape == Shape::Enum) {
        write_enum(out, *type);
      } else if (type->shape == Shape::Variant) {
        write_variant(out, *type);
      } else {
        write_struct(out, *type);
      }
    }
    header.includes.assign(includes.begin(), includes.end());
    if (name == last) {
      rest = std::move(header);
    } else {
      headers.push_back(std::move(header));
    }
  }
  rest.includes.clear();
  for (const Header& one : headers) rest.includes.push_back(one.name);
  headers.push_back(std::move(rest));
  return headers;
}

}  // namespace keel::gen
