#include "keel/http/testing/contract_recorder.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/http.h"
#include "keel/http/testing/test_server.h"

namespace keel::http::contract_recorder_test {
namespace {

// Is the one that is told while it lives.
struct Told {
  ContractRecorder recorder;
  Told() { Recorder::active = &recorder; }
  ~Told() { Recorder::active = nullptr; }
};

Response greet(Request& request) {
  if (Recorder::active != nullptr) {
    Recorder::active->asks(
        request, Recorder::Part::PathParameter, "name",
        [](json::Schemas& schemas) { return schemas.add<std::string>(); },
        "keel::http::Response greet(keel::http::Request&)");
  }
  if (request.path().ends_with("nobody")) return Response(Status::NotFound);
  return Response::text(Status::Ok, "Hello").header("ETag", "\"1\"").header("X-Other", "1");
}

constexpr std::string_view greeted =
    R"({"operations":[{"path":"/greet/{name}","method":"GET","handler":"greet",)"
    R"("asks":[{"part":"path-parameter","name":"name","schema":{"type":"string"}}],"types":[],"responses":[)"
    R"({"status":200,"content":{"text/plain":null},"fields":["ETag"]},{"status":404,"content":{"":null},"fields":[]}]},)"
    R"({"path":"/unasked","method":"POST","handler":"","asks":[],"types":[],"responses":[]}],"components":{}})";

TEST(ContractRecorder, has_what_each_route_of_a_service_was_asked_and_responded) {
  Told told;
  Router router;
  router.get("/greet/{name}", &greet).post("/unasked", &greet);
  told.recorder.serves(router);
  TestServer server(router);

  server.get("/greet/world");
  server.get("/greet/nobody");
  server.get("/elsewhere");

  EXPECT_EQ(told.recorder.text(), greeted);
}

TEST(ContractRecorder, passes_over_a_server_that_is_not_the_service) {
  Told told;
  Router router;
  router.get("/greet/{name}", &greet);
  TestServer server(router);

  server.get("/greet/world");

  EXPECT_EQ(told.recorder.text(), R"({"operations":[],"components":{}})");
}

TEST(ContractRecorder, knows_the_type_of_a_json_response_by_where_its_content_type_is) {
  ContractRecorder recorder;
  const Recorder::Describe of_text = [](json::Schemas& schemas) { return schemas.add<std::string>(); };
  const Recorder::Describe of_number = [](json::Schemas& schemas) { return schemas.add<int>(); };

  EXPECT_EQ(recorder.content_type_of(of_text), "application/json");
  EXPECT_EQ(recorder.content_type_of(of_text).data(), recorder.content_type_of(of_text).data());
  EXPECT_NE(recorder.content_type_of(of_text).data(), recorder.content_type_of(of_number).data());
}

}  // namespace
}  // namespace keel::http::contract_recorder_test
