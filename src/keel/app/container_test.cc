#include "keel/app/container.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

#include "keel/app/lifecycle.h"
#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/exec/executor.h"
#include "keel/exec/submitted.h"
#include "keel/exec/thread_pool.h"
#include "keel/observe/log.h"
#include "keel/telemetry/log_writer.h"

namespace {

using namespace keel;
using namespace keel::app;

// What was made and destroyed, in order: "+Users", "-Users".
std::vector<std::string> history;
struct Traced {
  explicit Traced(std::string n) : name(std::move(n)) { history.push_back('+' + name); }
  Traced(const Traced&) = delete;
  ~Traced() { history.push_back('-' + name); }
  std::string name;
};

struct Settings {
  int size = 3;
};
class Clock {
 public:
  virtual ~Clock() = default;
  virtual int now() const = 0;
};
struct SystemClock : Clock {
  int now() const override { return 1; }
};
struct FakeClock : Clock {
  int now() const override { return 42; }
};
struct Database : Traced {
  explicit Database(const Settings& s) : Traced("Database"), settings(s) {}
  const Settings& settings;
};
struct Users : Traced {
  Users(Database& d, const Clock& c) : Traced("Users"), database(d), clock(c) {}
  Database& database;
  const Clock& clock;
};
struct Api : Traced {
  Api(Users& u, const Settings& s) : Traced("Api"), users(u), settings(s) {}
  Users& users;
  const Settings& settings;
};

std::string mistakes_of(Container& container) {
  history.clear();
  auto services = container.build();
  EXPECT_FALSE(services.is_ok());
  if (services) return "";
  EXPECT_EQ(services.error().code(), Code::FailedPrecondition);
  return services.error().describe();
}
// A mistake without the place in front, which is this file and a line.
std::string without_place(const std::string& text) {
  EXPECT_TRUE(text.starts_with("container_test.cc:")) << text;
  return text.substr(text.find(": ") + 2);
}

class Containers : public ::testing::Test {
 protected:
  Containers() { history.clear(); }
  const Settings settings_;
};

TEST_F(Containers, make_what_is_needed_first_and_destroy_it_last) {
  Container container;
  container.singleton<Api>().singleton<Users>().singleton<Clock, SystemClock>().singleton<Database>().value(settings_);
  {
    Services services = container.build().value();

    Api& api = services.get<Api>();
    EXPECT_EQ(&api.users, &services.get<Users>());
    EXPECT_EQ(&api.users.database, &services.get<Database>());
    EXPECT_EQ(&api.settings, &settings_);
    EXPECT_EQ(&api.users.clock, &services.get<Clock>());
    EXPECT_EQ(history, (std::vector<std::string>{"+Database", "+Users", "+Api"}));
  }
  EXPECT_EQ(history, (std::vector<std::string>{"+Database", "+Users", "+Api", "-Api", "-Users", "-Database"}));
}

TEST_F(Containers, live_on_when_their_services_are_moved) {
  Container container;
  container.value(settings_).singleton<Database>();
  Services first = container.build().value();
  Database& database = first.get<Database>();

  Services second = std::move(first);

  EXPECT_EQ(&second.get<Database>(), &database);
  EXPECT_EQ(history, (std::vector<std::string>{"+Database"}));
}

TEST_F(Containers, keep_apart_what_several_of_them_make) {
  Settings one;
  Settings two;
  Container first;
  first.value(one).singleton<Database>();
  Container second;
  second.value(two).singleton<Database>();

  Services a = first.build().value();
  Services b = second.build().value();

  EXPECT_EQ(&a.get<Database>().settings, &one);
  EXPECT_EQ(&b.get<Database>().settings, &two);
}

// What a class needs.

struct Aggregate {
  Database& database;
  const Settings& settings;
};
struct TwoWays {
  using Needs = void(const Settings&);
  TwoWays() = default;
  explicit TwoWays(const Settings& s) : settings(&s) {}
  TwoWays(const Settings& s, Database&) : settings(&s) {}
  const Settings* settings = nullptr;
};
struct Inherits : Users {
  using Users::Users;
};
struct WithDefault {
  explicit WithDefault(const Settings& s, int n = 7) : settings(s), number(n) {}
  const Settings& settings;
  int number;
};

template <class T, class... N>
constexpr bool needs = std::is_same_v<app::internal::ClassNeeds<T>, app::internal::Types<N...>>;
static_assert(needs<Settings>);
static_assert(needs<Users, Database, const Clock>);
static_assert(needs<Aggregate, Database, const Settings>);
static_assert(needs<TwoWays, const Settings>);
static_assert(needs<Inherits, Database, const Clock>);
static_assert(needs<WithDefault, const Settings>);

TEST_F(Containers, read_the_needs_of_a_class_from_its_constructor) {
  Container container;
  container.value(settings_).singleton<Database>().singleton<Clock, SystemClock>();
  container.singleton<Aggregate>().singleton<TwoWays>().singleton<Inherits>().singleton<WithDefault>();

  Services services = container.build().value();

  EXPECT_EQ(&services.get<Aggregate>().database, &services.get<Database>());
  EXPECT_EQ(services.get<TwoWays>().settings, &settings_);
  EXPECT_EQ(&services.get<Inherits>().clock, &services.get<Clock>());
  EXPECT_EQ(services.get<WithDefault>().number, 7);
}

TEST_F(Containers, give_a_changeable_object_also_to_those_who_only_read_it) {
  Settings settings;
  Container container;
  container.value(settings).singleton<Database>();

  Services services = container.build().value();

  EXPECT_EQ(&services.get<Settings>(), &settings);
  EXPECT_EQ(&services.get<const Settings>(), &settings);
  EXPECT_EQ(&services.get<Database>().settings, &settings);
}

// Factories.

std::unique_ptr<Clock> make_clock() { return std::make_unique<FakeClock>(); }
Result<std::unique_ptr<Database>> open_database(const Settings& settings) {
  return std::make_unique<Database>(settings);
}
Result<std::unique_ptr<Database>> fail_to_open(const Settings&) {
  return fail(Code::Unavailable, "open: no such file");
}
struct Limit {
  int value;
};

TEST_F(Containers, call_factories_of_every_form_with_what_they_need) {
  const std::string long_text(100, 'x');
  Container container;
  container.value(settings_).singleton<Clock>(make_clock).singleton<Database>(open_database);
  container.singleton<Limit>([](const Settings& settings) -> Result<Limit> { return Limit{settings.size}; });
  container.singleton<const std::string>(
      [long_text](const Limit& limit) { return long_text.substr(0, 90) + char('0' + limit.value); });
  container.singleton<Users>(
      [](Database& database, const Clock& clock) { return std::make_unique<Users>(database, clock); });

  Services services = container.build().value();

  EXPECT_EQ(services.get<Clock>().now(), 42);
  EXPECT_EQ(&services.get<Database>().settings, &settings_);
  EXPECT_EQ(services.get<Limit>().value, 3);
  EXPECT_EQ(services.get<const std::string>(), std::string(90, 'x') + '3');
  EXPECT_EQ(&services.get<Users>().database, &services.get<Database>());
}

TEST_F(Containers, stop_at_a_service_that_cannot_be_made_and_name_its_chain) {
  Container container;
  container.value(settings_).singleton<Clock, SystemClock>();
  container.singleton<Api>().singleton<Users>().singleton<Database>(fail_to_open);

  auto services = container.build();

  ASSERT_FALSE(services.is_ok());
  EXPECT_EQ(services.error().code(), Code::Unavailable);
  EXPECT_EQ(without_place(services.error().describe()), "Api needs Users needs Database: open: no such file");
  EXPECT_TRUE(history.empty());
}

struct Throws {
  explicit Throws(Users&) { throw std::runtime_error("out of luck"); }
};

TEST_F(Containers, destroy_what_was_made_when_a_constructor_throws) {
  Container container;
  container.value(settings_).singleton<Clock, SystemClock>().singleton<Database>().singleton<Users>();
  container.singleton<Throws>();

  auto services = container.build();

  ASSERT_FALSE(services.is_ok());
  EXPECT_EQ(services.error().code(), Code::Internal);
  EXPECT_EQ(without_place(services.error().describe()), "Throws: exception: out of luck");
  EXPECT_EQ(history, (std::vector<std::string>{"+Database", "+Users", "-Users", "-Database"}));
}

TEST_F(Containers, refuse_a_null_pointer_from_a_factory) {
  Container container;
  container.singleton<Clock>([] { return std::unique_ptr<Clock>(); });

  auto services = container.build();

  ASSERT_FALSE(services.is_ok());
  EXPECT_EQ(without_place(services.error().describe()), "Clock: the factory returned a null pointer");
}

// Mistakes.

TEST_F(Containers, name_the_chain_to_what_nobody_provides_and_make_nothing) {
  Container container;
  container.value(settings_).singleton<Api>().singleton<Users>().singleton<Database>();

  EXPECT_EQ(without_place(mistakes_of(container)),
            "Api needs Users needs Clock: nobody provides Clock: add singleton<Clock>() or value() to the container");
  EXPECT_TRUE(history.empty());
}

TEST_F(Containers, name_the_line_that_added_the_service_whose_need_is_missing) {
  Container container;
  container.singleton<Clock, SystemClock>();
  const int line = __LINE__ + 1;
  container.singleton<Database>();

  EXPECT_EQ(
      mistakes_of(container),
      "container_test.cc:" + std::to_string(line) +
          ": Database needs Settings: nobody provides Settings: add singleton<Settings>() or value() to the container");
}

TEST_F(Containers, name_every_mistake_at_once) {
  Container container;
  container.singleton<Api>().singleton<Users>().singleton<Database>();

  const std::string text = mistakes_of(container);

  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_NE(text.find("Api needs Users needs Database needs Settings: nobody provides Settings"), std::string::npos);
  EXPECT_NE(text.find("Api needs Users needs Clock: nobody provides Clock"), std::string::npos);
  EXPECT_NE(text.find("Api needs Settings: nobody provides Settings"), std::string::npos);
}

struct Hen;
struct Egg {
  explicit Egg(Hen&) {}
};
struct Farm;
struct Hen {
  explicit Hen(Farm&) {}
};
struct Farm {
  explicit Farm(Egg&) {}
};
struct Village {
  explicit Village(Farm&) {}
};

TEST_F(Containers, name_the_circle_and_make_nothing) {
  Container container;
  container.value(settings_).singleton<Database>();
  container.singleton<Egg>().singleton<Hen>().singleton<Farm>().singleton<Village>();

  EXPECT_EQ(without_place(mistakes_of(container)),
            "Farm needs Egg needs Hen needs Farm: none of them can be constructed first; move the code "
            "that they share into a separate service");
  EXPECT_TRUE(history.empty());
}

TEST_F(Containers, find_a_circle_that_nobody_outside_needs) {
  Container container;
  container.singleton<Egg>().singleton<Hen>().singleton<Farm>();

  EXPECT_EQ(without_place(mistakes_of(container)),
            "Egg needs Hen needs Farm needs Egg: none of them can be constructed first; move the code "
            "that they share into a separate service");
}

struct ReadsSystemClock {
  explicit ReadsSystemClock(SystemClock&) {}
};
struct ChangesSettings {
  explicit ChangesSettings(Settings&) {}
};

TEST_F(Containers, say_why_what_is_there_does_not_fit) {
  Container interface;
  interface.singleton<Clock, SystemClock>().singleton<ReadsSystemClock>();
  Container constant;
  constant.value(settings_).singleton<ChangesSettings>();

  EXPECT_EQ(
      without_place(mistakes_of(interface)),
      "ReadsSystemClock needs SystemClock: SystemClock is provided only as Clock: take a reference to that class");
  EXPECT_EQ(without_place(mistakes_of(constant)),
            "ChangesSettings needs Settings: Settings is provided as const only: take a const reference");
}

TEST_F(Containers, refuse_a_second_provider) {
  Container container;
  container.singleton<Clock, SystemClock>();
  container.singleton<Clock, FakeClock>();

  EXPECT_TRUE(
      without_place(mistakes_of(container)).starts_with("Clock is provided twice, first at container_test.cc:"));
}

// Lifetimes.

struct Basket : Traced {
  explicit Basket(const Users& u) : Traced("Basket"), users(u) {}
  const Users& users;
};
struct Checkout : Traced {
  explicit Checkout(Basket& b) : Traced("Checkout"), basket(b) {}
  Basket& basket;
};
struct Session : Traced {
  explicit Session(Basket&) : Traced("Session") {}
};
struct Forever {
  explicit Forever(Session&) {}
};

TEST_F(Containers, refuse_a_singleton_that_needs_a_scoped_service_also_through_a_transient_one) {
  Container container;
  container.value(settings_).singleton<Clock, SystemClock>().singleton<Database>().singleton<Users>();
  container.scoped<Basket>().transient<Session>().singleton<Forever>();

  EXPECT_EQ(without_place(mistakes_of(container)),
            "Forever (singleton) needs Session (transient) needs Basket (scoped): Forever would outlive the service "
            "that it needs, so it must be scoped too");
  EXPECT_TRUE(history.empty());
}

TEST_F(Containers, refuse_a_lazy_service_that_needs_what_a_scope_is_given) {
  Container container;
  container.given<Settings>().lazy<Database>();

  EXPECT_EQ(without_place(mistakes_of(container)),
            "Database (lazy) needs Settings (given): Database would outlive the service that it needs, so it must be "
            "scoped too");
}

TEST_F(Containers, make_scoped_services_once_for_each_scope_and_destroy_them_in_reverse) {
  Container container;
  container.value(settings_).singleton<Clock, SystemClock>().singleton<Database>().singleton<Users>();
  container.scoped<Basket>().scoped<Checkout>();
  Services services = container.build().value();
  history.clear();
  Arena memory;
  {
    Services::Scope one = services.scope(memory);
    Services::Scope other = services.scope(memory);

    Checkout& checkout = *one.resolve<Checkout>().value();
    EXPECT_EQ(one.resolve<Checkout>().value(), &checkout);
    EXPECT_EQ(one.resolve<Basket>().value(), &checkout.basket);
    EXPECT_EQ(&checkout.basket.users, &services.get<Users>());
    EXPECT_EQ(one.resolve<Users>().value(), &services.get<Users>());
    EXPECT_EQ(history, (std::vector<std::string>{"+Basket", "+Checkout"}));
    EXPECT_NE(other.resolve<Basket>().value(), &checkout.basket);
    history.clear();
  }
  EXPECT_EQ(history, (std::vector<std::string>{"-Basket", "-Checkout", "-Basket"}));
}

struct Visitor {
  std::string name;
};
struct Greeting {
  explicit Greeting(const Visitor& visitor) : text("hello, " + visitor.name) {}
  std::string text;
};

TEST_F(Containers, hand_a_scope_what_it_was_given) {
  Container container;
  container.given<Visitor>().scoped<Greeting>();
  Services services = container.build().value();
  Arena memory;
  Visitor ada{"Ada"};
  Services::Scope scope = services.scope(memory);
  scope.give(ada);
  Services::Scope empty = services.scope(memory);

  EXPECT_EQ(scope.resolve<Greeting>().value()->text, "hello, Ada");
  auto missing = empty.resolve<Greeting>();
  ASSERT_FALSE(missing.is_ok());
  EXPECT_EQ(missing.error().code(), Code::FailedPrecondition);
  EXPECT_EQ(without_place(missing.error().describe()), "Greeting needs Visitor: no object was given to the scope");
}

struct Token : Traced {
  Token() : Traced("Token") {}
};
struct Holder : Traced {
  explicit Holder(Token& t) : Traced("Holder"), token(t) {}
  Token& token;
};
struct SecondHolder : Holder {
  using Holder::Holder;
};

TEST_F(Containers, make_a_transient_service_for_each_that_needs_it_and_let_it_end_with_its_owner) {
  Container container;
  container.transient<Token>().singleton<Holder>().singleton<SecondHolder>();
  {
    Services services = container.build().value();
    EXPECT_NE(&services.get<Holder>().token, &services.get<SecondHolder>().token);
    Arena memory;
    {
      Services::Scope scope = services.scope(memory);
      EXPECT_NE(scope.resolve<Token>().value(), scope.resolve<Token>().value());
      history.clear();
    }
    EXPECT_EQ(history, (std::vector<std::string>{"-Token", "-Token"}));
    history.clear();
  }
  EXPECT_EQ(history, (std::vector<std::string>{"-Holder", "-Token", "-Holder", "-Token"}));
}

struct ThrowsWithItsOwn {
  explicit ThrowsWithItsOwn(Token&) { throw std::runtime_error("out of luck"); }
};

TEST_F(Containers, destroy_what_was_made_for_one_whose_constructor_throws) {
  Container container;
  container.transient<Token>().scoped<ThrowsWithItsOwn>();
  Services services = container.build().value();
  Arena memory;
  Services::Scope scope = services.scope(memory);

  EXPECT_EQ(scope.resolve<ThrowsWithItsOwn>().error().code(), Code::Internal);

  EXPECT_EQ(history, (std::vector<std::string>{"+Token", "-Token"}));
}

TEST_F(Containers, refuse_outside_a_scope_what_would_have_no_owner) {
  Container container;
  container.transient<Token>().given<Visitor>().scoped<Greeting>();
  Services services = container.build().value();

  const auto refused = [](const auto& result) {
    EXPECT_EQ(result.error().code(), Code::FailedPrecondition);
    return result.error().describe();
  };
  EXPECT_EQ(refused(services.resolve<Token>()), "Token is transient: resolve it in a scope");
  EXPECT_EQ(refused(services.resolve<Greeting>()), "Greeting is scoped: resolve it in a scope");
  EXPECT_EQ(services.resolve<Clock>().error().code(), Code::NotFound);
  EXPECT_EQ(services.resolve<Clock>().error().describe(), "nobody provides Clock");
}

struct alignas(64) Line {
  char bytes[64];
};
struct alignas(64) Aligned {
  explicit Aligned(Line& l) : line(l) {}
  Line& line;
};

TEST_F(Containers, keep_alignment_in_scopes_and_outside) {
  Container container;
  container.singleton<Line>().scoped<Aligned>().transient<Token>();
  Services services = container.build().value();
  Arena memory;
  Services::Scope scope = services.scope(memory);
  (void)scope.resolve<Token>().value();

  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&services.get<Line>()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(scope.resolve<Aligned>().value()) % 64, 0u);
}

// Lazy services.

struct Reports : Traced {
  explicit Reports(Database&) : Traced("Reports") {}
};
struct Menu {
  explicit Menu(const Lazy<Reports>& r) : reports(r) {}
  const Lazy<Reports>& reports;
};

TEST_F(Containers, make_a_lazy_service_when_it_is_asked_for) {
  Container container;
  container.value(settings_).singleton<Database>().lazy<Reports>().singleton<Menu>();
  Services services = container.build().value();
  EXPECT_EQ(history, (std::vector<std::string>{"+Database"}));

  Reports* const reports = services.get<Menu>().reports.get().value();

  EXPECT_EQ(history, (std::vector<std::string>{"+Database", "+Reports"}));
  EXPECT_EQ(services.resolve<Reports>().value(), reports);
  EXPECT_EQ(&services.get<Reports>(), reports);
}

TEST_F(Containers, make_a_lazy_service_at_once_when_a_singleton_needs_it) {
  Container container;
  container.value(settings_).lazy<Database>().singleton<Reports>();

  Services services = container.build().value();

  EXPECT_EQ(history, (std::vector<std::string>{"+Database", "+Reports"}));
}

TEST_F(Containers, try_a_lazy_service_again_that_could_not_be_made) {
  int tries = 0;
  Container container;
  container.lazy<Limit>([&tries]() -> Result<Limit> {
    if (++tries == 1) return fail(Code::Unavailable, "not yet");
    return Limit{tries};
  });
  Services services = container.build().value();

  auto first = services.resolve<Limit>();
  ASSERT_FALSE(first.is_ok());
  EXPECT_EQ(first.error().code(), Code::Unavailable);
  EXPECT_EQ(without_place(first.error().describe()), "Limit: not yet");
  EXPECT_EQ(services.resolve<Limit>().value()->value, 2);
  EXPECT_EQ(services.resolve<Limit>().value()->value, 2);
}

struct Chicken {
  explicit Chicken(const Lazy<Chicken>& self) {
    result = self.get().map([](Chicken*) {});
  }
  Result<> result;
};

TEST_F(Containers, refuse_a_lazy_service_that_asks_for_itself_while_it_is_made) {
  Container container;
  container.lazy<Chicken>();
  Services services = container.build().value();

  Chicken* const chicken = services.resolve<Chicken>().value();

  ASSERT_FALSE(chicken->result.is_ok());
  EXPECT_EQ(without_place(chicken->result.error().describe()), "Chicken: it was requested during its own construction");
}

struct Counted {
  Counted() { ++made; }
  static inline std::atomic<int> made = 0;
  int value = 5;
};

TEST_F(Containers, make_a_lazy_service_once_when_eight_threads_ask) {
  Counted::made = 0;
  Container container;
  container.lazy<Counted>().value(settings_).singleton<Database>();
  Services services = container.build().value();
  std::atomic<int> ready = 0;
  std::atomic<Counted*> seen[8] = {};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        ++ready;
        while (ready != 8) std::this_thread::yield();
        seen[i] = services.resolve<Counted>().value();
        EXPECT_EQ(services.get<Counted>().value, 5);
        EXPECT_EQ(services.get<Database>().settings.size, 3);
        Buffer graph;
        services.write_json(graph);
      });
    }
  }
  EXPECT_EQ(Counted::made, 1);
  for (const auto& counted : seen) EXPECT_EQ(counted.load(), seen[0].load());
}

// Tests that replace.

TEST_F(Containers, replace_a_service_by_another_class_or_object_and_keep_the_lifetime) {
  Settings other{9};
  const auto wire = [&](Container& container) {
    container.value(settings_)
        .singleton<Clock, SystemClock>()
        .singleton<Database>()
        .singleton<Users>()
        .scoped<Basket>();
  };
  Container container;
  wire(container);
  container.replace<Clock, FakeClock>().replace(other);
  struct EmptyBasket : Basket {
    using Basket::Basket;
  };
  container.replace<Basket, EmptyBasket>();

  Services services = container.build().value();

  EXPECT_EQ(services.get<Users>().clock.now(), 42);
  EXPECT_EQ(services.get<Database>().settings.size, 9);
  Arena memory;
  Services::Scope one = services.scope(memory);
  Services::Scope two = services.scope(memory);
  EXPECT_NE(one.resolve<Basket>().value(), two.resolve<Basket>().value());
}

TEST_F(Containers, refuse_to_replace_what_nobody_provides) {
  Container container;
  container.replace<Clock, FakeClock>();

  EXPECT_EQ(without_place(mistakes_of(container)), "nobody provides Clock, so it cannot be replaced");
}

// Several behind one interface.

struct Check {
  virtual ~Check() = default;
  virtual int answer() const = 0;
};
struct DiskCheck : Check {
  int answer() const override { return 1; }
};
struct NetworkCheck : Check {
  int answer() const override { return 2; }
};
struct Checks {
  explicit Checks(const std::vector<Check*>& all) {
    for (Check* check : all) sum += check->answer();
  }
  int sum = 0;
};

TEST_F(Containers, provide_several_implementations_as_one_list) {
  Container container;
  container.singleton<DiskCheck>().singleton<NetworkCheck>().singleton<Checks>();
  container.singleton<std::vector<Check*>>(
      [](DiskCheck& disk, NetworkCheck& network) { return std::vector<Check*>{&disk, &network}; });

  Services services = container.build().value();

  EXPECT_EQ(services.get<Checks>().sum, 3);
}

// Lookup.

TEST_F(Containers, allocate_nothing_in_a_lookup_and_nothing_but_arena_memory_in_a_scope) {
  if (KEEL_SANITIZED) GTEST_SKIP() << "a sanitizer has its own malloc";
  struct Plain {
    explicit Plain(const Settings&) {}
  };
  struct PlainScoped {
    explicit PlainScoped(Plain&) {}
  };
  Container container;
  container.value(settings_).singleton<Plain>().scoped<PlainScoped>();
  Services services = container.build().value();
  Arena memory;
  (void)memory.allocate(1);
  memory.rewind();

  const std::size_t before = keel::internal::allocations();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_NE(&services.get<Plain>(), nullptr);
    EXPECT_EQ(services.resolve<Plain>().value(), &services.get<Plain>());
  }
  EXPECT_EQ(keel::internal::allocations(), before);
  for (int i = 0; i < 1000; ++i) {
    {
      Services::Scope scope = services.scope(memory);
      EXPECT_NE(scope.resolve<PlainScoped>().value(), nullptr);
    }
    memory.rewind();
  }
  EXPECT_EQ(keel::internal::allocations(), before);
  Container counted;
  EXPECT_TRUE(counted.value(settings_).singleton<Plain>().build().is_ok());
  EXPECT_GT(keel::internal::allocations(), before) << "allocations are counted at all";
}

// The sentence of the Bug that `mistake` throws, with the file of its place.
template <class F>
std::string bug_of(F mistake) {
  try {
    mistake();
  } catch (const Bug& bug) {
    EXPECT_TRUE(std::string_view(bug.place().file_name()).ends_with("container_test.cc"));
    return bug.what();
  }
  return "none";
}

TEST_F(Containers, throw_a_bug_with_the_name_when_get_asks_for_what_is_not_there) {
  Container container;
  container.lazy<Limit>([] { return Limit{1}; });
  Services services = container.build().value();

  constexpr std::string_view begin = "get() needs a service that is provided and already made: ";
  const std::string missing = bug_of([&] { (void)services.get<Clock>(); });
  EXPECT_TRUE(missing.starts_with(begin) && missing.contains("Clock")) << missing;
  const std::string lazy = bug_of([&] { (void)services.get<Limit>(); });
  EXPECT_TRUE(lazy.starts_with(begin) && lazy.contains("Limit; resolve() makes a lazy service")) << lazy;
  EXPECT_TRUE(services.resolve<Limit>());
  EXPECT_EQ(services.get<Limit>().value, 1) << "it goes on";
}

TEST_F(Containers, throw_a_bug_when_a_scope_is_given_what_was_not_announced_or_twice) {
  Container container;
  container.given<Visitor>().singleton<Token>();
  Services services = container.build().value();
  Arena memory;
  Services::Scope scope = services.scope(memory);
  Visitor ada{"Ada"};
  scope.give(ada);

  const std::string twice = bug_of([&] { scope.give(ada); });
  EXPECT_TRUE(twice.starts_with("give() was called twice for one scope: ")) << twice;
  const std::string other = bug_of([&] { scope.give(services.get<Token>()); });
  EXPECT_TRUE(other.starts_with("give() needs a type that is declared with Container::given(): ")) << other;
}

// The graph.

TEST_F(Containers, show_the_graph_as_a_tree) {
  Container container;
  container.value(settings_).singleton<Clock, SystemClock>().singleton<Database>().singleton<Users>();
  container.singleton<Api>().scoped<Basket>();
  Services services = container.build().value();
  Buffer out;
  services.write_text(out);
  const std::string text(out.view());
  SCOPED_TRACE(text);

  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    names.push_back(line.substr(0, line.find("  ", line.find_first_not_of(' '))));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"Api", "  Users", "    Database", "      Settings",
                                             "    Clock: SystemClock", "  Settings", "Basket", "  Users"}));
  EXPECT_NE(text.find("      Settings          value               -  container_test.cc:"), std::string::npos);
  EXPECT_NE(text.find(" ms  container_test.cc:"), std::string::npos);
  EXPECT_NE(text.find("Basket                  scoped              -  container_test.cc:"), std::string::npos);
  EXPECT_NE(text.find("  Settings              see above\n"), std::string::npos);
}

struct Slow {
  Slow() { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }
};
struct NeedsSlow {
  explicit NeedsSlow(Slow&) {}
};

TEST_F(Containers, show_the_graph_as_json_with_the_time_each_service_itself_took) {
  Container container;
  container.lazy<Limit>([] { return Limit{1}; }).singleton<NeedsSlow>().singleton<Slow>();
  Services services = container.build().value();
  Buffer out;
  services.write_json(out);
  const std::string text(out.view());
  SCOPED_TRACE(text);

  EXPECT_TRUE(text.starts_with(R"({"took_ns":)"));
  EXPECT_NE(text.find(R"({"name":"NeedsSlow","implementation":"NeedsSlow","lifetime":"singleton",)"
                      R"("where":"container_test.cc:)"),
            std::string::npos);
  EXPECT_NE(text.find(R"("needs":["Slow"],"order":2,"took_ns":)"), std::string::npos);
  EXPECT_NE(text.find(R"("lifetime":"lazy")"), std::string::npos);
  EXPECT_NE(text.find(R"("needs":[],"order":null,"took_ns":null})"), std::string::npos);
  const std::size_t slow = text.find(R"({"name":"Slow")");
  ASSERT_NE(slow, std::string::npos);
  const std::string took = R"("took_ns":)";
  EXPECT_GE(std::stoll(text.substr(text.find(took, slow) + took.size())), 3'000'000);
}

// Services that are started and stopped.

std::vector<std::string> phases;
struct Store {
  Result<> start() {
    phases.push_back("start Store");
    if (is_broken) return fail(Code::Unavailable, "the disk is gone");
    return {};
  }
  void stop() { phases.push_back("stop Store"); }
  static inline bool is_broken = false;
};
struct Index {  // Not a module itself.
  explicit Index(Store&) {}
};
struct Search {
  explicit Search(Index&) {}
  void start() { phases.push_back("start Search"); }
};
struct Crawler {
  explicit Crawler(Search&) {}
  void stop() { phases.push_back("stop Crawler"); }
};

class StartedServices : public Containers {
 protected:
  StartedServices() {
    phases.clear();
    Store::is_broken = false;
  }
};

TEST_F(StartedServices, start_what_they_need_first_and_stop_in_reverse) {
  Container container;
  container.singleton<Crawler>().singleton<Search>().singleton<Index>();
  container.singleton<Store>([] { return std::make_unique<Store>(); });
  Services services = container.build().value();
  Lifecycle lifecycle;
  services.add_to(lifecycle);

  ASSERT_TRUE(lifecycle.start().is_ok());
  EXPECT_EQ(phases, (std::vector<std::string>{"start Store", "start Search"}));
  EXPECT_TRUE(lifecycle.stop(10_s).is_complete());
  EXPECT_EQ(phases, (std::vector<std::string>{"start Store", "start Search", "stop Crawler", "stop Store"}));
}

TEST_F(StartedServices, do_not_start_what_needs_one_that_failed) {
  Store::is_broken = true;
  Container container;
  container.singleton<Search>().singleton<Index>().singleton<Store>();
  Services services = container.build().value();
  Lifecycle lifecycle;
  services.add_to(lifecycle);

  auto started = lifecycle.start();

  ASSERT_FALSE(started.is_ok());
  EXPECT_NE(started.error().describe().find("the disk is gone"), std::string::npos);
  EXPECT_NE(started.error().describe().find("Store"), std::string::npos);
  EXPECT_EQ(phases, (std::vector<std::string>{"start Store"}));
}

// A user's own classes behind Keel's interfaces.

class CountingExecutor : public Executor {
 public:
  void post(Job& job) noexcept override {
    ++posted;
    job.run(job);
  }
  int posted = 0;
};
struct Thumbnails {
  explicit Thumbnails(Executor& e) : executor(e) {}
  Executor& executor;
};
struct CountedJob : Job {
  CountedJob() : Job([](Job& job) noexcept { ++static_cast<CountedJob&>(job).runs; }) {}
  int runs = 0;
};

TEST_F(Containers, bind_a_users_own_executor_without_anything_in_between) {
  Container container;
  container.singleton<Executor, CountingExecutor>().singleton<Thumbnails>();
  Services services = container.build().value();
  Executor& executor = services.get<Thumbnails>().executor;

  EXPECT_EQ(&executor, &services.get<Executor>());
  EXPECT_EQ(typeid(executor), typeid(CountingExecutor));
  CountedJob job;
  executor.post(job);
  EXPECT_EQ(job.runs, 1);
  EXPECT_EQ(static_cast<CountingExecutor&>(executor).posted, 1);
}

TEST_F(Containers, bind_an_executor_that_exists_by_its_interface) {
  ThreadPool pool({.name = "images", .threads = 1});
  Container container;
  container.value<Executor>(pool).singleton<Thumbnails>();

  Services services = container.build().value();

  Executor& executor = services.get<Thumbnails>().executor;
  EXPECT_EQ(&executor, static_cast<Executor*>(&pool));
  EXPECT_EQ(submit(executor, [] { return 1; }).get(), 1);
  EXPECT_EQ(submit_after(executor, 1_ms, [] { return 2; }).get(), 2);
  pool.stop();
}

// Where a user's log lines go: their own interface, which the log writer's sink calls.
class LineShipper {
 public:
  virtual ~LineShipper() = default;
  virtual void ship(std::string_view lines) = 0;
};
struct KeptLines : LineShipper {
  void ship(std::string_view lines) override { text += lines; }
  std::string text;
};
Result<std::unique_ptr<telemetry::LogWriter>> make_logs(LineShipper& shipper) {
  telemetry::LogSink sink;
  sink.to = telemetry::LogSink::To::Function;
  sink.write = [&shipper](std::string_view lines) { shipper.ship(lines); };
  telemetry::LogWriterOptions options;
  options.mode = telemetry::LogWriterOptions::Mode::Manual;
  options.sinks.push_back(std::move(sink));
  return telemetry::LogWriter::make(std::move(options));
}

TEST_F(Containers, bind_a_users_own_log_sink) {
  Container container;
  container.singleton<LineShipper, KeptLines>().singleton<telemetry::LogWriter>(make_logs);
  Services services = container.build().value();
  log::Logger log("shop");

  log.info("sold", log::field("pieces", 3));
  services.get<telemetry::LogWriter>().flush();

  const std::string& text = static_cast<KeptLines&>(services.get<LineShipper>()).text;
  EXPECT_NE(text.find(R"("message":"sold")"), std::string::npos) << text;
}

}  // namespace
