// What the compiler says of structs, pinned for each.

#include "keel/data/fields.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::fields_test {

struct Named {
  int first;
};
struct Foreign {
  Foreign(int a, int b) : x(a), y(b) {}
  int x;
  int y;
};
namespace inner {
template <class T>
struct Box {
  T content;
  struct Lid {
    int hinge;
  };
};
}  // namespace inner

namespace {

enum class Status { Open };

struct Empty {};
struct Rich {
  std::array<int, 3> three;
  std::string text;
  std::string_view view;
  std::optional<std::string> maybe;
  std::vector<std::vector<int>> lists;
  std::map<std::string, int> map;
  Named nested;
  Status status;
  Uuid id;
  Timestamp at = Timestamp::first();
  const int fixed = 1;
  bool class_;
  double Größe = 0;
};
struct Wide {
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9;
  int c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9;
};
class Account {
 public:
  Account() = default;
  int id() const { return id_; }

 private:
  int id_ = 7;
  std::string owner_ = "Ada";

 public:
  static constexpr auto fields = keel::fields("id", &Account::id_, "the owner", &Account::owner_);
};

template <class T>
std::vector<std::string_view> names() {
  return {Fields<T>::names.begin(), Fields<T>::names.end()};
}
using List = std::vector<std::string_view>;

TEST(Fields, has_the_names_of_a_structs_members_in_their_order) {
  EXPECT_EQ(names<Rich>(), (List{"three", "text", "view", "maybe", "lists", "map", "nested", "status", "id", "at",
                                 "fixed", "class", "Größe"}));
  EXPECT_EQ(names<Named>(), List{"first"});
  EXPECT_EQ(names<Empty>(), List());
}

TEST(Fields, finds_the_names_in_types_of_every_place) {
  struct Local {
    int alpha;
    std::string _beta;
  };

  EXPECT_EQ(names<Local>(), (List{"alpha", "_beta"}));
  EXPECT_EQ((names<inner::Box<std::map<std::string, inner::Box<int>>>>()), List{"content"});
  EXPECT_EQ(names<inner::Box<Local>::Lid>(), List{"hinge"});
}

TEST(Fields, has_up_to_forty_members_of_a_struct) {
  EXPECT_EQ(Fields<Wide>::count, 40u);
  EXPECT_EQ(names<Wide>().front(), "a0");
  EXPECT_EQ(names<Wide>().back(), "d9");
  Wide wide{};
  Fields<Wide>::visit(wide, [](auto&... field) {
    int i = 0;
    ((field = i++), ...);
  });
  EXPECT_EQ(wide.a0, 0);
  EXPECT_EQ(wide.b7, 17);
  EXPECT_EQ(wide.d9, 39);
}

TEST(Fields, visits_the_members_themselves) {
  const Named named{4};
  const int* address = Fields<Named>::visit(named, [](const int& first) { return &first; });
  EXPECT_EQ(address, &named.first);
}

TEST(Fields, are_listed_in_a_type_that_is_no_aggregate) {
  EXPECT_EQ(names<Account>(), (List{"id", "the owner"}));
  Account account;
  Fields<Account>::visit(account, [](int& id, std::string& owner) { id = static_cast<int>(owner.size()); });
  EXPECT_EQ(account.id(), 3);
}

}  // namespace
}  // namespace keel::fields_test

template <>
inline constexpr auto keel::fields_of<keel::fields_test::Foreign> =
    keel::fields("x", &keel::fields_test::Foreign::x, "y", &keel::fields_test::Foreign::y);

namespace keel::fields_test {
namespace {

TEST(Fields, are_listed_outside_of_a_type_that_cannot_be_changed) { EXPECT_EQ(names<Foreign>(), (List{"x", "y"})); }

}  // namespace
}  // namespace keel::fields_test
