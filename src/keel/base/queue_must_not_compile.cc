// Each case, chosen by CASE, is rejected by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include <string>

#include "keel/base/mpmc_queue.h"
#include "keel/base/mpsc_queue.h"
#include "keel/base/spsc_ring.h"

struct Stubborn {  // Its moves may throw.
  Stubborn();
  Stubborn(Stubborn&&);
  Stubborn& operator=(Stubborn&&);
};
struct Linked {
  Linked* next;
};
struct Unlinked {};

void use() {
  keel::SpscRing<std::string> strings(4);
  strings.try_push("text");
  keel::SpscRing<int> numbers(4);
  numbers.room()[0] = 1;
  keel::MpmcQueue<std::string> shared(4);
  shared.try_push("text");
  Linked linked;
  keel::MpscQueue<Linked> mailbox;
  mailbox.push(linked);
#if CASE == 1
  keel::SpscRing<Stubborn> stubborn(4);
#elif CASE == 2
  keel::MpmcQueue<Stubborn> stubborn(4);
#elif CASE == 3
  strings.room();
#elif CASE == 4
  keel::MpscQueue<Unlinked> unlinked;
  Unlinked element;
  unlinked.push(element);
#elif CASE == 5
  auto copy = numbers;
#endif
}
