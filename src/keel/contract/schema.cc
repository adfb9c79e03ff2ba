#include "keel/contract/schema.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "keel/contract/internal/scratch.h"
#include "keel/contract/internal/values.h"
#include "keel/contract/internal/words.h"

namespace keel::contract {
namespace {

using internal::Scratch;
using json::Kind;
using json::Value;

constexpr int depth_max = 512;
// Up to this many elements of a list are compared in pairs; in a longer list, only elements with equal hashes are
// compared.
constexpr std::size_t pairwise_max = 16;
constexpr int meant_depth_max = 4;

// The position of a value within the value that is checked.
struct Path {
  const Path* up = nullptr;
  std::string_view key = {};
  std::size_t index = 0;
  bool is_index = false;
};

void append_pointer(std::string& to, const Path& path) {
  if (path.up == nullptr) return;
  append_pointer(to, *path.up);
  to += '/';
  if (path.is_index) {
    to += std::to_string(path.index);
    return;
  }
  for (const char c : path.key) {
    if (c == '~' || c == '/') {
      to += c == '~' ? "~0" : "~1";
    } else {
      to += c;
    }
  }
}

// Marks for the elements or members of a value that have been evaluated (JSON Schema 2020-12 §11), one bit for each.
struct Seen {
  std::size_t at;
  std::size_t count;
};

std::size_t words_for(std::size_t count) noexcept { return (count + 63) / 64; }

std::size_t characters_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::size_t work_of(const Value& value) noexcept {
  std::size_t all = 1;
  if (const auto text = value.string()) all += text->size() / 64;
  for (const Value& element : value.elements()) all += work_of(element);
  for (const auto& [key, member] : value.members()) all += key.size() / 64 + work_of(member);
  return all;
}

class Run {
 public:
  Run(const Value& root, Violations& wrong, Excuse excuse) noexcept : root_(root), wrong_(&wrong), excuse_(excuse) {}

  bool check(const Schema& schema) {
    const bool is_valid = evaluate(schema, root_, Path(), nullptr);
    if (!has_given_up_) return is_valid;
    wrong_->add("", "takes too long to check: it is nested too deeply, or too large for its schema");
    return false;
  }

 private:
  // A schema that is being evaluated, linked to the schemas that led to it.
  struct Frame {
    const Schema& schema;
    const Value& value;
    const Frame* around;
  };
  // While a Quietly exists, no violation is reported, and no property of the enclosing schemas is excused.
  class Quietly {
   public:
    explicit Quietly(Run& run) noexcept
        : run_(run), before_(std::exchange(run.is_quiet_, true)), top_(std::exchange(run.top_, nullptr)) {}
    Quietly(const Quietly&) = delete;
    Quietly& operator=(const Quietly&) = delete;
    ~Quietly() {
      run_.is_quiet_ = before_;
      run_.top_ = top_;
    }

   private:
    Run& run_;
    const bool before_;
    const Frame* const top_;
  };

  bool work(std::size_t amount) noexcept {
    if (amount <= work_left_) [[likely]] {
      work_left_ -= amount;
      return true;
    }
    return more_work(amount);
  }

  [[gnu::cold, gnu::noinline]] bool more_work(std::size_t amount) noexcept {
    if (!std::exchange(is_extended_, true)) {
      work_left_ += work_per_value * work_of(root_);
      if (amount <= work_left_) {
        work_left_ -= amount;
        return true;
      }
    }
    work_left_ = 0;
    has_given_up_ = true;
    return false;
  }

  // Adds a violation; returns false, because the value is invalid. `keyword` must be a literal; `words` is a function
  // that returns the message.
  template <class Words>
  bool refuse(const Path& path, std::string_view keyword, Words&& words) {
    if (!is_quiet_) tell(path, keyword, words());
    return false;
  }

  [[gnu::cold, gnu::noinline]] void tell(const Path& path, std::string_view keyword, std::string message) {
    std::string pointer;
    append_pointer(pointer, path);
    wrong_->add({std::move(pointer), std::move(message), 0, 0, keyword});
  }

  // True if further parts cannot change the result, so that the check can stop after an invalid part.
  bool stops() const noexcept { return is_quiet_ || has_given_up_ || wrong_->has_more(); }

  void mark(const Seen* seen, std::size_t i) noexcept {
    if (seen != nullptr) scratch_.at(seen->at)[i / 64] |= std::uint64_t{1} << i % 64;
  }
  void mark_all(const Seen* seen) noexcept {
    if (seen != nullptr) std::fill_n(scratch_.at(seen->at), words_for(seen->count), ~std::uint64_t{0});
  }

  bool evaluate(const Schema& schema, const Value& value, const Path& path, const Seen* seen) {
    if (depth_ == depth_max || !work(1)) [[unlikely]] {
      has_given_up_ = true;
      return false;
    }
    ++depth_;
    const Frame frame{schema, value, top_};
    top_ = &frame;
    const Schema* rest = nullptr;
    if (schema.list != nullptr && value.kind() == Kind::Array) rest = schema.list->unevaluated;
    if (schema.object != nullptr && value.kind() == Kind::Object) rest = schema.object->unevaluated;
    const bool is_valid =
        rest == nullptr ? judge(schema, value, path, seen) : judge_all(schema, *rest, value, path, seen);
    top_ = frame.around;
    --depth_;
    return is_valid;
  }

  // True if the required member `name` may nevertheless be absent from `value`.
  [[gnu::cold, gnu::noinline]] bool is_excused(std::string_view name, const Value& value) {
    if (excuse_ == Excuse::None) return false;
    for (const Frame* at = top_; at != nullptr && &at->value == &value; at = at->around) {
      if (excuses(at->schema, name, 0)) return true;
    }
    return false;
  }
  bool excuses(const Schema& schema, std::string_view name, int depth) {
    constexpr int parts_depth_max = 16;
    if (excuse_ == Excuse::None || depth == parts_depth_max || !work(1)) return false;
    if (schema.object != nullptr) {
      const Property* const property = property_of(*schema.object, name);
      if (property != nullptr && property->excuse == excuse_) return true;
    }
    return schema.combination != nullptr && std::ranges::any_of(schema.combination->all_of, [&](const Schema* one) {
             return excuses(*one, name, depth + 1);
           });
  }
  static const Property* property_of(const ObjectRules& rules, std::string_view name) noexcept {
    const auto found = std::ranges::lower_bound(rules.properties, name, {}, &Property::name);
    return found != rules.properties.end() && found->name == name ? &*found : nullptr;
  }

  // Evaluates `schema`, and then `rest` for the members and elements that no other keyword has evaluated.
  [[gnu::noinline]] bool judge_all(const Schema& schema, const Schema& rest, const Value& value, const Path& path,
                                   const Seen* outer) {
    const std::size_t before = scratch_.size();
    const Seen seen{.at = scratch_.take(words_for(value.size())), .count = value.size()};
    bool is_valid = judge(schema, value, path, &seen);
    std::size_t i = 0;
    const auto is_left = [&] { return (scratch_.at(seen.at)[i / 64] >> i % 64 & 1) == 0; };
    if (is_valid) {
      for (const Value& element : value.elements()) {
        if (is_left())
          is_valid = evaluate(rest, element, {.up = &path, .index = i, .is_index = true}, nullptr) && is_valid;
        if (!is_valid && stops()) break;
        ++i;
      }
      for (const auto& [key, member] : value.members()) {
        if (is_left()) {
          is_valid = evaluate_other(rest, member, {.up = &path, .key = key}, "unevaluatedProperties") && is_valid;
        }
        if (!is_valid && stops()) break;
        ++i;
      }
    }
    scratch_.give_back(before);
    if (is_valid) mark_all(outer);
    return is_valid;
  }

  // Evaluates the schema for a member that no property describes.
  bool evaluate_other(const Schema& schema, const Value& member, const Path& path, std::string_view keyword) {
    if (schema.types == 0) return refuse(path, keyword, [] { return std::string("is not a field of this object"); });
    return &schema == &anything || evaluate(schema, member, path, nullptr);
  }

  bool judge(const Schema& schema, const Value& value, const Path& path, const Seen* seen) {
    if (schema.types != Schema::all_types && (schema.types & internal::type_of(value)) == 0) {
      // The schema `false` is equivalent to {"not": {}} (JSON Schema 2020-12 §4.3.2).
      return refuse(path, schema.types == 0 ? "not" : "type", [&] { return internal::words_of_types(schema.types); });
    }
    bool is_valid = true;
    if (schema.has_values) is_valid = judge_values(schema, value, path);
    switch (value.kind()) {
      case Kind::Number:
        if (schema.number != nullptr) is_valid = judge_number(*schema.number, value, path) && is_valid;
        break;
      case Kind::String:
        if (schema.text != nullptr) is_valid = judge_text(*schema.text, *value.string(), path) && is_valid;
        break;
      case Kind::Array:
        if (schema.list != nullptr) is_valid = judge_list(*schema.list, value, path, seen) && is_valid;
        break;
      case Kind::Object:
        if (schema.object != nullptr) is_valid = judge_object(*schema.object, value, path, seen) && is_valid;
        break;
      default:
        break;
    }
    if (schema.combination == nullptr || (!is_valid && stops())) return is_valid;
    return judge_combination(*schema.combination, value, path, seen) && is_valid;
  }

  bool is_one_of(std::span<const Constant> values, const Value& value) noexcept {
    return work(values.size() / 8) && std::any_of(values.begin(), values.end(),
                                                  [&](const Constant& one) { return internal::is_equal(one, value); });
  }

  bool judge_values(const Schema& schema, const Value& value, const Path& path) {
    if (is_one_of(schema.values, value)) return true;
    return refuse(path, schema.is_constant ? "const" : "enum",
                  [&] { return internal::words_of_values(schema.values); });
  }

  bool judge_number(const NumberRules& rules, const Value& value, const Path& path) {
    const Number number = internal::number_of(value);
    const auto is_beyond = [&](const Limit& limit, int beyond) {
      if (limit.kind == Limit::Kind::None) return false;
      const int order = internal::compare(number, limit.number);
      return order == beyond || (order == 0 && limit.kind == Limit::Kind::Exclusive);
    };
    bool is_valid = true;
    if (is_beyond(rules.least, -1)) {
      const bool is_exclusive = rules.least.kind == Limit::Kind::Exclusive;
      is_valid =
          refuse(path, is_exclusive ? "exclusiveMinimum" : "minimum", [&] { return internal::words_of_bounds(rules); });
    } else if (is_beyond(rules.most, 1)) {
      const bool is_exclusive = rules.most.kind == Limit::Kind::Exclusive;
      is_valid =
          refuse(path, is_exclusive ? "exclusiveMaximum" : "maximum", [&] { return internal::words_of_bounds(rules); });
    }
    const bool has_step = rules.multiple_of.whole != 0 || rules.multiple_of.real != 0;
    if (has_step && !internal::is_multiple(number, rules.multiple_of)) {
      is_valid = refuse(path, "multipleOf", [&] { return internal::words_of_step(rules.multiple_of); });
    }
    return is_valid;
  }

  bool judge_text(const TextRules& rules, std::string_view text, const Path& path) {
    if (!work(text.size() / 64)) return false;
    bool is_valid = true;
    // A character has one to four bytes, so the number of bytes usually shows the result, and the characters need not
    // be counted.
    if (text.size() > rules.length_max || (text.size() + 3) / 4 < rules.length_min) {
      const std::size_t length = characters_of(text);
      if (length < rules.length_min || length > rules.length_max) {
        is_valid = refuse(path, length < rules.length_min ? "minLength" : "maxLength",
                          [&] { return internal::words_of_count(rules.length_min, rules.length_max, "character"); });
      }
    }
    if (!is_valid && stops()) return false;
    if (rules.pattern != nullptr && !rules.pattern->is_in(text)) {
      is_valid = refuse(path, "pattern", [&] { return "must match " + std::string(rules.pattern_text); });
    }
    if (rules.format != Format::None && !contract::is_valid(rules.format, text)) {
      is_valid = refuse(path, "format", [&] { return std::string(expected(rules.format)); });
    }
    return is_valid;
  }

  bool judge_list(const ListRules& rules, const Value& value, const Path& path, const Seen* seen) {
    const std::span<const Value> elements = value.elements();
    bool is_valid = true;
    if (elements.size() < rules.count_min || elements.size() > rules.count_max) {
      is_valid = refuse(path, elements.size() < rules.count_min ? "minItems" : "maxItems",
                        [&] { return internal::words_of_count(rules.count_min, rules.count_max, "element"); });
      if (stops()) return false;
    }
    if (rules.is_unique) {
      if (const std::size_t second = second_of(elements); second != elements.size()) {
        is_valid = refuse(Path{.up = &path, .index = second, .is_index = true}, "uniqueItems",
                          [] { return std::string("must not be equal to an earlier element"); });
      }
      if (has_given_up_) return false;
    }
    if (!is_valid && stops()) return false;
    const bool has_rest = rules.items != nullptr && rules.items != &anything;
    const std::size_t judged = has_rest ? elements.size() : std::min(rules.prefix.size(), elements.size());
    for (std::size_t i = 0; i < judged; ++i) {
      const Schema* const schema = i < rules.prefix.size() ? rules.prefix[i] : rules.items;
      if (schema != nullptr && !evaluate(*schema, elements[i], {.up = &path, .index = i, .is_index = true}, nullptr)) {
        is_valid = false;
        if (stops()) return false;
      }
    }
    if (seen != nullptr) {
      for (std::size_t i = 0; i < std::min(rules.prefix.size(), elements.size()); ++i) mark(seen, i);
      if (rules.items != nullptr) mark_all(seen);
    }
    if (rules.contains != nullptr) is_valid = judge_contains(rules, elements, path, seen) && is_valid;
    return is_valid;
  }

  bool judge_contains(const ListRules& rules, std::span<const Value> elements, const Path& path, const Seen* seen) {
    std::size_t found = 0;
    {
      const Quietly quietly(*this);
      for (std::size_t i = 0; i < elements.size(); ++i) {
        if (!evaluate(*rules.contains, elements[i], {.up = &path, .index = i, .is_index = true}, nullptr)) continue;
        ++found;
        mark(seen, i);
      }
    }
    if (has_given_up_) return false;
    if (found >= rules.contains_min && found <= rules.contains_max) return true;
    const char* const keyword = found > rules.contains_max ? "maxContains"
                                : rules.contains_min == 1  ? "contains"
                                                           : "minContains";
    return refuse(path, keyword, [&] { return internal::words_of_contains(rules); });
  }

  // Returns the index of the first element that equals an earlier element, or the number of elements if there is none.
  std::size_t second_of(std::span<const Value> elements) {
    if (elements.size() <= pairwise_max) {
      for (std::size_t i = 1; i < elements.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (elements[i] == elements[j]) return i;
        }
      }
      return elements.size();
    }
    const std::size_t before = scratch_.size();
    const std::size_t count = elements.size();
    std::uint64_t* const hashes = scratch_.at(scratch_.take(2 * count));
    std::uint64_t* const order = hashes + count;
    std::size_t amount = 0;
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = internal::hash(elements[i], amount);
      order[i] = i;
    }
    std::size_t second = count;
    if (work(amount)) {
      std::sort(order, order + count, [&](std::uint64_t a, std::uint64_t b) {
        return hashes[a] != hashes[b] ? hashes[a] < hashes[b] : a < b;
      });
      // Elements with the same hash are usually equal. If a client constructs collisions, the comparisons count as
      // work, so the check ends at its limit.
      for (std::size_t i = 1; i < count; ++i) {
        for (std::size_t j = i; j-- > 0 && hashes[order[j]] == hashes[order[i]] && order[i] < second;) {
          if (elements[order[i]] == elements[order[j]]) second = order[i];
          if (!work(1)) break;
        }
      }
    }
    scratch_.give_back(before);
    return second;
  }

  bool judge_object(const ObjectRules& rules, const Value& value, const Path& path, const Seen* seen) {
    bool is_valid = true;
    if (value.size() < rules.count_min || value.size() > rules.count_max) {
      is_valid = refuse(path, value.size() < rules.count_min ? "minProperties" : "maxProperties",
                        [&] { return internal::words_of_count(rules.count_min, rules.count_max, "field"); });
      if (stops()) return false;
    }
    is_valid = judge_members(rules, value, path, seen) && is_valid;
    if (!is_valid && stops()) return false;
    for (const std::string_view name : rules.required) {
      if (value.find(name) != nullptr || is_excused(name, value)) continue;
      is_valid = refuse(Path{.up = &path, .key = name}, "required", [] { return std::string("is required"); });
      if (stops()) return false;
    }
    for (const Dependency& dependency : rules.dependencies) {
      if (value.find(dependency.name) == nullptr) continue;
      for (const std::string_view name : dependency.required) {
        if (value.find(name) != nullptr || is_excused(name, value)) continue;
        is_valid = refuse(Path{.up = &path, .key = name}, "dependentRequired",
                          [&] { return "is required where '" + std::string(dependency.name) + "' is given"; });
      }
      if (dependency.schema != nullptr) is_valid = evaluate(*dependency.schema, value, path, seen) && is_valid;
      if (!is_valid && stops()) return false;
    }
    return is_valid;
  }

  bool judge_members(const ObjectRules& rules, const Value& value, const Path& path, const Seen* seen) {
    const Value::Members members = value.members();
    if (!work(members.size())) return false;
    bool is_valid = true;
    std::size_t i = 0;
    for (auto at = members.begin(); at != members.end(); ++at, ++i) {
      const auto [key, member] = *at;
      const Path here{.up = &path, .key = key};
      bool is_known = false;
      if (const Property* const property = property_of(rules, key)) {
        is_known = true;
        if (property->schema != nullptr) is_valid = evaluate(*property->schema, member, here, nullptr) && is_valid;
      }
      for (const PatternProperty& pattern : rules.patterns) {
        if (!work(1 + key.size() / 64)) return false;
        if (!pattern.pattern->is_in(key)) continue;
        is_known = true;
        if (pattern.schema != nullptr) is_valid = evaluate(*pattern.schema, member, here, nullptr) && is_valid;
      }
      if (!is_known && rules.additional != nullptr) {
        is_known = true;
        is_valid = evaluate_other(*rules.additional, member, here, "additionalProperties") && is_valid;
      }
      if (is_known) mark(seen, i);
      if (rules.names != nullptr) is_valid = judge_name(*rules.names, at.name(), here) && is_valid;
      if (!is_valid && stops()) return false;
    }
    return is_valid;
  }

  bool judge_name(const Schema& schema, const Value& name, const Path& path) {
    {
      const Quietly quietly(*this);
      if (evaluate(schema, name, path, nullptr)) return true;
    }
    if (is_quiet_ || has_given_up_) return false;
    Violations of_name;
    Violations* const outer = std::exchange(wrong_, &of_name);
    evaluate(schema, name, path, nullptr);
    wrong_ = outer;
    return refuse(path, "propertyNames", [&] {
      return "has an invalid name, which " + (of_name.empty() ? std::string("is not allowed") : of_name[0].message);
    });
  }

  // Evaluates the schema without reporting violations; the evaluated members and elements of the value are marked only
  // if the value is valid.
  bool try_one(const Schema& schema, const Value& value, const Path& path, const Seen* seen) {
    const Quietly quietly(*this);
    if (seen == nullptr) return evaluate(schema, value, path, nullptr);
    const std::size_t before = scratch_.size();
    const Seen own{.at = scratch_.take(words_for(seen->count)), .count = seen->count};
    const bool is_valid = evaluate(schema, value, path, &own);
    if (is_valid) {
      for (std::size_t i = 0; i < words_for(seen->count); ++i) scratch_.at(seen->at)[i] |= scratch_.at(own.at)[i];
    }
    scratch_.give_back(before);
    return is_valid;
  }

  bool judge_combination(const Combination& rules, const Value& value, const Path& path, const Seen* seen) {
    bool is_valid = true;
    for (const Schema* const one : rules.all_of) {
      is_valid = evaluate(*one, value, path, seen) && is_valid;
      if (!is_valid && stops()) return false;
    }
    if (!rules.any_of.empty()) is_valid = judge_any(rules.any_of, value, path, seen) && is_valid;
    if (!is_valid && stops()) return false;
    if (!rules.one_of.empty()) is_valid = judge_one(rules.one_of, value, path, seen) && is_valid;
    if (!is_valid && stops()) return false;
    if (rules.none_of != nullptr) is_valid = judge_not(*rules.none_of, value, path) && is_valid;
    if (!is_valid && stops()) return false;
    if (rules.condition != nullptr) {
      const Excuse excuse = std::exchange(excuse_, Excuse::None);
      const bool holds = try_one(*rules.condition, value, path, seen);
      excuse_ = excuse;
      if (has_given_up_) return false;
      const Schema* const next = holds ? rules.then : rules.otherwise;
      if (next != nullptr) is_valid = evaluate(*next, value, path, seen) && is_valid;
    }
    return is_valid;
  }

  bool judge_not(const Schema& schema, const Value& value, const Path& path) {
    const Excuse excuse = std::exchange(excuse_, Excuse::None);
    const bool holds = try_one(schema, value, path, nullptr);
    excuse_ = excuse;
    if (!holds) return !has_given_up_;
    return refuse(path, "not", [&] {
      if (!schema.has_values) return std::string(internal::not_allowed);
      return internal::words_of_values(schema.values).replace(0, 4, "must not");
    });
  }

  bool judge_any(Schemas alternatives, const Value& value, const Path& path, const Seen* seen) {
    bool is_valid = false;
    for (const Schema* const one : alternatives) {
      is_valid = try_one(*one, value, path, seen) || is_valid;
      if (is_valid && seen == nullptr) return true;
    }
    if (has_given_up_) return false;
    return is_valid || explain(alternatives, value, path, "anyOf", "must match one of ");
  }

  bool judge_one(Schemas alternatives, const Value& value, const Path& path, const Seen* seen) {
    std::size_t valid = 0;
    for (const Schema* const one : alternatives) {
      valid += try_one(*one, value, path, seen) ? 1 : 0;
      if (valid > 1 && stops()) return false;
    }
    if (has_given_up_) return false;
    if (valid == 1) return true;
    if (valid == 0) return explain(alternatives, value, path, "oneOf", "must match exactly one of ");
    return refuse(path, "oneOf", [&] {
      return "must match exactly one of " + std::to_string(alternatives.size()) + " alternatives, but matches " +
             std::to_string(valid);
    });
  }

  // Reports a value that matches no alternative. A message about the alternative that the client meant is the most
  // helpful one.
  bool explain(Schemas alternatives, const Value& value, const Path& path, std::string_view keyword,
               const char* words) {
    if (is_quiet_) return false;
    const Schema* meant = nullptr;
    std::size_t count = 0;
    std::uint8_t types = 0;
    for (const bool needs_required : {false, true}) {
      count = 0;
      for (const Schema* const one : alternatives) {
        types |= types_of(*one, 0);
        if (!is_meant(*one, value, needs_required, 0)) continue;
        meant = one;
        ++count;
      }
      if (count <= 1) break;
    }
    if (count == 1 && !evaluate(*meant, value, path, nullptr)) return false;
    if ((types & internal::type_of(value)) == 0)
      return refuse(path, "type", [&] { return internal::words_of_types(types); });
    return refuse(path, keyword, [&] {
      return words + std::to_string(alternatives.size()) +
             (alternatives.size() == 1 ? " alternative" : " alternatives, but matches none");
    });
  }

  static std::uint8_t types_of(const Schema& schema, int depth) noexcept {
    std::uint8_t types = schema.types;
    if (schema.combination == nullptr || depth == meant_depth_max) return types;
    for (const Schema* const one : schema.combination->all_of) types &= types_of(*one, depth + 1);
    return types;
  }

  // Guesses whether this alternative is the intended one: by the type of the value, by the constants and enumerations
  // of the value and its members, and by the required members.
  bool is_meant(const Schema& schema, const Value& value, bool needs_required, int depth) {
    if (!work(1)) return false;
    if ((schema.types & internal::type_of(value)) == 0) return false;
    if (schema.has_values && !is_one_of(schema.values, value)) return false;
    if (schema.object != nullptr && value.kind() == Kind::Object) {
      for (const Property& property : schema.object->properties) {
        if (property.schema == nullptr || !property.schema->has_values) continue;
        const Value* const member = value.find(property.name);
        if (member != nullptr && !is_one_of(property.schema->values, *member)) return false;
      }
      for (const std::string_view name : schema.object->required) {
        if (needs_required && value.find(name) == nullptr && !excuses(schema, name, 0)) return false;
      }
    }
    if (schema.combination == nullptr || depth == meant_depth_max) return true;
    return std::all_of(schema.combination->all_of.begin(), schema.combination->all_of.end(),
                       [&](const Schema* one) { return is_meant(*one, value, needs_required, depth + 1); });
  }

  const Value& root_;
  Violations* wrong_;
  std::size_t work_left_ = work_max;
  int depth_ = 0;
  bool is_quiet_ = false;
  bool is_extended_ = false;
  bool has_given_up_ = false;
  Excuse excuse_;
  const Frame* top_ = nullptr;
  Scratch scratch_;
};

}  // namespace

bool check(const Value& value, const Schema& schema, Violations& wrong, Excuse excuse) {
  return Run(value, wrong, excuse).check(schema);
}

}  // namespace keel::contract
