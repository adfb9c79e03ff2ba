// gen/parts.h — the sources part_1.cc … part_N.cc, over which the definitions are spread.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace keel::gen {

class Parts {
 public:
  // At least one.
  explicit Parts(int count);

  // What has been written so far to the part in which the definitions of `name` stand: by a hash of the name, so that a
  // new type or operation changes one part.
  std::string& of(std::string_view name);
  // All of them, in order.
  const std::vector<std::string>& texts() const noexcept { return texts_; }

 private:
  std::vector<std::string> texts_;
};

}  // namespace keel::gen
