// What is read lies within the years of four digits, and both of its texts are read as the same time. Any time that can
// be reached by arithmetic can be written.

#include <cstdlib>
#include <cstring>

#include "keel/data/timestamp.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const Result<Timestamp> time = Timestamp::parse(text)) {
    if (*time < Timestamp::first() || *time > Timestamp::last()) std::abort();
    if (Timestamp::parse(time->text()).value() != *time) std::abort();
    if (Timestamp::parse(time->ordered_text()).value() != *time) std::abort();
  }
  std::int64_t numbers[2] = {};
  std::memcpy(numbers, data, size < sizeof numbers ? size : sizeof numbers);
  const Timestamp from = Timestamp::from_unix_seconds(numbers[0]);
  const Timestamp to = from + Duration::nanoseconds(numbers[1]);
  if (Timestamp::parse(to.text()).value() != to) std::abort();
  if ((numbers[1] < 0) != (to < from) && to != from) std::abort();
  return 0;
}
