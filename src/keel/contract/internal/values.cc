#include "keel/contract/internal/values.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "keel/base/siphash.h"

namespace keel::contract::internal {
namespace {

using Wide = unsigned __int128;

bool is_negative(const Number& number) noexcept {
  return number.kind == Number::Kind::Signed && static_cast<std::int64_t>(number.whole) < 0;
}

std::uint64_t magnitude(const Number& number) noexcept {
  return is_negative(number) ? std::uint64_t{0} - number.whole : number.whole;
}

int sign_of(bool is_less, bool is_equal) noexcept { return is_less ? -1 : is_equal ? 0 : 1; }

// Neither operand is rounded, because a double with a fraction is below 2^53.
int compare_real(double real, const Number& whole) noexcept {
  if (real >= 0x1p64) return 1;
  if (real < -0x1p63) return -1;
  const double truncated = std::trunc(real);
  const Number nearest =
      truncated < 0 ? Number(static_cast<std::int64_t>(truncated)) : Number(static_cast<std::uint64_t>(truncated));
  const int order = compare(nearest, whole);
  if (order != 0 || real == truncated) return order;
  return real < truncated ? -1 : 1;
}

// digits · 10^exponent, without its sign.
struct Decimal {
  std::uint64_t digits = 0;
  int exponent = 0;
};

Decimal decimal_of(const Number& number) noexcept {
  if (number.kind != Number::Kind::Real) return {magnitude(number), 0};
  char text[32];
  const char* const end =
      std::to_chars(text, text + sizeof text, std::abs(number.real), std::chars_format::scientific).ptr;
  Decimal made;
  const char* at = text;
  for (bool is_fraction = false; at != end && *at != 'e'; ++at) {
    if (*at == '.') {
      is_fraction = true;
      continue;
    }
    made.digits = made.digits * 10 + static_cast<std::uint64_t>(*at - '0');
    made.exponent -= is_fraction ? 1 : 0;
  }
  if (at != end && ++at != end) {
    int exponent = 0;
    std::from_chars(*at == '+' ? at + 1 : at, end, exponent);
    made.exponent += exponent;
  }
  return made;
}

// 10^exponent modulo `modulus`.
std::uint64_t power_of_ten(int exponent, std::uint64_t modulus) noexcept {
  std::uint64_t result = 1 % modulus;
  std::uint64_t base = 10 % modulus;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = static_cast<std::uint64_t>(Wide{result} * base % modulus);
    base = static_cast<std::uint64_t>(Wide{base} * base % modulus);
  }
  return result;
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
  char bytes[16];
  std::memcpy(bytes, &a, 8);
  std::memcpy(bytes + 8, &b, 8);
  return siphash({}, {bytes, sizeof bytes});
}

}  // namespace

Number number_of(const json::Value& value) noexcept {
  if (const auto whole = value.int64()) return Number(*whole);
  if (const auto whole = value.uint64()) return Number(*whole);
  return Number(value.number().value_or(0));
}

int compare(const Number& a, const Number& b) noexcept {
  const bool is_real = a.kind == Number::Kind::Real;
  if (is_real && b.kind == Number::Kind::Real) return sign_of(a.real < b.real, a.real == b.real);
  if (is_real) return compare_real(a.real, b);
  if (b.kind == Number::Kind::Real) return -compare_real(b.real, a);
  if (is_negative(a) != is_negative(b)) return is_negative(a) ? -1 : 1;
  // This is also correct for two negative numbers in two's complement.
  return sign_of(a.whole < b.whole, a.whole == b.whole);
}

bool is_integer(const Number& number) noexcept {
  return number.kind != Number::Kind::Real || std::trunc(number.real) == number.real;
}

bool is_multiple(const Number& number, const Number& step) noexcept {
  if (number.kind != Number::Kind::Real && step.kind != Number::Kind::Real)
    return magnitude(number) % magnitude(step) == 0;
  const Decimal a = decimal_of(number);
  const Decimal b = decimal_of(step);
  const int shift = a.exponent - b.exponent;
  if (shift >= 0) {
    return Wide{a.digits % b.digits} * power_of_ten(shift, b.digits) % b.digits == 0;
  }
  if (a.digits == 0) return true;
  if (shift < -19) return false;  // The step has more trailing zeros than a 64-bit number can have.
  Wide divisor = b.digits;
  for (int i = shift; i < 0; ++i) divisor *= 10;
  return a.digits % divisor == 0;
}

bool is_equal(const Constant& constant, const json::Value& value) noexcept {
  if (value.kind() != constant.kind) return false;
  switch (constant.kind) {
    case json::Kind::Boolean:
      return value.boolean() == constant.boolean;
    case json::Kind::Number:
      return compare(number_of(value), constant.number) == 0;
    case json::Kind::String:
      return value.string() == constant.text;
    case json::Kind::Array: {
      if (value.size() != constant.size) return false;
      const std::span<const json::Value> elements = value.elements();
      for (std::size_t i = 0; i < elements.size(); ++i) {
        if (!is_equal(constant.elements[i], elements[i])) return false;
      }
      return true;
    }
    case json::Kind::Object:
      if (value.size() != constant.size) return false;
      for (std::size_t i = 0; i < constant.size; ++i) {
        const json::Value* const member = value.find(constant.names[i]);
        if (member == nullptr || !is_equal(constant.elements[i], *member)) return false;
      }
      return true;
    default:
      return true;
  }
}

// The key is not secret: values that collide are compared one by one, and the caller limits that.
std::uint64_t hash(const json::Value& value, std::size_t& work) noexcept {
  ++work;
  switch (value.kind()) {
    case json::Kind::Boolean:
      return *value.boolean() ? 1 : 2;
    case json::Kind::Number: {
      const Number number = number_of(value);
      std::uint64_t bits = number.whole;
      if (number.kind == Number::Kind::Real) std::memcpy(&bits, &number.real, sizeof bits);
      return mixed(3, bits);
    }
    case json::Kind::String: {
      const std::string_view text = *value.string();
      work += text.size() / 64;
      return siphash({.low = 4}, text);
    }
    case json::Kind::Array: {
      std::uint64_t all = 5;
      for (const json::Value& element : value.elements()) all = mixed(all, hash(element, work));
      return all;
    }
    case json::Kind::Object: {
      std::uint64_t all = 6;  // The sum does not depend on the order of the members.
      for (const auto& [key, member] : value.members()) {
        work += key.size() / 64;
        all += siphash({.low = 7, .high = hash(member, work)}, key);
      }
      return all;
    }
    default:
      return 0;
  }
}

std::uint8_t type_of(const json::Value& value) noexcept {
  switch (value.kind()) {
    case json::Kind::Boolean:
      return Schema::boolean_bit;
    case json::Kind::Number:
      return is_integer(number_of(value)) ? Schema::integer_bit : Schema::number_bit;
    case json::Kind::String:
      return Schema::string_bit;
    case json::Kind::Array:
      return Schema::list_bit;
    case json::Kind::Object:
      return Schema::object_bit;
    default:
      return Schema::null_bit;
  }
}

}  // namespace keel::contract::internal
