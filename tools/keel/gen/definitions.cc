// The part of Types that writes readers and writers.

#include <algorithm>
#include <array>

#include "gen/cpp.h"
#include "gen/made.h"

namespace keel::gen {
namespace {

constexpr std::string_view library = "keel::json::internal::";
constexpr std::size_t narrow_max = 64;  // Members of keel::json::internal::ReadTable.

// In the order of clang-format.
constexpr std::array<std::string_view, 39> library_names = {
    "are_different",     "choose_by_name",   "choose_by_value",
    "has_length",        "is_multiple",      "judge",
    "judge_container",   "Members",          "read_box",
    "read_empty_object", "read_itself",      "read_list",
    "read_map",          "read_member",      "read_nullable",
    "read_nullable_box", "read_object",      "read_optional",
    "read_other",        "read_patch",       "read_patch_box",
    "read_value",        "read_wide_object", "ReadField",
    "ReadTable",         "refuse_kind",      "required",
    "throw_valueless",   "WideMembers",      "WideTable",
    "write_itself",      "write_list",       "write_map",
    "write_members",     "write_nullable",   "write_nullable_box",
    "write_patch",       "write_patch_box",  "write_value"};

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
// A statement that reads into, or writes, what the expression names.
std::string reading(const Made& type, const std::string& value) {
  if (type.name.empty() || type.shape == Shape::Enum) return shortened(type.read) + "(in_, " + value + ", wrong_);";
  return value + ".read_json(in_, wrong_);";
}
std::string ahead_text(const Made& type) {
  if (type.ahead.empty()) return {};
  return "  if (!keel::contract::check_ahead(in_, " + type.ahead + ", wrong_)) {\n    in_.skip();\n    return;\n  }\n";
}

// "read_optional<std::string, internal::read_string_1_to_200>".
std::string member_reader(const Member& member) {
  const Made& inner = value_type(*member.type);
  std::string function;
  const Type* type = &inner;
  switch (member.presence) {
    case Presence::Optional:
      function = member.is_boxed ? "read_box" : "read_optional";
      if (!member.is_boxed) type = member.type;
      break;
    case Presence::Patch:
      function = member.is_boxed ? "read_patch_box" : "read_patch";
      break;
    case Presence::Nullable:
      function = member.is_boxed ? "read_nullable_box" : "read_member";
      if (!member.is_boxed) type = member.type;
      break;
    default:
      function = member.is_boxed ? (member.type->is_nullable ? "read_nullable_box" : "read_box") : "read_member";
      if (!member.is_boxed) type = member.type;
  }
  return function + '<' + type->spelling + ", " + shortened(type->read) + '>';
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
    std::vector<std::string> entries;
    for (const Member& member : type_.members) {
      std::vector<std::string> entry = {key_of(member.json), member_reader(member)};
      const bool has_escapes = json_string(member.json).find('\\') != std::string::npos;
      if (member.must_come || has_escapes) entry.emplace_back(member.must_come ? "required" : "false");
      if (has_escapes) entry.push_back(literal(member.json));
      std::string text = call("    ", "{", entry, "},");
      if (is_too_long(text)) {
        const std::size_t open = entry[1].find('<');
        const std::size_t comma = comma_of(entry[1]);
        const std::string after = (entry.size() > 2 ? ", " + entry[2] : "") + (entry.size() > 3 ? ", " + entry[3] : "");
        text =
            call("    {" + entry[0] + ", " + entry[1].substr(0, open), "<",
                 {entry[1].substr(open + 1, comma - open - 1), entry[1].substr(comma + 2, entry[1].size() - comma - 3)},
                 ">" + after + "},");
      }
      entries.push_back(std::move(text));
    }
    if (entries.empty()) entries.emplace_back("    {\"\\\"\\\":\", nullptr},\n");  // Additional members alone.
    const std::string count = std::to_string(entries.size());
    const std::string wide = is_wide() ? "Wide" : "";
    std::string out = "namespace {\n\nconstexpr " + wide + "Members<" + count + "> " + word_ + "_members({\n";
    for (const std::string& one : entries) out += one;
    out += "});\n";
    const std::string head = "constexpr " + (is_wide() ? wide : "Read") + "Table " + word_ + "_table =";
    std::vector<std::string> arguments = {type_.is_strict ? "true" : "false"};
    if (type_.additional != nullptr) {
      arguments.push_back("read_other<" + type_.additional->spelling + ", " + shortened(type_.additional->read) + '>');
    }
    const std::string make = word_ + "_members." + (is_wide() ? "wide_table" : "table");
    const std::string line = call(head + ' ' + make, "(", arguments, ");");
    out += line.find('\n') + 1 == line.size() ? line : head + '\n' + call("    " + make, "(", arguments, ");");
    return out + "\n}  // namespace\n\n";
  }

  static bool is_too_long(std::string_view lines) {
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t end = lines.find('\n', at);
      if (end - at > width) return true;
      at = end + 1;
    }
    return false;
  }
  // Of the outermost list of template arguments.
  static std::size_t comma_of(const std::string& text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      depth += text[i] == '<' ? 1 : text[i] == '>' ? -1 : 0;
      if (text[i] == ',' && depth == 1) return i;
    }
    return text.size();
  }

  std::string reader() const {
    std::string out = reader_head(type_.name) + ahead_text(type_);
    std::vector<std::string> addresses;
    for (const Member& member : type_.members) addresses.push_back('&' + member.name);
    if (type_.members.empty()) addresses.push_back("nullptr");
    if (type_.additional != nullptr) addresses.push_back('&' + type_.additional_name);
    // A list that is longer than a line would be put into columns.
    const std::string line = list("  ", "void* const members_[] = ", addresses, ";");
    if (line.find('\n') + 1 == line.size()) {
      out += line;
    } else {
      out += "  void* members_[" + std::to_string(addresses.size()) + "];\n";
      for (std::size_t i = 0; i < addresses.size(); ++i) {
        out += "  members_[" + std::to_string(i) + "] = " + addresses[i] + ";\n";
      }
    }
    if (is_wide()) return out + "  read_wide_object(in_, " + word_ + "_table, members_, wrong_);\n}\n";
    return out + "  read_object(in_, " + word_ + "_table, members_, this, wrong_);\n}\n";
  }

  std::string writer() const {
    std::string out = writer_head(type_.name) + "  out_.begin_object();\n";
    for (const Member& member : type_.members) out += member_writer(member);
    if (type_.additional != nullptr) {
      out += call("  write_members<" + type_.additional->spelling + ", " + shortened(type_.additional->write) + '>',
                  "(", {"out_", type_.additional_name}, ");");
    }
    return out + "  out_.end_object();\n}\n";
  }
  static std::string member_writer(const Member& member) {
    const std::string& name = member.name;
    const std::string key = "out_.quoted_key(" + key_of(member.json) + ')';
    const bool is_optional = member.presence == Presence::Optional;
    std::string method;
    if (member.presence != Presence::Patch && !member.is_boxed) {
      method = written_by_method(*member.type, is_optional ? '*' + name : name);
    }
    if (!method.empty()) {
      const std::string statement = key + method + ';';
      if (!is_optional) return chain("  ", key, method);
      const std::string line = "  if (" + name + ") " + statement + '\n';
      return line.size() <= width + 1 ? line : "  if (" + name + ")\n" + chain("    ", key, method);
    }
    const Made& inner = value_type(*member.type);
    const std::string arguments = '<' + inner.spelling + ", " + shortened(inner.write) + '>';
    std::string function = shortened(inner.write);
    std::string value = name;
    std::string condition;
    switch (member.presence) {
      case Presence::Optional:
        condition = name;
        value = '*' + name;
        if (!member.is_boxed) function = shortened(member.type->write);
        break;
      case Presence::Patch:
        condition = '!' + name + ".is_absent()";
        function = (member.is_boxed ? "write_patch_box" : "write_patch") + arguments;
        break;
      default:
        if (member.is_boxed && member.type->is_nullable) {
          function = "write_nullable_box" + arguments;
        } else if (member.is_boxed) {
          value = '*' + name;
        } else {
          function = shortened(member.type->write);
        }
    }
    const std::string indent = condition.empty() ? "  " : "    ";
    std::string statement = call(indent + function, "(", {"out_", value}, ");");
    if (function.starts_with("write_itself<")) {
      statement = indent + (value[0] == '*' ? value.substr(1) + "->" : value + '.') + "write_json(out_);\n";
    }
    const std::string statements = indent + key + ";\n" + statement;
    return condition.empty() ? statements : "  if (" + condition + ") {\n" + statements + "  }\n";
  }
  static std::string chain(std::string_view indent, const std::string& key, const std::string& method) {
    const std::string line = std::string(indent) + key + method + ";\n";
    return line.size() <= width + 1 ? line
                                    : std::string(indent) + key + "\n    " + std::string(indent) + method + ";\n";
  }
  // The call of the Writer's function for what has one: ".string(value.name)".
  static std::string written_by_method(const Type& type, const std::string& value) {
    if (type.is_nullable) return {};
    switch (type.shape) {
      case Shape::Boolean:
        return ".boolean(" + value + ')';
      case Shape::Integer:
        return (type.spelling.find("uint") != type.spelling.npos ? ".unsigned_integer(" : ".integer(") + value + ')';
      case Shape::Number:
        return type.spelling == "double" ? ".number(" + value + ')' : std::string();
      case Shape::String:
        return ".string(" + value + ')';
      case Shape::Text:
        return ".string(" + (value[0] == '*' ? value.substr(1) + "->" : value + '.') + "text())";
      case Shape::Bytes:
      case Shape::File:
        return ".base64(" + value + ')';
      default:
        return {};
    }
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
    if (is_object_only) return out + by_member("  ") + "}\n";
    std::vector<std::string> expected;
    out += "  switch (in_.peek()) {\n";
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      if (by_kind[kind] == -1) continue;
      expected.emplace_back(words[kind]);
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
    out += literal_line(indent + "static constexpr const char* expected = ", expected, ";");
    if (is_by_value) {
      out += indent + "switch (choose_by_value(in_, " + literal(choice.property) + ", values, expected, wrong_)) {\n";
    } else {
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

// The text of the part of a name, with what all of it uses.
std::string& part_of(Parts& parts, std::string_view name) {
  std::string head;
  for (const std::string_view one : library_names) head += "using " + std::string(library) + std::string(one) + ";\n";
  std::string& text = parts.of(name);
  if (!text.starts_with(head)) text.insert(0, head);
  return text;
}

}  // namespace

std::string Types::source_includes() {
  return "#include \"keel/contract/schema.h\"\n"
         "#include \"keel/data/internal/object_table.h\"\n"
         "#include \"keel/data/pattern.h\"\n";
}

void Types::definitions(Parts& parts) const {
  if (!state_->failed.empty()) return;
  state_->prepare();
  for (const auto& [name, type] : state_->named) {
    if (type->shape == Shape::Enum) continue;
    std::string& out = part_of(parts, name);
    out += '\n' + (type->shape == Shape::Variant ? VariantText(*type).text() : StructText(*type).text());
  }
  for (const auto& [name, function] : state_->functions) {
    // What reads and what it checks with stand together.
    std::string& out = part_of(parts, name.substr(name.find('_') + 1));
    out += "\nnamespace internal {\n\n" + shortened(function.definition) + "\n}  // namespace internal\n";
  }
}

}  // namespace keel::gen
