// Each case, chosen by CASE, is refused by the compiler (CMakeLists.txt looks for the name of the reason). CASE 0
// compiles.

#include "keel/db/sql.h"

template <class... A>
constexpr int run(keel::db::SqlFor<sizeof...(A)> sql, const A&...) {
  return sql.parameters();
}

#if CASE == 0
static_assert(run("select $1 + $2", 1, 2) == 2);
#elif CASE == 1
constexpr int too_few = run("select $1 + $2", 1);
#elif CASE == 2
constexpr int too_many = run("select $1", 1, 2);
#elif CASE == 3
constexpr int gap = run("select $2", 1, 2);
#elif CASE == 4
int made_at_run_time(const char* text) { return run(text, 1); }
#endif
