// A configuration in a program that has no server.

#include <cstdio>

#include "keel/config/command_line.h"

using namespace keel;

namespace {

struct StoreConfig {
  unsigned shelves = 3;
  void fields(config::Schema& v) { config::field(v, "shelves", shelves, "how many there are", {1, 9}); }
};

}  // namespace

int main(int argc, char** argv) {
  const auto config = config::load_or_exit<StoreConfig>("store", argc, argv);
  std::printf("%u\n", config->shelves);
  return config->shelves == 5 ? 0 : 1;
}
