// dev/changes.h — what has been saved, until nothing was saved for a moment: an editor writes several files together,
// and a checkout hundreds.
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
  static constexpr Duration quiet = 50_ms;  // Without another change, before they are taken.
  static constexpr Duration longest = 1_s;  // Since the first of them, however many follow.

  void add(const std::vector<std::string>& files, Instant now);
  // When they can be taken; nothing while there are none.
  std::optional<Instant> due() const noexcept;
  bool is_due(Instant now) const noexcept;
  std::set<std::string> take();

 private:
  std::set<std::string> files_;
  Instant first_;
  Instant last_;
};

}  // namespace keel::dev
