// A program that tests with the helpers of each module: every order of two threads, allocations, a simulated disk below
// SQLite, a layer over a transport, a server without sockets, and an application with its database.

#include <cstdio>
#include <iterator>
#include <memory>
#include <string>

#include "keel/app/testing/test_app.h"
#include "keel/base/testing/allocation_count.h"
#include "keel/base/testing/interleaving.h"
#include "keel/db/sqlite/database.h"
#include "keel/db/testing/sim_vfs.h"
#include "keel/http/server/router.h"
#include "keel/http/testing/test_server.h"
#include "keel/io/testing/disk.h"
#include "keel/io/testing/simulation.h"
#include "keel/net/testing/test_layer.h"

using namespace keel;

namespace {

struct Increments {
  interleaving::Atomic<unsigned> count{0};
  void increment() { count.fetch_add(1, std::memory_order_relaxed); }
  void check() { interleaving::require(count.load(std::memory_order_relaxed) == 2u, "two increments are two"); }
};

bool keeps_every_increment() {
  const auto verdict = interleaving::explore<Increments>({&Increments::increment, &Increments::increment});
  return verdict.failure.empty() && verdict.schedules == 2;
}

bool counts_allocations() {
  const std::size_t before = internal::allocations();
  const auto one = std::make_unique<int>(1);
  static int* volatile seen;
  seen = one.get();  // Or the compiler may leave the allocation out.
  return internal::allocations() == before + 1;
}

bool opens_a_database_on_a_simulated_disk() {
  sim::Disk disk(1);
  sim::Simulation simulation({}, &disk);
  db::sqlite::SimVfs vfs(disk, 1);
  io::Loop::Entered entered(simulation.add_loop());
  return db::sqlite::Database::open({.path = "/app.db", .vfs = vfs.name(), .executor = &simulation.pool()}).is_ok();
}

bool answers_without_sockets() {
  http::Router router;
  router.get("/hello", [](http::Request&) { return http::Response::text(http::Status::Ok, "hello"); });
  return http::TestServer(router).get("/hello").body() == "hello";
}

class Service {
 public:
  explicit Service(app::App& app) {
    router_.get("/hello", [](http::Request&) { return http::Response::text(http::Status::Ok, "hello"); });
    app.serve(router_);
  }

 private:
  http::Router router_;
};

bool runs_an_application() { return app::TestApp<Service>().get("/hello").body() == "hello"; }

}  // namespace

int main() {
  static_assert(TestLayer::record_bytes > 0);
  const bool passed[] = {keeps_every_increment(),   counts_allocations(),  opens_a_database_on_a_simulated_disk(),
                         answers_without_sockets(), runs_an_application(), TestLayer::alive == 0};
  int failed = 0;
  for (std::size_t i = 0; i < std::size(passed); ++i) {
    if (passed[i]) continue;
    std::printf("helper %zu of main.cc does not work\n", i);
    ++failed;
  }
  return failed;
}
