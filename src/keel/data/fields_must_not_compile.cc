// Each case, chosen by CASE, is refused by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include <map>
#include <string>

#include "keel/data/json_parse.h"
#include "keel/data/json_write.h"

struct Line {
  std::string sku;
};
struct Viewed {
  std::optional<std::string_view> name;
};
class Closed {
 public:
  explicit Closed(int value) : value_(value) {}

 private:
  int value_;
};
struct Derived : Line {
  int quantity;
};
struct Referring {
  int& number;
};
struct CArray {
  int numbers[3];
};
struct Pointing {
  const char* name;
};
struct Fixed {
  const int number = 1;
};
struct Keyed {
  std::map<int, int> numbers;
};
struct Misspelt {
  int quantity;
  static constexpr std::string_view optional_fields[] = {"quantty"};
};
enum class Large { Million = 1'000'000 };
enum Old { red };
struct Twice {
  int created_at;
  int createdAt;
  static constexpr auto name_case = keel::Case::Camel;
};
struct Wide {
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9;
  int c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, e0;
};
struct Judged {
  std::string sku;
  void rules(keel::Check& check) const {
    (void)check(sku).length(1, 2);
#if CASE == 14
    check(sku).count(1, 2);
#endif
  }
};

void use() {
  (void)keel::json::parse<Line>("{}");
  keel::Arena arena;
  (void)keel::json::parse<Viewed>("{}", arena);
  (void)keel::json::write(Fixed());
  (void)keel::json::parse<Judged>("{}");
#if CASE == 1
  (void)keel::json::write(Closed(1));
#elif CASE == 2
  (void)keel::json::write(Derived());
#elif CASE == 3
  int number = 1;
  (void)keel::json::write(Referring{number});
#elif CASE == 4
  (void)keel::json::parse<CArray>("{}");
#elif CASE == 5
  (void)keel::json::write(Pointing());
#elif CASE == 6
  (void)keel::json::parse<Viewed>("{}");
#elif CASE == 7
  (void)keel::json::parse<Fixed>("{}");
#elif CASE == 8
  (void)keel::json::parse<Keyed>("{}");
#elif CASE == 9
  (void)keel::json::parse<Misspelt>("{}");
#elif CASE == 10
  (void)keel::json::write(Large());
#elif CASE == 11
  (void)keel::json::write(red);
#elif CASE == 12
  (void)keel::json::write(Twice());
#elif CASE == 13
  (void)keel::json::write('x');
#elif CASE == 14
  (void)keel::json::parse<Judged>("{}");
#elif CASE == 15
  (void)keel::json::write(Wide());
#endif
}
