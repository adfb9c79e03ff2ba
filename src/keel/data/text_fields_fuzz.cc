// A query that is read into a struct is what a reader written by hand makes of it, and refused by both or by neither;
// what comes in another order, the texts of a name in theirs, is read the same.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "keel/base/arena.h"
#include "keel/data/text_fields.h"
#include "keel/data/uri.h"
#include "keel/data/utf8.h"

namespace {

using namespace keel;

enum class Status { Open, Paid };

struct Texts {
  std::int8_t small;
  bool flag = false;
  double real = 0;
  std::optional<Status> status;
  std::string text = "none";
  std::string_view view = "none";
  std::vector<std::uint16_t> numbers;
  std::vector<std::string> names;
  static constexpr std::string_view optional_fields[] = {"flag", "real", "text", "view"};

  bool operator==(const Texts&) const = default;
};

using Given = std::map<std::string, std::vector<std::string>>;

// A whole number in decimal, without a plus sign; nothing when it is none or has more than 18 digits.
std::optional<long long> integer(const std::string& text, bool may_be_negative) {
  const bool is_negative = may_be_negative && text.starts_with('-');
  const std::string digits = text.substr(is_negative ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != digits.npos) return std::nullopt;
  const std::size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
  if (digits.size() - first > 18) return std::nullopt;
  const long long value = std::stoll(digits.substr(first));
  return is_negative ? -value : value;
}

// The one text of the name; nothing when there is none, and false when there are several.
bool take_one(const Given& given, const char* name, bool takes_empty, std::optional<std::string>& one) {
  const auto found = given.find(name);
  if (found == given.end()) return true;
  for (const std::string& text : found->second) {
    if (text.empty() && !takes_empty) continue;
    if (one) return false;
    one = text;
  }
  return true;
}

// By hand, in no way like what is tested. `views` keeps what is viewed.
bool read_by_hand(const Given& given, Texts& texts, std::string& view) {
  std::optional<std::string> one;
  if (!take_one(given, "small", false, one) || !one) return false;
  const auto small = integer(*one, true);
  if (!small || *small < -128 || *small > 127) return false;
  texts.small = static_cast<std::int8_t>(*small);
  one.reset();
  if (!take_one(given, "flag", false, one)) return false;
  if (one) {
    texts.flag = *one == "true" || *one == "1" || *one == "on";
    if (!texts.flag && *one != "false" && *one != "0" && *one != "off") return false;
  }
  one.reset();
  if (!take_one(given, "real", false, one)) return false;
  if (one) {
    char* end = nullptr;
    texts.real = std::strtod(one->c_str(), &end);
    // strtod() reads blanks, a plus sign and hexadecimal digits as well.
    if (end != one->c_str() + one->size() || one->find_first_not_of("0123456789.eE+-") != one->npos ||
        one->starts_with('+') || !std::isfinite(texts.real)) {
      return false;
    }
  }
  one.reset();
  if (!take_one(given, "status", false, one)) return false;
  if (one) {
    if (*one != "Open" && *one != "Paid") return false;
    texts.status = *one == "Paid" ? Status::Paid : Status::Open;
  }
  one.reset();
  if (!take_one(given, "text", true, one) || (one && !utf8::is_valid(*one))) return false;
  if (one) texts.text = *one;
  one.reset();
  if (!take_one(given, "view", true, one) || (one && !utf8::is_valid(*one))) return false;
  if (one) texts.view = view = *one;
  if (given.contains("numbers")) {
    for (const std::string& text : given.at("numbers")) {
      if (text.empty()) continue;
      const auto number = integer(text, false);
      if (!number || *number > 65535) return false;
      texts.numbers.push_back(static_cast<std::uint16_t>(*number));
    }
  }
  if (given.contains("names")) texts.names = given.at("names");
  return std::ranges::all_of(texts.names, [](const std::string& name) { return utf8::is_valid(name); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Arena arena;
  uri::QueryPairs pairs({reinterpret_cast<const char*>(data), size}, arena);
  std::vector<NamedText> list;
  Given given;
  while (const auto pair = pairs.next()) {
    list.push_back({pair->key, pair->value});
    given[std::string(pair->key)].emplace_back(pair->value);
  }
  Texts texts;
  Violations wrong;
  const bool is_read = read_texts(texts, list, wrong);
  Texts by_hand{};
  std::string view;
  // A double too small for one is refused by the one, and zero for the other.
  const bool is_tiny = std::ranges::any_of(
      wrong, [](const Violation& one) { return one.pointer == "real" && one.message == "number out of range"; });
  if (!is_tiny && is_read != read_by_hand(given, by_hand, view)) std::abort();
  if (is_read != wrong.empty() || wrong.is_malformed() || wrong.size() > Violations::count_max) std::abort();
  for (const Violation& one : wrong) {
    if (one.message.empty() || one.pointer.size() > Violations::pointer_bytes_max) std::abort();
  }
  if (!is_read) return 0;
  if (!(texts == by_hand)) std::abort();

  // By name, those of one name in their order: each behind the last that is not above it.
  std::vector<NamedText> sorted;
  for (const NamedText& one : list) {
    sorted.insert(std::ranges::upper_bound(sorted, one.name, {}, &NamedText::name), one);
  }
  Texts again;
  if (!read_texts(again, sorted, wrong) || !(again == texts)) std::abort();
  return 0;
}
