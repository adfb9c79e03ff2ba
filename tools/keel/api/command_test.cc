// The program as its users meet it: exit codes, what it says, and where.

#include "api/command.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "keel/db/testing/folder.h"
#include "testing.h"

namespace keel::api::api_command_test {
namespace {

using testing::Ran;
using testing::run;

class ApiCommand : public ::testing::Test {
 protected:
  Ran keel(const std::string& arguments) {
    return run("cd " + folder_.path() + " && " KEEL_PROGRAM " api " + arguments);
  }
  // A document whose one operation has this parameter and these responses.
  void write(const std::string& name, const std::string& parameter,
             const std::string& responses = "'200': {description: fine}") {
    folder_.write(name,
                  "openapi: 3.1.0\n"
                  "info: {title: Shop, version: '1'}\n"
                  "paths:\n"
                  "  /pets:\n"
                  "    get:\n"
                  "      operationId: pets\n"
                  "      parameters:\n"
                  "      - " +
                      parameter +
                      "\n"
                      "      responses: {" +
                      responses + "}\n");
  }

  db::testing::Folder folder_;
};

TEST_F(ApiCommand, a_good_document_ends_with_0) {
  write("shop.yaml", "{name: limit, in: query, schema: {type: integer}}");

  const Ran ran = keel("lint shop.yaml");

  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "keel api: 1 document checked: 0 errors, 0 warnings\n");
}

TEST_F(ApiCommand, mistakes_of_all_documents_end_with_1) {
  write("a.yaml", "{name: limit, in: qurey, schema: {type: integer, minLength: 1}}");
  write("b.yaml", "{name: limit, in: query, schema: {type: strng}}");

  const Ran ran = keel("lint a.yaml b.yaml");

  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out,
            "a.yaml:8:23: error: 'in' is \"qurey\": expected path, query, header or cookie "
            "(#/paths/~1pets/get/parameters/0/in)\n"
            "a.yaml:8:58: warning: 'minLength' has no effect: the type is \"integer\", not string "
            "(#/paths/~1pets/get/parameters/0/schema/minLength)\n"
            "b.yaml:8:43: error: \"strng\" is not a type: expected array, boolean, integer, null, number, object or "
            "string; did "
            "you mean 'string'? (#/paths/~1pets/get/parameters/0/schema/type)\n"
            "keel api: 2 documents checked: 2 errors, 1 warning\n");
}

TEST_F(ApiCommand, warnings_alone_end_with_0_and_can_be_left_out) {
  write("a.yaml", "{name: limit, in: query, schema: {type: integer, minLength: 1}}");

  const Ran ran = keel("lint --no-warnings a.yaml");

  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "keel api: 1 document checked: 0 errors, 1 warning\n");
}

TEST_F(ApiCommand, lint_checks_only_what_is_generated) {
  folder_.write("shop.yaml",
                "openapi: 3.1.0\n"
                "info: {title: Shop, version: '1'}\n"
                "paths:\n"
                "  /pets:\n"
                "    get: {operationId: pets, responses: {'200': {description: fine}}}\n"
                "  /a b:\n"
                "    get: {operationId: toys, responses: {'200': {description: fine}}}\n");

  EXPECT_EQ(keel("lint shop.yaml").code, 1);
  const std::string good = "keel api: 1 document checked: 0 errors, 0 warnings\n";
  EXPECT_EQ(keel("lint --operations pets shop.yaml").out, good);
  EXPECT_EQ(keel("lint --operations=-toys --generate client shop.yaml").out, good);
  const Ran unknown = keel("lint --operations cats shop.yaml");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_EQ(unknown.out,
            "shop.yaml:1:1: error: there is no operation 'cats' (#)\n"
            "keel api: 1 document checked: 1 error, 0 warnings\n");
  const Ran wrong = keel("lint --generate types shop.yaml");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.out, "keel api: --generate types: expected server, client, or server,client\n");
  EXPECT_EQ(keel("lint shop.yaml --operations").code, 2);
}

TEST_F(ApiCommand, a_document_that_cannot_be_read_ends_with_2) {
  folder_.write("a.yaml", "openapi: [");

  EXPECT_EQ(keel("lint a.yaml").code, 2);
  const Ran ran = keel("lint none.yaml");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out,
            "none.yaml: error: cannot be read: open: No such file or directory\n"
            "keel api: 1 document checked: 1 error, 0 warnings\n");
}

TEST_F(ApiCommand, lint_says_what_the_generator_rejects_in_the_same_words) {
  const std::string head = "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\n";
  const std::string fine = "responses: {'204': {description: fine}}";
  std::string nine;
  for (int i = 1; i <= 9; ++i) nine += (i == 1 ? "k" : ", k") + std::to_string(i) + ": []";
  std::string schemes;
  for (int i = 1; i <= 9; ++i) schemes += "    k" + std::to_string(i) + ": {type: apiKey, in: header, name: X-Key}\n";
  const auto get = [&](const std::string& path, const std::string& more) {
    return head + "paths:\n  " + path + ":\n    get: {operationId: a, " + more + fine + "}\n";
  };
  const auto post = [&](const std::string& content) {
    return head + "paths:\n  /a:\n    post: {operationId: a, " + fine + ",\n      requestBody: {content: {" + content +
           "}}}\n";
  };
  const auto schema = [&](const std::string& text) {
    return head + "paths: {}\ncomponents:\n  schemas:\n    S: " + text + "\n";
  };
  const std::pair<std::string, std::string> table[] = {
      {get("/a b", ""),
       "shop.yaml:4:3: error: the path '/a b' cannot be routed: it has a character that must be escaped"},
      {get("/a/..", ""), "shop.yaml:4:3: error: the path '/a/..' cannot be routed: clients resolve its dot segments"},
      {post("text/plain: {schema: {type: string, minLength: 1}}"),
       "shop.yaml:6:31: error: the schema of 'text/plain' is not checked: it has to be {type: string}"},
      {schema("{type: object, properties: {\"a\\0b\": {type: string}}}"),
       "shop.yaml:6:36: error: a text with the character U+0000 is not supported"},
      {get("/a", "security: [{" + nine + "}], ") + "components:\n  securitySchemes:\n" + schemes,
       "shop.yaml:5:38: error: an alternative in 'security' may have at most 8 schemes, but this one has 9"},
      {schema("{type: string, pattern: '(?=a)b'}"), "shop.yaml:6:23: error: the pattern '(?=a)b' uses look-around"},
      {schema("{type: object, properties: {x: {type: integer, default: 99999999999999999999}}}"),
       "shop.yaml:6:55: error: the default 99999999999999999999 cannot be written as a std::int64_t"},
      {get("/a", "parameters: [{name: q, in: query, schema: {type: object, additionalProperties: {}}}], "),
       "shop.yaml:5:40: error: an object with any members takes every parameter of the query"},
  };
  for (const auto& [text, begin] : table) {
    folder_.write("shop.yaml", text);

    const Ran lint = keel("lint --no-warnings shop.yaml");
    const Ran gen = run("cd " + folder_.path() + " && " KEEL_PROGRAM " gen api shop.yaml --out made");

    EXPECT_EQ(lint.code, 1) << text;
    EXPECT_TRUE(lint.out.starts_with(begin)) << text << lint.out;
    EXPECT_EQ(gen.code, 1) << text;
    EXPECT_EQ(lint.out.substr(0, lint.out.rfind("keel api: ")), gen.out) << text;
    EXPECT_NE(gen.out.find(" (#/"), std::string::npos) << gen.out;
  }
}

TEST_F(ApiCommand, lint_finds_in_each_document_what_is_wrong_there) {
  folder_.write("a.yaml", "openapi: 3.1.0\ninfo: {title: A, version: '1'}\npaths: {/a b: {}, x: {}}\n");
  folder_.write("b.yaml",
                "openapi: 3.1.0\ninfo: {title: B, version: '1'}\npaths:\n  /b c:\n    get: {operationId: a, "
                "responses: {'204': {description: fine}}}\n");

  const Ran ran = keel("lint a.yaml b.yaml");

  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find("b.yaml:4:3: error: the path '/b c' cannot be routed"), std::string::npos)
      << "an error of the first does not hide those of the second: " << ran.out;
}

TEST_F(ApiCommand, a_breaking_change_ends_with_1) {
  write("old.yaml", "{name: limit, in: query, schema: {type: integer}}");
  write("new.yaml", "{name: limit, in: query, schema: {type: integer, maximum: 50}}",
        "'200': {description: fine}, '404': {description: none}");

  const Ran ran = keel("diff old.yaml new.yaml");

  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out,
            "new.yaml:8:58: breaking: in requests, maximum is 50 now (#/paths/~1pets/get/parameters/0/schema/maximum), "
            "before "
            "old.yaml:8:34 [request-maximum-decreased]\n"
            "new.yaml:9:47: non-breaking: there is a new response 404 (#/paths/~1pets/get/responses/404), before "
            "old.yaml:9:7 "
            "[response-status-added]\n"
            "keel api: 2 changes: 1 breaking, 0 unclassified, 1 non-breaking\n");
  EXPECT_EQ(keel("diff --fail-on none old.yaml new.yaml").code, 0);
}

TEST_F(ApiCommand, fail_on_says_what_ends_with_1) {
  write("old.yaml", "{name: limit, in: query, schema: {type: integer, default: 1}}");
  write("new.yaml", "{name: limit, in: query, schema: {type: integer, default: 2}}");
  write("more.yaml", "{name: limit, in: query, schema: {type: [integer, 'null'], default: 1}}");

  EXPECT_EQ(keel("diff old.yaml old.yaml").out, "keel api: 0 changes: 0 breaking, 0 unclassified, 0 non-breaking\n");
  EXPECT_EQ(keel("diff --fail-on any old.yaml old.yaml").code, 0);
  EXPECT_EQ(keel("diff old.yaml new.yaml").code, 0);
  EXPECT_EQ(keel("diff --fail-on unclassified old.yaml new.yaml").code, 1);
  EXPECT_EQ(keel("diff --fail-on unclassified old.yaml more.yaml").code, 0);
  EXPECT_EQ(keel("diff --fail-on any old.yaml more.yaml").code, 1);
}

TEST_F(ApiCommand, documents_that_cannot_be_read_are_not_compared) {
  write("old.yaml", "{$ref: '#/nowhere'}");
  write("new.yaml", "{name: limit, in: query, schema: {}}");

  const Ran ran = keel("diff old.yaml new.yaml");

  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out,
            "old.yaml:8:10: error: '#/nowhere' leads nowhere: 'nowhere' is not in # "
            "(#/paths/~1pets/get/parameters/0/$ref)\n"
            "keel api: the documents cannot be compared until they can be read\n");
}

// A record of one operation, as a test writes it.
constexpr const char* record =
    R"({"operations":[{"path":"/pets","method":"GET","handler":"list","asks":[],"types":[],)"
    R"("responses":[{"status":200,"content":{"application/json":{"type":"string"}},"fields":[]}]}],"components":{}})";

TEST_F(ApiCommand, init_writes_a_good_document_of_what_was_recorded) {
  folder_.write("1.json", record);

  const Ran ran = keel("init --records . --title Pets");

  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_EQ(ran.out, "keel api: api.yaml is written; `keel api lint api.yaml` looks it over\n");
  EXPECT_EQ(keel("lint api.yaml").out, "keel api: 1 document checked: 0 errors, 0 warnings\n");
  const Ran again = keel("init --records .");
  EXPECT_EQ(again.code, 2);
  EXPECT_TRUE(again.out.starts_with("keel api: api.yaml: exists already, and is not overwritten")) << again.out;
}

TEST_F(ApiCommand, init_builds_a_service_for_recording_and_runs_its_tests) {
  folder_.write("record.json", record);
  folder_.write("CMakeLists.txt",
                "cmake_minimum_required(VERSION 3.25)\n"
                "project(pets NONE)\n"
                "enable_testing()\n"
                "if(\"$ENV{CXXFLAGS}\" MATCHES \"-DKEEL_RECORD_CONTRACT\")\n"
                "  add_test(NAME pets_test COMMAND sh -c \"mkdir -p $KEEL_RECORD_CONTRACT && cp "
                "${CMAKE_SOURCE_DIR}/record.json $KEEL_RECORD_CONTRACT/1.json\")\n"
                "endif()\n");

  const Ran ran = keel("init --out pets.yaml");

  EXPECT_EQ(ran.code, 0) << ran.out;
  EXPECT_NE(run("cat " + folder_.path() + "/pets.yaml").out.find("operationId: list_pets"), std::string::npos);
}

TEST_F(ApiCommand, init_finds_the_installed_keel_that_it_belongs_to) {
  std::filesystem::create_directories(folder_ / "prefix/bin");
  std::filesystem::create_directories(folder_ / "prefix/include/keel");
  std::filesystem::copy_file(KEEL_PROGRAM, folder_ / "prefix/bin/keel");
  folder_.write("CMakeLists.txt",
                "cmake_minimum_required(VERSION 3.25)\nproject(pets NONE)\n"
                "message(STATUS \"found by $ENV{CMAKE_PREFIX_PATH}\")\n");

  const Ran ran = run("cd " + folder_.path() + " && prefix/bin/keel api init");

  EXPECT_NE(ran.out.find(folder_ / "prefix\n"), std::string::npos) << ran.out;
}

TEST_F(ApiCommand, init_ends_with_1_when_a_test_fails) {
  folder_.write("CMakeLists.txt",
                "cmake_minimum_required(VERSION 3.25)\nproject(pets NONE)\nenable_testing()\n"
                "add_test(NAME pets_test COMMAND false)\n");

  const Ran ran = keel("init");

  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.out.find("keel api: running the tests has failed: "), std::string::npos) << ran.out;
}

TEST_F(ApiCommand, wrong_use_ends_with_2_and_one_line) {
  const auto expect = [&](const std::string& arguments, std::string_view line) {
    const Ran ran = keel(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_TRUE(ran.out.starts_with(line)) << ran.out;
    EXPECT_EQ(ran.out.find('\n'), ran.out.size() - 1) << ran.out;
  };
  expect("", "keel api: expected: keel api lint FILE...");
  expect("lnit a.yaml", "keel api: expected: keel api lint FILE...");
  expect("lint", "keel api: no FILE is named");
  expect("lint --frob a.yaml", "keel api: --frob: there is no such option");
  expect("lint --fail-on any a.yaml", "keel api: --fail-on: there is no such option");
  expect("diff a.yaml", "keel api: expected two documents, OLD and NEW, instead of 1");
  expect("diff --fail-on", "keel api: --fail-on: needs a value");
  expect("init api.yaml", "keel api: api.yaml: there is no such option");
  expect("init --out", "keel api: --out: needs a value");
  expect("init --out none/api.yaml", "keel api: none/api.yaml: there is no folder none");
  expect("init", "keel api: there is no CMakeLists.txt here");
  expect("init --records .", "keel api: .: no test has recorded anything");
  expect("diff --fail-on all a b", "keel api: --fail-on all: expected breaking, unclassified, any or none");
}

TEST_F(ApiCommand, each_command_helps_itself_with_its_exit_codes) {
  const Ran all = keel("--help");
  EXPECT_EQ(all.code, 0);
  for (const std::string_view command : {"lint", "diff", "init"}) {
    const Ran ran = keel(std::string(command) + " --help");

    EXPECT_EQ(ran.code, 0);
    const std::string usage = "keel api " + std::string(command);
    EXPECT_TRUE(ran.out.starts_with(usage)) << ran.out;
    EXPECT_NE(all.out.find(usage), std::string::npos);
    for (const std::string_view code : {"Ends with 0", "with 1 when", "with 2 when"}) {
      EXPECT_NE(ran.out.find(code), std::string::npos) << ran.out;
    }
  }
  EXPECT_NE(keel("lint --help").out.find(" $dynamicRef "), std::string::npos);
}

TEST_F(ApiCommand, takes_the_value_of_an_option_behind_an_equals_sign) {
  write("old.yaml", "{name: limit, in: query, schema: {type: integer}}");

  EXPECT_EQ(keel("diff --fail-on=any old.yaml old.yaml").code, 0);
  EXPECT_EQ(keel("diff --fail-on=all old.yaml old.yaml").code, 2);
}

}  // namespace
}  // namespace keel::api::api_command_test
