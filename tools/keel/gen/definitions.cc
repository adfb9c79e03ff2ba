// The part of Types that writes readers and writers.

#include <algorithm>
#include <array>

#include "gen/cpp.h"
#include "gen/made.h"

namespace keel::gen {
namespace {

constexpr std::string_view library = "keel::json::internal::";
constexpr std::size_t narrow_max = 64;  // Members of keel::json::internal::ObjectTable.

// The names are sorted as clang-format sorts them.
constexpr std::array<std::string_view, 40> library_names = {
    "are_different",   "choose_by_name",    "choose_by_value",
    "has_length",      "is_multiple",       "judge",
    "judge_container", "length_keyword",    "Members",
    "read_box",        "read_empty_object", "read_itself",
    "read_list",       "read_map",          "read_member",
    "read_nullable",   "read_nullable_box", "read_object",
    "read_optional",   "read_other",        "read_patch",
    "read_patch_box",  "read_value",        "refuse_kind",
    "throw_valueless", "WideMembers",       "write_box",
    "write_itself",    "write_list",        "write_map",
    "write_member",    "write_nullable",    "write_nullable_box",
    "write_object",    "write_optional",    "write_optional_box",
    "write_others",    "write_patch",       "write_patch_box",
    "write_value"};

std::string shortened(std::string text) {
  for (std::size_t at = text.find(library); at != text.npos; at = text.find(library, at))
    text.erase(at, library.size());
  return text;
}

// The text of a JSON string, quotes included.
std::string json_string(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      made += {'\\', c};
    } else if (byte < 0x20) {
      made += "\\u00";
      made += "0123456789abcdef"[byte >> 4];
      made += "0123456789abcdef"[byte & 15];
    } else {
      made += c;
    }
  }
  return made + '"';
}
std::string key_of(std::string_view name) { return literal(json_string(name) + ':'); }

std::string reader_head(const std::string& name) {
  return call("void " + name + "::read_json", "(", {"keel::json::Reader& in_", "keel::Violations& wrong_"}, ") {");
}
std::string writer_head(const std::string& name) {
  return call("void " + name + "::write_json", "(", {"keel::json::Writer& out_"}, ") const {");
}
// A statement that reads a value into the expression, or writes the value of the expression.
std::string reading(const Made& type, const std::string& value) {
  if (type.name.empty() || type.shape == Shape::Enum) return shortened(type.read) + "(in_, " + value + ", wrong_);";
  return value + ".read_json(in_, wrong_);";
}
std::string ahead_text(const Made& type) {
  if (type.ahead.empty()) return {};
  return "  if (!keel::contract::check_ahead(in_, " + type.ahead + ", wrong_)) {\n    in_.skip();\n    return;\n  }\n";
}

// "of::string" for types that the library reads and writes, "" for types with their own functions.
std::string held_by(const Made& type) {
  const auto is_read = [](const Type& of, const std::string& name) {
    return of.read == std::string(library) + name || !of.limits.empty();
  };
  const std::string& spelling = type.spelling;
  if (!type.ahead.empty()) return {};
  if (type.shape == Shape::List) {
    const bool is_plain = type.element->spelling == "std::string" && made(*type.element).ahead.empty() &&
                          type.element->read == std::string(library) + "read_value<std::string>";
    const bool is_held = is_plain && is_read(type, "read_list<std::string, " + type.element->read + '>');
    return is_held ? "of::strings" : "";
  }
  if (type.shape == Shape::Enum) {
    const bool is_byte = type.wire_names.size() <= 256;
    return is_byte && is_read(type, "read_value<" + spelling + '>') ? "of::name" : "";
  }
  if (!is_read(type, "read_value<" + spelling + '>')) return {};
  switch (type.shape) {
    case Shape::Boolean:
      return "of::boolean";
    case Shape::Integer:
      return spelling.starts_with("std::") ? "of::" + spelling.substr(5, spelling.size() - 7) : "";
    case Shape::Number:
      return spelling == "double" ? "of::number" : "of::small_number";
    case Shape::String:
      return "of::string";
    case Shape::Text:
      return spelling == "keel::Uuid"        ? "of::uuid"
             : spelling == "keel::Timestamp" ? "of::timestamp"
             : spelling == "keel::Date"      ? "of::date"
                                             : "";
    case Shape::Bytes:
    case Shape::File:
      return "of::bytes";
    case Shape::Any:
      return "of::any";
    default:
      return {};
  }
}
std::string presence_of(const Member& member) {
  switch (member.presence) {
    case Presence::Optional:
      return "of::optional";
    case Presence::Patch:
      return "of::patch";
    case Presence::Nullable:
      return "of::nullable";
    default:
      return member.type->is_nullable ? "of::nullable" : "of::present";
  }
}

// "of::optional | of::required".
std::string with_bits(const Member& member, const std::string& presence) {
  std::string bits = presence == "of::present" ? "" : presence;
  const auto add = [&](bool is_set, std::string_view bit) {
    if (is_set) bits.append(bits.empty() ? "" : " | ").append(bit);
  };
  add(member.must_come, "of::required");
  add(member.is_read_only, "of::read_only");
  add(member.is_write_only, "of::write_only");
  return bits.empty() ? presence : bits;
}

// The functions that read and write a member; for reading, for example "read_optional<Owner, read_itself<Owner>>".
struct MemberFunctions {
  std::string read;
  std::string write;
};
MemberFunctions functions_of(const Member& member) {
  const Made& inner = value_type(*member.type);
  const bool is_boxed = member.is_boxed;
  std::string read;
  std::string write;
  const Type* type = &inner;
  switch (member.presence) {
    case Presence::Optional:
      read = is_boxed ? "box" : "optional";
      write = is_boxed ? "optional_box" : read;
      if (!is_boxed) type = member.type;
      break;
    case Presence::Patch:
      read = write = is_boxed ? "patch_box" : "patch";
      break;
    case Presence::Nullable:
      read = write = is_boxed ? "nullable_box" : "member";
      if (!is_boxed) type = member.type;
      break;
    default:
      read = write = is_boxed ? (member.type->is_nullable ? "nullable_box" : "box") : "member";
      if (!is_boxed) type = member.type;
  }
  return {"read_" + read + '<' + type->spelling + ", " + shortened(type->read) + '>',
          "write_" + write + '<' + type->spelling + ", " + shortened(type->write) + '>'};
}

class StructText {
 public:
  explicit StructText(const Made& type) : type_(type), word_(snake_of(type.name)) {
    if (word_.ends_with('_')) word_.pop_back();
  }

  std::string text() const {
    const bool is_empty = type_.members.empty() && type_.additional == nullptr;
    if (is_empty) return empty();
    return tables() + reader() + '\n' + writer();
  }

 private:
  bool is_wide() const { return type_.members.size() > narrow_max || type_.additional != nullptr; }

  std::string empty() const {
    const std::string read = "read_empty_object(in_, " + std::string(type_.is_strict ? "true" : "false") + ", wrong_);";
    return function(reader_head(type_.name), ahead_text(type_), read) + '\n' +
           function(writer_head(type_.name), "", "out_.begin_object().end_object();");
  }
  static std::string function(std::string head, const std::string& before, const std::string& statement) {
    head.pop_back();
    const std::string line = head + ' ' + statement + " }\n";
    if (before.empty() && line.size() <= width + 1) return line;
    return head + '\n' + before + "  " + statement + "\n}\n";
  }

  std::string tables() const {
    std::string rows;
    for (const Member& member : type_.members) {
      std::vector<std::string> row = {key_of(member.json), offset_of(member.name)};
      const std::string held = member.is_boxed ? "" : held_by(value_type(*member.type));
      const std::string presence = held.empty() ? "of::present" : presence_of(member);
      const bool has_escapes = json_string(member.json).find('\\') != std::string::npos;
      const std::string& limits = value_type(*member.type).limits;
      row.push_back(held.empty() ? "of::other" : held);
      row.push_back(with_bits(member, presence));
      if (held == "of::name") {
        row.push_back(value_type(*member.type).word + "_names");
      } else if (!held.empty() && !limits.empty()) {
        row.push_back('&' + limits);
      }
      if (held.empty()) {
        const MemberFunctions functions = functions_of(member);
        row.insert(row.end(), {"nullptr", functions.read, functions.write});
      }
      if (has_escapes) {
        if (row.size() == 4) row.emplace_back("nullptr");
        if (row.size() == 5) row.insert(row.end(), {"nullptr", "nullptr"});
        row.push_back(literal(member.json));
      } else if (row.size() == 4 && row[3] == "of::present") {
        row.pop_back();
      }
      rows += list("    ", "", row, ",");
    }
    const std::string count = std::to_string(type_.members.size());
    const std::string wide = is_wide() ? "Wide" : "";
    std::string out = "namespace {\n\nconstexpr " + wide + "Members<" + count + "> " + word_ + "_members";
    out += type_.members.empty() ? ";\n" : "({\n" + rows + "});\n";
    std::string arguments = type_.is_strict ? "true" : "false";
    if (type_.additional != nullptr) {
      const std::string spelling = type_.additional->spelling + ", ";
      out += list("", "constexpr of::Others " + word_ + "_others = ",
                  std::vector<std::string>{offset_of(type_.additional_name),
                                           "read_other<" + spelling + shortened(type_.additional->read) + '>',
                                           "write_others<" + spelling + shortened(type_.additional->write) + '>'},
                  ";");
      arguments += ", &" + word_ + "_others";
    }
    const std::string head = "constexpr auto " + word_ + "_table = ";
    const std::string made = word_ + "_members." + (is_wide() ? "wide_table(" : "table(") + arguments + ");\n";
    out += (head + made).size() <= width + 1 ? head + made : head.substr(0, head.size() - 1) + "\n    " + made;
    return out + "\n}  // namespace\n\n";
  }
  std::string offset_of(const std::string& member) const { return "offsetof(" + type_.name + ", " + member + ')'; }

  std::string reader() const {
    return function(reader_head(type_.name), ahead_text(type_), "read_object(in_, " + word_ + "_table, this, wrong_);");
  }
  std::string writer() const {
    return function(writer_head(type_.name), "", "write_object(out_, " + word_ + "_table, this);");
  }

  const Made& type_;
  std::string word_;
};

std::string sentence(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

class VariantText {
 public:
  explicit VariantText(const Made& type) : type_(type) {}

  std::string text() const { return reader() + '\n' + writer(); }

 private:
  std::string read_alternative(int i) const {
    const Made& one = *type_.alternatives[static_cast<std::size_t>(i)];
    return "return " + reading(one, "emplace<" + std::to_string(i) + ">()") + '\n';
  }

  std::string reader() const {
    constexpr std::array<std::string_view, 5> kinds = {"Boolean", "Number", "String", "Array", "Object"};
    constexpr std::array<std::string_view, 5> words = {"a boolean", "a number", "a string", "an array", "an object"};
    std::string out = reader_head(type_.name) + ahead_text(type_);
    const std::array<int, 5>& by_kind = type_.choice.by_kind;
    const bool is_object_only = std::all_of(by_kind.begin(), by_kind.begin() + 4, [](int i) { return i == -1; });
    if (is_object_only && type_.choice.way != Choice::Way::Kind) return out + by_member("  ") + "}\n";
    std::vector<std::string> expected;
    out += "  switch (in_.peek()) {\n";
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      if (by_kind[kind] == -1) continue;
      const bool is_integer = type_.alternatives[static_cast<std::size_t>(by_kind[kind])]->shape == Shape::Integer;
      expected.emplace_back(is_integer ? "an integer" : words[kind]);
      out += "    case keel::json::Kind::" + std::string(kinds[kind]) + ":\n";
      const bool is_chosen = kind == 4 && type_.choice.way != Choice::Way::Kind;
      out += is_chosen ? "      break;\n" : "      " + read_alternative(by_kind[kind]);
    }
    out += "    default:\n" + literal_line("      return refuse_kind(in_, ", "expected " + sentence(expected), ");");
    out += "  }\n";
    if (by_kind[4] != -1 && type_.choice.way != Choice::Way::Kind) out += by_member("  ");
    return out + "}\n";
  }

  std::string by_member(const std::string& indent) const {
    const Choice& choice = type_.choice;
    std::vector<std::string> quoted;
    std::vector<std::string> plain;
    for (const auto& [name, i] : choice.cases) {
      quoted.push_back(literal(name));
      plain.push_back(name);
    }
    const bool is_by_value = choice.way == Choice::Way::Value;
    std::string expected = is_by_value ? "must be one of " : "must have " + sentence(plain);
    if (is_by_value) {
      for (std::size_t i = 0; i < plain.size(); ++i) expected += (i == 0 ? "" : ", ") + plain[i];
    }
    const std::string table = is_by_value ? "values" : "names";
    std::string out = list(indent, "static constexpr std::string_view " + table + "[] = ", quoted, ";");
    if (is_by_value) {
      out += literal_line(indent + "static constexpr const char* expected = ", expected, ";");
      out += indent + "switch (choose_by_value(in_, " + literal(choice.property) + ", values, expected, wrong_)) {\n";
    } else {
      const bool is_any =
          type_.schema != nullptr && type_.schema->find("oneOf") == nullptr && type_.schema->find("anyOf") != nullptr;
      out += literal_line(indent + "static constexpr keel::Complaint expected = {", expected,
                          is_any ? ", \"anyOf\"};" : ", \"oneOf\"};");
      if (!type_.ahead_of_several.empty()) {
        out += call(indent + "if", " (",
                    {std::string(library) + "has_several(in_, names) && !keel::contract::check_ahead(in_, " +
                     type_.ahead_of_several + ", wrong_)"},
                    ") {") +
               indent + "  in_.skip();\n" + indent + "  return;\n" + indent + "}\n";
      }
      out += by_fit(indent);
      const std::string otherwise = choice.otherwise == -1 ? "-1" : std::to_string(choice.cases.size());
      out += indent + "switch (choose_by_name(in_, names, " + otherwise + ", expected, wrong_)) {\n";
    }
    for (std::size_t alternative = 0; alternative < type_.alternatives.size(); ++alternative) {
      bool is_any = false;
      for (std::size_t i = 0; i < choice.cases.size(); ++i) {
        if (choice.cases[i].second != static_cast<int>(alternative)) continue;
        out += indent + "  case " + std::to_string(i) + ":\n";
        is_any = true;
      }
      if (choice.otherwise == static_cast<int>(alternative)) {
        out += indent + "  case " + std::to_string(choice.cases.size()) + ":\n";
        is_any = true;
      }
      if (is_any) out += indent + "    " + read_alternative(static_cast<int>(alternative));
    }
    return out + indent + "  default:\n" + indent + "    return;\n" + indent + "}\n";
  }

  // Reads an object for which several alternatives are possible.
  std::string by_fit(const std::string& indent) const {
    if (type_.ahead_of_each.empty()) return {};
    std::vector<std::string> schemas;
    for (const auto& [i, schema] : type_.ahead_of_each) schemas.push_back('&' + schema);
    const std::string least = type_.choice.otherwise == -1 ? "" : ", 1";
    std::string out = list(indent, "static constexpr const keel::contract::Schema* alternatives[] = ", schemas, ";");
    out += indent + "if (" + std::string(library) + "has_several(in_, names" + least + ")) {\n" + indent +
           "  switch (keel::contract::choose_ahead(in_, alternatives)) {\n";
    for (std::size_t i = 0; i < schemas.size(); ++i) {
      out += indent + "    case " + std::to_string(i) + ":\n" + indent + "      " +
             read_alternative(static_cast<int>(type_.ahead_of_each[i].first));
    }
    return out + indent + "    default:\n" + indent + "      if (in_.failed()) return;\n" + indent + "  }\n" + indent +
           "}\n";
  }

  std::string writer() const {
    std::string out = writer_head(type_.name) + "  switch (index()) {\n";
    for (std::size_t i = 0; i < type_.alternatives.size(); ++i) {
      const Made& one = *type_.alternatives[i];
      const std::string value = "std::get<" + std::to_string(i) + ">(*this)";
      const bool is_itself = !one.name.empty() && one.shape != Shape::Enum;
      out += "    case " + std::to_string(i) + ":\n      return ";
      out += is_itself ? value + ".write_json(out_);\n" : shortened(one.write) + "(out_, " + value + ");\n";
    }
    return out + "    default:\n      throw_valueless();\n  }\n}\n";
  }

  const Made& type_;
};

}  // namespace

void Types::definitions(Parts& parts) const {
  if (!state_->failed.empty()) return;
  state_->prepare();
  for (const auto& [name, type] : state_->named) {
    if (type->shape == Shape::Enum) continue;
    parts.of(state_->home_of(*type), name) +=
        '\n' + (type->shape == Shape::Variant ? VariantText(*type).text() : StructText(*type).text());
  }
}

std::string Types::functions_for(std::string_view text) const {
  std::map<std::string, const Function*> called;
  const auto look = [&](const auto& self, std::string_view in) -> void {
    const auto is_of_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    for (std::size_t at = 0; at < in.size();) {
      const std::size_t begin = at;
      while (at < in.size() && is_of_name(in[at])) ++at;
      const std::string_view word = in.substr(begin, at - begin);
      if (word.starts_with("read_") || word.starts_with("check_") || word.starts_with("limits_")) {
        const auto found = state_->functions.find(std::string(word));
        if (found != state_->functions.end() && called.emplace(found->first, &found->second).second) {
          self(self, found->second.definition);
        }
      }
      if (at == begin) ++at;
    }
  };
  look(look, text);
  std::string out;
  for (const std::string_view one : library_names) out += "using " + std::string(library) + std::string(one) + ";\n";
  out += "namespace of = keel::json::internal::of;\n";
  if (called.empty()) return out;
  out += "\nnamespace internal {\n\n";
  for (const auto& [name, function] : called) {
    if (!function->declaration.empty()) out += "inline " + function->declaration;
  }
  for (const auto& [name, function] : called) {
    out += (function->declaration.empty() ? "inline " : "\ninline ") + shortened(function->definition);
  }
  return out + "\n}  // namespace internal\n";
}

}  // namespace keel::gen
