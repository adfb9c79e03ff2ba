#include "ledger.h"

#include <algorithm>
#include <map>
#include <utility>

namespace keel {
namespace {

constexpr int sample_users = 20;  // Of the migration.

std::string to_string(const State& state) { return state ? state->name + "/" + std::to_string(state->age) : "nobody"; }

}  // namespace

void Ledger::complain(const std::string& what) {
  tell("COMPLAINT " + what);
  if (complaint.empty()) complaint = what;
}

Person& Ledger::add_person(std::size_t owner) {
  people.push_back(std::make_unique<Person>());
  people.back()->owner = owner;
  people.back()->email = "p" + std::to_string(people.size()) + "@sim.test";
  return *people.back();
}

Person* Ledger::find(std::string_view email) {
  for (const auto& person : people) {
    if (person->email == email) return person.get();
  }
  return nullptr;
}

void Ledger::saw(Person& person, std::size_t floor, const State& seen, const char* where) {
  const auto from = person.states.begin() + static_cast<std::ptrdiff_t>(floor);
  const auto at = std::find(from, person.states.end(), seen);
  if (at == person.states.end()) {
    complain(std::string(where) + ": " + person.email + " is " + to_string(seen) + ", must be " + to_string(*from) +
             (person.states.size() - floor > 1 ? " or later" : ""));
    return;
  }
  person.floor = std::max(person.floor, static_cast<std::size_t>(at - person.states.begin()));
}

void Ledger::acknowledge(Person& person) {
  person.floor = person.states.size() - 1;
  ++acknowledged;
}

void Ledger::refuse(Person& person) {
  person.states.pop_back();
  if (person.floor >= person.states.size()) complain(person.email + " was changed by a request that was refused");
}

void Ledger::leave_open(Person& person) {
  person.is_open = true;
  ++unknown;
}

void Ledger::settle(db::sqlite::Connection& connection) {
  std::map<std::string, std::pair<std::int64_t, Value>, std::less<>> users;
  int samples = 0;
  auto keep_user = [&](const db::Row& row) {
    const std::string email(row.text(2));
    if (email.ends_with("@example.com")) {
      ++samples;
    } else if (find(email) == nullptr) {
      complain("nobody asked for " + email);
    } else if (!users.emplace(email, std::pair(row.integer(0), Value{std::string(row.text(1)), row.integer(3)}))
                    .second) {
      complain(email + " is there twice");
    }
  };
  std::string sound;
  auto keep_sound = [&](const db::Row& row) { sound += row.text(0); };
  std::map<std::string, std::int64_t, std::less<>> bodies;
  auto keep_body = [&](const db::Row& row) {
    if (!bodies.emplace(row.text(1), row.integer(0)).second) complain("twice: " + std::string(row.text(1)));
  };
  const auto read = [&](auto&& result) {
    if (!result) complain("cannot be read after the start: " + result.error().describe());
  };
  read(connection.query("select integrity_check from pragma_integrity_check", keep_sound));
  read(connection.query("select id, name, email, age from users", keep_user));
  read(connection.query("select id, body from data", keep_body));
  if (sound != "ok") complain("integrity_check: " + sound);
  if (samples != sample_users) complain(std::to_string(samples) + " sample users");
  for (const auto& person : people) {
    const auto found = users.find(person->email);
    const State seen = found != users.end() ? State(found->second.second) : State();
    const std::int64_t id = found != users.end() ? found->second.first : 0;
    saw(*person, person->floor, seen, "after the start");
    if (seen && !person->is_open && person->id != id) complain(person->email + " has another id");
    person->states = {seen};
    person->floor = 0;
    person->is_open = false;
    person->id = id;
  }
  for (const Datum& datum : data) {
    const auto found = bodies.find(datum.body);
    if (datum.id != 0 && (found == bodies.end() || found->second != datum.id)) {
      complain("acknowledged and lost: " + datum.body);
    }
    if (found != bodies.end()) bodies.erase(found);
  }
  for (const auto& [body, id] : bodies) complain("nobody asked for " + body);
}

}  // namespace keel
