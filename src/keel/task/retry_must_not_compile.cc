// Each case, chosen by CASE, is rejected by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include "keel/task/retry.h"

#include <string>

using namespace keel;

Task<int> ask(std::string question);

Task<int> tried_again(Retry& retry, std::string question) {
#if CASE == 0
  const auto named = [question] { return ask(question); };
  co_await retry.run(named);
  co_return co_await retry.run([&] { return with_timeout(10_ms, ask(question)); });
#elif CASE == 1
  co_return co_await retry.run([question] { return ask(question); });
#endif
}
