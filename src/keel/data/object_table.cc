#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "keel/data/internal/object_table.h"

namespace keel::json::internal {
namespace {

std::size_t find_wide(const WideTable& table, std::string_view name) noexcept {
  const std::size_t mask = (std::size_t{1} << table.slot_bits) - 1;
  for (std::size_t slot = name_slot(name, table.slot_bits); table.slots[slot] != 0; slot = (slot + 1) & mask) {
    const std::size_t i = table.slots[slot] - 1u;
    if (table.names[i] == name) return i;
  }
  return table.count;
}

template <class T>
bool are_all_different(std::vector<T> list) {
  std::sort(list.begin(), list.end());
  return std::adjacent_find(list.begin(), list.end()) == list.end();
}

}  // namespace

void read_wide_object(Reader& in, const WideTable& table, void* const* fields, Violations& wrong) {
  if (!in.begin_object()) return;
  const int depth = in.depth();
  std::uint64_t seen[wide_max / 64] = {};
  std::size_t expected = 0;
  while (const auto key = in.next_key(table.keys[expected])) {
    std::size_t i = expected;
    if (key->data() != table.names[i].data() || i == table.count) i = find_wide(table, *key);
    if (i == table.count) {
      if (table.read_other != nullptr) {
        if (!table.read_other(in, fields[table.count], *key, wrong)) return refuse_second(in, wrong);
      } else {
        in.skip();
        if (table.is_strict) in.fail("is not a field of this object");
      }
    } else {
      const std::uint64_t bit = std::uint64_t{1} << i % 64;
      if ((seen[i / 64] & bit) != 0) return refuse_second(in, wrong);
      seen[i / 64] |= bit;
      table.read[i](in, fields[i], wrong);
      expected = i + 1;
    }
    if (in.failed() && !collect(in, depth, wrong)) return;
  }
  for (std::size_t i = 0; i < table.count && !in.failed(); ++i) {
    if (table.is_required[i] && (seen[i / 64] >> i % 64 & 1) == 0)
      refuse_left(in, table.names[i], "is required", wrong);
  }
}

void read_empty_object(Reader& in, bool is_strict, Violations& wrong) {
  static constexpr std::string_view none[] = {{}};
  static constexpr std::uint8_t slots[] = {0, 0};
  const ReadTable table = {none, none, slots, nullptr, nullptr, 0, 0, 1, is_strict};
  read_object(in, table, nullptr, nullptr, wrong);
}

bool has_length(std::string_view text, std::size_t least, std::size_t most) noexcept {
  // A character is one to four bytes of UTF-8: most lengths are right whatever the text is made of.
  if (text.size() <= most && (text.size() + 3) / 4 >= least) return true;
  std::size_t characters = 0;
  for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return characters >= least && characters <= most;
}

bool is_multiple(double number, double of) noexcept {
  if (std::fmod(number, of) == 0) return true;
  // What is written as 0.3 and 0.1 is no multiple in binary. The quotient of two shortest decimals is whole when it is
  // within the rounding of both.
  const double quotient = number / of;
  const double whole = std::round(quotient);
  if (!std::isfinite(quotient) || std::abs(quotient) > 1e15) return false;
  return whole != 0 && std::abs(quotient - whole) <= std::abs(whole) * 4e-16;
}

bool are_different(const std::vector<std::string>& list) {
  std::vector<std::string_view> views(list.begin(), list.end());
  return are_all_different(std::move(views));
}
bool are_different(const std::vector<std::int32_t>& list) { return are_all_different(list); }
bool are_different(const std::vector<std::int64_t>& list) { return are_all_different(list); }
bool are_different(const std::vector<double>& list) { return are_all_different(list); }

int choose_by_value(Reader& in, std::string_view name, std::span<const std::string_view> values, const char* expected,
                    Violations& wrong) {
  const Reader::Mark mark = in.mark();
  if (!in.begin_object()) return -1;
  while (const auto key = in.next_key()) {
    if (*key != name) {
      in.skip();
      continue;
    }
    const std::string_view value = in.string();
    if (in.failed()) return -1;
    const auto found = std::find(values.begin(), values.end(), value);
    if (found != values.end()) return in.rewind(mark) ? static_cast<int>(found - values.begin()) : -1;
    in.fail(expected);
    return -1;
  }
  if (!in.failed()) refuse_left(in, name, "is required", wrong);
  return -1;
}

int choose_by_name(Reader& in, std::span<const std::string_view> names, int otherwise, const char* expected,
                   Violations& wrong) {
  const Reader::Mark mark = in.mark();
  if (!in.begin_object()) return -1;
  auto first = names.end();
  while (const auto key = in.next_key()) {
    first = std::min(first, std::find(names.begin(), names.end(), *key));
    in.skip();
  }
  if (in.failed()) return -1;
  const int chosen = first == names.end() ? otherwise : static_cast<int>(first - names.begin());
  if (chosen >= 0) return in.rewind(mark) ? chosen : -1;
  refuse_left(in, {}, expected, wrong);
  return -1;
}

void refuse_kind(Reader& in, const char* expected) {
  in.skip();
  in.fail(expected);
}

}  // namespace keel::json::internal
