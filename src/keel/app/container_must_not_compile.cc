// Each case, chosen by CASE, is refused by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include "keel/app/container.h"

using keel::app::Container;
using namespace keel::app::wiring;

struct Settings {};
struct Clock {
  virtual int now() const = 0;
};
struct SystemClock : Clock {
  int now() const override { return 1; }
};
struct Stranger {};
struct Users {
  Users(const Settings&, Clock&);
};
struct Basket {
  explicit Basket(Users&);
};
struct Session {
  explicit Session(Basket&);
};
struct Forever {
  explicit Forever(Session&);
};
struct Egg;
struct Hen {
  explicit Hen(Egg&);
};
struct Farm {
  explicit Farm(Hen&);
};
struct Egg {
  explicit Egg(Farm&);
};
struct Hydra {
  explicit Hydra(Clock&);
  Hydra(Clock&, const Settings&);
};
struct Pointers {
  explicit Pointers(Clock*);
};
struct Mirror : Clock {
  explicit Mirror(Clock&);
  int now() const override { return 0; }
};
struct NamesWrongNeeds {
  using Needs = void(Clock&);
  NamesWrongNeeds(Clock&, const Settings&);
};
struct StartsOddly {
  int start();
};

void wire(Container& container) {
#if CASE == 0
  container.singleton<Clock, SystemClock>();
  container.wire<Elsewhere<const Settings>, Singleton<Clock, SystemClock>, Singleton<Users>, Scoped<Basket>,
                 Transient<Session>>();
#elif CASE == 1
  container.singleton<Clock, Stranger>();
#elif CASE == 2
  container.singleton<Clock>();
#elif CASE == 3
  container.singleton<Hydra>();
#elif CASE == 4
  container.singleton<Pointers>();
#elif CASE == 5
  container.singleton<Clock, Mirror>();
#elif CASE == 6
  container.wire<Singleton<Hen>, Singleton<Farm>, Singleton<Egg>>();
#elif CASE == 7
  container.wire<Elsewhere<Settings>, Singleton<Users>>();
#elif CASE == 8
  container.wire<Elsewhere<Users>, Scoped<Basket>, Transient<Session>, Singleton<Forever>>();
#elif CASE == 9
  container.singleton<NamesWrongNeeds>();
#elif CASE == 10
  container.singleton<Settings>([](auto&) { return Settings(); });
#elif CASE == 11
  container.singleton<Settings>([](int) { return Settings(); });
#elif CASE == 12
  container.singleton<StartsOddly>();
#elif CASE == 13
  container.wire<Elsewhere<const Clock>, Elsewhere<const Settings>, Singleton<Users>>();
#endif
}
