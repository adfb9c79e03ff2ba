// What a service that forgets nothing must have, may have and must not have, as its customers know it: users that one
// customer each writes, one request after the other, and data that are only added.
//
// A user's states are kept in the order in which they were asked for. `floor` is the last one that is certain: it was
// acknowledged, or somebody has read it. Whoever reads later sees that one or a later one. A request without a response
// leaves its user open: nobody writes it until the service has started again and the database itself has said.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/db/sqlite/connection.h"

namespace keel {

struct Value {
  std::string name;
  std::int64_t age = 0;
  bool operator==(const Value&) const = default;
};
using State = std::optional<Value>;  // Of a user: nobody, or this.

struct Person {
  std::size_t owner = 0;
  std::string email;
  std::int64_t id = 0;  // 0: not known, or nobody.
  std::vector<State> states{State()};
  std::size_t floor = 0;
  bool is_open = false;

  const State& last() const { return states.back(); }
};

struct Datum {
  std::string body;
  std::int64_t id = 0;  // 0: not acknowledged.
};

class Ledger {
 public:
  std::vector<std::unique_ptr<Person>> people;
  std::vector<Datum> data;
  std::string told;       // What happened, a line each.
  std::string complaint;  // The first; empty: nothing is wrong.
  std::uint64_t acknowledged = 0;
  std::uint64_t refused_by_disk = 0;  // 503.
  std::uint64_t unknown = 0;
  std::uint64_t reads = 0;

  void tell(const std::string& line) { told += line + "\n"; }
  void complain(const std::string& what);

  Person& add_person(std::size_t owner);
  // Null: nobody ever asked for this one.
  Person* find(std::string_view email);

  // Somebody saw `seen` in a response to a read that began when `floor` was certain.
  void saw(Person& person, std::size_t floor, const State& seen, const char* where);
  void acknowledge(Person& person);
  // The last request certainly had no effect.
  void refuse(Person& person);
  void leave_open(Person& person);

  // Compares with the database of a service that has started again: nothing is on its way any more.
  void settle(db::sqlite::Connection& connection);
};

}  // namespace keel
