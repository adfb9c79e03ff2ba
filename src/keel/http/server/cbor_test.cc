// Bodies in CBOR: what is read and written, and the document for everything that is wrong.

#include "keel/http/server/cbor.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "keel/http/testing/internal/server_fixture.h"

namespace keel::http::cbor_test {
namespace {

using namespace internal;

struct Sample {
  std::string_view room;
  double celsius = 0;
  void rules(Check& check) const { check(celsius).range(-90, 60); }
};

Result<Response> store_cbor(Request& request) {
  KEEL_TRY(const Sample sample, read_cbor<Sample>(request));
  return cbor_response(Status::Created, sample);
}
Task<Response> store_either(Request& request) {
  const auto sample = co_await read_json_or_cbor<Sample>(request);
  co_return json_or_cbor(request, Status::Created, sample);
}
Response show(Request& request) { return json_or_cbor(request, Sample{"hall", 1.5}); }

class CborBodies : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    router_.post("/cbor", store_cbor).patch("/cbor", store_cbor).post("/either", &store_either).get("/sample", show);
  }
  Reply send(std::string_view path, std::string_view body, std::string_view fields) {
    return ask_one(post(path, body, fields));
  }
  static constexpr std::string_view is_cbor = "Content-Type: application/cbor\r\n";
};
INSTANTIATE_TEST_SUITE_P(, CborBodies, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(CborBodies, become_a_struct_and_a_struct_becomes_cbor) {
  start();
  const std::string bytes = keel::cbor::write(Sample{"hall", 21.5});
  for (const std::string_view type : {"application/cbor", "Application/CBOR; a=b", "application/senml+cbor"}) {
    const Reply reply = send("/cbor", bytes, "Content-Type: " + std::string(type) + "\r\n");
    EXPECT_EQ(reply.status, 201) << type << reply.body;
    EXPECT_EQ(reply.field("Content-Type"), "application/cbor");
    EXPECT_EQ(reply.body, bytes);
  }
}

TEST_P(CborBodies, of_another_type_or_coding_get_415_and_what_is_taken) {
  start();
  const std::string bytes = keel::cbor::write(Sample{"hall", 21.5});
  for (const std::string_view fields : {"", "Content-Type: application/json\r\n", "Content-Type: +cbor\r\n",
                                        "Content-Type: application/cbor-seq\r\n"}) {
    const Reply reply = send("/cbor", bytes, fields);
    EXPECT_EQ(reply.status, 415) << fields;
    EXPECT_EQ(reply.field("Accept"), "application/cbor");
    EXPECT_NE(reply.body.find("Content-Type: expected application/cbor"), std::string::npos) << reply.body;
  }
  const Reply coded = send("/cbor", "\x1f\x8b\x08", std::string(is_cbor) + "Content-Encoding: gzip\r\n");
  EXPECT_EQ(coded.status, 415);
  EXPECT_EQ(coded.field("Accept-Encoding"), "identity");
}

TEST_P(CborBodies, that_are_malformed_get_400_at_every_length_and_wrong_values_422) {
  start();
  const std::string bytes = keel::cbor::write(Sample{"hall", 21.3});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Reply reply = send("/cbor", bytes.substr(0, length), is_cbor);
    EXPECT_EQ(reply.status, 400) << length << reply.body;
    EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
  }
  const Reply hot = send("/cbor", keel::cbor::write(Sample{"hall", 99}), is_cbor);
  EXPECT_EQ(hot.status, 422);
  EXPECT_NE(hot.body.find(R"({"pointer":"/celsius")"), std::string::npos) << hot.body;
  const Reply lacking = send("/cbor", "\xa0", is_cbor);
  EXPECT_EQ(lacking.status, 422);
  EXPECT_NE(lacking.body.find(R"({"pointer":"/room","keyword":"required","detail":"is required"})"), std::string::npos)
      << lacking.body;
}

TEST_P(CborBodies, are_read_beside_json_and_written_as_the_client_accepts) {
  start();
  const std::string bytes = keel::cbor::write(Sample{"hall", 21.5});
  const std::string json = R"({"room":"hall","celsius":21.5})";
  EXPECT_EQ(send("/either", bytes, is_cbor).body, json);
  EXPECT_EQ(send("/either", json, "Content-Type: application/json\r\n").body, json);
  EXPECT_EQ(send("/either", json, "Content-Type: application/json\r\nAccept: application/cbor\r\n").body, bytes);
  EXPECT_EQ(send("/either", json, "Content-Type: text/plain\r\n").status, 415);
}

TEST_P(CborBodies, are_negotiated) {
  start();
  const std::string bytes = keel::cbor::write(Sample{"hall", 1.5});
  const auto type = [&](const std::string& fields) {
    const Reply reply = ask_one("GET /sample HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n");
    EXPECT_EQ(reply.field("Vary"), "Accept") << fields;
    return reply.status == 200 ? reply.field("Content-Type") : std::to_string(reply.status);
  };
  EXPECT_EQ(type(""), "application/json");
  EXPECT_EQ(type("Accept: */*\r\n"), "application/json");
  EXPECT_EQ(type("Accept: application/cbor\r\n"), "application/cbor");
  EXPECT_EQ(type("Accept: application/json;q=0.5, application/cbor\r\n"), "application/cbor");
  EXPECT_EQ(type("Accept: application/cbor;q=0.5\r\nAccept: application/json\r\n"), "application/json");
  EXPECT_EQ(type("Accept: application/json;q=0, */*\r\n"), "application/cbor");
  EXPECT_EQ(type("Accept: text/html\r\n"), "406");
  EXPECT_EQ(type("Accept: application/json;q=0, application/cbor;q=0\r\n"), "406");
}

}  // namespace
}  // namespace keel::http::cbor_test
