// Structs read as json_fields.cc reads them, and once more by a Reader alone, call by call, which looks at each number
// and string as slowly as it can. For the test and the fuzzer that compare the two.

#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/data/json_parse.h"

namespace keel::json_cursor_test {

struct Inner {
  std::string_view s;
  std::int32_t number_of_them = 0;
  bool number_of_thes = false;  // As long as the one before, and equal but for one letter in the middle.
  static constexpr bool strict_fields = true;
};
struct Outer {
  std::int32_t a = 0;
  std::uint32_t bb = 0;
  std::int64_t ccc = 0;
  std::uint64_t dddd = 0;
  double eeeee = 0;
  bool f = false;
  std::string text;
  std::string_view eightlet;
  std::optional<std::int64_t> perhaps;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::array<std::int32_t, 2> pair{};
  Inner inner_of_many_letters;
  std::vector<Outer> outers;
  static constexpr std::string_view optional_fields[] = {
      "bb",    "ccc", "dddd", "eeeee", "f", "text", "eightlet", "numbers", "texts", "pair", "inner_of_many_letters",
      "outers"};
};

class ByReaderAlone {
 public:
  ByReaderAlone(std::string_view text, Arena& arena, Violations& wrong) : in_(text, arena), wrong_(wrong) {}

  void read(Outer& outer) {
    object(1,
           {"a", "bb", "ccc", "dddd", "eeeee", "f", "text", "eightlet", "perhaps", "numbers", "texts", "pair",
            "inner_of_many_letters", "outers"},
           false, [&](std::size_t i) { field(outer, i); });
  }
  bool finish() {
    if (in_.failed()) json::internal::collect(in_, 0, wrong_);
    if (!in_.failed() && !in_.finish()) json::internal::collect(in_, 0, wrong_);
    return wrong_.empty();
  }

 private:
  void field(Outer& outer, std::size_t i) {
    switch (i) {
      case 0:
        return signed_number(outer.a);
      case 1:
        return unsigned_number(outer.bb);
      case 2:
        return signed_number(outer.ccc);
      case 3:
        return unsigned_number(outer.dddd);
      case 4:
        return real(outer.eeeee);
      case 5:
        outer.f = in_.boolean();
        return;
      case 6:
        outer.text = text();
        return;
      case 7:
        outer.eightlet = text();
        return;
      case 8:
        outer.perhaps.reset();
        if (!in_.try_null()) signed_number(outer.perhaps.emplace());
        return;
      case 9:
        outer.numbers.clear();
        return list([&] { real(outer.numbers.emplace_back()); });
      case 10:
        outer.texts.clear();
        return list([&] {
          std::string& one = outer.texts.emplace_back();
          one = text();
        });
      case 11: {
        std::size_t count = 0;
        list([&] {
          if (count < 2) {
            signed_number(outer.pair[count]);
          } else {
            in_.skip();
          }
          ++count;
        });
        if (!in_.failed() && count != 2) json::internal::wrong_element_count(in_, count, 2, wrong_);
        return;
      }
      case 12:
        return object(7, {"s", "number_of_them", "number_of_thes"}, true, [&](std::size_t inner) {
          Inner& to = outer.inner_of_many_letters;
          if (inner == 0) {
            to.s = text();
          } else if (inner == 1) {
            signed_number(to.number_of_them);
          } else {
            to.number_of_thes = in_.boolean();
          }
        });
      default:
        outer.outers.clear();
        return list([&] { read(outer.outers.emplace_back()); });
    }
  }

  template <class Read>
  void object(std::uint64_t required, const std::vector<std::string_view>& names, bool is_strict, Read read_field) {
    if (!in_.begin_object()) return;
    const int depth = in_.depth();
    std::uint64_t seen = 0;
    while (const auto key = in_.next_key()) {
      std::size_t i = 0;
      while (i < names.size() && names[i] != *key) ++i;
      if (i == names.size()) {
        in_.skip();
        if (is_strict) in_.fail("is not a field of this object", nullptr, "additionalProperties");
      } else {
        if ((seen >> i & 1) != 0) return json::internal::refuse_second(in_, wrong_);
        seen |= std::uint64_t{1} << i;
        read_field(i);
      }
      if (in_.failed() && !json::internal::collect(in_, depth, wrong_)) return;
    }
    if (in_.failed()) return;
    for (std::size_t i = 0; i < names.size() && !in_.failed(); ++i) {
      if ((required >> i & 1) == 0 || (seen >> i & 1) != 0) continue;
      in_.fail("is required", names[i].data());
      json::internal::collect(in_, depth, wrong_);
    }
  }
  template <class Read>
  void list(Read read_element) {
    if (!in_.begin_array()) return;
    const int depth = in_.depth();
    while (in_.next_element()) {
      read_element();
      if (in_.failed() && !json::internal::collect(in_, depth, wrong_)) return;
    }
  }

  std::string_view text() {
    if (in_.peek() != json::Kind::String) return in_.string();
    const json::Reader::Mark mark = in_.mark();
    const std::string_view raw = in_.skip();
    if (in_.failed()) return {};
    if (raw.find('\\') == raw.npos) return raw.substr(1, raw.size() - 2);
    return in_.rewind(mark) ? in_.string() : std::string_view();
  }
  // The digits with the point where the exponent moves it to; nothing when there are some behind it.
  static std::optional<std::string> moved_point(std::string_view text) {
    const std::size_t e = std::min(text.find_first_of("eE"), text.size());
    std::string digits(text.substr(0, e));
    const bool is_negative = digits[0] == '-';
    if (is_negative) digits.erase(0, 1);
    double exponent = e == text.size() ? 0 : std::strtod(std::string(text.substr(e + 1)).c_str(), nullptr);
    if (const std::size_t point = digits.find('.'); point != digits.npos) {
      exponent -= static_cast<double>(digits.size() - point - 1);
      digits.erase(point, 1);
    }
    if (digits.find_first_not_of('0') == digits.npos) return is_negative ? "-0" : "0";
    while (digits.ends_with('0')) {
      digits.pop_back();
      ++exponent;
    }
    if (exponent < 0) return std::nullopt;
    digits.append(static_cast<std::size_t>(std::min(exponent, 50.0)), '0');
    digits.erase(0, digits.find_first_not_of('0'));
    return is_negative ? '-' + digits : digits;
  }
  template <class T>
  void whole_number(T& value) {
    if (in_.peek() != json::Kind::Number) {
      in_.int64();
      return;
    }
    const std::string_view text = in_.number_text();
    if (in_.failed()) return;
    const std::optional<std::string> digits_of = moved_point(text);
    if (!digits_of) return in_.fail("expected an integer");
    const std::string_view digits = *digits_of;
    T number = 0;
    if (std::is_unsigned_v<T> && digits == "-0") return;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (end.ec != std::errc() || end.ptr != digits.data() + digits.size()) {
      return in_.fail(integer_range<T>.expected);
    }
    value = number;
  }
  template <class T>
  void signed_number(T& value) {
    whole_number(value);
  }
  template <class T>
  void unsigned_number(T& value) {
    whole_number(value);
  }
  void real(double& value) {
    value = 0;
    const std::string_view digits = in_.number_text();
    if (in_.failed()) return;
    double number = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (end.ec != std::errc() || !std::isfinite(number)) return in_.fail("number out of range");
    value = number;
  }

  json::Reader in_;
  Violations& wrong_;
};

inline bool equal(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }
inline bool equal(const Outer& x, const Outer& y) {
  bool is_equal = x.a == y.a && x.bb == y.bb && x.ccc == y.ccc && x.dddd == y.dddd && equal(x.eeeee, y.eeeee) &&
                  x.f == y.f && x.text == y.text && x.eightlet == y.eightlet && x.perhaps == y.perhaps &&
                  x.texts == y.texts && x.pair == y.pair && x.inner_of_many_letters.s == y.inner_of_many_letters.s &&
                  x.inner_of_many_letters.number_of_them == y.inner_of_many_letters.number_of_them &&
                  x.inner_of_many_letters.number_of_thes == y.inner_of_many_letters.number_of_thes &&
                  x.numbers.size() == y.numbers.size() && x.outers.size() == y.outers.size();
  for (std::size_t i = 0; is_equal && i < x.numbers.size(); ++i) is_equal = equal(x.numbers[i], y.numbers[i]);
  for (std::size_t i = 0; is_equal && i < x.outers.size(); ++i) is_equal = equal(x.outers[i], y.outers[i]);
  return is_equal;
}

// What the two ways disagree about; empty when they agree.
inline std::string difference(std::string_view text) {
  Arena arena;
  Violations wrong;
  Violations wrong_alone;
  Outer outer;
  Outer outer_alone;
  const bool is_read = json::read(outer, text, arena, wrong);
  ByReaderAlone alone(text, arena, wrong_alone);
  alone.read(outer_alone);
  if (alone.finish() != is_read) return "the verdict";
  if (wrong.is_malformed() != wrong_alone.is_malformed() || wrong.has_more() != wrong_alone.has_more() ||
      wrong.size() != wrong_alone.size()) {
    return "how much is wrong";
  }
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const Violation& a = wrong[i];
    const Violation& b = wrong_alone[i];
    if (a.pointer != b.pointer || a.message != b.message || a.line != b.line || a.column != b.column) {
      return a.pointer + ": " + a.message + ", or " + b.pointer + ": " + b.message;
    }
  }
  return is_read && !equal(outer, outer_alone) ? "the values" : "";
}

}  // namespace keel::json_cursor_test
