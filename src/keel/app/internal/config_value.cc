#include "keel/app/internal/config_value.h"

#include <fmt/core.h>

#include "keel/base/check.h"

namespace keel::config {

using Kind = Field::Kind;

namespace {

constexpr Unit duration_units[] = {{"d", 86'400'000'000'000},
                                   {"h", 3'600'000'000'000},
                                   {"min", 60'000'000'000},
                                   {"s", 1'000'000'000},
                                   {"ms", 1'000'000},
                                   {"us", 1'000},
                                   {"ns", 1}};
constexpr Unit size_units[] = {{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}};

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

template <class T>
bool is_same(const Field& a, const Field& b) {
  return *static_cast<const T*>(a.at) == *static_cast<const T*>(b.at);
}

template <class T>
void copy(const Field& to, const Field& from) {
  *static_cast<T*>(to.at) = *static_cast<const T*>(from.at);
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
    case Kind::Bool:
      return *static_cast<const bool*>(f.at) ? "true" : "false";
    case Kind::Int:
      return fmt::format("{}", f.get(f.at));
    case Kind::Real:
      return fmt::format("{}", *static_cast<const double*>(f.at));
    case Kind::Text:
      return in_quotes(*static_cast<const std::string*>(f.at));
    case Kind::Secret:
      return static_cast<const Secret*>(f.at)->empty() ? "\"\"" : "\"***\"";
    case Kind::Duration:
      return amount(f, static_cast<const Duration*>(f.at)->count_ns());
    case Kind::Bytes:
      return amount(f, static_cast<std::int64_t>(static_cast<const ByteSize*>(f.at)->bytes));
    case Kind::Enum:
      for (const Name& name : f.names) {
        if (f.get(f.at) == name.value) return name.text;
      }
      KEEL_CHECK(false, "an enum in a configuration has one of its names");
  }
  return {};
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
    case Kind::Bool:
      return is_same<bool>(a, b);
    case Kind::Int:
    case Kind::Enum:
      return a.get(a.at) == b.get(b.at);
    case Kind::Real:
      return is_same<double>(a, b);
    case Kind::Text:
      return is_same<std::string>(a, b);
    case Kind::Secret:
      return static_cast<const Secret*>(a.at)->reveal() == static_cast<const Secret*>(b.at)->reveal();
    case Kind::Duration:
      return is_same<Duration>(a, b);
    case Kind::Bytes:
      return is_same<ByteSize>(a, b);
  }
  return false;
}

void assign(const Field& to, const Field& from) {
  switch (to.kind) {
    case Kind::Section:
      for (std::size_t i = 0; i < to.children.size(); ++i) assign(to.children[i], from.children[i]);
      return;
    case Kind::List:
      return to.copy(to.at, from.at);
    case Kind::Bool:
      return copy<bool>(to, from);
    case Kind::Int:
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
    case Kind::Bytes:
      return copy<ByteSize>(to, from);
  }
}

}  // namespace keel::config
