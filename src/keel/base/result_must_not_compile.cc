// Each case, chosen by CASE, is rejected by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include "keel/base/result.h"

#include <vector>

#include "keel/base/collect.h"

using namespace keel;

Result<int> half(int value) {
  if (value % 2 != 0) return fail(Code::InvalidArgument, "odd");
  return value / 2;
}
int add_one(int value) { return value + 1; }

Result<int> use(int value) {
#if CASE == 0
  KEEL_TRY_VOID(half(value));
  KEEL_TRY_VOID(collect(std::vector<Result<>>(2)));
#elif CASE == 1
  half(value);
#elif CASE == 2
  const Result<int&> reference(value);
#elif CASE == 3
  const Result<Error> failure(Error(Code::NotFound, "which of the two?"));
#elif CASE == 4
  return half(value).and_then(add_one);
#elif CASE == 5
  (void)collect(std::vector<int>{value});
#endif
  return half(value).and_then(half).map(add_one);
}
