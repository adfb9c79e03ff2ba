#include "keel/config/internal/printer.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "keel/config/internal/value.h"

namespace keel::config::internal {

using Kind = Field::Kind;

namespace {

class Printer {
 public:
  explicit Printer(const Origins& origins) : origins_(origins) {}

  void section(std::span<const Field> fields, std::string indent, const std::string& path, bool reloadable) {
    for (const Field& f : fields) {
      one(f, indent, join(path, f.key), reloadable || f.is_reloadable);
      // The dash of a list element stands only in front of the element's first key.
      if (indent.ends_with("- ")) indent.replace(indent.size() - 2, 2, "  ");
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void one(const Field& f, const std::string& indent, const std::string& path, bool reloadable) {
    const std::string key = f.key.empty() ? "" : fmt::format("{}:", f.key);
    if (f.kind == Kind::Section && !f.children.empty()) {
      if (key.empty()) return section(f.children, indent, path, reloadable);
      text_ += indent + key + "\n";
      return section(f.children, deeper(indent), path, reloadable);
    }
    if (f.kind == Kind::List && f.get(f.at) > 0) {
      comment(indent + key, path, reloadable);
      for (std::size_t i = 0; i < static_cast<std::size_t>(f.get(f.at)); ++i) {
        one(element_of(f, i), deeper(indent) + "- ", join(path, std::to_string(i)), reloadable);
      }
      return;
    }
    if (f.kind == Kind::Map && f.get(f.at) > 0) {
      text_ += indent + key + "\n";
      for (std::size_t i = 0; i < static_cast<std::size_t>(f.get(f.at)); ++i) {
        const Field element = element_of(f, i);
        named(element, deeper(indent), join(path, element.key), reloadable);
      }
      return;
    }
    if (f.kind == Kind::Secret && !key.empty()) {
      if (const std::string& file = static_cast<const Secret*>(f.at)->file(); !file.empty()) {
        return comment(fmt::format("{}{}_file: {}", indent, f.key, in_quotes(file)), path, reloadable);
      }
    }
    comment(indent + key + (key.empty() ? "" : " ") + value_text(f), path, reloadable);
  }
  // The names in a map are chosen by the user, so only names that were set are known.
  void named(const Field& element, const std::string& indent, const std::string& path, bool reloadable) {
    std::vector<Field> set;
    for (const Field& f : element.children) {
      if (origins_.is_set(join(path, f.key))) set.push_back(f);
    }
    text_ += fmt::format("{}{}:{}\n", indent, element.key, set.empty() ? " {}" : "");
    section(set, deeper(indent), path, reloadable);
  }
  static std::string deeper(const std::string& indent) { return std::string(indent.size() + 2, ' '); }
  void comment(std::string_view line, const std::string& path, bool reloadable) {
    text_ += fmt::format("{:<40}  # {}{}\n", line, origins_.of(path), reloadable ? ", reloadable" : "");
  }

  const Origins& origins_;
  std::string text_;
};

// A blank followed by the help sentence; empty if there is no help sentence.
std::string spaced(std::string_view help) { return help.empty() ? "" : fmt::format(" {}", help); }

void help_section(std::span<const Field> fields, const std::string& path, bool reloadable, std::string& text) {
  for (const Field& f : fields) {
    const std::string name = f.key.empty() ? path : join(path, f.key);
    const bool is_reloadable = reloadable || f.is_reloadable;
    const char* const reloads = is_reloadable ? "; reloadable" : "";
    if (f.kind == Kind::Section) {
      if (!f.key.empty()) text += fmt::format("\n{}:{}\n", name, spaced(f.help));
      help_section(f.children, name, is_reloadable, text);
      continue;
    }
    if (f.kind == Kind::List) {
      text += fmt::format("  --{}=[...]\n     {} (a list, as YAML; N below is an index{})\n", name, spaced(f.help),
                          reloads);
      if (f.get(f.at) == 0) f.set(f.at, 1);
      help_section(element_of(f, 0).children, name + ".N", is_reloadable, text);
      continue;
    }
    if (f.kind == Kind::Map) {
      text += fmt::format("\n{}:{} (NAME below stands for a name{})\n", name, spaced(f.help), reloads);
      help_section(element_of(f, f.place(f.at, "NAME")).children, name + ".NAME", is_reloadable, text);
      continue;
    }
    text += fmt::format("  --{}=VALUE\n     {} ({}{}{})\n", name, spaced(f.help), expectation(f),
                        f.kind == Kind::Secret ? "" : fmt::format("; default {}", value_text(f)), reloads);
    if (f.kind == Kind::Secret && !f.key.empty()) {
      text +=
          fmt::format("  --{}_file=VALUE\n      file that contains the secret, in place of the secret itself\n", name);
    }
  }
}

bool has_reloadable(std::span<const Field> fields) {
  return std::any_of(fields.begin(), fields.end(),
                     [](const Field& f) { return f.is_reloadable || has_reloadable(f.children); });
}

}  // namespace

std::string describe(const Schema& schema, const Origins& origins) {
  Printer printer(origins);
  printer.section(schema.fields(), {}, {}, false);
  return printer.take();
}

std::string help(const Schema& schema, std::string_view env_prefix) {
  std::string text =
      "  --config FILE        read this YAML file\n"
      "  --set KEY=VALUE      the same as --KEY=VALUE\n"
      "  --print-config       print the effective configuration and where each value comes from\n"
      "  --check-config       load the configuration and end: 0 when it is valid, otherwise 2\n"
      "  --version            print the versions of the program and of Keel\n"
      "  --help               print this\n";
  text += "\nEvery key below can be given in the file, in the environment";
  if (!env_prefix.empty()) text += fmt::format(" ({} for section.key)", variable(env_prefix, "section.key"));
  text += " and on the command line; the later source wins.\n";
  if (has_reloadable(schema.fields())) {
    text += "Values marked reloadable may change while the program runs; all others need a restart.\n";
  }
  help_section(schema.fields(), {}, false, text);
  return text;
}

}  // namespace keel::config::internal
