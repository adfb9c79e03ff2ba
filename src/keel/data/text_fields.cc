#include "keel/data/text_fields.h"

#include <bit>
#include <cmath>

#include "keel/data/internal/whole_number.h"
#include "keel/data/utf8.h"

namespace keel::internal {
namespace {

template <class T>
bool read_finite(std::string_view text, T& value, TextFault& fault) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = end == text.data() + text.size();
  // Without this condition, "nan" and "inf" would be accepted too, and would pass any range check that does not
  // consider NaN and infinity.
  if (is_whole && error == std::errc() && std::isfinite(value)) return true;
  if (is_whole && error == std::errc::result_out_of_range) return fault.set("number out of range", "format");
  return fault.set("expected a number", "type");
}

}  // namespace

bool read_string(const NamedText& in, std::string_view& value, TextFault& fault) {
  if (in.is_file) return fault.set("expected a text, not a file", "type");
  if (!utf8::is_valid(in.text)) return fault.set("is not UTF-8", {});
  value = in.text;
  return true;
}

bool read_boolean(std::string_view text, bool& value, TextFault& fault) {
  value = text == "true" || text == "1" || text == "on";
  if (value || text == "false" || text == "0" || text == "off") return true;
  return fault.set("expected true or false", "type");
}

bool refuse_integer(std::string_view text, const IntegerRange& range, TextFault& fault) {
  const char* const words = range.refusal_of(text);
  const char* const keyword = json::internal::range_keyword(range, text.starts_with('-'));
  return fault.set(words, words == range.expected ? keyword : "type");
}

bool read_floating(std::string_view text, double& value, TextFault& fault) { return read_finite(text, value, fault); }
bool read_floating(std::string_view text, float& value, TextFault& fault) { return read_finite(text, value, fault); }

void wrong_name(const EnumNames& names, TextFault& fault) {
  std::string words = "must be one of ";
  bool is_first = true;
  for (std::size_t value = 0; value < names.count; ++value) {
    const std::string_view name = names.name(value);
    if (name.empty()) continue;
    if (!is_first) words += ", ";
    is_first = false;
    words += name;
  }
  fault.set(words, "enum");
}

bool read_texts(std::span<const NamedText> texts, const TextTable& table, void* const* fields, const void* object,
                Violations& wrong) {
  wrong.clear();
  std::uint64_t seen = 0;
  std::uint64_t bad = 0;
  TextFault fault;
  for (const NamedText& in : texts) {
    const std::size_t i = json::internal::find_field(table, in.name);
    if (i == table.count) {
      if (table.is_strict) wrong.add(in.name, "is not a known name", "additionalProperties");
      continue;
    }
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (in.text.empty() && !in.is_file && (table.takes_empty & bit) == 0) continue;
    if ((seen & ~table.lists & bit) != 0) {
      if ((bad & bit) == 0) wrong.add(in.name, "is given twice");
      bad |= bit;
      continue;
    }
    seen |= bit;
    if (!table.read[i](in, fields[i], fault)) {
      wrong.add(in.name, fault.words, fault.keyword);
      bad |= bit;
    }
  }
  for (std::uint64_t missing = table.required & ~seen; missing != 0; missing &= missing - 1) {
    wrong.add(table.names[std::countr_zero(missing)], "is required", "required");
  }
  if (table.rules != nullptr) {
    const auto tell = [](void* context, std::string_view field, std::string_view said, std::string_view keyword) {
      static_cast<Violations*>(context)->add(field, said, keyword);
    };
    Check check(fields, {table.names, table.count}, (seen | table.lists) & ~bad, wrong.empty(), tell, &wrong);
    table.rules(object, check);
  }
  return wrong.empty();
}

}  // namespace keel::internal
