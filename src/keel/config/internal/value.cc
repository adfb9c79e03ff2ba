#include "keel/config/internal/value.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "keel/base/ascii.h"
#include "keel/base/bug.h"

namespace keel::config {

using Kind = Field::Kind;

namespace {

constexpr std::int64_t no_bound = std::numeric_limits<std::int64_t>::max();
// Stands for a number that does not fit into 64 bits; it is below the range of every field.
constexpr std::int64_t too_far = std::numeric_limits<std::int64_t>::min();

constexpr Unit duration_units[] = {{"d", 86'400'000'000'000},
                                   {"h", 3'600'000'000'000},
                                   {"min", 60'000'000'000},
                                   {"s", 1'000'000'000},
                                   {"ms", 1'000'000},
                                   {"us", 1'000},
                                   {"ns", 1}};
constexpr Unit size_units[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}};

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos && text[0] != '-' && text[0] != '.' &&
      text != "null" && text != "Null" && text != "NULL") {
    return std::string(text);
  }
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

namespace {

template <class T>
bool is_same(const Field& a, const Field& b) {
  return *static_cast<const T*>(a.at) == *static_cast<const T*>(b.at);
}

template <class T>
void copy(const Field& to, const Field& from) {
  *static_cast<T*>(to.at) = *static_cast<const T*>(from.at);
}

std::string bounds(const std::string& what, const std::string& low, const std::string& high) {
  if (!low.empty() && !high.empty()) return fmt::format("{} from {} to {}", what, low, high);
  if (!low.empty()) return fmt::format("{} of at least {}", what, low);
  if (!high.empty()) return fmt::format("{} of at most {}", what, high);
  return what;
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

}  // namespace

std::span<const Unit> units_of(Kind kind) {
  if (kind == Kind::Duration) return duration_units;
  return size_units;
}

Unit unit_in_key(const Field& f) {
  if (f.kind == Kind::Duration && f.key.ends_with("_ms")) return {"milliseconds", 1'000'000};
  if (f.kind == Kind::Duration && f.key.ends_with("_sec")) return {"seconds", 1'000'000'000};
  if (f.kind == Kind::Bytes && f.key.ends_with("_kb")) return {"KiB", 1 << 10};
  if (f.kind == Kind::Bytes && f.key.ends_with("_mb")) return {"MiB", 1 << 20};
  return {"", 0};
}

std::string amount(const Field& f, std::int64_t value) {
  if (const Unit unit = unit_in_key(f); unit.size != 0) {
    if (value % unit.size == 0) return fmt::format("{}", value / unit.size);
    return fmt::format("{}", static_cast<double>(value) / static_cast<double>(unit.size));
  }
  if (value == 0) return f.kind == Kind::Duration ? "0s" : "0B";
  for (const Unit& unit : units_of(f.kind)) {
    if (value % unit.size == 0) return fmt::format("{}{}", value / unit.size, unit.name);
  }
  return {};
}

std::string join(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string variable(std::string_view prefix, std::string_view path) {
  std::string name(prefix);
  for (const char c : path) {
    if (c == '.') name += "__";
    else name += ascii::to_upper(c);
  }
  return name;
}

Field element_of(const Field& f, std::size_t index) {
  Schema element;
  f.element(element, f.at, index);
  return element.fields().front();
}

std::string value_text(const Field& f) {
  switch (f.kind) {
    case Kind::Section: {
      std::string text;
      for (const Field& child : f.children) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", child.key, value_text(child));
      }
      return fmt::format("{{{}}}", text);
    }
    case Kind::List: {
      std::string text;
      for (std::size_t i = 0; i < static_cast<std::size_t>(f.get(f.at)); ++i) {
        text += (i == 0 ? "" : ", ") + value_text(element_of(f, i));
      }
      return fmt::format("[{}]", text);
    }
    case Kind::Map: {
      std::string text;
      for (std::size_t i = 0; i < static_cast<std::size_t>(f.get(f.at)); ++i) {
        const Field element = element_of(f, i);
        text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", element.key, value_text(element));
      }
      return fmt::format("{{{}}}", text);
    }
    case Kind::Bool:
      return *static_cast<const bool*>(f.at) ? "true" : "false";
    case Kind::Int:
      return fmt::format("{}", f.get(f.at));
    case Kind::Real:
      return fmt::format("{}", *static_cast<const double*>(f.at));
    case Kind::Text:
      return in_quotes(*static_cast<const std::string*>(f.at));
    case Kind::Parsed:
      return in_quotes(f.text(f.at));
    case Kind::Secret:
      return static_cast<const Secret*>(f.at)->empty() ? "\"\"" : "\"***\"";
    case Kind::Duration:
      return amount(f, static_cast<const Duration*>(f.at)->count_ns());
    case Kind::Bytes:
      return amount(f, f.get(f.at));
    case Kind::Enum:
      for (const Name& name : f.names) {
        if (f.get(f.at) == name.value) return name.text;
      }
      throw_bug("an enum in a configuration has a value without a name", std::source_location::current());
  }
  return {};
}

void each_secret(std::span<const Field> fields, const std::string& path,
                 FunctionRef<void(const Field&, const std::string&)> f) {
  for (const Field& field : fields) {
    const std::string name = field.key.empty() ? path : join(path, field.key);
    if (field.kind == Kind::Secret) f(field, name);
    if (field.kind == Kind::Section) each_secret(field.children, name, f);
    if (field.kind != Kind::List && field.kind != Kind::Map) continue;
    for (std::size_t i = 0; i < static_cast<std::size_t>(field.get(field.at)); ++i) {
      Field element = element_of(field, i);
      const std::string place = join(name, field.kind == Kind::Map ? element.key : std::to_string(i));
      element.key = {};
      each_secret({&element, 1}, place, f);
    }
  }
}

bool have_same_names(const Field& a, const Field& b) {
  if (a.get(a.at) != b.get(b.at)) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.get(a.at)); ++i) {
    if (element_of(a, i).key != element_of(b, i).key) return false;
  }
  return true;
}

bool is_equal(const Field& a, const Field& b) {
  switch (a.kind) {
    case Kind::Section:
      for (std::size_t i = 0; i < a.children.size(); ++i) {
        if (!is_equal(a.children[i], b.children[i])) return false;
      }
      return true;
    case Kind::List:
      if (a.get(a.at) != b.get(b.at)) return false;
      for (std::size_t i = 0; i < static_cast<std::size_t>(a.get(a.at)); ++i) {
        if (!is_equal(element_of(a, i), element_of(b, i))) return false;
      }
      return true;
    case Kind::Map:
      if (!have_same_names(a, b)) return false;
      for (std::size_t i = 0; i < static_cast<std::size_t>(a.get(a.at)); ++i) {
        if (!is_equal(element_of(a, i), element_of(b, i))) return false;
      }
      return true;
    case Kind::Bool:
      return is_same<bool>(a, b);
    case Kind::Int:
    case Kind::Bytes:
    case Kind::Enum:
      return a.get(a.at) == b.get(b.at);
    case Kind::Real:
      return is_same<double>(a, b);
    case Kind::Text:
      return is_same<std::string>(a, b);
    case Kind::Parsed:
      return a.text(a.at) == b.text(b.at);
    case Kind::Secret:
      return static_cast<const Secret*>(a.at)->reveal() == static_cast<const Secret*>(b.at)->reveal() &&
             static_cast<const Secret*>(a.at)->file() == static_cast<const Secret*>(b.at)->file();
    case Kind::Duration:
      return is_same<Duration>(a, b);
  }
  return false;
}

void assign(const Field& to, const Field& from) {
  switch (to.kind) {
    case Kind::Section:
      for (std::size_t i = 0; i < to.children.size(); ++i) assign(to.children[i], from.children[i]);
      return;
    case Kind::List:
    case Kind::Map:
    case Kind::Parsed:
      return to.copy(to.at, from.at);
    case Kind::Bool:
      return copy<bool>(to, from);
    case Kind::Int:
    case Kind::Bytes:
    case Kind::Enum:
      return to.set(to.at, from.get(from.at));
    case Kind::Real:
      return copy<double>(to, from);
    case Kind::Text:
      return copy<std::string>(to, from);
    case Kind::Secret:
      return copy<Secret>(to, from);
    case Kind::Duration:
      return copy<Duration>(to, from);
  }
}

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

std::string expectation(const Field& f) {
  switch (f.kind) {
    case Kind::Section:
      return "a section of keys";
    case Kind::List:
      return "a list";
    case Kind::Map:
      return "a section whose keys are names";
    case Kind::Bool:
      return "true or false";
    case Kind::Text:
    case Kind::Secret:
      return "text";
    case Kind::Parsed: {
      constexpr std::string_view expected = "expected ";
      const std::string_view words = f.expected;
      return std::string(words.starts_with(expected) ? words.substr(expected.size()) : words);
    }
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

std::optional<std::int64_t> integer_in(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.size() > 1 && digits[0] == '0') return {};
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

namespace {

// The number in `text` times the unit at the end of `text`, or the unit of the key. Returns nullopt if the text has
// another form.
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

}  // namespace

std::string set_text(const Field& f, std::string_view text, bool is_quoted) {
  const auto said = [&](std::string_view wrong) { return fmt::format("\"{}\" {}", shown(text), wrong); };
  const bool is_number =
      f.kind == Kind::Bool || f.kind == Kind::Int || f.kind == Kind::Real || unit_in_key(f).size != 0;
  if (is_number && is_quoted) return said("is in quotes");
  switch (f.kind) {
    case Kind::Section:
    case Kind::List:
    case Kind::Map:
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
    case Kind::Parsed:
      return f.parse(f.at, text) ? std::string() : said("is not valid");
    case Kind::Secret:
      *static_cast<Secret*>(f.at) = Secret(text);
      return {};
    case Kind::Duration:
    case Kind::Bytes: {
      const auto number = amount_in(f, text);
      if (!number && unit_in_key(f).size == 0 && real_in(text)) return fmt::format("{} has no unit", shown(text));
      if (!number) return said(f.kind == Kind::Duration ? "is not a duration" : "is not a size");
      if (*number < f.low || *number > f.high) return fmt::format("{} is out of range", shown(text));
      if (f.kind == Kind::Duration) *static_cast<Duration*>(f.at) = Duration::nanoseconds(*number);
      else f.set(f.at, *number);
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

}  // namespace keel::config
