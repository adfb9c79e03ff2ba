// Each case, chosen by CASE, is refused by the compiler (CMakeLists.txt looks for the name of the reason). CASE 0
// compiles.

#include <string>
#include <vector>

#include "keel/db/sql.h"

template <class... A>
constexpr int run(keel::db::SqlOf<A...> sql, const A&...) {
  return sql.parameters();
}
template <class... A>
int values(keel::db::SqlOf<A...> sql, const A&... arguments) {
  return keel::db::with_arguments(
      sql, [](std::span<const keel::db::Value> list) { return int(list.size()); }, arguments...);
}
struct Line {
  int quantity;
  int sku;
  std::vector<int> parts;
};

#if CASE == 0
static_assert(run("select $1 + $2", 1, 2) == 2);
int all(const Line& line) { return run("insert into lines (sku, quantity) values ($sku, $quantity)", line); }
#elif CASE == 1
constexpr int too_few = run("select $1 + $2", 1);
#elif CASE == 2
constexpr int too_many = run("select $1", 1, 2);
#elif CASE == 3
constexpr int gap = run("select $2", 1, 2);
#elif CASE == 4
int made_at_run_time(const char* text) { return run(text, 1); }
#elif CASE == 5
int no_field(const Line& line) { return run("select $sku, $size", line); }
#elif CASE == 6
int both(const Line& line) { return run("select $sku, $1", line); }
#elif CASE == 7
int numbers(const Line& line) { return run("select $1", line); }
#elif CASE == 8
int none(const Line& line) { return run("select 1", line); }
#elif CASE == 9
int list(const Line& line) { return run("select $parts", line); }
#elif CASE == 10
int names_of_nothing(int quantity) { return run("select $quantity", quantity); }
#elif CASE == 11
int both_of_scalars(int quantity) { return run("select $quantity, $1", quantity); }
#elif CASE == 12
int struct_at_run_time(const char* text, const Line& line) { return run(text, line); }
#elif CASE == 13
int struct_beside_others(const Line& line) { return values("select $1, $2", 1, line); }
#endif
