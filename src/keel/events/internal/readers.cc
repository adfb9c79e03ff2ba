#include "keel/events/internal/readers.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/base/sanitizers.h"
#include "keel/events/internal/topic_core.h"

namespace keel::events::internal {
namespace {

long membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0); }

bool register_barrier() noexcept {
  if (KEEL_THREAD_SANITIZER) return false;
  const long offered = membarrier(MEMBARRIER_CMD_QUERY);
  return offered >= 0 && (offered & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 &&
         membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}
bool has_barrier() noexcept {
  static const bool has = register_barrier();
  return has;
}

}  // namespace

struct Readers {
  std::atomic<Reader*> first = nullptr;
  std::mutex mutex;                 // Guards the members below, and additions to the list.
  std::vector<std::uint32_t> free;  // Topic numbers that were given back, for reuse.
  std::uint32_t topics = 0;

  // Never destroyed, because threads may publish until the process ends.
  static Readers& all() noexcept {
    static Readers& the_readers = *new Readers;
    return the_readers;
  }

  Reader& take() {
    const std::lock_guard lock(mutex);
    for (Reader* reader = first.load(std::memory_order_relaxed); reader != nullptr; reader = reader->next_) {
      // Acquire: the thread that takes the Reader over sees the counts of the previous thread.
      if (!reader->is_taken_.load(std::memory_order_acquire)) {
        reader->is_taken_.store(true, std::memory_order_relaxed);
        return *reader;
      }
    }
    auto* const made = new Reader(has_barrier());
    made->next_ = first.load(std::memory_order_relaxed);
    // This store is sequentially consistent, like the announcements of publishers: if a thread that replaces a list of
    // subscribers does not see this Reader, the Reader sees the new list.
    first.store(made, std::memory_order_seq_cst);
    return *made;
  }
  static void leave(Reader& reader) noexcept { reader.is_taken_.store(false, std::memory_order_release); }

  template <class F>
  static bool any_frame(F&& f) noexcept {
    for (Reader* reader = all().first.load(std::memory_order_seq_cst); reader != nullptr; reader = reader->next_) {
      if (any_frame_of(*reader, f)) return true;
    }
    return false;
  }
  template <class F>
  static bool any_frame_of(Reader& reader, F&& f) noexcept {
    for (Frame* at = &reader.outermost_; at != nullptr; at = at->inner.load(std::memory_order_acquire)) {
      if (f(*at)) return true;
    }
    return false;
  }
  // The counts of `topic` on every thread.
  template <class F>
  static void each_counts(std::uint32_t topic, F&& f) noexcept {
    for (Reader* reader = all().first.load(std::memory_order_acquire); reader != nullptr; reader = reader->next_) {
      f(reader->counts_[topic]);
    }
  }
};

Reader& make_current_reader() {
  struct Leaving {
    Reader* reader = nullptr;
    ~Leaving() {
      current_reader = nullptr;
      Readers::leave(*reader);
    }
  };
  Reader& reader = Readers::all().take();
  thread_local Leaving leaving;
  leaving.reader = &reader;
  current_reader = &reader;
  return reader;
}

Reader::Reader(bool has_barrier) : counts_(new Counts[topics_max]), has_barrier_(has_barrier) {
  static constexpr Snapshot nobodys;
  if (!has_barrier) outermost_.snapshot.store(&nobodys, std::memory_order_relaxed);
}

Frame& Reader::first_free() {
  Frame* frame = &outermost_;
  while (!frame->is_free()) {
    Frame* inner = frame->inner.load(std::memory_order_relaxed);
    if (inner == nullptr) {
      inner = new Frame;
      frame->inner.store(inner, std::memory_order_release);
    }
    frame = inner;
  }
  return *frame;
}

void pass_barrier() noexcept {
  if (!has_barrier()) return;
  KEEL_CHECK(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0, "membarrier(2) must work after its registration");
}

bool is_read(const Snapshot& snapshot) noexcept {
  return Readers::any_frame([&](Frame& frame) { return frame.snapshot.load(std::memory_order_seq_cst) == &snapshot; });
}

bool is_called(const Subscriber& subscriber) noexcept {
  return Readers::any_frame([&](Frame& frame) { return frame.calling.load(std::memory_order_seq_cst) == &subscriber; });
}

bool is_called_here(const Subscriber& subscriber) noexcept {
  if (current_reader == nullptr) return false;
  return Readers::any_frame_of(
      *current_reader, [&](Frame& frame) { return frame.calling.load(std::memory_order_relaxed) == &subscriber; });
}

std::uint32_t take_topic() {
  Readers& all = Readers::all();
  const std::lock_guard lock(all.mutex);
  if (!all.free.empty()) {
    const std::uint32_t topic = all.free.back();
    all.free.pop_back();
    return topic;
  }
  KEEL_CHECK(all.topics < topics_max, "a process has at most 1024 topics at a time");
  return all.topics++;
}

void give_back_topic(std::uint32_t topic) noexcept {
  Readers::each_counts(topic, [](Counts& counts) {
    for (auto* count : {&counts.published, &counts.delivered, &counts.failed, &counts.dropped}) {
      count->set(0);
    }
  });
  Readers& all = Readers::all();
  const std::lock_guard lock(all.mutex);
  all.free.push_back(topic);
}

Totals totals(std::uint32_t topic) noexcept {
  Totals sum;
  Readers::each_counts(topic, [&sum](const Counts& counts) {
    sum.published += counts.published.get();
    sum.delivered += counts.delivered.get();
    sum.failed += counts.failed.get();
    sum.dropped += counts.dropped.get();
  });
  return sum;
}

void Patience::wait() noexcept {
  constexpr int spins = 256;
  if (++turns_ > spins) Host::system().sleep(Duration::microseconds(50) * std::min(turns_ - spins, 20));
}

}  // namespace keel::events::internal
