// Each case, chosen by CASE, is rejected by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include "keel/exec/call.h"

#include "keel/exec/inline_executor.h"
#include "keel/exec/submitted.h"
#include "keel/exec/thread_pool.h"

struct Immovable {
  Immovable() = default;
  Immovable(const Immovable&) = delete;
};

struct alignas(64) Line {
  char bytes[64];
};

void use(keel::ThreadPool& pool, keel::Executor& executor) {
  static int number = 1;
  const Line line{};
#if CASE == 0
  (void)execute(pool, [] {}, keel::Priority::Low);
  (void)execute(executor, [] {});
  (void)submit(executor, [] { return number; });
#elif CASE == 1  // Its result would be lost, and so would a task that never began.
  (void)execute(executor, [] { return number; });
#elif CASE == 2
  (void)submit(executor, []() -> int& { return number; });
#elif CASE == 3
  (void)submit(executor, [] { return Immovable(); });
#elif CASE == 4  // Not every executor tells priorities apart.
  (void)execute(executor, [] {}, keel::Priority::Low);
#elif CASE == 5
  submit(executor, [] { return number; });
#elif CASE == 6
  (void)execute(executor, [line] { number += line.bytes[0]; });
#elif CASE == 7
  (void)submit(executor, [line] { number += line.bytes[0]; });
#elif CASE == 8
  (void)submit(executor, [&line] { return line; });
#endif
  static_cast<void>(line);
}
