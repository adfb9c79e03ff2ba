#include "keel/observe/flight_recorder.h"

#include <algorithm>

#include "keel/base/check.h"

namespace keel {
namespace {

constinit std::atomic<FlightRecorder*> recorders[FlightRecorder::recorders_max] = {};

}  // namespace

FlightRecorder::FlightRecorder(int worker) noexcept : worker_(worker) {
  KEEL_CHECK(flight::internal::current_recorder == nullptr, "a thread can have only one flight recorder");
  for (auto& place : recorders) {
    FlightRecorder* nobody = nullptr;
    if (!place.compare_exchange_strong(nobody, this, std::memory_order_release)) continue;
    flight::internal::current_recorder = this;
    return;
  }
}

FlightRecorder::~FlightRecorder() {
  for (auto& place : recorders) {
    FlightRecorder* self = this;
    if (place.compare_exchange_strong(self, nullptr, std::memory_order_acq_rel)) {
      flight::internal::current_recorder = nullptr;
    }
  }
}

void FlightRecorder::each(FunctionRef<void(const FlightRecorder&)> f) noexcept {
  for (const auto& place : recorders) {
    if (const FlightRecorder* const recorder = place.load(std::memory_order_acquire)) f(*recorder);
  }
}

void FlightRecorder::last(int count, FunctionRef<void(const flight::Entry&)> f) const noexcept {
  const std::uint64_t end = noted_.load(std::memory_order_acquire);
  const std::uint64_t begin = end - std::min<std::uint64_t>({end, entries_max, static_cast<std::uint64_t>(count)});
  for (std::uint64_t at = end; at-- > begin;) {
    std::uint64_t words[8];
    const Slot& slot = slots_[at % slot_count];
    // Acquire order makes sure that `noted_` is read after the fields. So `noted_` shows whether a field was
    // overwritten in the meantime.
    for (std::size_t i = 0; i < slot.size(); ++i) words[i] = slot[i].load(std::memory_order_acquire);
    if (noted_.load(std::memory_order_relaxed) + 1 >= at + slot_count) return;
    flight::Entry entry;
    entry.verb = unpack(words[0]);
    entry.object = unpack(words[1]);
    entry.outcome = static_cast<unsigned>(words[2]);
    entry.bytes = words[3];
    entry.started = Instant::from_ns(static_cast<std::int64_t>(words[4]));
    entry.took = Duration::nanoseconds(static_cast<std::int64_t>(words[5]));
    entry.trace = {words[6], words[7]};
    f(entry);
  }
}

}  // namespace keel
