#include "keel/contract/internal/values.h"

#include <cmath>
#include <cstring>

#include "keel/base/siphash.h"
#include "keel/data/decimal.h"

namespace keel::contract::internal {
namespace {

bool is_negative(const Number& number) noexcept {
  return number.kind == Number::Kind::Signed && static_cast<std::int64_t>(number.whole) < 0;
}

std::uint64_t magnitude(const Number& number) noexcept {
  return is_negative(number) ? std::uint64_t{0} - number.whole : number.whole;
}

int sign_of(bool is_less, bool is_equal) noexcept { return is_less ? -1 : is_equal ? 0 : 1; }

// The comparison is exact: `real` is converted only if it is within the range of 64-bit integers, and its fraction is
// compared afterwards.
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

keel::internal::DecimalSize size_of(const Number& number) noexcept {
  using Size = keel::internal::DecimalSize;
  return number.kind == Number::Kind::Real ? Size(number.real) : Size(magnitude(number));
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
  // Two negative numbers in two's complement have the same order when they are compared as unsigned integers.
  return sign_of(a.whole < b.whole, a.whole == b.whole);
}

bool is_integer(const Number& number) noexcept {
  return number.kind != Number::Kind::Real || std::trunc(number.real) == number.real;
}

bool is_multiple(const Number& number, const Number& step) noexcept {
  if (number.kind != Number::Kind::Real && step.kind != Number::Kind::Real)
    return magnitude(number) % magnitude(step) == 0;
  return keel::internal::is_multiple(size_of(number), size_of(step));
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

// The key is not secret, so a client can construct collisions: colliding values are compared one by one, and the caller
// limits the number of comparisons.
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
      std::uint64_t all = 6;  // The hashes of the members are added, so their order does not matter.
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
