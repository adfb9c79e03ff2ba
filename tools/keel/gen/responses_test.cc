// The responses of an operation, and the names of statuses.

#include "gen/responses.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "gen/statuses.h"
#include "openapi/testing.h"

namespace keel::gen::responses_test {
namespace {

using namespace keel::openapi::testing;
using openapi::Document;
using openapi::Problems;

// Keeps what the views of the responses look into.
struct Read {
  std::unique_ptr<Document> document;
  std::unique_ptr<Types> types;
  Names names;
  std::vector<Response> responses;
  Lines problems;
};
// Of GET /a.
Read read(const std::string& text) {
  const Files files = {{"api.yaml", text}};
  Read made;
  Problems problems;
  made.document = Document::load("api.yaml", reader_of(files), problems);
  if (problems.errors() == 0) {
    const openapi::Node& root = std::as_const(*made.document).root();
    const openapi::Node& operation = *root.find("paths")->find("/a")->find("get");
    made.types = std::make_unique<Types>(*made.document, problems, made.names);
    made.responses = read_responses(operation, "A", *made.document, *made.types, made.names, problems);
  }
  for (const openapi::Problem& one : problems.sorted()) {
    if (one.severity == openapi::Problem::Severity::Error) made.problems.push_back(one.describe());
  }
  return made;
}

const std::string head = "openapi: 3.1.0\ninfo: {title: Shop, version: '1'}\n";
std::string with_responses(const std::string& responses) {
  return head + "paths:\n  /a:\n    get:\n      operationId: a\n      responses:\n" + responses;
}
Lines contents_of(const Response& response) {
  Lines lines;
  for (const Response::Content& one : response.contents) {
    lines.push_back(one.name + ' ' + std::string(one.media_type) +
                    (one.is_problem        ? " problem " + one.type->spelling
                     : one.type != nullptr ? " json " + one.type->spelling
                     : one.is_text         ? " text"
                     : one.is_events       ? " events"
                                           : " bytes"));
  }
  return lines;
}
TEST(Responses, have_responses_of_statuses_ranges_and_the_default) {
  const Read made =
      read(with_responses("        '204': {description: a}\n"
                          "        default: {description: b}\n"
                          "        '299': {description: c}\n"
                          "        4XX: {description: d}\n"
                          "        '404': {description: e}\n"
                          "        '103': {description: f}\n"
                          "        x-more: {description: g}\n"));

  EXPECT_EQ(made.problems, Lines());
  Lines lines;
  for (const Response& one : made.responses) {
    lines.push_back(one.status + ' ' + one.name + ' ' + std::to_string(one.least) + '-' + std::to_string(one.most));
  }
  EXPECT_EQ(lines, (Lines{"204 no_content 204-204", "299 status_299 299-299", "404 not_found 404-404",
                          "4XX client_error 400-499", "default other 200-599"}));
}

TEST(Responses, have_a_function_for_each_media_type_of_a_response) {
  const Read made =
      read(with_responses("        '200':\n"
                          "          description: a\n"
                          "          content:\n"
                          "            text/csv: {}\n"
                          "            text/event-stream: {}\n"
                          "            application/csv: {}\n"
                          "            application/json: {schema: {type: string}}\n"
                          "            application/xml: {}\n"
                          "            'image/*': {}\n"
                          "        4XX:\n"
                          "          description: b\n"
                          "          content: {application/problem+json: {schema: {type: object, "
                          "properties: {detail: {type: string}}}}}\n"
                          "        '409':\n"
                          "          description: c\n"
                          "          content: {application/problem+json: {schema: {type: object, "
                          "required: [sku], properties: {sku: {type: string}}}}}\n"));

  EXPECT_EQ(made.problems, Lines());
  ASSERT_EQ(made.responses.size(), 3u);
  EXPECT_EQ(contents_of(made.responses[0]),
            (Lines{"ok application/json json std::string", "ok_csv application/csv bytes", "ok_any image/* bytes",
                   "ok_csv_2 text/csv text", "ok_event_stream text/event-stream events"}));
  EXPECT_EQ(contents_of(made.responses[1]), Lines{"conflict application/problem+json json AConflict"});
  EXPECT_EQ(contents_of(made.responses[2]), Lines{"client_error application/problem+json problem AClientError"});
}

TEST(Responses, are_json_where_any_type_is_declared_and_the_schema_allows_no_text) {
  const Read made =
      read(with_responses("        '200':\n"
                          "          description: a\n"
                          "          content: {'*/*': {schema: {type: array, items: {type: string}}}}\n"
                          "        '201':\n"
                          "          description: b\n"
                          "          content: {'*/*': {schema: {type: string}}}\n"
                          "        '202':\n"
                          "          description: c\n"
                          "          content: {application/cbor: {}, 'application/*': {schema: {type: integer}}}\n"));

  EXPECT_EQ(made.problems, Lines());
  ASSERT_EQ(made.responses.size(), 3u);
  EXPECT_EQ(contents_of(made.responses[0]), Lines{"ok */* json std::vector<std::string>"});
  EXPECT_EQ(contents_of(made.responses[1]), Lines{"created */* bytes"});
  EXPECT_EQ(contents_of(made.responses[2]),
            (Lines{"accepted application/* json std::int64_t", "accepted_cbor application/cbor bytes"}));
}

TEST(Responses, without_a_body_have_no_content) {
  const Read made =
      read(with_responses("        '204': {description: a, content: {application/json: {schema: {type: string}}}}\n"));

  EXPECT_EQ(made.problems, Lines());
  EXPECT_EQ(contents_of(made.responses.at(0)), Lines());
}

TEST(Responses, have_headers_of_responses_by_their_names) {
  const Read made =
      read(with_responses("        '200':\n"
                          "          description: a\n"
                          "          headers:\n"
                          "            X-Total: {required: true, schema: {type: integer}}\n"
                          "            ETag: {schema: {type: string}}\n"
                          "            Content-Type: {schema: {type: string}}\n"
                          "            content-length: {required: true, schema: {type: integer}}\n"
                          "            Date: {schema: {type: string}}\n"
                          "            x-tags: {schema: {type: array, items: {type: string}}}\n"));

  EXPECT_EQ(made.problems, Lines());
  const Response& response = made.responses.at(0);
  EXPECT_EQ(response.headers_name, "AOkHeaders");
  Lines lines;
  for (const Header& one : response.headers) {
    lines.push_back(one.name + ' ' + one.type->spelling + (one.is_required ? " required" : ""));
  }
  EXPECT_EQ(lines, (Lines{"e_tag std::string", "x_total std::int64_t required", "x_tags std::vector<std::string>"}));
  EXPECT_EQ(read(with_responses("        '200': {description: a, headers: {X-A: {schema: {type: object, properties: "
                                "{a: {type: string}}}}}}\n"))
                .problems,
            Lines{"api.yaml:8:43: error: a response header must be a plain value or a list of plain values: describe "
                  "a header of any other kind with a 'content' of application/json "
                  "(#/paths/~1a/get/responses/200/headers/X-A)"});
}

TEST(Responses, reject_headers_whose_alternatives_nothing_tells_apart) {
  const Read made =
      read(with_responses("        '200':\n"
                          "          description: a\n"
                          "          headers: {X-A: {schema: {oneOf: [{type: object, properties: {a: {}}}, "
                          "{type: object}]}}}\n"));

  EXPECT_EQ(made.problems,
            Lines{"api.yaml:10:21: error: a response header must be a plain value or a list of plain values: describe "
                  "a header of any other kind with a 'content' of application/json "
                  "(#/paths/~1a/get/responses/200/headers/X-A)"});
}

TEST(Responses, have_headers_of_json) {
  const Read made =
      read(with_responses("        '200':\n"
                          "          description: a\n"
                          "          headers:\n"
                          "            X-Meta: {content: {application/json: {schema: {type: object, properties: {a: "
                          "{type: string}}}}}}\n"));
  EXPECT_EQ(made.problems, Lines());
  ASSERT_EQ(made.responses.at(0).headers.size(), 1u);
  EXPECT_TRUE(made.responses[0].headers[0].is_json);
  EXPECT_EQ(made.responses[0].headers[0].type->spelling, "AxMeta");
  const std::string at = "(#/paths/~1a/get/responses/200/headers/X-A";
  EXPECT_EQ(
      read(with_responses("        '200': {description: a, headers: {X-A: {content: {text/plain: {schema: {type: "
                          "string}}}}}}\n"))
          .problems,
      Lines{"api.yaml:8:59: error: a header of the media type 'text/plain' cannot be written: only JSON is supported " +
            at + "/content/text~1plain)"});
  EXPECT_EQ(
      read(with_responses("        '200': {description: a, headers: {X-A: {content: {application/json: {}}}}}\n"))
          .problems,
      Lines{"api.yaml:8:43: error: a header of a response needs a 'schema', or a 'content' with a schema " + at + ")"});
}

TEST(Statuses, have_the_names_of_the_registry) {
  EXPECT_EQ(name_of_status("200"), "ok");
  EXPECT_EQ(name_of_status("422"), "unprocessable_content");
  EXPECT_EQ(name_of_status("5XX"), "server_error");
  EXPECT_EQ(name_of_status("default"), "other");
  EXPECT_EQ(name_of_status("499"), "status_499");
}

}  // namespace
}  // namespace keel::gen::responses_test
