#include "keel/telemetry/stage_times.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace keel::telemetry::stage_times_test {
namespace {

std::vector<http::RouteStages> three_routes() {
  std::vector<http::RouteStages> routes(3);
  routes[0].method = http::Method::Get;
  routes[0].pattern = "/users/{id}";
  routes[0].measured = 4;
  routes[0].of[static_cast<int>(http::stage::parse)] = 2_us;
  routes[0].of[static_cast<int>(Stage::Database)] = 38_us;
  routes[0].of[static_cast<int>(http::stage::write)] = 9_us;
  routes[0].written = 2;
  routes[1].method = http::Method::Post;
  routes[1].pattern = "/users";
  routes[2].measured = 1;
  routes[2].of[static_cast<int>(http::stage::handler)] = 500_ms;
  return routes;
}

TEST(StageTimes, are_a_table_of_means_in_microseconds) {
  Buffer out;
  write_stage_times_text(out, three_routes());

  EXPECT_EQ(out.view(),
            "route              measured     mean us          parse          route           body       validate"
            "        handler  database_wait       database      serialize         record          write\n"
            "GET /users/{id}           4       14.50           0.50           0.00           0.00           0.00"
            "           0.00           0.00           9.50           0.00           0.00           4.50\n"
            "(no route)                1   500000.00           0.00           0.00           0.00           0.00"
            "      500000.00           0.00           0.00           0.00           0.00           0.00\n");
}

TEST(StageTimes, are_sums_in_nanoseconds_as_json) {
  Buffer out;
  write_stage_times_json(out, three_routes());

  EXPECT_EQ(out.view(),
            R"({"routes":[{"method":"GET","route":"/users/{id}","measured":4,"written":2,"stages":{)"
            R"("parse":2000,"route":0,"body":0,"validate":0,"handler":0,"database_wait":0,"database":38000,)"
            R"("serialize":0,"record":0,"write":9000}},)"
            R"({"method":"","route":"","measured":1,"written":0,"stages":{"parse":0,"route":0,"body":0,"validate":0,)"
            R"("handler":500000000,"database_wait":0,"database":0,"serialize":0,"record":0,"write":0}}]})");
}

TEST(StageTimes, are_empty_when_nothing_was_measured) {
  Buffer out;
  write_stage_times_json(out, {});
  EXPECT_EQ(out.view(), R"({"routes":[]})");
}

}  // namespace
}  // namespace keel::telemetry::stage_times_test
