// Each case, chosen by CASE, is refused by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "keel/data/decimal.h"
#include "keel/data/json_parse.h"
#include "keel/data/json_value.h"
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

struct Card {
  int number;
  static constexpr keel::Tag tag = {"type", "card"};
};
struct Cash {
  int cents;
  static constexpr keel::Tag tag = {"type", "cash"};
};
struct Coins {
  int cents;
  static constexpr keel::Tag tag = {"type", "cash"};
};
struct Kind {
  int number;
  static constexpr keel::Tag tag = {"kind", "kind"};
};
struct Clash {
  int type;
  static constexpr keel::Tag tag = {"type", "clash"};
};
template <class... T>
struct Either {
  std::variant<T...> value;
};
struct Listed {
  std::vector<std::string> names;
  void rules(keel::Check& check) const {
    check.each(names).length(1, 2);
#if CASE == 22
    check.each(names.front()).length(1, 2);
#elif CASE == 23
    check(names).matches("[a-z]+");
#elif CASE == 24
    check(names.front()).matches(names.front());
#endif
  }
};

void use() {
  (void)keel::json::parse<Line>("{}");
  keel::Arena arena;
  (void)keel::json::parse<Viewed>("{}", arena);
  (void)keel::json::write(Fixed());
  (void)keel::json::parse<Judged>("{}");
  (void)keel::json::parse<Listed>("{}");
  (void)keel::json::write(keel::json::parse<Either<Card, Cash>>("{}").value());
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
#elif CASE == 16
  (void)keel::json::parse<Either<Card, Line>>("{}");
#elif CASE == 17
  (void)keel::json::write(Either<Card, int>());
#elif CASE == 18
  (void)keel::json::parse<Either<Card, Kind>>("{}");
#elif CASE == 19
  (void)keel::json::parse<Either<Cash, Coins>>("{}");
#elif CASE == 20
  (void)keel::json::write(Either<Card, Clash>());
#elif CASE == 21
  (void)keel::json::write(std::byte());
#elif CASE == 22 || CASE == 23 || CASE == 24
  (void)keel::json::parse<Listed>("{}");
#elif CASE == 25
  (void)keel::json::Value().get<Line>("/line");
#elif CASE == 26
  (void)keel::json::Value('x');
#elif CASE == 27
  (void)keel::Decimal(19.90);
#elif CASE == 28
  using namespace keel::literals;
  (void)1234567890123456789012345678901234567_dec;
#endif
}
