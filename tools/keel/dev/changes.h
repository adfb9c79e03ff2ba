// dev/changes.h — collects saved files until nothing has been saved for a moment: an editor may write several files
// together, and a checkout in git may write hundreds of files.
//
// Threads: one.

#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "keel/base/time.h"

namespace keel::dev {

class Changes {
 public:
  static constexpr Duration quiet = 50_ms;  // If no further change follows for this time, the changes are taken.
  static constexpr Duration longest = 1_s;  // The longest wait after the first change, even if further changes follow.

  void add(const std::vector<std::string>& files, Instant now);
  // The time at which the changes can be taken; nullopt while there are no changes.
  std::optional<Instant> due() const noexcept;
  bool is_due(Instant now) const noexcept;
  std::set<std::string> take();

 private:
  std::set<std::string> files_;
  Instant first_;
  Instant last_;
};

}  // namespace keel::dev
