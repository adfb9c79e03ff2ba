#include "keel/base/owned.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace keel::owned_test {
namespace {

// As a header has it: Counted is only named.
struct Counted;
class Owner {
 public:
  Owner(int& living, int value);
  ~Owner();
  int value() const noexcept;
  void set(int value) const noexcept;

 private:
  Owned<Counted> counted_;
};

struct Counted {
  Counted(int& l, int v) : living(l), value(v) { ++living; }
  ~Counted() { --living; }
  int& living;
  int value;
};

Owner::Owner(int& living, int value) : counted_(Owned<Counted>::make(living, value)) {}
Owner::~Owner() = default;
int Owner::value() const noexcept { return (*counted_).value; }
void Owner::set(int value) const noexcept { counted_->value = value; }

TEST(Owned, ends_what_it_owns_with_itself) {
  int living = 0;
  {
    const Owner owner(living, 7);

    EXPECT_EQ(living, 1);
    EXPECT_EQ(owner.value(), 7);
  }

  EXPECT_EQ(living, 0);
}

TEST(Owned, lets_its_owner_change_the_object_as_a_pointer_does) {
  int living = 0;
  const Owner owner(living, 7);

  owner.set(8);

  EXPECT_EQ(owner.value(), 8);
}

TEST(Owned, has_one_owner_for_its_life_and_the_size_of_a_pointer) {
  static_assert(!std::is_copy_constructible_v<Owned<int>> && !std::is_move_constructible_v<Owned<int>>);
  static_assert(sizeof(Owned<int>) == sizeof(void*));

  const auto owned = Owned<int>::make(5);

  EXPECT_EQ(*owned, 5);
}

}  // namespace
}  // namespace keel::owned_test
