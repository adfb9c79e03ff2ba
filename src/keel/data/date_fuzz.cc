// A date that is read lies in the years 0000 to 9999, and is written as it was read. Any day that can be reached by
// arithmetic can be written, and read back.

#include <cstdlib>
#include <cstring>

#include "keel/data/date.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const Result<Date> date = Date::parse(text)) {
    if (date->text().view() != text) std::abort();
    if (*date < Date::first() || *date > Date::last()) std::abort();
    if (Date::make(date->year(), date->month(), date->day()).value() != *date) std::abort();
  }
  std::int64_t numbers[3] = {};
  std::memcpy(numbers, data, size < sizeof numbers ? size : sizeof numbers);
  const Date from = Date::from_unix_days(numbers[0]);
  for (const Date to : {from, from + numbers[1], from - numbers[1], from.plus_months(numbers[2])}) {
    if (Date::parse(to.text()).value() != to) std::abort();
    if (to + (from - to) != from) std::abort();
  }
  if (numbers[1] > 0 && from + numbers[1] < from) std::abort();
  if (numbers[2] > 0 && from.plus_months(numbers[2]) < from) std::abort();
  return 0;
}
