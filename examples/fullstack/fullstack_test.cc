#include <gtest/gtest.h>

#include <map>
#include <string>

#include "keel/app/testing/test_app.h"
#include "service.h"

namespace fullstack_test::fullstack_test {
namespace {

using namespace keel;

app::TestAppOptions fullstack(app::TestAppOptions options = {}) {
  options.settings.push_back("database.migrations=" KEEL_SOURCE_DIR "/examples/fullstack/db/migrations");
  return options;
}

std::string person(int number) {
  return R"({"name":"P)" + std::to_string(number) + R"(","email":"p)" + std::to_string(number) + R"(@b.example"})";
}

TEST(Fullstack, makes_a_user_and_finds_it) {
  app::TestApp<Fullstack> app(fullstack());

  const http::TestResponse made = app.post("/api/users", person(1));
  EXPECT_EQ(made.status(), 201);
  const std::string location(made.header("Location").value());

  EXPECT_EQ(app.get(location).body(), made.body());
  EXPECT_EQ(app.post("/api/users", person(1)).status(), 409);
  EXPECT_EQ(app.del(location).status(), 204);
  EXPECT_EQ(app.get(location).status(), 404);
}

TEST(Fullstack, has_a_document_and_a_page) {
  app::TestApp<Fullstack> app(fullstack());

  EXPECT_TRUE(app.get("/openapi.json").body().starts_with(R"({"openapi":"3.1.0")"));
  EXPECT_EQ(app.get("/docs").status(), 200);
}

TEST(Fullstack, answers_the_same_in_real_time) {
  app::TestApp<Fullstack> app(fullstack({.real_time = true}));

  const http::TestResponse made = app.post("/api/users", person(1));
  EXPECT_EQ(made.status(), 201);
  EXPECT_EQ(app.get(made.header("Location").value()).body(), made.body());
}

TEST(Fullstack, starts_with_the_configuration_that_comes_with_it) {
  app::TestApp<Fullstack> app(fullstack({.file = KEEL_SOURCE_DIR "/examples/fullstack/service.yaml"}));

  EXPECT_EQ(app.get("/health").body(), R"({"status":"ok"})");
}

// What was acknowledged is there after a power loss, as it was; tests/sim/fullstack_sim_test.cc asks much more of it.
TEST(Fullstack, keeps_what_it_acknowledged_under_40_seeds_of_faults) {
  int kept = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    app::TestApp<Fullstack> app(fullstack(app::TestAppOptions::faulty(seed)));
    std::map<std::string, std::string> acknowledged;
    for (int life = 0; life < 3; ++life) {
      app.crash_within(20 + seed % 60);
      for (int i = 0; i < 20 && app.has_power(); ++i) {
        const http::TestResponse made = app.post("/api/users", person(100 * life + i));
        if (made.status() == 201) acknowledged[std::string(made.header("Location").value())] = made.body();
      }
      app.restart();
      app.disk().set_faults({});
    }
    for (const auto& [location, body] : acknowledged) {
      http::TestResponse found = app.get(location);
      for (int again = 0; again < 20 && found.status() != 200; ++again)
        found = app.get(location);  // A broken connection.
      EXPECT_EQ(found.body(), body) << app.replay();
      ++kept;
    }
  }
  EXPECT_GT(kept, 400);
}

}  // namespace
}  // namespace fullstack_test::fullstack_test
