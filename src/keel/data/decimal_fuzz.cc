// Text is read, and numbers are calculated with, as the slow reference does it.

#include <cstdlib>
#include <cstring>

#include "keel/data/decimal.h"
#include "keel/data/internal/slow_decimal_test.h"

namespace {

using namespace keel;

void read(std::string_view text) {
  const Result<Decimal> fast = Decimal::parse(text);
  if (!slow_decimal::disagreement(slow_decimal::parsed(text), fast).empty()) std::abort();
  if (fast && Decimal::parse(fast->text()).value().text().view() != fast->text().view()) std::abort();
}

Decimal number(const unsigned char* bytes) {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::memcpy(&low, bytes + 1, 8);
  std::memcpy(&high, bytes + 9, 8);
  // Up to 36 digits in two halves, of which any may be short.
  const int scale = bytes[0] % 37;
  std::string digits = std::to_string(high % 1'000'000'000'000'000'000) + (low < 0 ? "" : std::to_string(low));
  if (digits.find('-') != 0 && low % 2 != 0) digits.insert(0, "-");
  while (digits.size() > 1 && digits.size() > 36 + (digits[0] == '-' ? 1u : 0u)) digits.pop_back();
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  const std::size_t zeros = std::min(digits.find_first_not_of('0', first), digits.size() - 1) - first;
  digits.erase(first, zeros);
  return Decimal::parse(digits + "e-" + std::to_string(scale)).value_or(Decimal());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read({reinterpret_cast<const char*>(data), size});
  if (size < 36) return 0;
  const Decimal a = number(data);
  const Decimal b = number(data + 17);
  const auto rounding = static_cast<Rounding>(data[35] % 6);
  if (!slow_decimal::first_disagreement(a, b, data[34] % 37, rounding).empty()) std::abort();
  return 0;
}
