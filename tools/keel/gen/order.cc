// The part of Types that handles structs that contain themselves or one another.

#include <algorithm>
#include <functional>
#include <set>

#include "gen/made.h"

namespace keel::gen {
namespace {

using Edges = std::map<const Made*, std::vector<const Made*>>;

// Returns the group of each type as a number; types that contain each other are in the same group.
std::map<const Made*, int> groups_of(const std::map<std::string, Made*>& named, const Edges& edges) {
  struct Visit {
    int index = -1;
    int low = -1;
    bool is_open = false;
  };
  struct Step {
    const Made* type;
    std::size_t next = 0;
  };
  std::map<const Made*, Visit> visits;
  std::map<const Made*, int> groups;
  std::vector<const Made*> open;
  int index = 0;
  int group = 0;
  for (const auto& [name, root] : named) {
    if (visits[root].index != -1) continue;
    std::vector<Step> path = {{root}};
    visits[root] = {index, index, true};
    ++index;
    open.push_back(root);
    while (!path.empty()) {  // Iterative, because a chain of types may be longer than the stack.
      Step& step = path.back();
      const auto found = edges.find(step.type);
      if (found != edges.end() && step.next < found->second.size()) {
        const Made* const to = found->second[step.next++];
        Visit& visit = visits[to];
        if (visit.index == -1) {
          visit = {index, index, true};
          ++index;
          open.push_back(to);
          path.push_back({to});
        } else if (visit.is_open) {
          visits[step.type].low = std::min(visits[step.type].low, visit.index);
        }
        continue;
      }
      const Made* const type = step.type;
      const Visit done = visits[type];
      path.pop_back();
      if (!path.empty()) {
        Visit& outer = visits[path.back().type];
        outer.low = std::min(outer.low, done.low);
      }
      if (done.low != done.index) continue;
      const Made* last = nullptr;
      do {
        last = open.back();
        open.pop_back();
        visits[last].is_open = false;
        groups[last] = group;
      } while (last != type);
      ++group;
    }
  }
  return groups;
}

// For each type, the types whose definitions it needs; with `is_all`, all types that it mentions.
Edges edges_of(const std::map<std::string, Made*>& named, bool is_all) {
  Edges edges;
  for (const auto& [name, type] : named) {
    std::vector<const Made*>& to = edges[type];
    const auto add = [&](const Type& content, bool is_boxed) {
      const Content found = content_of(content);
      if (found.type != nullptr && (is_all || (!found.is_indirect && !is_boxed))) to.push_back(found.type);
    };
    for (const Member& member : type->members) add(*member.type, member.is_boxed);
    for (const Made* const one : type->alternatives) add(*one, false);
    if (is_all && type->additional != nullptr) add(*type->additional, false);
  }
  return edges;
}

}  // namespace

Content content_of(const Type& type) noexcept {
  const Type* at = &type;
  bool is_indirect = false;
  for (;;) {
    if (at->is_nullable) {
      at = at->inner;
    } else if (at->shape == Shape::List || at->shape == Shape::Map) {
      at = at->element;
      is_indirect = true;
    } else {
      return {made(*at).name.empty() ? nullptr : &made(*at), is_indirect};
    }
  }
}

std::string spelling_of(const Member& member) {
  const std::string& spelling = member.type->spelling;
  const bool is_boxed = member.is_boxed;
  switch (member.presence) {
    case Presence::Patch:
      return is_boxed ? "keel::Patch<keel::Box<" + spelling + ">>" : "keel::Patch<" + spelling + '>';
    case Presence::Optional:
      return (is_boxed ? "keel::Box<" : "std::optional<") + spelling + '>';
    default:
      return is_boxed ? "keel::Box<" + value_type(*member.type).spelling + '>' : spelling;
  }
}

void Types::State::prepare() {
  // First boxes only members that may be absent; if types still contain themselves, boxes other members too.
  for (const bool is_first : {true, false}) {
    const std::map<const Made*, int> groups = groups_of(named, edges_of(named, false));
    for (const auto& [name, type] : named) {
      for (Member& member : type->members) {
        const Content content = content_of(*member.type);
        if (content.type == nullptr || content.is_indirect || member.is_boxed) continue;
        const bool may_miss = member.presence != Presence::Required && member.presence != Presence::Default;
        if (groups.at(content.type) != groups.at(type) || (is_first && !may_miss)) continue;
        member.is_boxed = true;
        if (member.presence == Presence::Default) member.initialiser.clear();
      }
    }
  }
  for (const auto& [name, type] : named) {
    if (type->shape != Shape::Variant || type->choice.way != Choice::Way::Value) continue;
    for (std::size_t i = 0; i < type->alternatives.size(); ++i) {
      const auto found = std::find_if(type->choice.cases.begin(), type->choice.cases.end(),
                                      [&](const auto& one) { return one.second == static_cast<int>(i); });
      if (found == type->choice.cases.end()) continue;
      const auto alternative = named.find(type->alternatives[i]->name);
      if (alternative == named.end()) continue;
      for (Member& member : alternative->second->members) {
        if (member.json != type->choice.property || !member.initialiser.empty()) continue;
        if (member.type->is_nullable || member.presence != Presence::Required) continue;
        openapi::Node& value = document.store().make_at(*type->schema, openapi::Kind::String);
        value.text = document.store().keep(found->first);
        if (member.type->shape == Shape::String) member.initialiser = literal_of(*member.type, value);
        if (member.type->shape != Shape::Enum) continue;
        const Made& values = made(*member.type);
        const bool is_known =
            std::find(values.wire_names.begin(), values.wire_names.end(), found->first) != values.wire_names.end();
        if (is_known) member.initialiser = literal_of(values, value);
      }
    }
  }
}

std::map<const Made*, std::vector<const Made*>> Types::State::mentioned() const { return edges_of(named, true); }

std::vector<const Made*> Types::State::ordered() const {
  const Edges needed = edges_of(named, false);
  const Edges mentioned = edges_of(named, true);
  const std::map<const Made*, int> groups = groups_of(named, mentioned);
  std::vector<const Made*> order;
  std::set<const Made*> seen;
  const std::function<void(const Made*)> visit = [&](const Made* type) {
    if (!seen.insert(type).second) return;
    for (const Made* const one : needed.at(type)) visit(one);
    for (const Made* const one : mentioned.at(type)) {
      if (groups.at(one) != groups.at(type)) visit(one);
    }
    order.push_back(type);
  };
  for (const auto& [name, type] : named) visit(type);
  return order;
}

}  // namespace keel::gen
