#include "openapi/instance.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "keel/contract/regex.h"

namespace keel::openapi {
namespace {

constexpr int steps_max = 10'000;
constexpr int nesting_max = 64;
constexpr std::size_t unique_max = 200;

// Keywords that are not looked at here: a schema that has one may refuse more.
constexpr std::array<std::string_view, 9> unknown_keywords = {
    "contains", "dependentRequired", "dependentSchemas",     "else", "if", "propertyNames",
    "then",     "unevaluatedItems",  "unevaluatedProperties"};

bool is_named_type(std::string_view type, const Node& value) noexcept {
  switch (value.kind) {
    case Kind::Null:
      return type == "null";
    case Kind::Boolean:
      return type == "boolean";
    case Kind::String:
      return type == "string";
    case Kind::List:
      return type == "array";
    case Kind::Map:
      return type == "object";
    case Kind::Number:
      break;
  }
  if (type == "number") return true;
  if (type != "integer") return false;
  const double number = value.number().value_or(0.5);
  return std::trunc(number) == number;
}

std::size_t characters_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char byte) { return (byte & 0xc0) != 0x80; }));
}

std::string join(const Node& types) {
  if (!types.is(Kind::List)) return std::string(types.text);
  std::string all;
  for (const Node* one : types.children) all += (all.empty() ? "" : " or ") + std::string(one->text);
  return all;
}

}  // namespace

struct Regex::Compiled {
  RE2 expression;
};

Regex::Regex(std::string_view pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  const contract::Regex translated(pattern);
  compiled_.reset(new Compiled{RE2(translated.re2, options)});
  if (compiled_->expression.ok()) return;
  problem_ = translated.has_look_around ? "uses look-around, which needs more than linear time: RE2 does not have it"
             : compiled_->expression.error_code() == RE2::ErrorBadEscape
                 ? "uses " + compiled_->expression.error_arg() + ", which RE2 does not have"
                 : "is no regular expression of RE2: " + compiled_->expression.error();
}
Regex::~Regex() = default;
Regex::Regex(Regex&& other) noexcept = default;

bool Regex::matches(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), compiled_->expression);
}

bool is_of_type(const Node& type, const Node& value) noexcept {
  if (type.is(Kind::String)) return is_named_type(type.text, value);
  return !type.is(Kind::List) || std::any_of(type.children.begin(), type.children.end(),
                                             [&](const Node* one) { return is_named_type(one->text, value); });
}

const Regex& Instances::regex(std::string_view pattern) {
  return regexes_.try_emplace(std::string(pattern), pattern).first->second;
}

std::optional<Misfit> Instances::misfit(const Node& schema, const Node& value) {
  steps_ = 0;
  misfit_.reset();
  if (check(schema, value, 0) != Verdict::Refused) return std::nullopt;
  return std::move(misfit_);
}

Instances::Verdict Instances::refuse(const Node& at, std::string text) {
  misfit_ = {.at = &at, .text = std::move(text)};
  return Verdict::Refused;
}

Instances::Verdict Instances::check(const Node& schema, const Node& value, int depth) {
  if (++steps_ > steps_max || depth > nesting_max) return Verdict::Unknown;
  if (schema.is(Kind::Boolean)) return schema.is_true() ? Verdict::Fits : refuse(value, "no value is allowed here");
  if (!schema.is(Kind::Map)) return Verdict::Unknown;
  Verdict verdict = Verdict::Fits;
  const auto also = [&](Verdict other) { verdict = std::max(verdict, other); };
  if (schema.find("$ref", Kind::String) != nullptr) {
    const Node* const target = document_.target(schema);
    also(target == nullptr ? Verdict::Unknown : check(*target, value, depth + 1));
  }
  if (verdict != Verdict::Refused) also(check_scalar(schema, value));
  if (verdict != Verdict::Refused && value.is(Kind::List)) also(check_list(schema, value, depth));
  if (verdict != Verdict::Refused && value.is(Kind::Map)) also(check_map(schema, value, depth));
  if (verdict != Verdict::Refused) also(check_combined(schema, value, depth));
  if (verdict == Verdict::Fits && std::any_of(unknown_keywords.begin(), unknown_keywords.end(),
                                              [&](std::string_view name) { return schema.find(name) != nullptr; })) {
    return Verdict::Unknown;
  }
  return verdict;
}

Instances::Verdict Instances::check_scalar(const Node& schema, const Node& value) {
  if (const Node* const type = schema.find("type"); type != nullptr && !is_of_type(*type, value)) {
    return refuse(value, shown(value) + " is not of the type " + join(*type));
  }
  if (const Node* const all = schema.find("enum", Kind::List);
      all != nullptr && std::none_of(all->children.begin(), all->children.end(),
                                     [&](const Node* one) { return are_equal(*one, value); })) {
    return refuse(value, shown(value) + " is not one of " + shown(*all));
  }
  if (const Node* const one = schema.find("const"); one != nullptr && !are_equal(*one, value)) {
    return refuse(value, shown(value) + " is not " + shown(*one));
  }
  if (const std::optional<double> number = value.number()) {
    const auto bound = [&](std::string_view name) -> std::optional<double> {
      const Node* const found = schema.find(name, Kind::Number);
      return found == nullptr ? std::nullopt : found->number();
    };
    const auto wrong = [&](std::string_view name) {
      return refuse(value, shown(value) + " breaks " + std::string(name) + ": " + shown(*schema.find(name)));
    };
    if (const auto least = bound("minimum"); least && *number < *least) return wrong("minimum");
    if (const auto most = bound("maximum"); most && *number > *most) return wrong("maximum");
    if (const auto least = bound("exclusiveMinimum"); least && *number <= *least) return wrong("exclusiveMinimum");
    if (const auto most = bound("exclusiveMaximum"); most && *number >= *most) return wrong("exclusiveMaximum");
    if (const auto step = bound("multipleOf"); step && *step > 0) {
      const double count = *number / *step;
      if (std::abs(count - std::round(count)) > 1e-9 * std::max(1.0, std::abs(count))) return wrong("multipleOf");
    }
  }
  if (value.is(Kind::String)) {
    const auto size = static_cast<std::int64_t>(characters_of(value.text));
    const Node* const least = schema.find("minLength");
    const Node* const most = schema.find("maxLength");
    if (least != nullptr && size < least->whole().value_or(0))
      return refuse(value, shown(value) + " is shorter than minLength: " + shown(*least));
    if (most != nullptr && size > most->whole().value_or(size))
      return refuse(value, shown(value) + " is longer than maxLength: " + shown(*most));
    if (const Node* const pattern = schema.find("pattern", Kind::String)) {
      const Regex& expression = regex(pattern->text);
      if (!expression.problem().empty()) return Verdict::Unknown;
      if (!expression.matches(value.text))
        return refuse(value, shown(value) + " does not match the pattern " + shown(*pattern));
    }
  }
  return Verdict::Fits;
}

Instances::Verdict Instances::check_list(const Node& schema, const Node& value, int depth) {
  const auto size = static_cast<std::int64_t>(value.children.size());
  const Node* const least = schema.find("minItems");
  const Node* const most = schema.find("maxItems");
  if (least != nullptr && size < least->whole().value_or(0))
    return refuse(value, "there are fewer elements than minItems: " + shown(*least));
  if (most != nullptr && size > most->whole().value_or(size))
    return refuse(value, "there are more elements than maxItems: " + shown(*most));
  Verdict verdict = Verdict::Fits;
  if (const Node* const unique = schema.find("uniqueItems"); unique != nullptr && unique->is_true()) {
    if (value.children.size() > unique_max) verdict = Verdict::Unknown;
    for (std::size_t i = 0; verdict == Verdict::Fits && i < value.children.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (are_equal(*value.children[i], *value.children[j]))
          return refuse(*value.children[i], shown(*value.children[i]) + " is there twice: uniqueItems");
      }
    }
  }
  const Node* const prefix = schema.find("prefixItems", Kind::List);
  const Node* const items = schema.find("items");
  for (std::size_t i = 0; i < value.children.size(); ++i) {
    const Node* const one = prefix != nullptr && i < prefix->children.size() ? prefix->children[i] : items;
    if (one == nullptr) continue;
    verdict = std::max(verdict, check(*one, *value.children[i], depth + 1));
    if (verdict == Verdict::Refused || steps_ > steps_max) break;
  }
  return verdict;
}

Instances::Verdict Instances::check_map(const Node& schema, const Node& value, int depth) {
  const auto size = static_cast<std::int64_t>(value.children.size());
  const Node* const least = schema.find("minProperties");
  const Node* const most = schema.find("maxProperties");
  if (least != nullptr && size < least->whole().value_or(0))
    return refuse(value, "there are fewer properties than minProperties: " + shown(*least));
  if (most != nullptr && size > most->whole().value_or(size))
    return refuse(value, "there are more properties than maxProperties: " + shown(*most));
  if (const Node* const required = schema.find("required", Kind::List)) {
    for (const Node* const name : required->children) {
      if (value.find(name->text) == nullptr)
        return refuse(value, "the required property '" + std::string(name->text) + "' is missing");
    }
  }
  const Node* const properties = schema.find("properties", Kind::Map);
  const Node* const patterns = schema.find("patternProperties", Kind::Map);
  const Node* const others = schema.find("additionalProperties");
  Verdict verdict = Verdict::Fits;
  for (const Node* const member : value.children) {
    bool is_known = false;
    if (const Node* const property = properties == nullptr ? nullptr : properties->find(member->key)) {
      is_known = true;
      verdict = std::max(verdict, check(*property, *member, depth + 1));
    }
    for (const Node* const pattern : patterns == nullptr ? std::vector<Node*>() : patterns->children) {
      const Regex& expression = regex(pattern->key);
      if (!expression.problem().empty()) return Verdict::Unknown;
      if (!expression.matches(member->key)) continue;
      is_known = true;
      verdict = std::max(verdict, check(*pattern, *member, depth + 1));
    }
    if (!is_known && others != nullptr) {
      if (others->is(Kind::Boolean) && !others->is_true()) {
        return refuse(*member, "the property '" + std::string(member->key) +
                                   "' is not in the schema, which allows no additionalProperties");
      }
      verdict = std::max(verdict, check(*others, *member, depth + 1));
    }
    if (verdict == Verdict::Refused || steps_ > steps_max) break;
  }
  return verdict;
}

Instances::Verdict Instances::check_combined(const Node& schema, const Node& value, int depth) {
  Verdict verdict = Verdict::Fits;
  if (const Node* const all = schema.find("allOf", Kind::List)) {
    for (const Node* const one : all->children) {
      verdict = std::max(verdict, check(*one, value, depth + 1));
      if (verdict == Verdict::Refused) return verdict;
    }
  }
  for (const std::string_view name : {"anyOf", "oneOf"}) {
    const Node* const some = schema.find(name, Kind::List);
    if (some == nullptr) continue;
    std::size_t fitting = 0;
    std::size_t unknown = 0;
    for (const Node* const one : some->children) {
      const Verdict verdict_of_one = check(*one, value, depth + 1);
      fitting += verdict_of_one == Verdict::Fits;
      unknown += verdict_of_one == Verdict::Unknown;
    }
    if (fitting == 0 && unknown == 0) {
      if (some->children.size() == 1 && misfit_) return Verdict::Refused;
      return refuse(value, shown(value) + " fits no schema of " + std::string(name));
    }
    if (name == "oneOf" && fitting > 1) {
      return refuse(value, shown(value) + " fits " + std::to_string(fitting) + " schemas of oneOf");
    }
    if (unknown != 0) verdict = std::max(verdict, Verdict::Unknown);
  }
  if (const Node* const other = schema.find("not")) {
    const Verdict of_other = check(*other, value, depth + 1);
    if (of_other == Verdict::Fits) return refuse(value, shown(value) + " fits the schema of not");
    verdict = std::max(verdict, of_other == Verdict::Unknown ? Verdict::Unknown : Verdict::Fits);
  }
  return verdict;
}

}  // namespace keel::openapi
