// The part of Types that decides in which header each type is.

#include <algorithm>
#include <set>

#include "gen/cpp.h"
#include "gen/made.h"

namespace keel::gen {
namespace {

// If there are fewer types than this number, all types are in one header, which compiles faster than separate headers.
constexpr std::size_t types_least = 48;

}  // namespace

void Types::arrange(const std::vector<Use>& uses) {
  state_->homes.clear();
  state_->homes_of.clear();
  if (state_->named.size() < types_least || uses.size() < 2) return;
  const auto mentioned = state_->mentioned();
  std::map<const Made*, std::set<std::size_t>> users;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    std::vector<const Made*> open;
    const auto add = [&](const Made* type) {
      if (type != nullptr && users[type].insert(i).second) open.push_back(type);
    };
    for (const Type* const type : uses[i].types) add(content_of(*type).type);
    while (!open.empty()) {
      const Made* const type = open.back();
      open.pop_back();
      for (const Made* const one : mentioned.at(type)) add(one);
    }
  }
  // Types that are used by the same headers form a group, which gets a header. If one type mentions another, every
  // header that uses the first also uses the second; so the headers of the groups never include one another in a
  // circle.
  std::set<std::string> taken = {"types.h"};
  for (const Use& use : uses) taken.insert(use.file + ".h");
  std::map<std::set<std::size_t>, std::string> headers;
  for (const auto& [type, of] : users) headers.emplace(of, std::string());
  for (auto& [of, header] : headers) {
    std::string stem;
    if (of.size() == 1) {
      stem = uses[*of.begin()].file + "_types";
    } else {
      std::string files;
      for (const std::size_t i : of) files += uses[i].file + ' ';
      stem = "shared_" + hash_of(files);
    }
    while (!taken.insert(stem + ".h").second) stem += '_';
    header = stem + ".h";
  }
  for (const auto& [type, of] : users) {
    const std::string& header = headers.at(of);
    state_->homes.emplace(type, header);
    for (const std::size_t i : of) state_->homes_of[uses[i].file].insert(header);
  }
}

std::vector<std::string> Types::headers_of(std::string_view file) const {
  if (state_->homes.empty()) return {"types.h"};
  const auto found = state_->homes_of.find(std::string(file));
  if (found == state_->homes_of.end()) return {};
  return {found->second.begin(), found->second.end()};
}

}  // namespace keel::gen
