// What a client writes, and that Input reads the same again, whatever is in it.

#include "keel/contract/output.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "keel/contract/input.h"
#include "keel/data/json_value.h"
#include "keel/http/testing/test_server.h"

namespace keel::contract::output_test {
namespace {

struct Color {
  std::string name;
  std::optional<std::int64_t> r;
  std::vector<std::string> tags;
  static constexpr std::string_view optional_fields[] = {"tags"};
};
constexpr Field color_fields[] = {{"name", Form::Text}, {"r", Form::Bare}, {"tags", Form::TextList}};
using Map = std::map<std::string, std::string>;

template <class T>
void read_as(json::Reader& in, T& value, Violations& wrong) {
  json::internal::read_field<T>(in, &value, wrong);
}

// The URL, then the fields, then the body; or what is wrong.
std::string written(Output&& out, std::string_view base = "") {
  auto request = std::move(out).finish(base);
  return request ? request->url() : std::string(request.error().message());
}
template <class F>
std::string query(const Parameter& parameter, F put) {
  Output out(http::Method::Get, "/x");
  put(out, parameter);
  return written(std::move(out));
}
const auto texts = [](std::vector<std::string> value) {
  return
      [value = std::move(value)](Output& out, const Parameter& parameter) { out.list(parameter, Form::Text, value); };
};
const auto color = [](Color value) {
  return [value = std::move(value)](Output& out, const Parameter& parameter) {
    out.object(parameter, color_fields, Form::Either, value);
  };
};

// OpenAPI 3.1.1 §4.8.12.
TEST(ContractOutput, writes_each_style_of_a_query) {
  const auto of = [](Style style, bool explodes) {
    return Parameter{.name = "c", .place = Place::Query, .style = style, .explodes = explodes};
  };
  const Color red = {.name = "red", .r = 255, .tags = {"a", "b"}};
  EXPECT_EQ(query(of(Style::Form, true), texts({"a,b", "c d"})), "/x?c=a%2Cb&c=c%20d");
  EXPECT_EQ(query(of(Style::Form, false), texts({"a,b", "c d"})), "/x?c=a%2Cb,c%20d");
  EXPECT_EQ(query(of(Style::SpaceDelimited, false), texts({"a+b", "c"})), "/x?c=a%2Bb%20c");
  EXPECT_EQ(query(of(Style::PipeDelimited, false), texts({"a b", "c"})), "/x?c=a%20b%7Cc");
  EXPECT_EQ(query(of(Style::SpaceDelimited, false), color(red)), "/x?c=name%20red%20r%20255%20tags%20a%20tags%20b");
  EXPECT_EQ(query(of(Style::PipeDelimited, false), color(red)), "/x?c=name%7Cred%7Cr%7C255%7Ctags%7Ca%7Ctags%7Cb");
  EXPECT_EQ(query(of(Style::Form, true), color(red)), "/x?name=red&r=255&tags=a&tags=b");
  EXPECT_EQ(query(of(Style::Form, false), color(red)), "/x?c=name,red,r,255,tags,a,tags,b");
  EXPECT_EQ(query(of(Style::DeepObject, true), color(red)),
            "/x?c%5Bname%5D=red&c%5Br%5D=255&c%5Btags%5D=a&c%5Btags%5D=b");
}

TEST(ContractOutput, writes_each_style_of_a_path) {
  const auto path = [](Style style, bool explodes, auto put) {
    const Parameter parameter = {.name = "c", .place = Place::Path, .style = style, .explodes = explodes};
    Output out(http::Method::Get, "/x/{c}/y");
    put(out, parameter);
    return written(std::move(out), "/v1");
  };
  const auto text = [](std::string value) {
    return [value](Output& out, const Parameter& parameter) { out.text(parameter, Form::Text, value); };
  };
  EXPECT_EQ(path(Style::Simple, false, text("a/b?c")), "/v1/x/a%2Fb%3Fc/y");
  EXPECT_EQ(path(Style::Simple, false, text("..")), "/v1/x/%2E%2E/y");
  EXPECT_EQ(path(Style::Label, false, text("a")), "/v1/x/.a/y");
  EXPECT_EQ(path(Style::Label, false, text(".")), "/v1/x/.%2E/y");
  EXPECT_EQ(path(Style::Label, false, text("")), "c: a label cannot be empty");
  EXPECT_EQ(path(Style::Label, true, texts({"", ""})), "c: a label cannot be empty");
  EXPECT_EQ(path(Style::Matrix, false, text("a;b")), "/v1/x/;c=a%3Bb/y");
  EXPECT_EQ(path(Style::Simple, false, texts({"a", "b"})), "/v1/x/a,b/y");
  EXPECT_EQ(path(Style::Label, true, texts({"a.", "b"})), "/v1/x/.a%2E.b/y");
  EXPECT_EQ(path(Style::Matrix, true, texts({"a", "b"})), "/v1/x/;c=a;c=b/y");
  EXPECT_EQ(path(Style::Matrix, false, texts({"a", "b"})), "/v1/x/;c=a,b/y");
  const Color red = {.name = "red", .r = 1, .tags = {}};
  EXPECT_EQ(path(Style::Simple, false, color(red)), "/v1/x/name,red,r,1/y");
  EXPECT_EQ(path(Style::Simple, true, color(red)), "/v1/x/name=red,r=1/y");
  EXPECT_EQ(path(Style::Label, true, color(red)), "/v1/x/.name=red.r=1/y");
  EXPECT_EQ(path(Style::Matrix, true, color(red)), "/v1/x/;name=red;r=1/y");
  EXPECT_EQ(path(Style::Matrix, false, color(red)), "/v1/x/;c=name,red,r,1/y");
}

TEST(ContractOutput, leaves_out_what_is_absent_and_says_null_where_it_is_required) {
  const Parameter optional = {.name = "n", .place = Place::Query};
  const Parameter required = {.name = "n", .place = Place::Query, .is_required = true};
  const auto absent = [](Form form) {
    return [form](Output& out, const Parameter& parameter) { out.text(parameter, form, std::optional<int>()); };
  };
  EXPECT_EQ(query(optional, absent(Form::Bare)), "/x");
  EXPECT_EQ(query(required, absent(Form::Bare)), "/x?n=null");
  EXPECT_EQ(query(required, absent(Form::Text)), "n: null cannot be sent");
}

TEST(ContractOutput, rejects_what_would_be_read_as_another_value) {
  const auto of = [](Place place, Style style, bool explodes = false) {
    return Parameter{.name = "c", .place = place, .style = style, .explodes = explodes, .is_required = true};
  };
  EXPECT_EQ(query(of(Place::Query, Style::PipeDelimited), texts({"a|b"})),
            "c: an element of a pipeDelimited list or object cannot contain '|'");
  EXPECT_EQ(query(of(Place::Query, Style::SpaceDelimited), texts({"a b"})),
            "c: an element of a spaceDelimited list or object cannot contain a blank");
  EXPECT_EQ(query(of(Place::Query, Style::PipeDelimited), color({.name = "a|b", .r = {}, .tags = {}})),
            "c: an element of a pipeDelimited list or object cannot contain '|'");
  EXPECT_EQ(query(of(Place::Query, Style::Form), texts({""})),
            "c: a list with one empty text cannot be sent, because it would be read as an empty list");
  EXPECT_EQ(query(of(Place::Query, Style::Form, true), texts({})), "c: an empty list cannot be sent");
  EXPECT_EQ(query(of(Place::Path, Style::Simple), texts({})), "c: a path parameter cannot be empty");
  EXPECT_EQ(query(of(Place::Header, Style::Simple),
                  [](Output& out, const Parameter& parameter) { out.text(parameter, Form::Text, " a"); }),
            "c: a header cannot begin or end with a blank");
  EXPECT_EQ(
      query(of(Place::Header, Style::Simple, true),
            [](Output& out, const Parameter& parameter) { out.object(parameter, {}, Form::Text, Map{{"a=b", "c"}}); }),
      "c: the name of a member has a character that a header cannot escape");
  EXPECT_EQ(query(of(Place::Header, Style::Simple), texts({"a\n"})), "c: a header cannot contain control characters");
  EXPECT_EQ(query(of(Place::Query, Style::Form),
                  [](Output& out, const Parameter& parameter) { out.text(parameter, Form::Text, "\xff"); }),
            "c: is not UTF-8");
}

// --- What is written is read as the same.

// What the route reads, and with which parameter.
struct Case {
  // Mixed: a oneOf of a text and a list of texts.
  enum class Kind { Text, Whole, Real, Texts, Wholes, Object, Others, Mixed };
  Kind kind = Kind::Text;
  Parameter parameter;
};

template <class T>
Result<std::string> echo(Input& in, T& value) {
  KEEL_TRY_VOID(in.finish());
  return json::write(value);
}
Result<std::string> read(Input& in, const Case& the) {
  using enum Case::Kind;
  switch (the.kind) {
    case Text: {
      std::optional<std::string> value;
      in.value(the.parameter, value);
      return echo(in, value);
    }
    case Whole: {
      std::optional<std::int64_t> value;
      in.value(the.parameter, value);
      return echo(in, value);
    }
    case Real: {
      std::optional<double> value;
      in.value(the.parameter, value);
      return echo(in, value);
    }
    case Texts: {
      std::optional<std::vector<std::string>> value;
      in.list<&read_as<std::vector<std::string>>>(the.parameter, Form::Text, value);
      return echo(in, value);
    }
    case Wholes: {
      std::optional<std::vector<std::int64_t>> value;
      in.list<&read_as<std::vector<std::int64_t>>>(the.parameter, Form::Bare, value);
      return echo(in, value);
    }
    case Object: {
      std::optional<Color> value;
      in.object<&read_as<Color>>(the.parameter, color_fields, Form::Either, value);
      return echo(in, value);
    }
    case Mixed: {
      std::optional<json::Value> value;
      in.text_or_list<&read_as<json::Value>>(the.parameter, Form::Text, Form::Text, value);
      return echo(in, value);
    }
    case Others: {
      std::optional<Map> value;
      in.object<&read_as<Map>>(the.parameter, {}, Form::Text, value);
      return echo(in, value);
    }
  }
  return "";
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  unsigned below(unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(engine_); }
  std::string text() {
    static constexpr std::string_view pieces[] = {
        "a", "B7", ",",  ";",  "=",    "&",    "|",  ".",  "..", " ",    "+",    "%",    "%2C", "/",
        "?", "#",  "\"", "\\", "'",    "{",    "}",  "[",  "]",  "<",    ">",    ":",    "@",   "~",
        "^", "`",  "\n", "\t", "\r\n", "é",    "😀", "nu", "ll", "true", "5",    "-1",   "1e3", "*",
        "$", "!",  "()", "_",  "name", "tags", "r=", "0",  "_-", "%00",  "\x7f", "\x01", "--",  "----keel-form-0"};
    std::string text;
    const unsigned count = below(5);
    for (unsigned i = 0; i < count; ++i) text += pieces[below(std::size(pieces))];
    if (below(40) == 0) text += '\0';
    return text;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> list(below(4));
    for (std::string& one : list) one = text();
    return list;
  }
  std::int64_t whole() {
    const std::int64_t all[] = {
        0, 1, -1, 42, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    return all[below(std::size(all))];
  }

 private:
  std::mt19937 engine_;
};

// Asks with that value; "" when it was sent and read as the same, else what happened.
class Echoes : public ::testing::Test {
 protected:
  Echoes() {
    for (const std::string_view pattern : {"/items", "/items/{id}"}) {
      http::Handler handler;
      handler.at_once = [this](http::Request& request) -> Result<http::Response> {
        Input in(request);
        KEEL_TRY(const std::string text, read(in, case_));
        return http::Response::text(http::Status::Ok, text);
      };
      router_.add(http::Method::Get, pattern, std::move(handler));
    }
    server_.emplace(router_);
  }
  template <class T, class Put>
  void expect_echo(const T& value, Put put) {
    const bool is_of_path = case_.parameter.place == Place::Path;
    Output out(http::Method::Get, is_of_path ? "/items/{wire}" : "/items");
    put(out);
    auto request = std::move(out).finish("");
    if (!request) {
      ++rejected_;
      return;
    }
    const auto reply = server_->begin(*std::move(request)).response();
    if (is_of_path && reply.status() == 0 && reply.error().find("%00") != std::string::npos) {
      ++rejected_;
      return;
    }
    ++sent_;
    std::string expected = json::write(value);
    // Nothing is sent for what is optional and empty.
    if ((expected == "[]" || expected == "{}") && reply.body() == "null") return;
    EXPECT_EQ(reply.body(), expected) << reply.status() << reply.error() << " place "
                                      << static_cast<int>(case_.parameter.place) << " style "
                                      << static_cast<int>(case_.parameter.style) << " explodes "
                                      << case_.parameter.explodes;
  }

  Case case_;
  http::Router router_;
  std::optional<http::TestServer> server_;
  int sent_ = 0;
  int rejected_ = 0;
};

TEST_F(Echoes, are_what_was_sent_in_every_place_and_style) {
  using enum Case::Kind;
  struct Allowed {
    Place place;
    Style style;
    bool is_of_lists;
    bool is_of_objects;
    bool is_of_plain = true;
  };
  static constexpr Allowed all[] = {{Place::Path, Style::Simple, true, true},
                                    {Place::Path, Style::Label, true, true},
                                    {Place::Path, Style::Matrix, true, true},
                                    {Place::Query, Style::Form, true, true},
                                    {Place::Query, Style::SpaceDelimited, true, true, false},
                                    {Place::Query, Style::PipeDelimited, true, true, false},
                                    {Place::Query, Style::DeepObject, false, true, false},
                                    {Place::Header, Style::Simple, true, true},
                                    {Place::Cookie, Style::Form, true, true}};
  const int seed = GTEST_FLAG_GET(random_seed);
  Random random(static_cast<unsigned>(seed) + 1);
  for (const Allowed& one : all) {
    for (const bool explodes : {false, true}) {
      if (explodes && (one.style == Style::SpaceDelimited || one.style == Style::PipeDelimited)) continue;
      if (!explodes && one.style == Style::DeepObject) continue;
      const bool is_required = one.place == Place::Path;
      case_.parameter = {"wire", one.place, one.style, explodes, is_required, is_required ? "id" : ""};
      const Parameter& parameter = case_.parameter;
      for (int i = 0; i < 40; ++i) {
        if (one.is_of_plain) {
          case_.kind = Text;
          const std::string text = random.text();
          expect_echo(text, [&](Output& out) { out.text(parameter, Form::Text, text); });
          case_.kind = Whole;
          const std::int64_t whole = random.whole();
          expect_echo(whole, [&](Output& out) { out.text(parameter, Form::Bare, whole); });
          case_.kind = Real;
          const double real = static_cast<double>(whole) / 7;
          expect_echo(real, [&](Output& out) { out.text(parameter, Form::Bare, real); });
        }
        if (one.is_of_lists) {
          case_.kind = Texts;
          const std::vector<std::string> list = random.texts();
          expect_echo(list, [&](Output& out) { out.list(parameter, Form::Text, list); });
          case_.kind = Mixed;
          json::Value mixed = random.text();
          if (list.size() > 1) mixed = json::Value::array({list[0], list[1]});
          expect_echo(mixed,
                      [&](Output& out) { out.either(parameter, Form::Text, Form::Text, {}, Form::Text, mixed); });
          case_.kind = Wholes;
          const std::vector<std::int64_t> wholes(random.below(3), random.whole());
          expect_echo(wholes, [&](Output& out) { out.list(parameter, Form::Bare, wholes); });
        }
        if (one.is_of_objects) {
          case_.kind = Case::Kind::Object;
          Color object{.name = random.text(), .r = {}, .tags = random.texts()};
          if (random.below(2) == 0) object.r = random.whole();
          expect_echo(object, [&](Output& out) { out.object(parameter, color_fields, Form::Either, object); });
          // Members of an exploded object in a query are known by their names.
          if (one.style == Style::Form && one.place == Place::Query && explodes) continue;
          case_.kind = Case::Kind::Others;
          Map map;
          for (unsigned j = random.below(3); j != 0; --j) map[random.text()] = random.text();
          expect_echo(map, [&](Output& out) { out.object(parameter, {}, Form::Text, map); });
        }
      }
    }
  }
  EXPECT_GT(sent_, 2000);
  EXPECT_GT(rejected_, 100) << "a header cannot have everything";
  EXPECT_LT(rejected_, sent_);
}

struct Entry {
  std::string title;
  std::optional<std::int64_t> pages;
  std::vector<std::string> tags;
  std::vector<std::byte> file;
  std::optional<Color> about;
  static constexpr std::string_view optional_fields[] = {"tags"};
};
constexpr Field entry_fields[] = {{"title", Form::Text},
                                  {"pages", Form::Bare},
                                  {"tags", Form::TextList},
                                  {"file", Form::File},
                                  {"about", Form::Json}};

TEST(ContractOutput, writes_forms_that_are_read_as_the_same) {
  http::Router router;
  http::Handler handler;
  handler.at_once = [](http::Request& request) -> Result<http::Response> {
    Input in(request);
    Entry entry;
    KEEL_TRY_VOID(in.form<&read_as<Entry>>(entry_fields, Form::Either, entry));
    return http::Response::text(http::Status::Ok, json::write(entry));
  };
  router.add(http::Method::Post, "/entries", std::move(handler));
  http::TestServer server(router);
  Random random(static_cast<unsigned>(GTEST_FLAG_GET(random_seed)) + 2);
  for (int i = 0; i < 200; ++i) {
    Entry entry{.title = random.text(), .pages = {}, .tags = random.texts(), .file = {}, .about = {}};
    const std::string bytes = random.text() + "\r\n--\xff" + random.text();
    entry.file.assign(reinterpret_cast<const std::byte*>(bytes.data()),
                      reinterpret_cast<const std::byte*>(bytes.data() + bytes.size()));
    if (random.below(2) == 0) entry.pages = random.whole();
    if (random.below(2) == 0) entry.about = Color{.name = random.text(), .r = 1, .tags = random.texts()};
    for (const std::string_view type : {"application/x-www-form-urlencoded", "multipart/form-data"}) {
      Output out(http::Method::Post, "/entries");
      out.form_body(type, entry_fields, Form::Either, entry);
      auto request = std::move(out).finish("");
      if (!request) {
        EXPECT_EQ(request.error().message(), "the form: U+0000 can be sent only as multipart/form-data");
        EXPECT_EQ(type, "application/x-www-form-urlencoded");
        continue;
      }
      const auto reply = server.begin(*std::move(request)).response();
      EXPECT_EQ(reply.body(), json::write(entry)) << type << reply.status() << reply.error();
    }
  }
}

// What a server gets: the header X-C, and the body.
std::string sent(Output&& out) {
  http::Router router;
  http::Handler handler;
  handler.at_once = [](http::Request& request) -> Result<http::Response> {
    return http::Response::text(http::Status::Ok,
                                std::string(request.header("X-C").value_or("")) + std::string(request.body()));
  };
  router.add(http::Method::Post, "/x", std::move(handler));
  http::TestServer server(router);
  auto request = std::move(out).finish("");
  return request ? std::string(server.begin(*std::move(request)).response().body()) : request.error().describe();
}

TEST(ContractOutput, separates_parts_by_what_no_text_can_foresee) {
  const auto form = [](const std::string& text) {
    Output out(http::Method::Post, "/x");
    const Map map = {{"note", text}};
    out.form_body("multipart/form-data", {}, Form::Text, map);
    return sent(std::move(out));
  };
  EXPECT_TRUE(form("a").starts_with("------keel-form-0\r\n"));
  const std::string once = form("----keel-form-0");
  EXPECT_TRUE(once.starts_with("------keel-form-")) << once;
  EXPECT_FALSE(once.starts_with("------keel-form-0\r\n"));
  EXPECT_NE(once, form("----keel-form-0")) << "a text with all that follow would be searched for each";
}

TEST(ContractOutput, quotes_the_parts_of_a_header_where_they_need_it) {
  const auto header = [](bool explodes, auto put) {
    const Parameter parameter = {.name = "X-C", .place = Place::Header, .style = Style::Simple, .explodes = explodes};
    Output out(http::Method::Post, "/x");
    put(out, parameter);
    return sent(std::move(out));
  };
  EXPECT_EQ(header(false, texts({"a,b", "c", "", " d", "\"e\"", "<f,g>; rel=\"h, i\""})),
            "\"a,b\",c,\"\",\" d\",\"\\\"e\\\"\",<f,g>; rel=\"h, i\"");
  EXPECT_EQ(header(false, texts({""})), "\"\"");
  EXPECT_EQ(header(false, color({.name = "a,b", .r = 1, .tags = {}})), "name,\"a,b\",r,1");
  EXPECT_EQ(header(true, color({.name = "a,b=c", .r = 1, .tags = {}})), "name=\"a,b=c\",r=1");
}

struct Account {
  friend void write_json(json::Writer& out, const Account&) {
    out.begin_object();
    if (out.omit() != json::Writer::Omit::ReadOnly) out.key("id").integer(1);
    out.key("name").string("a").end_object();
  }
};

TEST(ContractOutput, leaves_out_what_is_read_only) {
  Output out(http::Method::Post, "/x");
  out.json_body("application/json", Account());
  EXPECT_EQ(sent(std::move(out)), R"({"name":"a"})");
}

TEST(ContractOutput, rejects_a_null_text_in_a_form) {
  const std::map<std::string, std::optional<std::string>> map = {{"note", std::nullopt}};
  Output out(http::Method::Post, "/entries");
  out.form_body("application/x-www-form-urlencoded", {}, Form::Text, map);
  EXPECT_EQ(written(std::move(out)), "the form: null cannot be sent");
}

}  // namespace
}  // namespace keel::contract::output_test
