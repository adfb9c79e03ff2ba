// What a call costs by what the container gives, in instructions; and calls of services by the bus.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "keel/app/container.h"
#include "keel/base/sanitizers.h"
#include "keel/events/bus.h"
#include "keel/exec/executor.h"
#include "keel/observe/metric.h"
#include "keel/task/testing.h"

namespace keel::app::container_calls_test {
namespace {

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void add(int n) = 0;
};
class PlainCounter : public Counter {
 public:
  [[gnu::noinline]] void add(int n) override { sum_ += n; }
  [[gnu::noinline]] void add_direct(int n) { sum_ += n; }

 private:
  int sum_ = 0;
};
// What the container does not put in between.
class Adapter : public Counter {
 public:
  explicit Adapter(PlainCounter& to) : to_(to) {}
  [[gnu::noinline]] void add(int n) override { static_cast<Counter&>(to_).add(n); }

 private:
  PlainCounter& to_;
};

volatile int one = 1;  // Which the compiler does not know.
[[gnu::noinline]] void call_interface(Counter& counter) { counter.add(one); }
[[gnu::noinline]] void call_direct(Counter& counter) { static_cast<PlainCounter&>(counter).add_direct(one); }

#if defined(__x86_64__) && !KEEL_SANITIZED
volatile std::uint64_t steps = 0;

// Instructions of `function`, and always the same few around it, by the trap flag: each of them ends with a SIGTRAP. 0
// where that is not permitted.
std::uint64_t instructions_of(void (*function)(Counter&), Counter& counter) {
  void (*volatile f)(Counter&) = function;
  struct sigaction counting = {};
  struct sigaction before = {};
  counting.sa_handler = [](int) { steps = steps + 1; };
  ::sigaction(SIGTRAP, &counting, &before);
  steps = 0;
  // Below the red zone.
  asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
                   : "memory", "cc");
  f(counter);
  asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
                   : "memory", "cc");
  const std::uint64_t counted = steps;
  ::sigaction(SIGTRAP, &before, nullptr);
  return counted;
}
#else
std::uint64_t instructions_of(void (*)(Counter&), Counter&) { return 0; }
#endif

TEST(ContainerCalls, to_an_interface_are_one_virtual_call) {
  Container container;
  container.singleton<Counter, PlainCounter>();
  const Services services = container.build().value();
  PlainCounter plain;
  Adapter adapter(plain);

  const std::uint64_t of_container = instructions_of(&call_interface, services.get<Counter>());
  const std::uint64_t of_plain = instructions_of(&call_interface, plain);
  const std::uint64_t of_adapter = instructions_of(&call_interface, adapter);
  const std::uint64_t direct = instructions_of(&call_direct, plain);
  if (of_plain == 0) GTEST_SKIP() << "instructions cannot be counted here";

  EXPECT_EQ(of_container, of_plain);
  EXPECT_GT(of_plain, direct) << "a virtual call loads the address";
  EXPECT_LE(of_plain, direct + 3) << "and aligns the stack";
  EXPECT_GT(of_adapter, of_plain) << "what an adapter would cost is seen";
}

struct Placed {
  int order = 0;
};
class Mailer {
 public:
  virtual ~Mailer() = default;
  virtual void send(int order) = 0;
};
struct KeptMail : Mailer {
  void send(int order) override { orders.push_back(order); }
  std::vector<int> orders;
};
// Its handlers use what the container gave it: an interface, and an executor by its interface.
class Receipts {
 public:
  Receipts(events::Bus& bus, Mailer& mailer, Executor& executor)
      : mailer_(mailer), subscription_(bus.subscribe<Placed>(*this, &Receipts::on_order, {.executor = &executor})) {}

 private:
  void on_order(const Placed& event) { mailer_.send(event.order); }

  Mailer& mailer_;
  events::Subscription subscription_;
};

TEST(ContainerCalls, reach_services_by_a_bus_and_an_executor_that_are_services_too) {
  metrics::Registry registry;
  testing::TestLoop loop;
  KeptMail mail;
  {
    Container container;
    container.singleton<Receipts>().value<Mailer>(mail).value<Executor>(loop);
    container.value(registry).singleton<events::Bus>();
    const Services services = container.build().value();

    services.get<events::Bus>().publish(Placed{7});
    EXPECT_TRUE(mail.orders.empty());
    loop.run_jobs();

    EXPECT_EQ(mail.orders, std::vector<int>{7});
    metrics::Reading reading;
    std::string names;
    registry.read(reading, [&](std::span<const metrics::Family> families) {
      for (const metrics::Family& family : families) names += family.name + " ";
    });
    EXPECT_NE(names.find("events_delivered_total "), std::string::npos) << names;
  }
  EXPECT_EQ(mail.orders.size(), 1u);
}

}  // namespace
}  // namespace keel::app::container_calls_test
