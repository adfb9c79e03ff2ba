#include "keel/config/reference.h"

#include <fmt/core.h>

#include <span>
#include <string_view>
#include <vector>

#include "keel/base/ascii.h"
#include "keel/config/internal/value.h"

namespace keel::config::internal {
namespace {

using Kind = Field::Kind;

struct Group {
  Field field;
  std::string path;
  bool is_reloadable;
};

std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (std::string_view("\\`*[]<>|").find(c) != std::string_view::npos) made += '\\';
    made += c;
  }
  return made;
}

// A bar ends a table cell, even within a code span.
std::string code(std::string_view text) {
  std::string made = "`";
  for (const char c : text) {
    if (c == '|') made += '\\';
    made += c;
  }
  return made + '`';
}

std::string as_sentence(std::string_view help) {
  if (help.empty()) return {};
  std::string made = escaped(help);
  made[0] = ascii::to_upper(made[0]);
  return made + ".";
}

class Tables {
 public:
  void section(std::span<const Field> fields, const std::string& path, std::string_view about, bool is_reloadable) {
    std::string rows;
    std::vector<Group> below;
    for (const Field& f : fields) one(f, path, is_reloadable || f.is_reloadable, rows, below);
    if (!rows.empty()) {
      if (!text_.empty()) text_ += '\n';
      if (!path.empty()) text_ += fmt::format("## {}\n\n", path);
      if (const std::string sentence = as_sentence(about); !sentence.empty()) text_ += sentence + "\n\n";
      text_ += "| key | value | default | meaning | reloadable |\n|---|---|---|---|---|\n" + rows;
    }
    for (const Group& group : below) {
      section(group.field.children, group.path, group.field.help, group.is_reloadable);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void one(const Field& f, const std::string& path, bool is_reloadable, std::string& rows, std::vector<Group>& below) {
    const std::string name = join(path, f.key);
    const char* const reloads = is_reloadable ? "yes" : "no";
    const auto row = [&](std::string_view key, std::string_view value, std::string_view preset, std::string_view help) {
      rows += fmt::format("| {} | {} | {} | {} | {} |\n", code(key), value, preset, escaped(help), reloads);
    };
    if (f.kind == Kind::Section) {
      below.push_back({f, name, is_reloadable});
    } else if (f.kind == Kind::Map) {
      Field element = element_of(f, f.place(f.at, "NAME"));
      element.help = f.help;
      below.push_back({element, join(name, "NAME"), is_reloadable});
    } else if (f.kind == Kind::List) {
      const std::string preset = code(value_text(f));
      if (f.get(f.at) == 0) f.set(f.at, 1);
      Field element = element_of(f, 0);
      const bool has_keys = element.kind == Kind::Section;
      row(name,
          "a list; each element " + (has_keys ? "has the keys of " + code(name + ".N") : "is " + expectation(element)),
          preset, f.help);
      if (has_keys) below.push_back({element, name + ".N", is_reloadable});
    } else if (f.kind == Kind::Secret) {
      row(name, "text", "", f.help);
      row(name + "_file", "text", "", "file that contains the secret, in place of the secret itself");
    } else {
      row(name, escaped(expectation(f)), code(value_text(f)), f.help);
    }
  }

  std::string text_;
};

}  // namespace

std::string reference(const Schema& schema) {
  Tables tables;
  tables.section(schema.fields(), {}, {}, false);
  return tables.take();
}

}  // namespace keel::config::internal
