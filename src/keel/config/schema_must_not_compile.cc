// What is no configuration, chosen by CASE (CMakeLists.txt has the sentences). CASE 0 compiles.

#include <string>
#include <vector>

#include "keel/config/config.h"

struct Plain {
  std::string path = "a.db";
  int shelves = 3;
};
struct Camel {
  int maxShelves = 3;
};
struct Pointer {
  const char* path = "a.db";
};
struct Listed {
  std::vector<float> weights;
};
class Closed {
 public:
  explicit Closed(int number) : number_(number) {}

 private:
  int number_;
};
struct Within {
  Closed closed;
};

#if CASE == 0
auto loaded() { return keel::config::load<Plain>({}); }
#elif CASE == 1
auto loaded() { return keel::config::load<Camel>({}); }
#elif CASE == 2
auto loaded() { return keel::config::load<Pointer>({}); }
#elif CASE == 3
auto loaded() { return keel::config::load<Listed>({}); }
#elif CASE == 4
std::string shown(const Within& within) { return keel::config::describe(within, {}); }
#endif
