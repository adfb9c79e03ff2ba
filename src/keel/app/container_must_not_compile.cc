// Each case, chosen by CASE, is rejected by the compiler (CMakeLists.txt looks for the reason). CASE 0 compiles.

#include "keel/app/container.h"

using keel::app::Container;

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

void provide(Container& container) {
#if CASE == 0
  container.singleton<Clock, SystemClock>().singleton<Users>().scoped<Basket>().transient<Session>();
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
  container.singleton<NamesWrongNeeds>();
#elif CASE == 7
  container.singleton<Settings>([](auto&) { return Settings(); });
#elif CASE == 8
  container.singleton<Settings>([](int) { return Settings(); });
#elif CASE == 9
  container.singleton<StartsOddly>();
#endif
}
