// Each case, chosen by CASE, is refused by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include "keel/events/bus.h"

using namespace keel;

struct Placed {
  int order = 0;
};
struct Shipped {};
struct Counter {
  void count(const Placed&) { ++events; }
  int events = 0;
};

void subscribe(events::Bus& bus, int& sum, Counter& counter) {
#if CASE == 0
  const events::Subscription here = bus.subscribe<Placed>([&sum](const Placed& event) { sum += event.order; });
  const events::Subscription task = bus.subscribe<Placed>([](const Placed&) -> Task<> { co_return; });
#elif CASE == 1
  const events::Subscription wrong = bus.subscribe<Placed>([](const Shipped&) {});
#elif CASE == 2
  const events::Subscription wrong = bus.subscribe<Placed>([&sum](const Placed& event) -> Task<> {
    sum += event.order;
    co_return;
  });
#elif CASE == 3
  bus.subscribe<Placed>([](const Placed&) {});
#elif CASE == 4
  const events::Subscription wrong =
      bus.subscribe<Placed>([](const Placed&) { return Shipped(); }, [](const Placed&) {});
#elif CASE == 5
  const events::Subscription wrong = bus.subscribe<Placed>([](const Placed&) {}, counter, &Counter::count);
#endif
  static_cast<void>(sum);
  static_cast<void>(counter);
}
