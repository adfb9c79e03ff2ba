// gen/parts.h — the sources part_1.cc … part_N.cc, over which the definitions are spread.
//
// Definitions behind the same header stand together, so that a source includes few of the headers. A small contract has
// its definitions in the first sources, and nothing in the others: what all of them include takes longer to compile
// than they do.

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

  // What has been written so far of the definitions of `name`, which need this header ("" where they need none): they
  // stay in one source.
  std::string& of(std::string_view header, std::string_view name);

  struct Part {
    std::string text;
    std::set<std::string> headers;
  };
  // All of them, about equally long. What changes in one definition moves few others.
  std::vector<Part> spread() const;

 private:
  std::size_t count_;
  std::map<std::pair<std::string, std::string>, std::string> texts_;  // By header and name.
};

}  // namespace keel::gen
