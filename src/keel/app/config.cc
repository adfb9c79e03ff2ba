#include "keel/app/config.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <tuple>

#include "keel/app/internal/config_tree.h"
#include "keel/app/internal/config_value.h"
#include "keel/base/ascii.h"
#include "keel/base/check.h"
#include "keel/base/host.h"

namespace keel::config {

using Kind = Field::Kind;

Field& Schema::add(Field field) { return top().children.emplace_back(std::move(field)); }
void Schema::open(std::string_view key, const char* help) {
  add({.kind = Kind::Section, .key = key, .help = help});
  ++depth_;
}
Field& Schema::close() {
  --depth_;
  return top().children.back();
}
Field& Schema::top() {
  Field* at = &root_;
  for (std::size_t i = 0; i < depth_; ++i) at = &at->children.back();
  return *at;
}

Field& field(Schema& v, std::string_view key, bool& value, const char* help) {
  return v.add({.kind = Kind::Bool, .key = key, .help = help, .at = &value});
}
Field& field(Schema& v, std::string_view key, double& value, const char* help, Range<double> range) {
  return v.add(
      {.kind = Kind::Real, .key = key, .help = help, .at = &value, .real_low = range.min, .real_high = range.max});
}
Field& field(Schema& v, std::string_view key, std::string& value, const char* help) {
  return v.add({.kind = Kind::Text, .key = key, .help = help, .at = &value});
}
Field& field(Schema& v, std::string_view key, Secret& value, const char* help) {
  return v.add({.kind = Kind::Secret, .key = key, .help = help, .at = &value});
}
Field& field(Schema& v, std::string_view key, Duration& value, const char* help, Range<Duration> range) {
  return v.add({.kind = Kind::Duration,
                .key = key,
                .help = help,
                .at = &value,
                .low = range.min.count_ns(),
                .high = range.max.count_ns()});
}
Field& field(Schema& v, std::string_view key, ByteSize& value, const char* help, Range<ByteSize> range) {
  return v.add({.kind = Kind::Bytes,
                .key = key,
                .help = help,
                .at = &value,
                .low = static_cast<std::int64_t>(range.min.bytes),
                .high = static_cast<std::int64_t>(range.max.bytes)});
}

namespace {

constexpr std::size_t problems_max = 20;
constexpr std::size_t file_bytes_max = (1 << 20) + 1;  // One more than parse_tree takes, so that it can say so.
constexpr std::int64_t no_bound = std::numeric_limits<std::int64_t>::max();
// What 64 bits do not hold: below every range.
constexpr std::int64_t too_far = std::numeric_limits<std::int64_t>::min();

// Text from outside for one line of an error: control characters escaped, cut after 60 bytes.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 60)) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  if (text.size() > 60) out += "...";
  return out;
}

std::string bounds(const std::string& what, const std::string& low, const std::string& high) {
  if (!low.empty() && !high.empty()) return fmt::format("{} from {} to {}", what, low, high);
  if (!low.empty()) return fmt::format("{} of at least {}", what, low);
  if (!high.empty()) return fmt::format("{} of at most {}", what, high);
  return what;
}

std::string expectation(const Field& f) {
  switch (f.kind) {
    case Kind::Section:
      return "a section of keys";
    case Kind::List:
      return "a list";
    case Kind::Bool:
      return "true or false";
    case Kind::Text:
    case Kind::Secret:
      return "text";
    case Kind::Int:
      return bounds("an integer", f.low == std::numeric_limits<std::int64_t>::min() ? "" : fmt::format("{}", f.low),
                    f.high == no_bound ? "" : fmt::format("{}", f.high));
    case Kind::Real:
      return bounds("a number",
                    f.real_low == std::numeric_limits<double>::lowest() ? "" : fmt::format("{}", f.real_low),
                    f.real_high == std::numeric_limits<double>::max() ? "" : fmt::format("{}", f.real_high));
    case Kind::Duration:
    case Kind::Bytes: {
      const Unit unit = unit_in_key(f);
      const std::string what = unit.size != 0             ? fmt::format("a number of {}", unit.name)
                               : f.kind == Kind::Duration ? "a duration with its unit, such as 200ms or 30s,"
                                                          : "a size with its unit, such as 64KiB or 1MiB,";
      return bounds(what, amount(f, f.low), f.high == no_bound ? "" : amount(f, f.high));
    }
    case Kind::Enum: {
      std::string words = "one of ";
      for (const Name& name : f.names) {
        if (&name != f.names.data()) words += ", ";
        words += name.text;
      }
      return words;
    }
  }
  return {};
}

// A decimal integer without a leading zero, which other notations read as octal.
std::optional<std::int64_t> integer_in(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.size() > 1 && digits[0] == '0') return {};
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

std::optional<double> real_in(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return {};
  return number;
}

bool is_integer_text(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && (text.size() == 1 || text[0] != '0') &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// `text` times the unit it ends in, or that of the key. Nothing when it is not such a value.
std::optional<std::int64_t> amount_in(const Field& f, std::string_view text) {
  std::int64_t size = unit_in_key(f).size;
  if (size == 0) {
    const std::size_t letters = std::min(text.find_first_not_of("0123456789.-"), text.size());
    const std::string_view name = text.substr(letters);
    text = text.substr(0, letters);
    for (const Unit& unit : units_of(f.kind)) {
      if (name == unit.name) size = unit.size;
    }
    if (size == 0) return {};
  }
  if (const auto whole = integer_in(text)) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(*whole, size, &product)) return too_far;
    return product;
  }
  const auto real = real_in(text);
  if (!real) return {};
  const double product = *real * static_cast<double>(size);
  if (std::abs(product) >= 9.2e18) return too_far;
  return std::llround(product);
}

// Insertions, deletions, replacements and swaps of neighbours that make `b` of `a`.
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

// Every path below `fields` whose last key is `key`.
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

std::string variable(std::string_view prefix, std::string_view path) {
  std::string name(prefix);
  for (const char c : path) {
    if (c == '.') name += "__";
    else name += ascii::to_upper(c);
  }
  return name;
}

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
    KEEL_TRY_VOID(verdict());
    KEEL_TRY_VOID(check(origins_));
    origins_.loading_began_ = began;
    origins_.loading_took_ = Host::current().now() - began;
    if (sources_.origins != nullptr) *sources_.origins = std::move(origins_);
    return {};
  }

  // The rules between fields alone.
  Result<> check(const Origins& origins) {
    origins_ = origins;
    Checks checks(*this);
    subject_.check(subject_.value, checks);
    return verdict();
  }

  void refuse(std::string_view path, std::string_view text) {
    problem(origins_.is_set(path) ? origins_.of(path) : "", path, text);
  }

 private:
  enum class Style { File, Variable, Flag };

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
    // A flag says its key already.
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
    std::string without_value;  // The flag before, when a word behind it may have been meant as its value.
    for (std::size_t i = 0; i < args.size(); ++i) {
      const std::string_view arg = args[i];
      const std::string before = std::exchange(without_value, {});
      if (arg == "--help" || arg == "-h" || arg == "--print-config" || arg == "--check-config") continue;
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
        // Perhaps a secret.
        problem("command line", {}, fmt::format("unexpected argument behind {}", before));
      } else {
        problem("command line", {}, fmt::format("unexpected argument \"{}\"", shown(arg)));
      }
    }
    return settings;
  }

  // The flag as it is shown, when it has no value or an empty one.
  std::string add_setting(std::string_view text, const char* flag, std::vector<Setting>& settings) {
    const std::size_t equals = text.find('=');
    const std::string path(text.substr(0, equals));
    const std::string where = flag + shown(path);
    if (equals == std::string_view::npos) {
      problem(where, {}, fmt::format("needs a value: {}=VALUE", where));
      return where;
    }
    settings.push_back({path, std::string(text.substr(equals + 1)), where});
    return equals + 1 == text.size() ? where : std::string();
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
    // Natural order, so that places in a list are appended in order: 2 before 10.
    std::sort(settings.begin(), settings.end(),
              [](const Setting& a, const Setting& b) { return ::strverscmp(a.path.c_str(), b.path.c_str()) < 0; });
    return settings;
  }

  void from_file(const std::string& name) {
    const Result<std::string> text = read_file(name);
    if (!text) return problem(name, {}, text.error().describe());
    if (text->find_first_not_of(" \t\r\n") == std::string::npos) {
      return problem(name, {}, "is empty: expected a map of keys");
    }
    std::vector<ParseProblem> found;
    const Node root = parse_tree(*text, found);
    for (const ParseProblem& p : found) {
      problem(p.line == 0 ? name : fmt::format("{}:{}", name, p.line), shown(p.path), p.text);
    }
    if (!found.empty() || root.kind == Node::Kind::Null) return;  // Null: comments only.
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

  // Finds the field of `rest` below `fields`; `path` is what was walked so far.
  void descend(std::span<const Field> fields, std::string_view rest, const std::string& path, const std::string& text) {
    const std::size_t dot = rest.find('.');
    const std::string_view key = rest.substr(0, dot);
    const std::string_view below = dot == std::string_view::npos ? std::string_view() : rest.substr(dot);
    const Field* f = find(fields, key);
    if (f == nullptr || key.empty()) return unknown(place_, fields, path, key, below);
    into(*f, below, join(path, key), text);
  }

  // `rest` is empty or begins with a dot.
  void into(const Field& f, std::string_view rest, const std::string& path, const std::string& text) {
    if (rest.empty()) return assign_text(f, path, text);
    rest.remove_prefix(1);
    if (f.kind == Kind::Section) return descend(f.children, rest, path, text);
    if (f.kind != Kind::List) {
      return problem(place_, path + "." + shown(rest), fmt::format("unknown key; {} is a value and has no keys", path));
    }
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    const auto index = integer_in(rest.substr(0, dot));
    const std::int64_t size = f.get(f.at);
    if (!index || *index < 0 || *index > size) {
      return problem(
          place_, path + "." + shown(rest),
          fmt::format("\"{}\" is not a place in the list: expected 0 to {}", shown(rest.substr(0, dot)), size));
    }
    if (*index == size) f.set(f.at, size + 1);
    into(element_of(f, static_cast<std::size_t>(*index)), rest.substr(dot), join(path, rest.substr(0, dot)), text);
  }

  void assign_text(const Field& f, const std::string& path, const std::string& text) {
    Node node;
    if (f.kind != Kind::Section && f.kind != Kind::List) {
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
      } else {
        unknown(where(child), fields, path, child.key, {});
      }
    }
  }

  void apply(const Field& f, const Node& node, const std::string& path) {
    if (f.kind == Kind::Section) {
      if (node.kind == Node::Kind::Map) return apply_section(f.children, node, path);
      if (node.kind == Node::Kind::Null) return;  // All its keys are commented out.
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
    if (node.kind != Node::Kind::Scalar) return mismatch(f, node, path);
    const std::string wrong = set_leaf(f, node);
    if (!wrong.empty()) return problem(where(node), path, fmt::format("{}: expected {}", wrong, expectation(f)));
    record(path, where(node));
  }

  void mismatch(const Field& f, const Node& node, const std::string& path) {
    std::string_view is = "is empty";
    if (node.kind == Node::Kind::Scalar) is = "is a single value";
    if (node.kind == Node::Kind::List) is = "is a list";
    if (node.kind == Node::Kind::Map) is = "is a section of keys";
    problem(where(node), path, fmt::format("{}: expected {}", is, expectation(f)));
  }

  // Empty, or what is wrong with the text.
  static std::string set_leaf(const Field& f, const Node& node) {
    const std::string_view text = node.text;
    const auto said = [&](std::string_view wrong) { return fmt::format("\"{}\" {}", shown(text), wrong); };
    const bool is_number =
        f.kind == Kind::Bool || f.kind == Kind::Int || f.kind == Kind::Real || unit_in_key(f).size != 0;
    if (is_number && node.quoted) return said("is in quotes");
    switch (f.kind) {
      case Kind::Section:
      case Kind::List:
        break;
      case Kind::Bool:
        if (text != "true" && text != "false") return said("is not a boolean");
        *static_cast<bool*>(f.at) = text == "true";
        return {};
      case Kind::Int: {
        const auto number = integer_in(text);
        if (!number && !is_integer_text(text)) return said("is not an integer");
        if (!number || *number < f.low || *number > f.high) return fmt::format("{} is out of range", shown(text));
        f.set(f.at, *number);
        return {};
      }
      case Kind::Real: {
        const auto number = real_in(text);
        if (!number) return said("is not a number");
        if (*number < f.real_low || *number > f.real_high) return fmt::format("{} is out of range", shown(text));
        *static_cast<double*>(f.at) = *number;
        return {};
      }
      case Kind::Text:
        *static_cast<std::string*>(f.at) = text;
        return {};
      case Kind::Secret:
        *static_cast<Secret*>(f.at) = Secret(std::string(text));
        return {};
      case Kind::Duration:
      case Kind::Bytes: {
        const auto number = amount_in(f, text);
        if (!number && unit_in_key(f).size == 0 && real_in(text)) return fmt::format("{} has no unit", shown(text));
        if (!number) return said(f.kind == Kind::Duration ? "is not a duration" : "is not a size");
        if (*number < f.low || *number > f.high) return fmt::format("{} is out of range", shown(text));
        if (f.kind == Kind::Duration) *static_cast<Duration*>(f.at) = Duration::nanoseconds(*number);
        else static_cast<ByteSize*>(f.at)->bytes = static_cast<std::uint64_t>(*number);
        return {};
      }
      case Kind::Enum:
        for (const Name& name : f.names) {
          if (text == name.text) {
            f.set(f.at, name.value);
            return {};
          }
        }
        return said("is not known");
    }
    return {};
  }

  void unknown(std::string_view at, std::span<const Field> siblings, const std::string& path, std::string_view key,
               std::string_view below) {
    std::string guess;
    std::size_t best = std::max<std::size_t>(1, key.size() / 3) + 1;
    for (const Field& f : siblings) {
      if (const std::size_t d = distance(key, f.key); d < best) {
        best = d;
        guess = join(path, f.key) + shown(below);
      }
    }
    if (guess.empty() && !key.empty()) {
      std::vector<std::string> same;
      paths_to(subject_.schema.fields(), below.empty() ? key : below.substr(below.rfind('.') + 1), {}, same);
      if (same.size() == 1) guess = same.front();
    }
    std::string text = "unknown key";
    if (!guess.empty()) {
      if (style_ == Style::Variable) guess = variable(sources_.env_prefix, guess);
      if (style_ == Style::Flag) guess = "--" + guess;
      text += fmt::format("; did you mean {}?", guess);
    } else if (siblings.size() <= 12) {
      text += ": expected one of ";
      for (const Field& f : siblings) text += fmt::format("{}{}", &f == siblings.data() ? "" : ", ", f.key);
    }
    problem(at, join(path, shown(key)) + shown(below), text);
  }

  void record(const std::string& path, std::string where) {
    origins_.entries_.push_back({path, std::move(where), ++recorded_});
  }
  void forget_below(const std::string& path) {
    std::erase_if(origins_.entries_, [&path](const Origins::Entry& e) { return e.is_below(path); });
  }
  // By path; of several for one path the last, which won.
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
  std::string place_;  // The file, variable or flag that is being applied.
  std::vector<std::string> problems_;
  Origins origins_;
  std::size_t recorded_ = 0;
};

void Checks::refuse(std::string_view path, std::string_view problem) { loader_.refuse(path, problem); }

bool Origins::Entry::is_below(std::string_view p) const {
  return path.size() > p.size() && path.starts_with(p) && path[p.size()] == '.';
}

std::string_view Origins::of(std::string_view path) const noexcept {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), path,
                                      [](const Entry& e, std::string_view p) { return e.path < p; });
  return found != entries_.end() && found->path == path ? std::string_view(found->where) : "default";
}

void Origins::keep(const Origins& from, std::string_view path) {
  const auto concerns = [path](const Entry& e) { return e.path == path || e.is_below(path); };
  std::erase_if(entries_, concerns);
  std::copy_if(from.entries_.begin(), from.entries_.end(), std::back_inserter(entries_), concerns);
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.path < b.path; });
}

bool Origins::is_set(std::string_view path) const noexcept {
  return std::any_of(entries_.begin(), entries_.end(),
                     [path](const Entry& e) { return e.path == path || e.is_below(path); });
}

namespace {

class Printer {
 public:
  explicit Printer(const Origins& origins) : origins_(origins) {}

  void section(std::span<const Field> fields, std::string indent, const std::string& path, bool reloadable) {
    for (const Field& f : fields) {
      one(f, indent, join(path, f.key), reloadable || f.is_reloadable);
      // The dash of a list element stands before its first key only.
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
    comment(indent + key + (key.empty() ? "" : " ") + value_text(f), path, reloadable);
  }
  static std::string deeper(const std::string& indent) { return std::string(indent.size() + 2, ' '); }
  void comment(std::string_view line, const std::string& path, bool reloadable) {
    text_ += fmt::format("{:<40}  # {}{}\n", line, origins_.of(path), reloadable ? ", reloadable" : "");
  }

  const Origins& origins_;
  std::string text_;
};

void help_section(std::span<const Field> fields, const std::string& path, bool reloadable, std::string& text) {
  for (const Field& f : fields) {
    const std::string name = f.key.empty() ? path : join(path, f.key);
    const bool is_reloadable = reloadable || f.is_reloadable;
    const char* const reloads = is_reloadable ? "; reloadable" : "";
    if (f.kind == Kind::Section) {
      if (!f.key.empty()) text += fmt::format("\n{}: {}\n", name, f.help);
      help_section(f.children, name, is_reloadable, text);
      continue;
    }
    if (f.kind == Kind::List) {
      text +=
          fmt::format("  --{}=[...]\n      {} (a list, as YAML; N below is a place in it{})\n", name, f.help, reloads);
      if (f.get(f.at) == 0) f.set(f.at, 1);
      help_section(element_of(f, 0).children, name + ".N", is_reloadable, text);
      continue;
    }
    text += fmt::format("  --{}=VALUE\n      {} ({}{}{})\n", name, f.help, expectation(f),
                        f.kind == Kind::Secret ? "" : fmt::format("; default {}", value_text(f)), reloads);
  }
}

bool has_reloadable(std::span<const Field> fields) {
  return std::any_of(fields.begin(), fields.end(),
                     [](const Field& f) { return f.is_reloadable || has_reloadable(f.children); });
}

}  // namespace

namespace internal {

Result<> load(const Subject& subject, const Sources& sources) { return Loader(subject, sources).run(); }

Result<> check(const Subject& subject, const Origins& origins) { return Loader(subject, {}).check(origins); }

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
      "  --check-config       load the configuration and end: 0 when it is right, 2 when not\n"
      "  --help               print this\n";
  text += "\nEvery key below can be given in the file, in the environment";
  if (!env_prefix.empty()) text += fmt::format(" ({} for section.key)", variable(env_prefix, "section.key"));
  text += " and here; the later wins.\n";
  if (has_reloadable(schema.fields())) {
    text += "What is reloadable may change while the program runs; everything else needs a restart.\n";
  }
  help_section(schema.fields(), {}, false, text);
  return text;
}

}  // namespace internal

Action action(std::span<const char* const> args) noexcept {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view arg = args[i];
    if (arg == "--config" || arg == "--set") ++i;
    if (arg == "--help" || arg == "-h") return Action::Help;
    if (arg == "--print-config") return Action::PrintConfig;
    if (arg == "--check-config") return Action::CheckConfig;
  }
  return Action::Run;
}

}  // namespace keel::config
