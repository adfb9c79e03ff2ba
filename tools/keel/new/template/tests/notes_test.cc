// The whole service, in one simulation in this thread, in virtual time.

#include <gtest/gtest.h>
#include <keel/app/testing/test_app.h>

#include <string>
#include <utility>

#include "service.h"

namespace {

using namespace keel;

using TestApp = app::TestApp<::ServiceName>;

app::TestAppOptions service_name(app::TestAppOptions options = {}) {
  options.settings.push_back("database.migrations=" MIGRATIONS);
  return options;
}

TEST(Notes, are_kept_when_the_power_goes) {
  TestApp app(service_name());

  EXPECT_EQ(app.post("/notes", R"({"text":"buy tea"})").status(), 201);
  app.crash();

  EXPECT_EQ(app.get("/notes/1").body(), R"({"id":1,"text":"buy tea"})");
}

TEST(Notes, are_listed_a_page_at_a_time) {
  TestApp app(service_name());
  for (const std::string text : {"one", "two", "three"}) app.post("/notes", R"({"text":")" + text + "\"}");

  EXPECT_EQ(app.get("/notes?limit=2").body(), R"([{"id":1,"text":"one"},{"id":2,"text":"two"}])");
  EXPECT_EQ(app.get("/notes?limit=2&after=2").body(), R"([{"id":3,"text":"three"}])");
}

TEST(Notes, can_be_deleted_once) {
  TestApp app(service_name());
  app.post("/notes", R"({"text":"buy tea"})");

  EXPECT_EQ(app.del("/notes/1").status(), 204);
  EXPECT_EQ(app.del("/notes/1").status(), 404);
  EXPECT_EQ(app.get("/notes/1").status(), 404);
}

TEST(Notes, say_what_is_wrong_with_one) {
  TestApp app(service_name());

  EXPECT_EQ(app.post("/notes", "{").status(), 400);
  EXPECT_EQ(app.post("/notes", R"({"text":""})").status(), 422);
  EXPECT_EQ(app.get("/notes/tea").status(), 400);
  EXPECT_EQ(app.get("/notes?limit=x").status(), 400);
}

TEST(Notes, that_were_acknowledged_are_there_under_20_seeds_of_faults) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TestApp app(service_name(app::TestAppOptions::faulty(seed)));
    app.crash_within(5 * seed);
    int acknowledged = 0;
    for (int i = 0; i < 20; ++i) acknowledged += app.post("/notes", R"({"text":"buy tea"})").status() == 201;
    app.restart();
    app.disk().set_faults({});

    const auto kept = app.run(app.database().query_one<std::int64_t>("select count(*) from notes"));
    EXPECT_GE(kept.value(), acknowledged) << app.replay();
  }
}

}  // namespace
