// keel/app/config.h — typed configuration from defaults, a YAML file, the environment and the command line.
//
// A struct lists its fields once; file, environment, command line, --help, --print-config and every error message
// come from that list:
//
//   struct StoreConfig {
//     std::string path = "store.db";
//     unsigned connections_max = 16;
//     Duration acquire_timeout = 1_s;
//
//     template <class Visitor> void fields(Visitor& v) {      // or: void fields(config::Schema& v);
//       config::field(v, "path", path, "where the data is");
//       config::field(v, "connections_max", connections_max, "for the whole process", {1, 1024});
//       config::field(v, "acquire_timeout", acquire_timeout, "how long a request may wait for a connection");
//     }
//     void check(config::Checks& checks) const;               // optional, outermost struct only: rules between fields
//   };
//   Result<StoreConfig> config = config::load<StoreConfig>({.file = "service.yaml", .args = args});
//
// Field types: bool, integers, double, std::string, enums (with config::names), Duration, ByteSize, Secret, structs
// with fields(), and std::vector of any of these. Keys are snake_case, without dots and double underscores.
//
// Order:  defaults, then the file, then the environment, then the command line; the later one wins. A list that is
//         given replaces the whole list that was there.
//   file          YAML, one document. 1.2 booleans (true, false) only; numbers are decimal and not in quotes. Aliases
//                 are expanded within bounds; duplicate keys, tags and more than 32 levels are refused.
//   environment   KEEL_NETWORK__HTTP__PORT=8081: prefix, capitals, two underscores between levels, digits for the
//                 place in a list (KEEL_THREAD__POOLS__0__SIZE; the place behind the last one appends).
//   command line  --network.http.port=8081 or --set network.http.port=8081; --config FILE names the file. The words
//                 --help, --print-config and --check-config are left to action(). A list or a whole section is
//                 written as YAML: --thread.pools='[{name: database, size: 4}]'.
// Units:  a key that ends in _ms or _sec (Duration), _kb or _mb (ByteSize; 1024 and 1024 * 1024 bytes) takes a plain
//         number; every other Duration or ByteSize needs a unit: 200ms, 1s, 64KiB.
// Reload: field(…).reloadable() says that the value may change while the program runs (app/reloadable.h); of a list or
//         a section: that all of it may. --help and --print-config show it.
// Errors: InvalidArgument, all problems in one message, a line each (20 at most):
//         "service.yaml:7: network.http.prot: unknown key; did you mean network.http.port?". Secrets are never shown,
//         nor is a word behind a flag without a value, which may be one.
// Threads: any, one at a time.  Cost: start-up only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "keel/base/result.h"
#include "keel/base/time.h"

namespace keel {

// A number of bytes with its own type, so that a configuration key can ask for a unit.
struct ByteSize {
  std::uint64_t bytes = 0;
  static constexpr ByteSize kib(std::uint64_t count) { return {count << 10}; }
  static constexpr ByteSize mib(std::uint64_t count) { return {count << 20}; }
  constexpr auto operator<=>(const ByteSize&) const = default;
};

// Text that must not be shown. Everything that prints a configuration prints ***.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  bool empty() const noexcept { return text_.empty(); }
  // The text itself, for the call that needs it.
  const std::string& reveal() const noexcept { return text_; }

 private:
  std::string text_;
};

namespace config {

// What a value may be, both ends included.
template <class T>
struct Range {
  T min;
  T max;
};

struct Name {
  const char* text;
  std::int64_t value;
};
// The words of an enum, for field(). Make it a constant of namespace scope:
//   inline constexpr auto colour_names = config::names<Colour>({{"red", Colour::Red}, {"blue", Colour::Blue}});
template <class E>
struct Word {
  const char* text;
  E value;
};
template <class E, std::size_t N>
struct Names {
  Name list[N];
};
template <class E, std::size_t N>
constexpr Names<E, N> names(const Word<E> (&words)[N]) {
  Names<E, N> made{};
  for (std::size_t i = 0; i < N; ++i) made.list[i] = {words[i].text, static_cast<std::int64_t>(words[i].value)};
  return made;
}

class Schema;
template <class T>
concept HasFields = requires(T& value, Schema& schema) { value.fields(schema); };

// One field without its type: where the value is and how to read and write it. Made by field() only.
struct Field {
  enum class Kind : std::uint8_t { Section, List, Bool, Int, Real, Text, Secret, Duration, Bytes, Enum };

  Kind kind = Kind::Section;
  std::string_view key;
  const char* help = "";
  void* at = nullptr;
  std::int64_t low = std::numeric_limits<std::int64_t>::min();  // Int, Duration in ns, Bytes
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  double real_low = std::numeric_limits<double>::lowest();
  double real_high = std::numeric_limits<double>::max();
  std::int64_t (*get)(const void*) = nullptr;  // Int, Enum; of a List its size
  void (*set)(void*, std::int64_t) = nullptr;  // Int, Enum; of a List resizes it
  void (*element)(Schema&, void* list, std::size_t index) = nullptr;
  void (*copy)(void* to, const void* from) = nullptr;  // List
  std::span<const Name> names = {};
  std::vector<Field> children = {};
  bool is_reloadable = false;

  // Says that the value may change while the program runs: field(v, "level", level, "how much").reloadable().
  void reloadable() noexcept { is_reloadable = true; }
};

// The list of fields of one value. Holds pointers into the value: for as long as it stays where it is.
class Schema {
 public:
  // The field in its place: until the next one is added.
  Field& add(Field field);
  void open(std::string_view key, const char* help);
  Field& close();
  const std::vector<Field>& fields() const { return root_.children; }

 private:
  Field& top();
  Field root_;
  std::size_t depth_ = 0;
};

namespace internal {
template <class T>
Field& add_integer(Schema& v, std::string_view key, T& value, const char* help, T min, T max) {
  constexpr auto clamp = [](T bound) {
    return std::in_range<std::int64_t>(bound) ? static_cast<std::int64_t>(bound)
                                              : std::numeric_limits<std::int64_t>::max();
  };
  return v.add({.kind = Field::Kind::Int,
                .key = key,
                .help = help,
                .at = &value,
                .low = clamp(min),
                .high = clamp(max),
                .get = [](const void* at) { return static_cast<std::int64_t>(*static_cast<const T*>(at)); },
                .set = [](void* at, std::int64_t number) { *static_cast<T*>(at) = static_cast<T>(number); }});
}
}  // namespace internal

// Lists one field of a struct. `key`, `help` and the names of an enum are kept by pointer: literals and constants.
// `help` is a sentence for --help; the default, the range and the unit are added to it.
template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
Field& field(Schema& v, std::string_view key, T& value, const char* help,
             Range<std::type_identity_t<T>> range = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}) {
  return internal::add_integer<T>(v, key, value, help, range.min, range.max);
}
Field& field(Schema& v, std::string_view key, bool& value, const char* help);
Field& field(Schema& v, std::string_view key, double& value, const char* help,
             Range<double> range = {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()});
Field& field(Schema& v, std::string_view key, std::string& value, const char* help);
Field& field(Schema& v, std::string_view key, Secret& value, const char* help);
Field& field(Schema& v, std::string_view key, Duration& value, const char* help,
             Range<Duration> range = {Duration(), Duration::forever()});
Field& field(Schema& v, std::string_view key, ByteSize& value, const char* help,
             Range<ByteSize> range = {ByteSize{}, ByteSize{std::numeric_limits<std::int64_t>::max()}});
template <class E, std::size_t N>
  requires std::is_enum_v<E>
Field& field(Schema& v, std::string_view key, E& value, const char* help, const Names<E, N>& words) {
  return v.add({.kind = Field::Kind::Enum,
                .key = key,
                .help = help,
                .at = &value,
                .get = [](const void* at) { return static_cast<std::int64_t>(*static_cast<const E*>(at)); },
                .set = [](void* at, std::int64_t number) { *static_cast<E*>(at) = static_cast<E>(number); },
                .names = words.list});
}
template <HasFields T>
Field& field(Schema& v, std::string_view key, T& section, const char* help) {
  v.open(key, help);
  section.fields(v);
  return v.close();
}
template <class T>
Field& field(Schema& v, std::string_view key, std::vector<T>& list, const char* help) {
  using List = std::vector<T>;
  static_assert(
      !requires(T& t) { t.push_back(t.front()); } || std::is_same_v<T, std::string>,
      "a list of lists has no readable keys: put the inner list into a struct");
  return v.add(
      {.kind = Field::Kind::List,
       .key = key,
       .help = help,
       .at = &list,
       .get = [](const void* at) { return static_cast<std::int64_t>(static_cast<const List*>(at)->size()); },
       .set = [](void* at, std::int64_t size) { static_cast<List*>(at)->resize(static_cast<std::size_t>(size)); },
       .element = [](Schema& schema, void* at,
                     std::size_t index) { field(schema, "", (*static_cast<List*>(at))[index], ""); },
       .copy = [](void* to, const void* from) { *static_cast<List*>(to) = *static_cast<const List*>(from); }});
}

// Where each value came from. Values that are not in it have their default.
class Origins {
 public:
  // "service.yaml:7", "KEEL_NETWORK__HTTP__PORT", "--network.http.port", or "default". `path` is "network.http.port";
  // for a list or a section: what set it as a whole.
  std::string_view of(std::string_view path) const noexcept;
  // Whether `path`, or anything below it, was set explicitly.
  bool is_set(std::string_view path) const noexcept;
  // When loading began, and how long it took.
  Instant loading_began() const noexcept { return loading_began_; }
  Duration loading_took() const noexcept { return loading_took_; }
  // Whether every value came from the same place, whenever it was loaded.
  bool operator==(const Origins& other) const { return entries_ == other.entries_; }

 private:
  friend class Loader;
  friend class Versions;
  struct Entry {
    std::string path;
    std::string where;
    std::size_t order;  // In which it was set: the last one counts.
    bool operator==(const Entry& other) const { return path == other.path && where == other.where; }
    bool is_below(std::string_view p) const;
  };
  // Takes over what `from` has of `path` and below it.
  void keep(const Origins& from, std::string_view path);

  std::vector<Entry> entries_;  // Sorted by path.
  Instant loading_began_;
  Duration loading_took_;
};

// Collects broken rules between fields; see check() above.
class Checks {
 public:
  // `path` is the key to name; its origin is put in front.
  void refuse(std::string_view path, std::string_view problem);

 private:
  friend class Loader;
  explicit Checks(class Loader& loader) : loader_(loader) {}
  Loader& loader_;
};

struct Sources {
  // Read when --config does not name another; empty: none. A file that is named must exist.
  std::string file = {};
  // Every environment variable with this prefix is a key or an error. Empty: the environment is not looked at.
  std::string env_prefix = "KEEL_";
  // Without the program's name.
  std::span<const char* const> args = {};
  // Ends with a null pointer; null: the process's own.
  const char* const* environment = nullptr;
  // Where to keep the origin of each value; null: nowhere. Written on success only.
  Origins* origins = nullptr;
};

namespace internal {
struct Subject {
  Schema& schema;
  const void* value;
  void (*check)(const void*, Checks&);
};
Result<> load(const Subject& subject, const Sources& sources);
Result<> check(const Subject& subject, const Origins& origins);
std::string describe(const Schema& schema, const Origins& origins);
std::string help(const Schema& schema, std::string_view env_prefix);
template <class T>
void check(const void* value, Checks& checks) {
  if constexpr (requires(const T& t) { t.check(checks); }) static_cast<const T*>(value)->check(checks);
}
}  // namespace internal

// T with its defaults, changed by `sources` in their order.
template <HasFields T>
Result<T> load(const Sources& sources) {
  Result<T> loaded{T{}};
  Schema schema;
  loaded->fields(schema);
  KEEL_TRY_VOID(internal::load({schema, &*loaded, &internal::check<T>}, sources));
  return loaded;
}

// The effective configuration as YAML, a comment with its origin behind each value; what --print-config prints.
// Secrets are ***, everything else loads again.
template <HasFields T>
std::string describe(T value, const Origins& origins) {
  Schema schema;
  value.fields(schema);
  return internal::describe(schema, origins);
}

// What --help says about every key: how to write it, what it is for, its range and its default.
template <HasFields T>
std::string help(std::string_view env_prefix = "KEEL_") {
  T value{};
  Schema schema;
  value.fields(schema);
  return internal::help(schema, env_prefix);
}

enum class Action { Run, Help, PrintConfig, CheckConfig };
// What the command line asks for: the first of --help (-h), --print-config and --check-config, else Run. A program
// prints help() or describe() and ends with 0, or loads and ends with 0 or 2.
Action action(std::span<const char* const> args) noexcept;

}  // namespace config
}  // namespace keel
