// keel/config/origins.h — the origin of each value of a configuration.
//
// Threads: values.
// Cost:    start-up and reloads only.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/time.h"

namespace keel::config {

// A value that is not listed here has its default.
class Origins {
 public:
  // "service.yaml:7", "KEEL_NETWORK__HTTP__PORT", "--network.http.port", or "default". `path` is "network.http.port";
  // for a list or a section, returns the origin that set the whole list or section.
  std::string_view of(std::string_view path) const noexcept;
  // True if `path` or anything below it was set explicitly.
  bool is_set(std::string_view path) const noexcept;
  // The time at which loading began, and how long it took.
  Instant loading_began() const noexcept { return loading_began_; }
  Duration loading_took() const noexcept { return loading_took_; }
  // Warnings about values that are valid but unwise, such as a secret on the command line; each warning is a sentence
  // with the place of the value.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  // True if every value came from the same place in both configurations; the times of loading are not compared.
  bool operator==(const Origins& other) const { return entries_ == other.entries_; }

 private:
  friend class Loader;
  friend class Versions;
  struct Entry {
    std::string path;
    std::string where;
    std::size_t order;  // The position in the order in which values were set; the value set last takes effect.
    bool operator==(const Entry& other) const { return path == other.path && where == other.where; }
    bool is_below(std::string_view p) const;
  };
  // Copies the entries of `from` for `path` and everything below it.
  void keep(const Origins& from, std::string_view path);

  std::vector<Entry> entries_;  // Sorted by path.
  std::vector<std::string> warnings_;
  Instant loading_began_;
  Duration loading_took_;
};

}  // namespace keel::config
