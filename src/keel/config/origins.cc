#include "keel/config/origins.h"

#include <algorithm>
#include <iterator>

namespace keel::config {

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

}  // namespace keel::config
