#include "keel/config/config.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "keel/base/ascii.h"
#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/config/internal/tree.h"
#include "keel/config/internal/value.h"

namespace keel::config {

using Kind = Field::Kind;

namespace {

constexpr std::size_t problems_max = 20;
// One byte more than parse_tree accepts, so that parse_tree can report a text that is too large.
constexpr std::size_t file_bytes_max = (1 << 20) + 1;

// The number of insertions, deletions, replacements and swaps of neighbors that turn `a` into `b`.
std::size_t distance(std::string_view a, std::string_view b) {
  if (a.size() > 64 || b.size() > 64) return 64;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last[b.size()];
}

// Every path below `fields` that ends in `key`.
void paths_to(std::span<const Field> fields, std::string_view key, const std::string& path,
              std::vector<std::string>& found) {
  for (const Field& f : fields) {
    if (f.key == key) found.push_back(join(path, f.key));
    paths_to(f.children, key, join(path, f.key), found);
  }
}

const Field* find(std::span<const Field> fields, std::string_view key) {
  for (const Field& f : fields) {
    if (f.key == key) return &f;
  }
  return nullptr;
}

constexpr std::string_view file_suffix = "_file";

// Returns the Secret to which the file key `key` belongs: for token_file, the Secret token. Null when `key` is itself
// the key of a field, or belongs to no Secret.
const Field* secret_of(std::span<const Field> fields, std::string_view key) {
  if (!key.ends_with(file_suffix) || find(fields, key) != nullptr) return nullptr;
  const Field* const f = find(fields, key.substr(0, key.size() - file_suffix.size()));
  return f != nullptr && f->kind == Kind::Secret && !f->key.empty() ? f : nullptr;
}

// Whether `text` can be the name of an element of a map. Only characters that can be part of an environment variable
// are allowed.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 64 && ascii::is_lower(text[0]) && !text.contains("__") &&
         std::ranges::all_of(text, [](char c) { return ascii::is_lower(c) || ascii::is_digit(c) || c == '_'; });
}
constexpr auto no_name = "\"{}\" is not a name: expected lowercase letters, digits and underscores";

struct Setting {
  std::string path;
  std::string text;
  std::string where;
};

Result<std::string> read_file(const std::string& name) {
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Error::from_errno("cannot be opened", errno);
  std::string text(file_bytes_max, '\0');
  std::size_t size = 0;
  int number = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) number = errno;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  ::close(fd);
  if (number != 0) return Error::from_errno("cannot be read", number);
  text.resize(size);
  return text;
}

}  // namespace

class Loader {
 public:
  Loader(const internal::Subject& subject, const Sources& sources) : subject_(subject), sources_(sources) {}

  Result<> run() {
    const Instant began = Host::current().now();
    std::string file = sources_.file;
    const std::vector<Setting> flags = command_line(file);
    if (!file.empty()) from_file(file);
    style_ = Style::Variable;
    for (const Setting& setting : environment()) assign(setting);
    style_ = Style::Flag;
    for (const Setting& setting : flags) assign(setting);
    sort_origins();
    read_secrets();
    KEEL_TRY_VOID(verdict());
    KEEL_TRY_VOID(check(origins_));
    origins_.loading_began_ = began;
    origins_.loading_took_ = Host::current().now() - began;
    if (sources_.origins != nullptr) *sources_.origins = std::move(origins_);
    return {};
  }

  // Checks only the rules between fields.
  Result<> check(const Origins& origins) {
    origins_ = origins;
    judge(subject_.schema.root(), {});
    Checks checks(*this);
    subject_.check(subject_.value, checks);
    return verdict();
  }

  void refuse(std::string_view path, std::string_view text) {
    // Only values have an origin; a whole section has none.
    const auto entry = std::ranges::find(origins_.entries_, path, &Origins::Entry::path);
    problem(entry != origins_.entries_.end() ? std::string_view(entry->where) : "", path, text);
  }

 private:
  enum class Style { File, Variable, Flag };

  struct Judged {
    Loader& loader;
    const std::string& path;
    static void tell(void* judged, std::string_view field, std::string_view words, std::string_view) {
      const auto& [loader, path] = *static_cast<Judged*>(judged);
      loader.refuse(field.empty() ? path : join(path, field), words);
    }
  };
  // Calls rules() of each plain struct; the structs inside `f` come before `f` itself.
  void judge(const Field& f, const std::string& path) {
    for (const Field& child : f.children) judge(child, join(path, child.key));
    if (f.kind == Kind::List || f.kind == Kind::Map) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(f.get(f.at)); ++i) {
        const Field element = element_of(f, i);
        judge(element, join(path, f.kind == Kind::Map ? element.key : std::to_string(i)));
      }
    }
    Judged judged{*this, path};
    if (f.rules != nullptr) f.rules(f.at, Judged::tell, &judged);
  }

  Result<> verdict() const {
    if (problems_.empty()) return {};
    std::string text;
    for (std::size_t i = 0; i < std::min(problems_.size(), problems_max); ++i) {
      if (i != 0) text += '\n';
      text += problems_[i];
    }
    if (problems_.size() > problems_max) text += fmt::format("\nand {} more", problems_.size() - problems_max);
    return Error::text(Code::InvalidArgument, text);
  }

  void problem(std::string_view where, std::string_view path, std::string_view text) {
    // A flag already contains its key, so the message does not repeat it.
    const bool said = path.empty() || (where.starts_with("--") && where.ends_with(path));
    std::string line;
    if (!where.empty()) line = fmt::format("{}: ", where);
    if (!said) line += fmt::format("{}: ", path);
    line += text;
    if (std::find(problems_.begin(), problems_.end(), line) == problems_.end()) problems_.push_back(std::move(line));
  }

  std::vector<Setting> command_line(std::string& file) {
    std::vector<Setting> settings;
    const auto& args = sources_.args;
    std::string without_value;  // The previous flag, if the present word may have been meant as its value.
    for (std::size_t i = 0; i < args.size(); ++i) {
      const std::string_view arg = args[i];
      const std::string before = std::exchange(without_value, {});
      if (arg == "--help" || arg == "-h" || arg == "--version" || arg == "--print-config" || arg == "--check-config") {
        continue;
      }
      if (arg == "--config" || arg == "--set") {
        if (i + 1 == args.size()) {
          problem(arg, {}, arg == "--set" ? "needs a key and a value: --set KEY=VALUE" : "needs a file: --config FILE");
        } else if (arg == "--config") {
          file = args[++i];
        } else {
          without_value = add_setting(args[++i], "--set ", settings);
        }
      } else if (arg.starts_with("--config=")) {
        file = arg.substr(9);
      } else if (arg.starts_with("--")) {
        without_value = add_setting(arg.substr(2), "--", settings);
      } else if (!before.empty()) {
        // The argument may be a secret, so it is not shown.
        problem("command line", {}, fmt::format("unexpected argument after {}", before));
      } else {
        const bool is_file = arg.ends_with(".yaml") || arg.ends_with(".yml");
        problem("command line", {},
                fmt::format("unexpected argument \"{}\"{}", shown(arg),
                            is_file ? "; a file is given as --config FILE" : ""));
      }
    }
    return settings;
  }

  // The flag as messages show it when its value is missing or empty.
  std::string add_setting(std::string_view text, const char* flag, std::vector<Setting>& settings) {
    const std::size_t equals = text.find('=');
    const std::string path(text.substr(0, equals));
    const std::string where = flag + shown(path);
    if (equals == std::string_view::npos) {
      problem(where, {}, without_value_text(path, flag, where));
      return where;
    }
    settings.push_back({path, std::string(text.substr(equals + 1)), where});
    return equals + 1 == text.size() ? where : std::string();
  }

  // An argument that has neither a dot nor a value, and is not the beginning of a key, was probably meant as an option,
  // such as --confg or --verbose.
  std::string without_value_text(const std::string& path, std::string_view flag, const std::string& where) const {
    const auto begins = [&path](const Field& f) { return path.substr(0, path.find('.')) == f.key; };
    if (flag != "--" || path.find('.') != std::string::npos || std::ranges::any_of(subject_.schema.fields(), begins)) {
      return fmt::format("needs a value: {}=VALUE", where);
    }
    for (const char* const option : {"config", "set", "print-config", "check-config", "help", "version"}) {
      if (distance(path, option) <= 2) return fmt::format("unknown option; did you mean --{}?", option);
    }
    return "unknown option: --help lists all";
  }

  std::vector<Setting> environment() const {
    std::vector<Setting> settings;
    if (sources_.env_prefix.empty()) return settings;
    const char* const* all = sources_.environment != nullptr ? sources_.environment : environ;
    for (; all != nullptr && *all != nullptr; ++all) {
      const std::string_view entry = *all;
      const std::size_t equals = entry.find('=');
      if (equals == std::string_view::npos || !entry.starts_with(sources_.env_prefix)) continue;
      const std::string_view name = entry.substr(0, equals);
      if (name.size() < sources_.env_prefix.size()) continue;
      std::string path;
      for (std::string_view rest = name.substr(sources_.env_prefix.size()); !rest.empty(); rest.remove_prefix(1)) {
        if (rest.starts_with("__") && rest.size() > 2) {
          path += '.';
          rest.remove_prefix(1);
        } else {
          path += ascii::to_lower(rest[0]);
        }
      }
      settings.push_back({path, std::string(entry.substr(equals + 1)), shown(name)});
    }
    // Sorts in natural order (2 before 10), so that list elements are appended in order.
    std::sort(settings.begin(), settings.end(),
              [](const Setting& a, const Setting& b) { return ::strverscmp(a.path.c_str(), b.path.c_str()) < 0; });
    return settings;
  }

  void from_file(const std::string& name) {
    const Result<std::string> text = read_file(name);
    if (!text) return problem(name, {}, text.error().describe());
    std::vector<ParseProblem> found;
    const Node root = parse_tree(*text, found);
    for (const ParseProblem& p : found) {
      problem(p.line == 0 ? name : fmt::format("{}:{}", name, p.line), shown(p.path), p.text);
    }
    if (!found.empty() || root.kind == Node::Kind::Null) return;  // Null: the file is empty, or has only comments.
    place_ = name;
    style_ = Style::File;
    if (root.kind != Node::Kind::Map) {
      return problem(where(root), {}, "is not a map: expected a map of keys such as \"network:\"");
    }
    apply_section(subject_.schema.fields(), root, {});
  }

  void assign(const Setting& setting) {
    place_ = setting.where;
    descend(subject_.schema.fields(), setting.path, {}, setting.text);
  }

  // Finds the field that the path `rest` names below `fields`; `path` is the path of `fields`.
  void descend(std::span<const Field> fields, std::string_view rest, const std::string& path, const std::string& text) {
    const std::size_t dot = rest.find('.');
    const std::string_view key = rest.substr(0, dot);
    const std::string_view below = dot == std::string_view::npos ? std::string_view() : rest.substr(dot);
    const Field* f = find(fields, key);
    if (const Field* const secret = secret_of(fields, key); secret != nullptr && below.empty()) {
      Node node;
      node.kind = Node::Kind::Scalar;
      node.text = text;
      return apply_file(*secret, node, join(path, secret->key));
    }
    if (f == nullptr || key.empty()) return unknown(place_, fields, path, key, below);
    into(*f, below, join(path, key), text);
  }

  // `rest` is empty or begins with a dot.
  void into(const Field& f, std::string_view rest, const std::string& path, const std::string& text) {
    if (rest.empty()) return assign_text(f, path, text);
    rest.remove_prefix(1);
    if (f.kind == Kind::Section) return descend(f.children, rest, path, text);
    if (f.kind == Kind::Map) {
      const std::size_t dot = std::min(rest.find('.'), rest.size());
      const std::string_view name = rest.substr(0, dot);
      if (!is_name(name)) return problem(place_, path + "." + shown(rest), fmt::format(no_name, shown(name)));
      return into(element_of(f, f.place(f.at, name)), rest.substr(dot), join(path, name), text);
    }
    if (f.kind != Kind::List) {
      return problem(place_, path + "." + shown(rest), fmt::format("unknown key; {} is a value and has no keys", path));
    }
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const auto index = integer_in(rest.substr(0, dot));
    const std::int64_t size = f.get(f.at);
    if (!index || *index < 0 || *index > size) {
      return problem(
          place_, path + "." + shown(rest),
          fmt::format("\"{}\" is not an index of the list: expected 0 to {}", shown(rest.substr(0, dot)), size));
    }
    if (*index == size) f.set(f.at, size + 1);
    into(element_of(f, static_cast<std::size_t>(*index)), rest.substr(dot), join(path, rest.substr(0, dot)), text);
  }

  void assign_text(const Field& f, const std::string& path, const std::string& text) {
    Node node;
    if (f.kind != Kind::Section && f.kind != Kind::List && f.kind != Kind::Map) {
      node.kind = Node::Kind::Scalar;
      node.text = text;
      return apply(f, node, path);
    }
    std::vector<ParseProblem> found;
    node = parse_tree(text, found);
    for (const ParseProblem& p : found) problem(place_, path, p.text);
    if (found.empty()) apply(f, node, path);
  }

  std::string where(const Node& node) const {
    return style_ == Style::File ? fmt::format("{}:{}", place_, node.line) : place_;
  }

  void apply_section(std::span<const Field> fields, const Node& map, const std::string& path) {
    for (const Node& child : map.children) {
      if (const Field* f = find(fields, child.key); f != nullptr && !child.key.empty()) {
        apply(*f, child, join(path, child.key));
      } else if (const Field* const secret = secret_of(fields, child.key); secret != nullptr) {
        apply_file(*secret, child, join(path, secret->key));
      } else {
        unknown(where(child), fields, path, child.key, {});
      }
    }
  }

  void apply(const Field& f, const Node& node, const std::string& path) {
    if (f.kind == Kind::Section) {
      if (node.kind == Node::Kind::Map) return apply_section(f.children, node, path);
      if (node.kind == Node::Kind::Null) return;  // A section whose keys are all commented out has no value.
      return mismatch(f, node, path);
    }
    if (f.kind == Kind::List) {
      if (node.kind != Node::Kind::List) return mismatch(f, node, path);
      forget_below(path);
      record(path, where(node));
      f.set(f.at, 0);
      f.set(f.at, static_cast<std::int64_t>(node.children.size()));
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        apply(element_of(f, i), node.children[i], join(path, std::to_string(i)));
      }
      return;
    }
    if (f.kind == Kind::Map) {
      if (node.kind == Node::Kind::Null) return;
      if (node.kind != Node::Kind::Map) return mismatch(f, node, path);
      for (const Node& child : node.children) {
        if (!is_name(child.key)) {
          problem(where(child), join(path, shown(child.key)), fmt::format(no_name, shown(child.key)));
        } else {
          apply(element_of(f, f.place(f.at, child.key)), child, join(path, child.key));
        }
      }
      return;
    }
    if (node.kind != Node::Kind::Scalar) return mismatch(f, node, path);
    const std::string wrong = set_text(f, node.text, node.quoted);
    if (!wrong.empty()) return problem(where(node), path, fmt::format("{}: expected {}", wrong, expectation(f)));
    record(path, where(node));
    if (f.kind == Kind::Secret && style_ == Style::Flag) {
      origins_.warnings_.push_back(
          fmt::format("{}: a secret on the command line can be read by every user of this machine "
                      "(/proc/{}/cmdline): give --{}{} instead, or the variable {}",
                      place_, ::getpid(), path, file_suffix, variable(sources_.env_prefix, path)));
    }
  }

  // Sets the file of the Secret `f`, which is at `path`; the file is read once all sources have been applied.
  void apply_file(const Field& f, const Node& node, const std::string& path) {
    const std::string key = path + std::string(file_suffix);
    if (node.kind != Node::Kind::Scalar || node.text.empty()) {
      return problem(where(node), key, "names no file: expected the path of the file that holds the secret");
    }
    *static_cast<Secret*>(f.at) = Secret::unread(node.text);
    record(key, where(node));
  }

  void read_secrets() {
    each_secret(subject_.schema.fields(), {}, [this](const Field& f, const std::string& path) {
      const std::string key = path + std::string(file_suffix);
      const auto entry = std::ranges::find(origins_.entries_, key, &Origins::Entry::path);
      if (entry == origins_.entries_.end()) return;
      if (const auto value = std::ranges::find(origins_.entries_, path, &Origins::Entry::path);
          value != origins_.entries_.end()) {
        return problem(entry->where, key,
                       fmt::format("is given together with {} ({}): remove one of the two", path, value->where));
      }
      auto& secret = *static_cast<Secret*>(f.at);
      if (secret.file().empty()) return;  // `key` is a separate field, not the file of a secret.
      if (const Result<> read = read_secret(secret); !read) return problem(entry->where, key, read.error().message());
      entry->path = path;
    });
    sort_origins();
  }

  Result<> read_secret(Secret& secret) const {
    const char* const* const environment = sources_.environment != nullptr ? sources_.environment : environ;
    KEEL_TRY(const std::string file, expand_credentials(secret.file(), environment));
    return secret.read(file);
  }

  void mismatch(const Field& f, const Node& node, const std::string& path) {
    std::string_view is = "is empty";
    if (node.kind == Node::Kind::Scalar) is = "is a single value";
    if (node.kind == Node::Kind::List) is = "is a list";
    if (node.kind == Node::Kind::Map) is = "is a section of keys";
    problem(where(node), path, fmt::format("{}: expected {}", is, expectation(f)));
  }

  void unknown(std::string_view at, std::span<const Field> siblings, const std::string& path, std::string_view key,
               std::string_view below) {
    if (const FormerKey* const former = former_of(join(path, key) + std::string(below)); former != nullptr) {
      return problem(at, join(path, key) + std::string(below), successor_text(*former));
    }
    std::string guess;
    std::size_t best = std::max<std::size_t>(1, key.size() / 3) + 1;
    const auto consider = [&](const std::string& sibling) {
      if (const std::size_t d = distance(key, sibling); d < best) {
        best = d;
        guess = join(path, sibling) + shown(below);
      }
    };
    for (const Field& f : siblings) {
      consider(std::string(f.key));
      if (f.kind == Kind::Secret && !f.key.empty()) consider(std::string(f.key) + std::string(file_suffix));
    }
    if (guess.empty() && !key.empty()) {
      std::vector<std::string> same;
      paths_to(subject_.schema.fields(), below.empty() ? key : below.substr(below.rfind('.') + 1), {}, same);
      if (same.size() == 1) guess = same.front();
    }
    std::string text = "unknown key";
    if (!guess.empty()) {
      text += fmt::format("; did you mean {}?", as_written(guess));
    } else if (siblings.size() <= 12) {
      text += ": expected one of ";
      for (const Field& f : siblings) text += fmt::format("{}{}", &f == siblings.data() ? "" : ", ", f.key);
    } else {
      text += "; --help lists all keys";
    }
    problem(at, join(path, shown(key)) + shown(below), text);
  }

  const FormerKey* former_of(std::string_view path) const {
    for (const FormerKey& former : subject_.schema.former_keys()) {
      if (path == former.path || path.starts_with(former.path + ".")) return &former;
    }
    return nullptr;
  }
  std::string successor_text(const FormerKey& former) const {
    if (!former.successor.empty()) return fmt::format("was renamed to {}", as_written(former.successor));
    return fmt::format("was removed; {}", former.advice);
  }
  // `path` in the notation of this kind of source.
  std::string as_written(const std::string& path) const {
    if (style_ == Style::Variable) return variable(sources_.env_prefix, path);
    return style_ == Style::Flag ? "--" + path : path;
  }

  void record(const std::string& path, std::string where) {
    origins_.entries_.push_back({path, std::move(where), ++recorded_});
  }
  void forget_below(const std::string& path) {
    std::erase_if(origins_.entries_, [&path](const Origins::Entry& e) { return e.is_below(path); });
  }
  // Sorts the entries by path; of several entries for one path, keeps only the last, which is in force.
  void sort_origins() {
    auto& entries = origins_.entries_;
    std::sort(entries.begin(), entries.end(), [](const Origins::Entry& a, const Origins::Entry& b) {
      return std::tie(a.path, a.order) < std::tie(b.path, b.order);
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i + 1 < entries.size() && entries[i].path == entries[i + 1].path) continue;
      if (kept != i) entries[kept] = std::move(entries[i]);
      ++kept;
    }
    entries.resize(kept);
  }

  const internal::Subject& subject_;
  const Sources& sources_;
  Style style_ = Style::File;
  std::string place_;  // The file, variable or flag whose value is being applied.
  std::vector<std::string> problems_;
  Origins origins_;
  std::size_t recorded_ = 0;
};

void Checks::refuse(std::string_view path, std::string_view problem) { loader_.refuse(path, problem); }

namespace internal {

Result<> load(const Subject& subject, const Sources& sources) { return Loader(subject, sources).run(); }

Result<> check(const Subject& subject, const Origins& origins) { return Loader(subject, {}).check(origins); }

}  // namespace internal

}  // namespace keel::config
