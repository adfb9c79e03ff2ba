#include "keel/db/matches.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "keel/data/patch.h"
#include "keel/data/timestamp.h"
#include "keel/data/uuid.h"

namespace keel::db::matches_test {
namespace {

enum class State { Open, Closed };
struct Line {
  int quantity = 0;
};
struct Order {
  int id = 0;
  std::string customer;
  std::optional<std::string> note;
  State state = State::Open;
  Timestamp at;
  double weight = 0;
  std::vector<std::byte> picture;
  std::vector<Line> lines;
};

TEST(Columns, of_a_struct_are_all_there) {
  static_assert(has_columns<Order>("id, customer, note, state, at, weight, picture"));
  static_assert(has_columns<Order>("more, picture, weight, at, state, note, customer, id"));
  static_assert(!has_columns<Order>("id, customer, note, state, at, weight"));
  static_assert(!has_columns<Order>("id, customers, note, state, at, weight, picture"));
  static_assert(!has_columns<Order>(""));
  static_assert(has_columns<std::int64_t>("count(*)"));
}

TEST(Columns, are_read_into_fields_of_their_kind) {
  static_assert(reads_column<Order, std::int64_t, false>("id"));
  static_assert(!reads_column<Order, std::int64_t, true>("id"));  // It may be null.
  static_assert(!reads_column<Order, std::string, false>("id"));
  static_assert(!reads_column<Order, double, false>("id"));  // A fraction would be lost.
  static_assert(reads_column<Order, std::string, true>("note"));
  static_assert(reads_column<Order, std::string, false>("note"));
  static_assert(reads_column<Order, std::string, false>("state"));
  static_assert(reads_column<Order, State, false>("state"));
  static_assert(!reads_column<Order, std::int64_t, false>("state"));
  static_assert(reads_column<Order, Timestamp, false>("at"));
  static_assert(reads_column<Order, std::string, false>("at"));
  static_assert(!reads_column<Order, Uuid, false>("at"));
  static_assert(reads_column<Order, std::int64_t, false>("weight"));
  static_assert(reads_column<Order, std::vector<std::byte>, false>("picture"));
  static_assert(!reads_column<Order, std::string, false>("picture"));
  static_assert(!reads_column<Order, std::string, false>("lines"));  // A list is no column.
  static_assert(reads_column<Order, std::string, true>("more"));     // There is no field for it.
}

TEST(Columns, of_a_plain_value_are_that) {
  static_assert(reads_column<std::uint32_t, std::int64_t, false>("count(*)"));
  static_assert(!reads_column<std::uint32_t, std::int64_t, true>("max(id)"));
  static_assert(reads_column<std::optional<std::string>, std::string, true>("max(name)"));
}

struct Wanted {
  std::int32_t least = 0;
  std::optional<State> state;
  Patch<std::string> note;
  std::string name;
};

TEST(Parameters, are_given_by_fields_of_their_kind) {
  static_assert(gives_parameter<Wanted, std::int64_t, false>("least"));
  static_assert(gives_parameter<Wanted, double, false>("least"));
  static_assert(gives_parameter<Wanted, std::int64_t, true>("least"));
  static_assert(!gives_parameter<Wanted, std::string, false>("least"));
  static_assert(!gives_parameter<Wanted, std::int64_t, false>("most"));
  static_assert(gives_parameter<Wanted, std::string, true>("note"));
  static_assert(!gives_parameter<Wanted, std::string, false>("note"));  // A null where none is expected.
  static_assert(gives_parameter<Wanted, std::string, true, true>("state"));
  static_assert(gives_parameter<Wanted, State, true, true>("state"));
  static_assert(!gives_parameter<Wanted, std::string, true, true>("name"));  // It does not say whether it is there.
}

}  // namespace
}  // namespace keel::db::matches_test
