#include "dev/changes.h"

#include <algorithm>
#include <utility>

namespace keel::dev {

void Changes::add(const std::vector<std::string>& files, Instant now) {
  if (files.empty()) return;
  if (files_.empty()) first_ = now;
  last_ = now;
  files_.insert(files.begin(), files.end());
}

std::optional<Instant> Changes::due() const noexcept {
  if (files_.empty()) return std::nullopt;
  return std::min(last_ + quiet, first_ + longest);
}

bool Changes::is_due(Instant now) const noexcept {
  const auto at = due();
  return at && *at <= now;
}

std::set<std::string> Changes::take() { return std::exchange(files_, {}); }

}  // namespace keel::dev
