// Results, executors and events in a program that has no server.

#include <cstdio>

#include "keel/base/result.h"
#include "keel/events/bus.h"
#include "keel/exec/submitted.h"
#include "keel/exec/thread_pool.h"

using namespace keel;

namespace {

struct Counted {
  int value;
};

Result<int> half(int value) {
  if (value % 2 != 0) return fail(Code::InvalidArgument, "not even");
  return value / 2;
}

}  // namespace

int main() {
  ThreadPool pool({.threads = 1});
  events::Bus bus;
  int heard = 0;
  const events::Subscription subscription =
      bus.subscribe<Counted>([&heard](const Counted& event) { heard += event.value; });

  auto submitted = submit(pool, [] { return half(42); });
  const Result<int> answer = submitted.get();
  if (!answer || half(*answer)) return 1;
  bus.publish(Counted{*answer});

  std::printf("%d\n", heard);
  return heard == 21 ? 0 : 1;
}
