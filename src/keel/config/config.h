// keel/config/config.h — typed configuration from defaults, a YAML file, the environment and the command line.
//
// A struct lists its fields once. This list of fields defines the keys of the file, the environment and the command
// line, and the text of --help, --print-config and every error message:
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
// A plain struct needs no fields(): its fields are the keys (schema.h). The rules() of plain structs are checked after
// all sources have been read, first the rules() of nested structs. A violated rule is an error with file and line:
// "service.yaml:7: store.connections_max: must be from 1 to 1024". A default value that violates a rule is an error,
// too.
//
// Field types: bool, integers, double, std::string, enums and optional enums, Duration, Date, Timestamp, Decimal and
// other types with parse() and text() (base/text_value.h), ByteSize, integers that count bytes (config::Bytes), Secret,
// structs with fields() and plain structs, std::vector of any of these, and std::map<std::string, T> of such structs,
// whose keys are names that the configuration chooses. Keys are snake_case, without dots or double underscores.
//
// Order:   defaults, then the file, then the environment, then the command line; a later source wins. A list replaces
//          the list of an earlier source completely.
//   file          YAML, one document; an empty one has no keys. Only the booleans of YAML 1.2 (true, false); numbers
//                 are decimal and not in quotes. Aliases are expanded within bounds; duplicate keys, tags and more
//                 than 32 levels are rejected.
//   environment   KEEL_NETWORK__HTTP__PORT=8081: prefix, capitals, two underscores between levels, digits for the
//                 place in a list (KEEL_THREAD__POOLS__0__SIZE; the place after the last one appends).
//   command line  --network.http.port=8081 or --set network.http.port=8081; --config FILE names the file. The words
//                 --help, --version, --print-config and --check-config are left to command_line.h. A list or a whole
//                 section is written as YAML: --thread.pools='[{name: database, size: 4}]'.
// Secrets: a Secret `password` can also be given as `password_file`, the name of a file that contains the value; one
//          line end at the end of the file is dropped (Secret::from_file). In a path, $CREDENTIALS_DIRECTORY/ stands
//          for the folder of credentials that systemd creates for the unit. It is an error to give both `password` and
//          `password_file`, even in different sources. The file is read at each load. A Secret on the command line adds
//          a warning to Origins::warnings(). A list of Secrets has no key for files: use a list of structs.
// Units:   a Duration whose key ends in _ms or _sec, and a ByteSize whose key ends in _kb or _mb (1024 and 1024 * 1024
//          bytes), take a plain number; every other Duration or ByteSize needs a unit: 200ms, 1s, 64KiB.
// Reload:  field(…).reloadable() declares that the value may change while the program runs (reloadable.h); for a list
//          or a section, the declaration covers everything in it. --help and --print-config show which values are
//          reloadable.
// Errors:  InvalidArgument; one message lists all problems, each on its own line (20 at most): "service.yaml:7:
//          network.http.prot: unknown key; did you mean network.http.port?". Secrets are never shown. An unexpected
//          word after a flag is also not shown, because it may be a secret. If a key was renamed or removed, the error
//          names its successor or gives advice (schema.h: renamed(), removed()).
// Threads: any, one at a time.
// Cost:    start-up only.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "keel/base/result.h"
#include "keel/config/internal/printer.h"
#include "keel/config/origins.h"
#include "keel/config/schema.h"

namespace keel::config {

// Collects violated rules between fields; see check() above.
class Checks {
 public:
  // `path` is the key that the message names; the message states the origin of the key before the key.
  void refuse(std::string_view path, std::string_view problem);

 private:
  friend class Loader;
  explicit Checks(class Loader& loader) : loader_(loader) {}
  Loader& loader_;
};

// The sources of a configuration: file, environment and command line.
struct Sources {
  // The file that is read if --config does not name another file; empty: no file. A named file must exist.
  std::string file = {};
  // An environment variable that has this prefix and names no key is an error. Empty: the environment is ignored.
  std::string env_prefix = "KEEL_";
  // The arguments, without the program's name.
  std::span<const char* const> args = {};
  // The variables, with a null pointer at the end; null: the environment of the process.
  const char* const* environment = nullptr;
  // Receives the origin of each value; null: not needed. `*origins` is written only on success.
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
template <class T>
void check(const void* value, Checks& checks) {
  if constexpr (requires(const T& t) { t.check(checks); }) static_cast<const T*>(value)->check(checks);
}
}  // namespace internal

// Loads a T: its defaults, overridden by each of the `sources` in order.
template <Section T>
Result<T> load(const Sources& sources) {
  Result<T> loaded{T{}};
  Schema schema;
  internal::list_fields(schema, *loaded);
  KEEL_TRY_VOID(internal::load({schema, &*loaded, &internal::check<T>}, sources));
  return loaded;
}

// The effective configuration as YAML, with a comment after each value that names its origin: the output of
// --print-config. Secrets are shown as ***, or as the name of their file; everything else in the text can be loaded
// again.
template <Section T>
std::string describe(T value, const Origins& origins) {
  Schema schema;
  internal::list_fields(schema, value);
  return internal::describe(schema, origins);
}

// The text of --help for every key: how to write it, its purpose, its range and its default.
template <Section T>
std::string help(std::string_view env_prefix = "KEEL_") {
  T value{};
  Schema schema;
  internal::list_fields(schema, value);
  return internal::help(schema, env_prefix);
}

}  // namespace keel::config
