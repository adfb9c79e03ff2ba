// What a client has sent, as structs: what is read, and the whole document for everything that is wrong.

#include "keel/http/server/input.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "keel/data/json_write.h"
#include "keel/data/uuid.h"
#include "keel/http/server/middleware.h"
#include "keel/http/testing/internal/server_fixture.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/task/timing.h"

namespace keel::http::input_test {
namespace {

using namespace internal;

enum class Priority { Low, High };

struct Line {
  std::string_view sku;
  int quantity;
  std::optional<double> price;
  void rules(Check& check) const {
    check(sku).length(1, 8);
    check(quantity).range(1, 100);
  }
};
struct NewOrder {
  std::string_view customer;
  std::optional<Uuid> id;
  Priority priority = Priority::Low;
  bool is_gift = false;
  std::vector<Line> lines;
  std::map<std::string, std::uint8_t> labels;

  static constexpr std::string_view optional_fields[] = {"priority", "is_gift", "labels"};
  void rules(Check& check) const {
    check(lines).count(1, 3);
    check.that(!is_gift || priority == Priority::High, "a gift has priority High");
  }
};
struct Exact {
  std::string name;
  static constexpr bool strict_fields = true;
};
struct Filter {
  std::optional<Priority> priority;
  std::vector<std::string> tag;
  std::string_view text = "none";
  int limit = 20;

  static constexpr bool optional_fields = true;
  void rules(Check& check) const { check(limit).range(1, 100); }
};
struct Upload {
  std::string_view title;
  FormPart picture;
  std::vector<FormPart> more;
  std::optional<FormPart> note;
  int year = 0;

  static constexpr std::string_view optional_fields[] = {"year"};
  void rules(Check& check) const {
    check(title).length(1, 10);
    check(picture).satisfies([](const FormPart& part) { return part.content_type == "image/png"; }, "must be a PNG");
  }
};
struct Login {
  std::string user;
  std::string password;
};

Result<Response> create(Request& request) {
  KEEL_TRY(const NewOrder order, request.json<NewOrder>());
  return Response::json(Status::Created, order);
}
Task<Response> create_later(Request& request) {
  const auto order = co_await request.json<NewOrder>();
  co_await sleep_for(1_ms);
  co_return Response::json(Status::Created, order);
}
Result<Response> exact(Request& request) {
  KEEL_TRY(const Exact exact, request.json<Exact>());
  return Response::json(exact);
}
Result<Response> list(Request& request) {
  KEEL_TRY(const Filter filter, request.query<Filter>());
  return Response::json(filter);
}
std::string described(const FormPart& part) {
  return std::string(part.filename.value_or("-")) + " " + std::string(part.content_type) + " " +
         std::to_string(part.body.size());
}
Result<Response> upload(Request& request) {
  KEEL_TRY(const Upload upload, request.form<Upload>());
  std::string text = std::string(upload.title) + ": " + described(upload.picture);
  for (const FormPart& part : upload.more) text += ", " + described(part);
  if (upload.note) text += "; " + described(*upload.note);
  return Response::text(Status::Ok, text);
}
Task<Response> upload_later(Request& request) {
  const auto upload = co_await request.form<Upload>();
  co_return Response::text(Status::Ok, upload.title);
}
Task<Response> log_in(Request& request) {
  const auto login = co_await request.form<Login>();
  co_return Response::json(login);
}

constexpr std::string_view good = R"({"customer":"Ada","priority":"High","is_gift":true,)"
                                  R"("lines":[{"sku":"A-1","quantity":2,"price":1.5},{"sku":"B-2","quantity":1}]})";

class Inputs : public Servers {
 protected:
  void SetUp() override {
    Servers::SetUp();
    router_.post("/orders", create).patch("/orders", create).post("/orders-later", &create_later).post("/exact", exact);
    router_.get("/orders", list).post("/upload", upload).post("/login", &log_in);
  }
  Reply ask_json(std::string_view path, std::string_view body, std::string_view type = "application/json") {
    return ask_one(post(path, body, "Content-Type: " + std::string(type) + "\r\n"));
  }
};
INSTANTIATE_TEST_SUITE_P(, Inputs, io::testing::every_engine(), io::testing::name_of_engine);

// --- JSON.

TEST_P(Inputs, of_json_become_a_struct_and_a_struct_becomes_json) {
  start();
  for (const std::string_view path : {"/orders", "/orders-later"}) {
    const Reply reply = ask_json(path, good);
    EXPECT_EQ(reply.status, 201);
    EXPECT_EQ(reply.field("Content-Type"), "application/json");
    EXPECT_EQ(reply.body, R"({"customer":"Ada","id":null,"priority":"High","is_gift":true,)"
                          R"("lines":[{"sku":"A-1","quantity":2,"price":1.5},{"sku":"B-2","quantity":1,"price":null}],)"
                          R"("labels":{}})");
  }
  EXPECT_EQ(
      ask_json("/orders", R"({"customer":"\u0041da","lines":[{"sku":"\"","quantity":1}],"labels":{"a":255}})").body,
      R"({"customer":"Ada","id":null,"priority":"Low","is_gift":false,)"
      R"("lines":[{"sku":"\"","quantity":1,"price":null}],"labels":{"a":255}})");
}

std::string not_json(std::string_view detail) {
  return R"({"type":"about:blank","title":"Bad Request","status":400,"detail":")" + std::string(detail) + R"("})";
}
std::string not_expected(std::string_view errors) {
  return R"({"type":"about:blank","title":"Unprocessable Content","status":422,)"
         R"("detail":"the body has invalid values","errors":[)" +
         std::string(errors) + "]}";
}

struct WrongBody {
  std::string_view body;
  std::string document;
};
std::vector<WrongBody> wrong_bodies() {
  return {
      {R"()", not_json(R"(the text is empty at line 1 column 1)")},
      {R"( )", not_json(R"(the text is empty at line 1 column 2)")},
      {R"({)", not_json(R"(unexpected end of text at line 1 column 2)")},
      {R"(nul)", not_json(R"(expected a value at line 1 column 1)")},
      {R"({"customer":"Ada")", not_json(R"(unexpected end of text at line 1 column 18 (/customer))")},
      {R"({"customer":"Ada",})", not_json(R"(expected a key in quotes at line 1 column 19)")},
      {R"({"customer" "Ada"})", not_json(R"(expected ':' at line 1 column 13 (/customer))")},
      {R"({'customer':'Ada'})", not_json(R"(expected a key in quotes at line 1 column 2)")},
      {R"({customer:"Ada"})", not_json(R"(expected a key in quotes at line 1 column 2)")},
      {R"({"customer":"Ada"}})", not_json(R"(unexpected text after the value at line 1 column 19)")},
      {R"({"customer":"Ada","lines":[{"sku":"A","quantity":01}]})",
       not_json(R"(number with a leading zero at line 1 column 50 (/lines/0/quantity))")},
      {R"({"customer":"Ada","lines":[{"sku":"A","quantity":NaN}]})",
       not_json(R"(expected a value at line 1 column 50 (/lines/0/quantity))")},
      {"{\"customer\":\"A\nda\"}", not_json(R"(control character in a string at line 1 column 15 (/customer))")},
      {R"({"customer":"\x"})", not_json(R"(bad escape in a string at line 1 column 14 (/customer))")},
      {R"({"customer":"\ud800"})", not_json(R"(lone surrogate in a string at line 1 column 14 (/customer))")},
      {"{\"customer\":\"\xff\"}", not_json(R"(string is not UTF-8 at line 1 column 14 (/customer))")},
      {R"({"customer":"Ada","customer":"Bob"})", not_json(R"(is given twice at line 1 column 30 (/customer))")},
      {R"({"customer":"Ada","labels":{"a":1,"a":2},"lines":[]})",
       not_json(R"(is given twice at line 1 column 39 (/labels/a))")},
      {R"({"customer":1,"lines":[})", not_json(R"(expected a value at line 1 column 24 (/lines/0))")},
      {R"([])", not_expected(R"({"pointer":"","keyword":"type","detail":"expected an object"})")},
      {R"(null)", not_expected(R"({"pointer":"","keyword":"type","detail":"expected an object"})")},
      {R"("Ada")", not_expected(R"({"pointer":"","keyword":"type","detail":"expected an object"})")},
      {R"({})", not_expected(R"({"pointer":"/customer","keyword":"required","detail":"is required"})"
                             R"(,{"pointer":"/lines","keyword":"required","detail":"is required"})")},
      {R"({"customer":null,"lines":null})",
       not_expected(R"({"pointer":"/customer","keyword":"type","detail":"expected a string"})"
                    R"(,{"pointer":"/lines","keyword":"type","detail":"expected an array"})")},
      {R"({"customer":7,"lines":{}})",
       not_expected(R"({"pointer":"/customer","keyword":"type","detail":"expected a string"})"
                    R"(,{"pointer":"/lines","keyword":"type","detail":"expected an array"})")},
      {R"({"customer":"Ada","lines":[]})",
       not_expected(R"({"pointer":"/lines","keyword":"minItems","detail":"must have 1 to 3 elements"})")},
      {R"({"customer":"Ada","lines":[{},{},{},{}]})",
       not_expected(R"({"pointer":"/lines/0/sku","keyword":"required","detail":"is required"})"
                    R"(,{"pointer":"/lines/0/quantity","keyword":"required","detail":"is required"})"
                    R"(,{"pointer":"/lines/1/sku","keyword":"required","detail":"is required"})"
                    R"(,{"pointer":"/lines/1/quantity","keyword":"required","detail":"is required"})"
                    R"(,{"pointer":"/lines/2/sku","keyword":"required","detail":"is required"})"
                    R"(,{"pointer":"/lines/2/quantity","keyword":"required","detail":"is required"})"
                    R"(,{"pointer":"/lines/3/sku","keyword":"required","detail":"is required"})"
                    R"(,{"pointer":"/lines/3/quantity","keyword":"required","detail":"is required"})")},
      {R"({"customer":"Ada","lines":[1,"2",[3],null]})",
       not_expected(R"({"pointer":"/lines/0","keyword":"type","detail":"expected an object"})"
                    R"(,{"pointer":"/lines/1","keyword":"type","detail":"expected an object"})"
                    R"(,{"pointer":"/lines/2","keyword":"type","detail":"expected an object"})"
                    R"(,{"pointer":"/lines/3","keyword":"type","detail":"expected an object"})")},
      {R"({"customer":"Ada","lines":[{"sku":"","quantity":0}]})",
       not_expected(R"({"pointer":"/lines/0/sku","keyword":"minLength","detail":"must have 1 to 8 characters"})"
                    R"(,{"pointer":"/lines/0/quantity","keyword":"minimum","detail":"must be from 1 to 100"})")},
      {R"({"customer":"Ada","lines":[{"sku":"123456789","quantity":101},{"sku":"A","quantity":-1}]})",
       not_expected(R"({"pointer":"/lines/0/sku","keyword":"maxLength","detail":"must have 1 to 8 characters"})"
                    R"(,{"pointer":"/lines/0/quantity","keyword":"maximum","detail":"must be from 1 to 100"})"
                    R"(,{"pointer":"/lines/1/quantity","keyword":"minimum","detail":"must be from 1 to 100"})")},
      {R"({"customer":"Ada","lines":[{"sku":"A","quantity":1.5}]})",
       not_expected(R"({"pointer":"/lines/0/quantity","keyword":"type","detail":"expected an integer"})")},
      {R"({"customer":"Ada","lines":[{"sku":"A","quantity":1e-2}]})",
       not_expected(R"({"pointer":"/lines/0/quantity","keyword":"type","detail":"expected an integer"})")},
      {R"({"customer":"Ada","lines":[{"sku":"A","quantity":2147483648}]})",
       not_expected(R"({"pointer":"/lines/0/quantity","keyword":"format",)"
                    R"("detail":"expected an integer from -2147483648 to 2147483647"})")},
      {R"({"customer":"Ada","lines":[{"sku":"A","quantity":99999999999999999999}]})",
       not_expected(R"({"pointer":"/lines/0/quantity","keyword":"format",)"
                    R"("detail":"expected an integer from -2147483648 to 2147483647"})")},
      {R"({"customer":"Ada","lines":[{"sku":"A","quantity":"1"}]})",
       not_expected(R"({"pointer":"/lines/0/quantity","keyword":"type","detail":"expected an integer"})")},
      {R"({"customer":"Ada","lines":[{"sku":"A","quantity":1,"price":"free"}]})",
       not_expected(R"({"pointer":"/lines/0/price","keyword":"type","detail":"expected a number"})")},
      {R"({"customer":"Ada","lines":[{"sku":"A","quantity":1,"price":1e999}]})",
       not_expected(R"({"pointer":"/lines/0/price","keyword":"format","detail":"number out of range"})")},
      {R"({"customer":"Ada","id":"7","lines":[{"sku":"A","quantity":1}]})",
       not_expected(
           R"({"pointer":"/id","keyword":"format","detail":"expected a UUID such as 0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50"})")},
      {R"({"customer":"Ada","id":7,"lines":[{"sku":"A","quantity":1}]})",
       not_expected(R"({"pointer":"/id","keyword":"type","detail":"expected a string"})")},
      {R"({"customer":"Ada","priority":"high","lines":[{"sku":"A","quantity":1}]})",
       not_expected(R"({"pointer":"/priority","keyword":"enum","detail":"must be one of Low, High"})")},
      {R"({"customer":"Ada","priority":1,"lines":[{"sku":"A","quantity":1}]})",
       not_expected(R"({"pointer":"/priority","keyword":"type","detail":"expected a string"})")},
      {R"({"customer":"Ada","is_gift":"true","lines":[{"sku":"A","quantity":1}]})",
       not_expected(R"({"pointer":"/is_gift","keyword":"type","detail":"expected true or false"})")},
      {R"({"customer":"Ada","is_gift":true,"lines":[{"sku":"A","quantity":1}]})",
       not_expected(R"({"pointer":"","detail":"a gift has priority High"})")},
      {R"({"customer":"Ada","labels":{"a":256,"b/~":-1,"c":"x"},"lines":[{"sku":"A","quantity":1}]})",
       not_expected(R"({"pointer":"/labels/a","keyword":"maximum","detail":"expected an integer from 0 to 255"})"
                    R"(,{"pointer":"/labels/b~1~0","keyword":"minimum","detail":"expected an integer from 0 to 255"})"
                    R"(,{"pointer":"/labels/c","keyword":"type","detail":"expected an integer"})")},
      {R"({"lines":[{"quantity":"x"},7],"labels":[],"id":{},"priority":null,"is_gift":0})",
       not_expected(R"({"pointer":"/lines/0/quantity","keyword":"type","detail":"expected an integer"})"
                    R"(,{"pointer":"/lines/0/sku","keyword":"required","detail":"is required"})"
                    R"(,{"pointer":"/lines/1","keyword":"type","detail":"expected an object"})"
                    R"(,{"pointer":"/labels","keyword":"type","detail":"expected an object"})"
                    R"(,{"pointer":"/id","keyword":"type","detail":"expected a string"})"
                    R"(,{"pointer":"/priority","keyword":"type","detail":"expected a string"})"
                    R"(,{"pointer":"/is_gift","keyword":"type","detail":"expected true or false"})"
                    R"(,{"pointer":"/customer","keyword":"required","detail":"is required"})")},
      {R"({"customer":"Ada","lines":[{"sku":"A","quantity":1},{"quantity":500}],"unknown":{"deep":[1,2]}})",
       not_expected(R"({"pointer":"/lines/1/sku","keyword":"required","detail":"is required"})"
                    R"(,{"pointer":"/lines/1/quantity","keyword":"maximum","detail":"must be from 1 to 100"})")},
  };
}

TEST_P(Inputs, of_json_that_is_wrong_are_told_all_that_is) {
  start();
  for (const auto& [body, document] : wrong_bodies()) {
    SCOPED_TRACE(body);
    for (const std::string_view path : {"/orders", "/orders-later"}) {
      const Reply reply = ask_json(path, body);
      EXPECT_EQ(reply.body, document);
      EXPECT_EQ(reply.status, document.find("\"status\":400") != std::string::npos ? 400 : 422);
      EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
      EXPECT_FALSE(reply.closes());
    }
  }
}

TEST_P(Inputs, of_json_that_end_too_early_are_no_json_wherever_that_is) {
  start();
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Reply reply = ask_json("/orders", good.substr(0, size));
    EXPECT_EQ(reply.status, 400) << good.substr(0, size);
    EXPECT_TRUE(reply.body.starts_with(R"({"type":"about:blank","title":"Bad Request","status":400,"detail":")"));
    EXPECT_NE(reply.body.find(" at line 1 column "), std::string::npos) << reply.body;
  }
}

TEST_P(Inputs, of_json_that_is_wrong_are_told_up_to_a_bound) {
  start();
  std::string body = R"({"customer":"Ada","lines":[)";
  for (int i = 0; i < 100; ++i) body += i == 0 ? "1" : ",1";
  const Reply reply = ask_json("/orders", body + "]}");

  EXPECT_EQ(reply.status, 422);
  EXPECT_NE(reply.body.find(R"("detail":"the body has invalid values; only the first errors are listed")"),
            std::string::npos);
  EXPECT_NE(reply.body.find(R"({"pointer":"/lines/31","keyword":"type","detail":"expected an object"}]})"),
            std::string::npos)
      << reply.body;

  // Names that a client has made up do not multiply in the response.
  const std::string name(100'000, 'n');
  body = R"({"customer":"Ada","lines":[],"labels":{")" + name + R"(":"x"}})";
  EXPECT_LT(ask_json("/orders", body).body.size(), 1000u);
  EXPECT_LT(ask_json("/exact", R"({"name":"x",")" + name + R"(":1})").body.size(), 1000u);
}

TEST_P(Inputs, of_json_have_a_content_type_that_says_so) {
  start();
  for (const std::string_view type :
       {"application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;x=\"y\"",
        "application/vnd.example.v1+json", "application/problem+JSON ; a=b"}) {
    EXPECT_EQ(ask_json("/orders", good, type).status, 201) << type;
  }
  const std::string document = R"({"type":"about:blank","title":"Unsupported Media Type","status":415,)"
                               R"("detail":"Content-Type: expected application/json"})";
  for (const std::string_view type :
       {"text/plain", "text/json", "application/jsonx", "application/json-seq", "application/x-www-form-urlencoded",
        "json", "+json", "application/+json", "a b/c+json", "application/json,text/plain", ""}) {
    for (const std::string_view path : {"/orders", "/orders-later"}) {
      const Reply reply = ask_json(path, good, type);
      EXPECT_EQ(reply.status, 415) << type;
      EXPECT_EQ(reply.body, document) << type;
      EXPECT_EQ(reply.field("Accept"), "application/json") << type;
    }
  }
  EXPECT_EQ(ask_one(post("/orders", good)).body, document) << "a page of another site sends a body without one";
  const Reply patched = ask_one("PATCH /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(patched.status, 415);
  EXPECT_EQ(patched.field("Accept-Patch"), "application/json") << "RFC 5789 §2.2";
  EXPECT_EQ(ask_one(post("/orders", "")).status, 400) << "no body has no type";
}

TEST_P(Inputs, of_json_that_is_compressed_are_not_taken) {
  start();
  const Reply reply =
      ask_one(post("/orders", "\x1f\x8b\x08", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n"));
  EXPECT_EQ(reply.status, 415);
  EXPECT_EQ(reply.body, R"({"type":"about:blank","title":"Unsupported Media Type","status":415,)"
                        R"("detail":"Content-Encoding: expected a body without a content coding"})");
  EXPECT_EQ(reply.field("Accept-Encoding"), "identity");
  EXPECT_EQ(ask_one(post("/orders", good, "Content-Type: application/json\r\nContent-Encoding: identity\r\n")).status,
            201);
}

TEST_P(Inputs, of_json_may_come_in_chunks_of_any_size) {
  start();
  for (const std::size_t piece : {1u, 2u, 7u, 1000u}) {
    EXPECT_EQ(ask_one(post_chunked("/orders", good, piece, "Content-Type: application/json\r\n")).status, 201);
    EXPECT_EQ(ask_one(post_chunked("/orders-later", "{}", piece, "Content-Type: application/json\r\n")).status, 422);
  }
}

// --- What becomes of the error on its way.

Task<Response> read_within(Request& request) {
  const auto order = co_await request.json<NewOrder>();
  co_return Response::json(order);
}
Task<Response> explains(Request& request) {
  Result<NewOrder> order = request.json<NewOrder>();
  if (!order) co_await std::move(order).error().because("reading an order").because(std::string(200, 'x'));
  co_return Response(Status::NoContent);
}
Task<Response> looks(Request& request) {
  const Result<NewOrder> order = request.json<NewOrder>();
  std::string text;
  if (!order) {
    const Rejection* const why = Rejection::of(order.error());
    EXPECT_NE(why, nullptr);
    text = std::to_string(number(why->status()));
    for (const Violation& one : why->violations()) text += " " + one.pointer + " " + one.message;
  }
  co_return Response::text(Status::Ok, text);
}
Result<Response> puts_another_code_on_it(Request& request) {
  Result<NewOrder> order = request.json<NewOrder>();
  if (!order) return std::move(order).error().as(Code::Conflict);
  return Response(Status::NoContent);
}
Task<Response> around(Request& request, Next next) {
  Result<Response> result = co_await attempt(next(request));
  if (!result) co_return std::move(result).error();
  co_return *std::move(result);
}
struct Marks {
  void after(Request&, Response& response) { response.header("X-Passed", std::to_string(number(response.status()))); }
};
Task<Response> reads_before_the_handler(Request& request, Next next) {
  const std::string_view body = co_await request.whole_body();
  EXPECT_EQ(request.body(), body);
  co_await request.json<Exact>();
  co_return co_await next(request);
}

TEST_P(Inputs, that_are_wrong_are_told_however_the_error_comes_to_the_server) {
  router_.post("/within", &read_within).post("/explains", &explains);
  router_.group("/around").use(around).use(Marks()).post("/orders", create).post("/orders-later", &create_later);
  router_.group("/before").use(reads_before_the_handler).post("/orders", create);
  start();
  const std::string document = not_expected(R"({"pointer":"/lines","keyword":"required","detail":"is required"})");
  for (const std::string_view path :
       {"/orders", "/orders-later", "/within", "/explains", "/around/orders", "/around/orders-later"}) {
    const Reply reply = ask_json(path, R"({"customer":"Ada"})");
    EXPECT_EQ(reply.status, 422) << path;
    EXPECT_EQ(reply.body, document) << path;
    EXPECT_EQ(reply.field("X-Passed"), path.starts_with("/around") ? "422" : "") << path;
  }
  EXPECT_EQ(ask_json("/before/orders", R"({"customer":"Ada"})").body,
            not_expected(
                R"({"pointer":"/customer","keyword":"additionalProperties","detail":"is not a field of this object"})"
                R"(,{"pointer":"/name","keyword":"required","detail":"is required"})"));
}

TEST_P(Inputs, that_are_wrong_are_there_for_a_handler_that_looks) {
  router_.post("/looks", &looks).post("/conflict", puts_another_code_on_it);
  start();
  EXPECT_EQ(ask_json("/looks", R"({"customer":1})").body, "422 /customer expected a string /lines is required");
  EXPECT_EQ(ask_json("/looks", "{").body, "400  unexpected end of text");
  EXPECT_EQ(ask_json("/looks", "{}", "text/plain").body, "415");
  EXPECT_EQ(ask_json("/looks", good).body, "");
  const Reply conflict = ask_json("/conflict", R"({"customer":"Ada"})");
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(conflict.body, R"({"type":"about:blank","title":"Conflict","status":409,"detail":"/lines is required"})");
}

TEST_P(Inputs, that_are_wrong_are_logged_no_louder_than_info) {
  log::Reader log(false);
  const log::Ring ring;
  log.drain([](const log::Record&) {});
  start();
  ask_json("/orders", R"({"customer":1,"lines":[7]})");
  int lines = 0;
  log.drain([&](const log::Record& record) {
    if (record.message() != "request failed") return;
    ++lines;
    EXPECT_EQ(record.level(), Level::Info);
    record.for_each([](const log::FieldView& field) {
      if (field.name == "error") {
        EXPECT_NE(field.text.find("/customer: expected a string; /lines/0: expected an object"), std::string::npos);
      }
    });
  });
  EXPECT_EQ(lines, 1);
}

struct ReadsEarly {
  std::optional<Response> before(Request& request) {
    static_cast<void>(request.json<Exact>());
    return std::nullopt;
  }
};

TEST_P(Inputs, of_a_body_that_is_not_put_together_are_a_bug) {
  router_.post("/streams", &create_later, {.streams_body = true});
  router_.post("/streams-form", &upload_later, {.streams_body = true});
  router_.group("/early").use(ReadsEarly()).post("/orders", create);
  start();
  for (const std::string_view path : {"/streams", "/streams-form", "/early/orders"}) {
    EXPECT_EQ(ask_json(path, good).status, 500) << path;
  }
  EXPECT_EQ(server_->stats().bugs, 3u);
  EXPECT_EQ(ask_json("/orders", good).status, 201);
}

// --- Queries.

TEST_P(Inputs, of_a_query_become_a_struct) {
  start();
  EXPECT_EQ(ask_one(get("/orders")).body, R"({"priority":null,"tag":[],"text":"none","limit":20})");
  EXPECT_EQ(ask_one(get("/orders?limit=5&tag=a+b&priority=High&tag=%C3%A9&text=&unknown=1&&")).body,
            R"({"priority":"High","tag":["a b","é"],"text":"","limit":5})");
}

TEST_P(Inputs, of_a_query_that_is_wrong_are_told_all_that_is) {
  start();
  const auto document = [](std::string_view errors) {
    return R"({"type":"about:blank","title":"Bad Request","status":400,"detail":"the query has invalid values",)"
           R"("errors":[)" +
           std::string(errors) + "]}";
  };
  const std::pair<std::string_view, std::string> wrong[] = {
      {"limit=0", document(R"({"parameter":"limit","keyword":"minimum","detail":"must be from 1 to 100"})")},
      {"limit=x&priority=low",
       document(R"({"parameter":"limit","keyword":"type","detail":"expected an integer"},)"
                R"({"parameter":"priority","keyword":"enum","detail":"must be one of Low, High"})")},
      {"limit=1&limit=2", document(R"({"parameter":"limit","detail":"is given twice"})")},
      {"tag=%ff", document(R"({"parameter":"tag","detail":"is not UTF-8"})")},
      {"tag=%f", not_json("'%' is not followed by two hexadecimal digits, or is followed by 00, which stands for NUL")},
  };
  for (const auto& [query, expected] : wrong) {
    const Reply reply = ask_one(get("/orders?" + std::string(query)));
    EXPECT_EQ(reply.status, 400) << query;
    EXPECT_EQ(reply.body, expected) << query;
    EXPECT_EQ(reply.field("Content-Type"), "application/problem+json");
  }
}

// --- Forms.

TEST_P(Inputs, of_a_form_become_a_struct_however_it_is_encoded) {
  start();
  const std::string expected = R"({"user":"ada","password":"p w&"})";
  EXPECT_EQ(ask_json("/login", "user=ada&password=p+w%26", "application/x-www-form-urlencoded").body, expected);
  EXPECT_EQ(ask_json("/login",
                     "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\np w&\r\n"
                     "--b\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nada\r\n--b--\r\n",
                     "multipart/form-data; boundary=b")
                .body,
            expected);
}

std::string part(std::string_view disposition, std::string_view type, std::string_view body) {
  std::string text = "--b\r\nContent-Disposition: form-data; " + std::string(disposition) + "\r\n";
  if (!type.empty()) text += "Content-Type: " + std::string(type) + "\r\n";
  return text + "\r\n" + std::string(body) + "\r\n";
}

TEST_P(Inputs, of_a_form_may_be_files) {
  start();
  const std::string title = part("name=title", "", "Cats");
  const std::string picture = part("name=picture; filename=\"cat.png\"", "image/png", "PNG");
  const auto send = [&](const std::string& parts) {
    return ask_json("/upload", parts + "--b--\r\n", "multipart/form-data; boundary=b").body;
  };
  EXPECT_EQ(send(title + picture), "Cats: cat.png image/png 3");
  EXPECT_EQ(send(picture + part("name=more; filename=a", "a/b", "1") + part("name=more; filename=b", "", "22") + title +
                 part("name=note", "", "text")),
            "Cats: cat.png image/png 3, a a/b 1, b text/plain 2; - text/plain 4");
  EXPECT_EQ(send(title + picture + part("name=note; filename=\"\"", "application/octet-stream", "") +
                 part("name=more; filename=\"\"", "application/octet-stream", "") + part("name=year", "", "")),
            "Cats: cat.png image/png 3")
      << "inputs that were not filled in";
}

TEST_P(Inputs, of_a_form_that_is_wrong_are_told_all_that_is) {
  start();
  const auto document = [](std::string_view errors) {
    return R"({"type":"about:blank","title":"Unprocessable Content","status":422,)"
           R"("detail":"the form has invalid values","errors":[)" +
           std::string(errors) + "]}";
  };
  const std::string form_type = "application/x-www-form-urlencoded";
  const std::string parts_type = "multipart/form-data; boundary=b";
  const std::string unsupported =
      R"({"type":"about:blank","title":"Unsupported Media Type","status":415,)"
      R"("detail":"Content-Type: expected application/x-www-form-urlencoded or multipart/form-data"})";
  struct {
    std::string type;
    std::string body;
    std::string expected;
  } const wrong[] = {
      {form_type, "",
       document(
           R"({"field":"title","keyword":"required","detail":"is required"},{"field":"picture","keyword":"required","detail":"is required"})")},
      {form_type, "title=12345678901&picture=x&year=MM",
       document(R"({"field":"picture","detail":"expected a file: send the form as multipart/form-data"},)"
                R"({"field":"year","keyword":"type","detail":"expected an integer"},)"
                R"({"field":"title","keyword":"maxLength","detail":"must have 1 to 10 characters"})")},
      {form_type, "title=%",
       not_json("'%' is not followed by two hexadecimal digits, or is followed by 00, which "
                "stands for NUL")},
      {parts_type,
       part("name=title; filename=t", "text/plain", "Cats") + part("name=picture; filename=p", "image/gif", "GIF") +
           "--b--\r\n",
       document(R"({"field":"title","keyword":"type","detail":"expected a text, not a file"},)"
                R"({"field":"picture","detail":"must be a PNG"})")},
      {parts_type,
       part("name=title", "", "Cats") + part("name=picture; filename=\"\"", "application/octet-stream", "") +
           "--b--\r\n",
       document(R"({"field":"picture","keyword":"required","detail":"is required"})")},
      {parts_type, part("name=title", "", "Cats"), not_json("multipart: the body ends before its last boundary")},
      {"application/json", "{}", unsupported},
      {"text/plain", "title=a", unsupported},
  };
  for (const auto& [type, body, expected] : wrong) {
    const Reply reply = ask_json("/upload", body, type);
    EXPECT_EQ(reply.body, expected) << body;
    EXPECT_NE(expected.find("\"status\":" + std::to_string(reply.status) + ","), std::string::npos) << body;
    EXPECT_EQ(reply.field("Accept"),
              reply.status == 415 ? "application/x-www-form-urlencoded, multipart/form-data" : "");
  }
}

}  // namespace
}  // namespace keel::http::input_test
