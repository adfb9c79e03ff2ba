// gen/parts.h — the sources part_1.cc … part_N.cc, among which the definitions are distributed.
//
// Definitions that need the same header are kept together, so that each source includes few headers. For a small
// contract, the definitions are in the first sources and the other sources are empty, because compiling the common
// includes takes longer than compiling the definitions.

#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keel::gen {

class Parts {
 public:
  // At least one.
  explicit Parts(int count);

  // Returns the text of the definitions of `name`, for the caller to append to. These definitions need the header
  // `header` ("" if none), and stay together in one source.
  std::string& of(std::string_view header, std::string_view name);

  struct Part {
    std::string text;
    std::set<std::string> headers;
  };
  // Returns all parts; those that contain definitions have about the same length. When one definition changes, few
  // other definitions move to another part.
  std::vector<Part> spread() const;

 private:
  std::size_t count_;
  std::map<std::pair<std::string, std::string>, std::string> texts_;  // The texts, by header and name.
};

}  // namespace keel::gen
