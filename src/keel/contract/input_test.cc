// Parameters in all styles and places, and bodies, as generated code reads them.

#include "keel/contract/input.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "keel/data/json_value.h"
#include "keel/data/json_write.h"
#include "keel/data/uuid.h"
#include "keel/http/testing/test_server.h"

namespace input_test {

using namespace keel;
using contract::Form;
using contract::Parameter;
using contract::Place;
using contract::Style;

// What is generated for {type: array, items: {type: integer}, maxItems: 3} and the like.
void read_integers(json::Reader& in, std::vector<int>& value, Violations& wrong) {
  json::internal::read_field<std::vector<int>>(in, &value, wrong);
}
void read_texts(json::Reader& in, std::vector<std::string>& value, Violations& wrong) {
  json::internal::read_field<std::vector<std::string>>(in, &value, wrong);
}
void read_value(json::Reader& in, json::Value& value, Violations&) { read_json(in, value); }
struct Color {
  int r = 0;
  int g = 0;
  std::vector<std::string> tags;
  std::optional<std::string> name;
  static constexpr std::string_view optional_fields[] = {"tags"};
  void rules(Check& check) const { check(r).at_most(255); }
};
void read_color(json::Reader& in, Color& value, Violations& wrong) {
  json::internal::read_field<Color>(in, &value, wrong);
}
constexpr contract::Field color_fields[] = {
    {"r", Form::Bare}, {"g", Form::Bare}, {"tags", Form::TextList}, {"name", Form::Text}};

Complaint check_limit(const int& value) {
  if (value < 1) return {"must be from 1 to 100", "minimum"};
  if (value > 100) return {"must be from 1 to 100", "maximum"};
  return {};
}

// Serves one route, whose handler is `read`: what it gives is the response.
using Read = Result<std::string> (*)(contract::Input& in);
http::TestResponse ask(Read read, std::string_view pattern, http::ClientRequest request) {
  http::Router router;
  http::Handler handler;
  handler.at_once = [read](http::Request& given) -> Result<http::Response> {
    contract::Input in(given);
    KEEL_TRY(const std::string text, read(in));
    return http::Response::text(http::Status::Ok, text);
  };
  router.add(request.method(), pattern, std::move(handler));
  http::TestServer server(router);
  return server.begin(std::move(request)).response();
}
std::string get(Read read, std::string_view target, std::string_view pattern = "/items") {
  const auto reply = ask(read, pattern, http::ClientRequest(http::Method::Get, target));
  return std::to_string(reply.status()) + ' ' + std::string(reply.body());
}

std::string numbers(const std::optional<std::vector<int>>& list) {
  if (!list) return "none";
  std::string text = "[";
  for (const int one : *list) text += (text.size() == 1 ? "" : ",") + std::to_string(one);
  return text + ']';
}
std::string texts(const std::optional<std::vector<std::string>>& list) {
  if (!list) return "none";
  std::string text = "[";
  for (const std::string& one : *list) text += (text.size() == 1 ? "" : "|") + one;
  return text + ']';
}

TEST(ContractInput, reads_a_plain_value_and_tells_what_cannot_be_read_from_what_is_not_as_its_schema_says) {
  const Read read = [](contract::Input& in) -> Result<std::string> {
    static constexpr Parameter limit = {.name = "limit", .place = Place::Query};
    std::optional<int> value;
    in.value(limit, value, &check_limit);
    KEEL_TRY_VOID(in.finish());
    return value ? std::to_string(*value) : "none";
  };
  EXPECT_EQ(get(read, "/items"), "200 none");
  EXPECT_EQ(get(read, "/items?other=1&limit=20"), "200 20");
  EXPECT_EQ(get(read, "/items?%6cimit=2%30"), "200 20");
  EXPECT_EQ(get(read, "/items?limit=0"),
            R"(422 {"type":"about:blank","title":"Unprocessable Content","status":422,)"
            R"("detail":"the parameters have invalid values",)"
            R"("errors":[{"parameter":"limit","keyword":"minimum","detail":"must be from 1 to 100"}]})");
  EXPECT_EQ(get(read, "/items?limit=x"),
            R"(400 {"type":"about:blank","title":"Bad Request","status":400,"detail":"the parameters cannot be read",)"
            R"("errors":[{"parameter":"limit","keyword":"type","detail":"expected an integer"}]})");
  for (const char* const bad : {"", "1.5", "01", "+1", "1%20", "0x1", "1&limit=2", "%zz", "1%00"}) {
    EXPECT_TRUE(get(read, std::string("/items?limit=") + bad).starts_with("400 ")) << bad;
  }
  EXPECT_TRUE(get(read, "/items?limit=99999999999").starts_with("422 ")) << "an integer, and out of range";
  EXPECT_EQ(get(read, "/items?limit=2.0"), "200 2") << "as in JSON";
  EXPECT_EQ(get(read, "/items?limit=1e1"), "200 10");
}

TEST(ContractInput, reads_a_number_in_a_list_as_it_reads_one_alone) {
  const Read alone = [](contract::Input& in) -> Result<std::string> {
    static constexpr Parameter n = {.name = "n", .place = Place::Query};
    std::optional<int> value;
    in.value(n, value);
    KEEL_TRY_VOID(in.finish());
    return '[' + std::to_string(*value) + ']';
  };
  const Read list = [](contract::Input& in) -> Result<std::string> {
    static constexpr Parameter n = {.name = "n", .place = Place::Query};
    std::optional<std::vector<int>> value;
    in.list<&read_integers>(n, Form::Bare, value);
    KEEL_TRY_VOID(in.finish());
    return numbers(value);
  };
  const Read real = [](contract::Input& in) -> Result<std::string> {
    static constexpr Parameter n = {.name = "n", .place = Place::Query};
    std::optional<double> value;
    in.value(n, value);
    KEEL_TRY_VOID(in.finish());
    return "read";
  };
  const std::pair<std::string, std::string_view> table[] = {
      {"1", "200 [1]"},     {"-1", "200 [-1]"}, {"-0", "200 [0]"},       {"1.0", "200 [1]"},
      {"1e2", "200 [100]"}, {"1.5", "400 "},    {"01", "400 "},          {"-01", "400 "},
      {"+1", "400 "},       {"1.", "400 "},     {".5", "400 "},          {"0x10", "400 "},
      {"true", "400 "},     {"inf", "400 "},    {"99999999999", "422 "}, {"1e99", "422 "},
  };
  for (const auto& [text, reply] : table) {
    const std::string target = "/items?n=" + (text[0] == '+' ? "%2B" + text.substr(1) : text);
    EXPECT_TRUE(get(alone, target).starts_with(reply)) << text << ": " << get(alone, target);
    EXPECT_TRUE(get(list, target).starts_with(reply)) << text << ": " << get(list, target);
  }
  for (const char* const bad : {"01", "1.", ".5", "inf", "nan", "0x10", "%2B1"}) {
    EXPECT_TRUE(get(real, std::string("/items?n=") + bad).starts_with("400 ")) << bad;
  }
  EXPECT_EQ(get(real, "/items?n=-1.5e3"), "200 read");
  EXPECT_TRUE(get(real, "/items?n=1e999").starts_with("422 "));
}

TEST(ContractInput, reads_a_list_in_a_header_whose_elements_may_be_quoted) {
  const Read read = [](contract::Input& in) -> Result<std::string> {
    static constexpr Parameter tags = {.name = "X-Tags", .place = Place::Header, .style = Style::Simple};
    std::optional<std::vector<std::string>> value;
    in.list<&read_texts>(tags, Form::Text, value);
    KEEL_TRY_VOID(in.finish());
    return texts(value);
  };
  const std::pair<std::string_view, std::string_view> table[] = {
      {"a, b ,c", "[a|b|c]"},
      {R"("a,b", "c\"d\\" ,e)", R"([a,b|c"d\|e])"},
      {R"(a,"")", "[a|]"},
      {", a,, b,", "[a|b]"},
      {",", "[]"},
      {R"("a)", R"(["a])"},
      {R"("a" b,c)", R"(["a" b|c])"},
      {R"(a "b,c")", R"([a "b|c"])"},
      {R"("a,)", R"(["a])"},
      {R"("a\")", R"(["a\"])"},
  };
  for (const auto& [field, list] : table) {
    http::ClientRequest request(http::Method::Get, "/items");
    request.header("X-Tags", field);
    EXPECT_EQ(ask(read, "/items", std::move(request)).body(), list) << field;
  }
}

TEST(ContractInput, takes_a_value_from_a_path_a_header_and_a_cookie) {
  const Read read = [](contract::Input& in) -> Result<std::string> {
    static constexpr Parameter id = {
        .name = "item-id", .place = Place::Path, .style = Style::Simple, .is_required = true, .in_route = "id"};
    static constexpr Parameter tenant = {
        .name = "X-Tenant", .place = Place::Header, .style = Style::Simple, .is_required = true};
    static constexpr Parameter theme = {.name = "theme", .place = Place::Cookie};
    Uuid uuid;
    std::string name;
    std::string color = "light";
    in.value(id, uuid);
    in.value(tenant, name);
    in.value(theme, color);
    KEEL_TRY_VOID(in.finish());
    return std::string(uuid.text()) + ' ' + name + ' ' + color;
  };
  const std::string path = "/items/0192f7a8-0000-7000-8000-000000000001";
  http::ClientRequest request(http::Method::Get, path);
  request.header("x-tenant", "acme").header("Cookie", "a=b; theme=dark%21");
  EXPECT_EQ(ask(read, "/items/{id}", std::move(request)).body(), path.substr(7) + " acme dark!");
  EXPECT_EQ(
      get(read, "/items/7", "/items/{id}"),
      R"(400 {"type":"about:blank","title":"Bad Request","status":400,"detail":"the parameters cannot be read",)"
      R"("errors":[{"parameter":"item-id","keyword":"format","detail":"expected a UUID such as 0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50"},)"
      R"({"parameter":"X-Tenant","keyword":"required","detail":"is required"}]})");
}

// The tables of OpenAPI 3.1.1 §4.8.12.6.
TEST(ContractInput, reads_lists_in_every_style) {
  static Parameter list;
  const Read read = [](contract::Input& in) -> Result<std::string> {
    std::optional<std::vector<int>> value;
    in.list<&read_integers>(list, Form::Bare, value);
    KEEL_TRY_VOID(in.finish());
    return numbers(value);
  };
  list = {.name = "n", .place = Place::Query, .style = Style::Form, .explodes = true};
  EXPECT_EQ(get(read, "/items?n=1&m=7&n=2"), "200 [1,2]");
  EXPECT_EQ(get(read, "/items"), "200 none");
  list = {.name = "n", .place = Place::Query, .style = Style::Form, .explodes = false};
  EXPECT_EQ(get(read, "/items?n=1,2,3"), "200 [1,2,3]");
  EXPECT_EQ(get(read, "/items?n="), "200 []");
  EXPECT_TRUE(get(read, "/items?n=1&n=2").starts_with("400 "));
  list = {.name = "n", .place = Place::Query, .style = Style::SpaceDelimited, .explodes = false};
  EXPECT_EQ(get(read, "/items?n=1%202+3"), "200 [1,2,3]");
  list = {.name = "n", .place = Place::Query, .style = Style::PipeDelimited, .explodes = false};
  EXPECT_EQ(get(read, "/items?n=1%7C2%7c3"), "200 [1,2,3]");
  list = {.name = "n", .place = Place::Path, .style = Style::Simple, .is_required = true, .in_route = "n"};
  EXPECT_EQ(get(read, "/items/1,2", "/items/{n}"), "200 [1,2]");
  list.style = Style::Label;
  EXPECT_EQ(get(read, "/items/.1.2", "/items/{n}"), "200 [1,2]");
  list.explodes = false;
  EXPECT_EQ(get(read, "/items/.1,2", "/items/{n}"), "200 [1,2]");
  EXPECT_TRUE(get(read, "/items/1,2", "/items/{n}").starts_with("400 "));
  list.style = Style::Matrix;
  EXPECT_EQ(get(read, "/items/;n=1,2", "/items/{n}"), "200 [1,2]");
  list.explodes = true;
  EXPECT_EQ(get(read, "/items/;n=1;n=2", "/items/{n}"), "200 [1,2]");
  EXPECT_TRUE(get(read, "/items/;m=1", "/items/{n}").starts_with("400 "));
  list = {.name = "X-N", .place = Place::Header, .style = Style::Simple};
  http::ClientRequest request(http::Method::Get, "/items");
  request.header("X-N", "1, 2").header("X-N", "3");
  EXPECT_EQ(ask(read, "/items", std::move(request)).body(), "[1,2,3]");
}

TEST(ContractInput, names_the_element_that_is_wrong) {
  const Read read = [](contract::Input& in) -> Result<std::string> {
    static constexpr Parameter list = {.name = "n", .place = Place::Query, .is_required = true};
    std::vector<int> value;
    in.list<&read_integers>(list, Form::Bare, value);
    KEEL_TRY_VOID(in.finish());
    return numbers(value);
  };
  EXPECT_EQ(get(read, "/items?n=1&n=x&n=3"),
            R"(400 {"type":"about:blank","title":"Bad Request","status":400,"detail":"the parameters cannot be read",)"
            R"("errors":[{"parameter":"n[1]","keyword":"type","detail":"expected an integer"}]})");
  EXPECT_TRUE(get(read, "/items").starts_with("400 "));
}

TEST(ContractInput, splits_a_list_before_it_decodes) {
  const Read read = [](contract::Input& in) -> Result<std::string> {
    static constexpr Parameter list = {.name = "t", .place = Place::Query, .explodes = false};
    std::optional<std::vector<std::string>> value;
    in.list<&read_texts>(list, Form::Text, value);
    KEEL_TRY_VOID(in.finish());
    return texts(value);
  };
  EXPECT_EQ(get(read, "/items?t=a%2Cb,c+d,1,,%22"), "200 [a,b|c d|1||\"]");
  EXPECT_TRUE(get(read, "/items?t=%ff").starts_with("400 ")) << "no UTF-8";
}

TEST(ContractInput, reads_objects_in_every_style) {
  static Parameter object;
  const Read read = [](contract::Input& in) -> Result<std::string> {
    std::optional<Color> value;
    in.object<&read_color>(object, color_fields, Form::Either, value);
    KEEL_TRY_VOID(in.finish());
    if (!value) return "none";
    return std::to_string(value->r) + ' ' + std::to_string(value->g) + ' ' + texts(value->tags) + ' ' +
           value->name.value_or("-");
  };
  object = {.name = "c", .place = Place::Query, .style = Style::DeepObject};
  EXPECT_EQ(get(read, "/items?c[r]=1&c[g]=2&c[tags]=a&c[tags]=b&d[r]=9"), "200 1 2 [a|b] -");
  EXPECT_EQ(get(read, "/items?c%5Br%5D=1&c%5Bg%5D=2&c[name]=7"), "200 1 2 [] 7") << "a text may look like a number";
  EXPECT_EQ(get(read, "/items?d[r]=9"), "200 none");
  EXPECT_EQ(get(read, "/items?c[r]=1&c[g]=2&c[g]=3").substr(0, 4), "400 ");
  EXPECT_EQ(get(read, "/items?c[r]=256&c[g]=2"),
            R"(422 {"type":"about:blank","title":"Unprocessable Content","status":422,)"
            R"("detail":"the parameters have invalid values",)"
            R"("errors":[{"parameter":"c[r]","keyword":"maximum","detail":"must be at most 255"}]})");
  object.style = Style::Form;
  EXPECT_EQ(get(read, "/items?r=1&page=7&g=2"), "200 1 2 [] -");
  object.explodes = false;
  EXPECT_EQ(get(read, "/items?c=r,1,g,2"), "200 1 2 [] -");
  EXPECT_EQ(get(read, "/items?c=r,1,g").substr(0, 4), "400 ");
  object = {.name = "c", .place = Place::Path, .style = Style::Simple, .explodes = false, .in_route = "c"};
  EXPECT_EQ(get(read, "/items/r,1,g,2", "/items/{c}"), "200 1 2 [] -");
  object.explodes = true;
  EXPECT_EQ(get(read, "/items/r=1,g=2", "/items/{c}"), "200 1 2 [] -");
  object.style = Style::Matrix;
  EXPECT_EQ(get(read, "/items/;r=1;g=2", "/items/{c}"), "200 1 2 [] -");
  object.style = Style::Label;
  EXPECT_EQ(get(read, "/items/.r=1.g=2", "/items/{c}"), "200 1 2 [] -");
}

// OpenAPI 3.1.1 §4.8.12.6, RFC 9110 §5.3 and §5.6.
TEST(ContractInput, reads_objects_of_other_clients_in_headers_cookies_and_with_delimiters) {
  static Parameter object;
  const Read read = [](contract::Input& in) -> Result<std::string> {
    std::optional<Color> value;
    in.object<&read_color>(object, color_fields, Form::Either, value);
    KEEL_TRY_VOID(in.finish());
    if (!value) return "none";
    return std::to_string(value->r) + ' ' + std::to_string(value->g) + ' ' + texts(value->tags) + ' ' +
           value->name.value_or("-");
  };
  const auto sent = [&](std::string_view name, std::vector<std::string_view> fields) {
    http::ClientRequest request(http::Method::Get, "/items");
    for (const std::string_view field : fields) request.header(name, field);
    const auto reply = ask(read, "/items", std::move(request));
    return reply.status() == 200 ? std::string(reply.body()) : std::to_string(reply.status());
  };
  object = {.name = "X-Color", .place = Place::Header, .style = Style::Simple, .explodes = true};
  EXPECT_EQ(sent("X-Color", {"r=1,g=2"}), "1 2 [] -");
  EXPECT_EQ(sent("X-Color", {"r=1, g=2 ,\tname=a b"}), "1 2 [] a b");
  EXPECT_EQ(sent("X-Color", {"r=1", "g=2", "tags=a, tags=\"b,c\""}), "1 2 [a|b,c] -") << "several fields are one list";
  EXPECT_EQ(sent("X-Color", {"r=1, g=2, name=\"a, \\\"b\\\"\""}), "1 2 [] a, \"b\"");
  EXPECT_EQ(sent("X-Color", {"r=1, g"}), "400");
  EXPECT_EQ(sent("X-Color", {", r=1,, g=2,", "", "name="}), "1 2 [] ") << "empty elements do not count";
  EXPECT_EQ(sent("X-Color", {","}), "none");
  object.explodes = false;
  EXPECT_EQ(sent("X-Color", {",r,1,,g,2,", "", "name,,"}), "1 2 [] ") << "an empty value does";
  EXPECT_EQ(sent("X-Color", {R"("", 1, r, 1, g, 2)"}), "1 2 [] -") << "an empty name has quotes";
  EXPECT_EQ(sent("X-Color", {"r, 1, g, 2, name, \"a,b\""}), "1 2 [] a,b");
  EXPECT_EQ(sent("X-Color", {"r,1", "g,2"}), "1 2 [] -");
  EXPECT_EQ(sent("X-Color", {"r, 1, g"}), "400");
  object = {.name = "c", .place = Place::Cookie, .style = Style::Form, .explodes = false};
  EXPECT_EQ(sent("Cookie", {"a=b; c=r,1,g,2"}), "1 2 [] -");
  object = {.name = "c", .place = Place::Query, .style = Style::SpaceDelimited, .explodes = false};
  EXPECT_EQ(get(read, "/items?c=r%201%20g+2"), "200 1 2 [] -");
  EXPECT_EQ(get(read, "/items?c=r%201%20g%202%20name%20a,b"), "200 1 2 [] a,b");
  EXPECT_EQ(get(read, "/items?c=r%201%20g").substr(0, 4), "400 ");
  object.style = Style::PipeDelimited;
  EXPECT_EQ(get(read, "/items?c=r%7C1%7cg%7C2"), "200 1 2 [] -");
}

TEST(ContractInput, reads_a_text_or_a_list_and_a_text_or_an_object) {
  static Parameter parameter;
  static Form single;
  const Read either = [](contract::Input& in) -> Result<std::string> {
    std::optional<json::Value> value;
    in.text_or_list<&read_value>(parameter, single, Form::Text, value);
    KEEL_TRY_VOID(in.finish());
    return value ? json::write(*value) : "none";
  };
  single = Form::Text;
  parameter = {.name = "t", .place = Place::Query};
  EXPECT_EQ(get(either, "/items?t=a&t=b"), R"(200 ["a","b"])");
  EXPECT_EQ(get(either, "/items?t=5"), R"(200 "5")");
  EXPECT_EQ(get(either, "/items?t=a,b"), R"(200 "a,b")");
  EXPECT_EQ(get(either, "/items?t="), R"(200 "")");
  EXPECT_EQ(get(either, "/items"), "200 none");
  parameter.explodes = false;
  EXPECT_EQ(get(either, "/items?t=a,b"), R"(200 ["a","b"])");
  EXPECT_EQ(get(either, "/items?t=a%2Cb"), R"(200 "a,b")");
  single = Form::Bare;
  EXPECT_EQ(get(either, "/items?t=5"), "200 5");
  EXPECT_EQ(get(either, "/items?t=x"), R"(200 "x")") << "the reader of the type refuses it";
  parameter.is_required = true;
  EXPECT_EQ(get(either, "/items").substr(0, 4), "400 ");

  const Read created = [](contract::Input& in) -> Result<std::string> {
    std::optional<json::Value> value;
    in.text_or_object<&read_value>(parameter, Form::Bare, color_fields, Form::Either, value);
    KEEL_TRY_VOID(in.finish());
    return value ? json::write(*value) : "none";
  };
  parameter = {.name = "c", .place = Place::Query, .style = Style::DeepObject};
  EXPECT_EQ(get(created, "/items?c=7"), "200 7");
  EXPECT_EQ(get(created, "/items?c[r]=7&c[tags]=a"), R"(200 {"r":7,"tags":["a"]})");
  EXPECT_EQ(get(created, "/items"), "200 none");
  EXPECT_EQ(get(created, "/items?c[r]=1&c[r]=2").substr(0, 4), "400 ");
  parameter.is_required = true;
  EXPECT_EQ(get(created, "/items").substr(0, 4), "400 ");
}

TEST(ContractInput, reads_json_in_a_parameter) {
  const Read read = [](contract::Input& in) -> Result<std::string> {
    static constexpr Parameter filter = {.name = "f", .place = Place::Query};
    std::optional<Color> value;
    in.text<&read_color>(filter, Form::Json, value);
    KEEL_TRY_VOID(in.finish());
    return value ? std::to_string(value->g) : "none";
  };
  EXPECT_EQ(get(read, "/items?f=%7B%22r%22:1,%22g%22:2%7D"), "200 2");
  EXPECT_EQ(get(read, "/items?f=%7B%22r%22:1").substr(0, 4), "400 ");
  EXPECT_EQ(get(read, "/items?f=%7B%22r%22:1%7D"),
            R"(422 {"type":"about:blank","title":"Unprocessable Content","status":422,)"
            R"("detail":"the parameters have invalid values",)"
            R"("errors":[{"parameter":"f[g]","keyword":"required","detail":"is required"}]})");
}

http::ClientRequest post(std::string_view type, std::string_view body) {
  http::ClientRequest request(http::Method::Post, "/items");
  request.body(body, type);
  return request;
}

TEST(ContractInput, reads_a_body_of_json_a_form_or_text) {
  const Read read = [](contract::Input& in) -> Result<std::string> {
    std::optional<Color> value;
    if (in.is_body("application/x-www-form-urlencoded") || in.is_body("multipart/*")) {
      KEEL_TRY_VOID(in.form<&read_color>(color_fields, Form::Either, value, false));
    } else {
      KEEL_TRY_VOID(in.json<&read_color>(value, false));
    }
    return value ? std::to_string(value->r) + ' ' + texts(value->tags) : "none";
  };
  EXPECT_EQ(ask(read, "/items", post("application/json", R"({"r":1,"g":2,"tags":["a"]})")).body(), "1 [a]");
  EXPECT_EQ(ask(read, "/items", post("application/json", "")).body(), "none");
  EXPECT_EQ(ask(read, "/items", post("application/json", R"({"r":1})")).status(), 422);
  EXPECT_EQ(ask(read, "/items", post("application/json", R"({"r":1)")).status(), 400);
  EXPECT_EQ(ask(read, "/items", post("image/png", "x")).status(), 415);
  constexpr std::string_view urlencoded = "application/x-www-form-urlencoded";
  EXPECT_EQ(ask(read, "/items", post(urlencoded, "r=1&tags=a&g=2&tags=b")).body(), "1 [a|b]");
  EXPECT_EQ(ask(read, "/items", post(urlencoded, "r=1&g=2&tags=a%00b")).body(), std::string("1 [a\0b]", 7));
  const auto wrong = ask(read, "/items", post(urlencoded, "r=256&g=2"));
  EXPECT_EQ(wrong.status(), 422);
  EXPECT_NE(wrong.body().find(R"("errors":[{"field":"r","keyword":"maximum","detail":"must be at most 255"}])"),
            std::string::npos)
      << wrong.body();
  EXPECT_EQ(ask(read, "/items",
                post("multipart/form-data; boundary=b",
                     "--b\r\nContent-Disposition: form-data; name=\"r\"\r\n\r\n5\r\n"
                     "--b\r\nContent-Disposition: form-data; name=\"g\"\r\n\r\n6\r\n--b--\r\n"))
                .body(),
            "5 []");
}

TEST(ContractInput, reads_the_objects_of_a_list_in_a_form_each_from_its_own_part) {
  const Read read = [](contract::Input& in) -> Result<std::string> {
    static constexpr contract::Field fields[] = {{"lines", Form::JsonList}};
    std::optional<json::Value> value;
    KEEL_TRY_VOID(in.form<&read_value>(fields, Form::Either, value));
    return json::write(*value);
  };
  const auto parts = [&](std::vector<std::string_view> lines) {
    std::string body;
    for (const std::string_view line : lines) {
      body += "--b\r\nContent-Disposition: form-data; name=\"lines\"\r\nContent-Type: application/json\r\n\r\n" +
              std::string(line) + "\r\n";
    }
    const auto reply = ask(read, "/items", post("multipart/form-data; boundary=b", body + "--b--\r\n"));
    return std::string(reply.body());
  };
  EXPECT_EQ(parts({R"({"a":1})", R"({"a":2})"}), R"({"lines":[{"a":1},{"a":2}]})");
  EXPECT_EQ(parts({R"({"a":1})"}), R"({"lines":[{"a":1}]})");
  EXPECT_EQ(parts({R"( [{"a":1},{"a":2}])"}), R"({"lines":[{"a":1},{"a":2}]})") << "the whole list at once";
  EXPECT_EQ(ask(read, "/items", post("application/x-www-form-urlencoded", "lines=%7B%7D&lines=%7B%7D")).body(),
            R"({"lines":[{},{}]})");
}

TEST(ContractInput, reads_no_more_than_its_bounds) {
  const Read read = [](contract::Input& in) -> Result<std::string> {
    static constexpr Parameter object = {.name = "c", .place = Place::Query, .style = Style::DeepObject};
    std::optional<Color> value;
    in.object<&read_color>(object, color_fields, Form::Either, value);
    KEEL_TRY_VOID(in.finish());
    return "good";
  };
  std::string target = "/items?c[r]=1";
  for (int i = 0; i < 300; ++i) target += "&c[x" + std::to_string(i) + "]=1";
  EXPECT_EQ(get(read, target).substr(0, 4), "400 ");
}

TEST(ContractInput, tells_a_body_that_was_not_sent_from_one_without_bytes) {
  const Read read = [](contract::Input& in) -> Result<std::string> {
    KEEL_TRY_VOID(in.streamed_body());
    return "sent";
  };
  const auto put = [&](const std::optional<std::string_view>& body, std::string_view type) {
    http::ClientRequest request(http::Method::Put, "/items");
    if (body) request.body(*body, type);
    const auto reply = ask(read, "/items", std::move(request));
    return std::to_string(reply.status()) + ' ' + std::string(reply.body());
  };
  EXPECT_EQ(put("a", "image/png"), "200 sent");
  EXPECT_EQ(put("", "image/png"), "200 sent") << "an empty file";
  EXPECT_EQ(put(std::nullopt, ""),
            R"(400 {"type":"about:blank","title":"Bad Request","status":400,"detail":"a request body is required"})");
}

}  // namespace input_test
