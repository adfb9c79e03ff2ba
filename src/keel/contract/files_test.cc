// A form whose files are read as they arrive: what its handler is given, whatever the pieces are in which it comes, and
// what is rejected when.

#include "keel/contract/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/contract/input.h"
#include "keel/contract/output.h"
#include "keel/contract/response.h"
#include "keel/contract/routes.h"
#include "keel/data/json_reader.h"
#include "keel/http/testing/test_server.h"

namespace files_test {

using namespace keel;
using contract::Field;
using contract::FileRule;
using contract::Form;
using contract::FormFile;
using contract::Output;
using contract::ReceivedForm;
using contract::Undeclared;

// What is generated for an operation.
struct Line {
  std::string sku;
};
struct Body {
  std::string title;
  std::optional<std::int64_t> size;
  std::vector<std::string> tags;
  std::vector<Line> lines;
  static constexpr std::string_view optional_fields[] = {"tags", "lines"};
};
void read_body(json::Reader& in, Body& to, Violations& wrong) { json::internal::read_field<Body>(in, &to, wrong); }
struct Request {
  std::optional<Body> body;
};
enum class Name : std::uint16_t { Picture, Pages };
class Reply : public contract::Response {
 public:
  static Reply ok(std::string_view text) { return Reply(http::Response::text(http::Status::Ok, text)); }

 private:
  using Response::Response;
};
constexpr FileRule rules[] = {
    {.name = "picture", .media_types = "image/png, audio/*", .is_required = true, .bytes_min = 2, .bytes_max = 400'000},
    {.name = "pages", .is_list = true, .count_min = 2, .count_max = 3},
};
constexpr Field fields[] = {
    {"lines", Form::JsonList}, {"size", Form::Bare}, {"tags", Form::TextList, "text/csv"}, {"title", Form::Text}};
constexpr ReceivedForm form_of(Undeclared undeclared, bool is_required) {
  return {.files = rules,
          .fields = fields,
          .undeclared = undeclared,
          .is_required = is_required,
          .offset = offsetof(Request, body),
          .read = contract::field_reader<&read_body>,
          .room = &contract::room<std::optional<Body>, &read_body>};
}
constexpr ReceivedForm open_form = form_of(Undeclared::Skipped, true);
constexpr ReceivedForm closed_form = form_of(Undeclared::Rejected, false);
constexpr contract::Asked open_asked = {.form = &open_form};
constexpr contract::Asked closed_asked = {.form = &closed_form};

// Says what it was given: "title|tags|picture:image/png:a.png=bytes".
struct Handler {
  bool reads_all = true;
  std::size_t whole_bytes_max = 0;
  std::size_t largest_piece = 0;
  int calls = 0;
  std::string said;

  Task<Reply> take(http::Request&, const Request& request, contract::Files<Name> files) {
    ++calls;
    said = request.body ? request.body->title + '|' + (request.body->size ? std::to_string(*request.body->size) : "-")
                        : std::string("no body");
    if (request.body) {
      for (const std::string& tag : request.body->tags) said += '|' + tag;
    }
    while (true) {
      const auto file = co_await files.next();
      if (!file) break;
      said += file->name == Name::Picture ? "|picture:" : "|pages:";
      said.append(file->content_type).append(":").append(file->filename).append("=");
      if (!reads_all) continue;
      if (whole_bytes_max != 0) {
        said += co_await files.read_whole(whole_bytes_max);
        continue;
      }
      while (true) {
        const Chunk piece = co_await files.read();
        if (piece.empty()) break;
        largest_piece = std::max(largest_piece, piece.size());
        said += piece;
      }
    }
    const Chunk after = co_await files.read();
    EXPECT_EQ(after, "");
    co_return Reply::ok(said);
  }
};

class ContractFiles : public ::testing::Test {
 protected:
  ContractFiles() {
    static const contract::Route open = {http::Method::Post, "/open", contract::call_of<&Handler::take>, &open_asked,
                                         true};
    static const contract::Route closed = {http::Method::Post, "/closed", contract::call_of<&Handler::take>,
                                           &closed_asked, true};
    const contract::Route* const all[] = {&open, &closed};
    contract::Routes(router_).streaming(8 << 20).serve(all, &handler_);
    server_.emplace(router_);
  }
  http::TestResponse send(std::string_view path, std::string_view parts,
                          std::string_view type = "multipart/form-data; boundary=b") {
    http::ClientRequest request(http::Method::Post, path);
    request.body(parts, type);
    return server_->begin(std::move(request)).response();
  }
  // The status, and the detail or what is wrong.
  std::string post(const std::string& parts, std::string_view path = "/open") {
    const http::TestResponse response = send(path, parts + "--b--\r\n");
    if (response.status() == 200) return std::string(response.body());
    const std::string_view body = response.body();
    const std::size_t errors = body.find("\"errors\":");
    const std::size_t detail = body.find("\"detail\":");
    return std::to_string(response.status()) + ' ' +
           std::string(errors != body.npos ? body.substr(errors + 9) : body.substr(std::min(detail, body.size())));
  }
  static std::string part(std::string_view name, std::string_view value, std::string_view more = {}) {
    return "--b\r\nContent-Disposition: form-data; name=\"" + std::string(name) + '"' + std::string(more) + "\r\n\r\n" +
           std::string(value) + "\r\n";
  }
  static std::string png(std::string_view value, std::string_view name = "picture") {
    return part(name, value, "; filename=\"a.png\"\r\nContent-Type: image/png");
  }
  static std::string wrong(std::string_view field, std::string_view keyword, std::string_view detail) {
    return R"(422 [{"field":")" + std::string(field) +
           (keyword.empty() ? "" : R"(","keyword":")" + std::string(keyword)) + R"(","detail":")" +
           std::string(detail) + R"("}]})";
  }

  Handler handler_;
  http::Router router_;
  std::optional<http::TestServer> server_;
};

const std::string title = "--b\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nA\r\n";

TEST_F(ContractFiles, come_after_the_fields_in_the_order_in_which_they_are_sent) {
  EXPECT_EQ(post(title + part("tags", "x") + part("tags", "y") + part("size", "3") + png("1", "pages") +
                 png(std::string_view("\xff\0\r\n--a", 7)) + part("pages", "")),
            "A|3|x|y|pages:image/png:a.png=1|picture:image/png:a.png=" + std::string("\xff\0\r\n--a", 7) +
                "|pages:text/plain:=");
  EXPECT_EQ(post(title + png("12")), "A|-|picture:image/png:a.png=12");
  EXPECT_EQ(post(title + part("more", "x") + png("12") + part("more", "x", "; filename=\"x\"")),
            "A|-|picture:image/png:a.png=12")
      << "what the schema does not have is skipped";
}

TEST_F(ContractFiles, are_the_same_however_the_form_is_cut) {
  const std::string bytes = "\r\n--a\r--\r\n-" + std::string(300, 'x') + "\r";
  const std::string sent =
      title + part("tags", "y") + png(bytes) + png("1", "pages") + part("pages", "2") + "--b--\r\n";
  const std::string expected =
      "A|-|y|picture:image/png:a.png=" + bytes + "|pages:image/png:a.png=1|pages:text/plain:=2";
  for (const std::size_t piece : {1, 2, 3, 7, 64}) {
    http::ClientRequest request(http::Method::Post, "/open");
    request.stream(
        "multipart/form-data; boundary=b",
        [&sent, piece](http::ClientBodyWriter& body) -> Task<> {
          for (std::size_t at = 0; at < sent.size(); at += piece)
            co_await body.write(std::string_view(sent).substr(at, piece));
        },
        piece % 2 == 0 ? std::optional<std::uint64_t>(sent.size()) : std::nullopt);
    const auto response = server_->begin(std::move(request)).response();
    EXPECT_EQ(response.body(), expected) << piece << response.error();
  }
}

TEST_F(ContractFiles, are_rejected_before_the_handler_when_something_is_known_to_be_wrong) {
  EXPECT_EQ(post(png("12")), wrong("title", "required", "is required, and has to be sent before the files"));
  EXPECT_EQ(post(title + part("lines", "[{}]") + png("12")), wrong("lines[0][sku]", "required", "is required"))
      << "the field itself has come";
  EXPECT_EQ(post(title), wrong("picture", "required", "is required"));
  EXPECT_EQ(post(""), R"(422 [{"field":"title","keyword":"required","detail":"is required"},)"
                      R"({"field":"picture","keyword":"required","detail":"is required"}]})");
  EXPECT_EQ(post(title + part("picture", "12", "; filename=\"a.gif\"\r\nContent-Type: image/gif")),
            wrong("picture", "contentType", "must be sent as image/png, audio/*"));
  EXPECT_EQ(post(title + part("picture", "12")), wrong("picture", "contentType", "must be sent as image/png, audio/*"));
  EXPECT_EQ(post(title + part("tags", "1", "\r\nContent-Type: text/html") + png("12")),
            wrong("tags", "contentType", "must be sent as text/csv"));
  EXPECT_EQ(post(title + part("size", "x") + png("12")), wrong("size", "type", "expected an integer"));
  EXPECT_EQ(post(title + title + png("12")), wrong("title", "", "is given more than once"));
  EXPECT_EQ(post(title + part("more", "") + png("12"), "/closed"),
            wrong("more", "additionalProperties", "is not a field of this object"));
  EXPECT_EQ(handler_.calls, 0);
  EXPECT_EQ(post(title + part("tags", "1", "\r\nContent-Type: text/csv; charset=utf-8") +
                 part("picture", "12", "; filename=a\r\nContent-Type: AUDIO/X-Icon")),
            "A|-|1|picture:AUDIO/X-Icon:a=12");
}

TEST_F(ContractFiles, are_rejected_while_they_are_read) {
  const std::string good = title + png("12");
  EXPECT_EQ(post(title + png("1")), wrong("picture", "minLength", "must have 2 to 400000 bytes"));
  EXPECT_EQ(post(title + png(std::string(400'001, 'x'))), wrong("picture", "maxLength", "must have 2 to 400000 bytes"));
  EXPECT_EQ(post(good + png("12")), wrong("picture", "", "is given more than once"));
  EXPECT_EQ(post(good + part("size", "1")), wrong("size", "", "has to be sent before the files"));
  EXPECT_EQ(post(good + part("pages", "1")), wrong("pages", "minItems", "must have 2 to 3 elements"));
  EXPECT_EQ(post(good + part("pages", "1") + part("pages", "1") + part("pages", "1") + part("pages", "1")),
            wrong("pages", "maxItems", "must have 2 to 3 elements"));
  EXPECT_EQ(post(good + part("more", ""), "/closed"),
            wrong("more", "additionalProperties", "is not a field of this object"));
  EXPECT_EQ(handler_.calls, 7);
  handler_.reads_all = false;
  EXPECT_EQ(post(title + png(std::string(400'001, 'x'))), wrong("picture", "maxLength", "must have 2 to 400000 bytes"))
      << "a file that is skipped";
  EXPECT_EQ(post(good), "A|-|picture:image/png:a.png=");
}

TEST_F(ContractFiles, are_not_those_of_a_page_where_none_was_chosen) {
  const std::string none = part("pages", "", "; filename=\"\"\r\nContent-Type: application/octet-stream");
  EXPECT_EQ(post(title + none + png("12") + none), "A|-|picture:image/png:a.png=12");
  EXPECT_EQ(post(title + png("12") + part("pages", "1", "; filename=\"\"") + part("pages", "2")),
            "A|-|picture:image/png:a.png=12|pages:text/plain:=1|pages:text/plain:=2");
}

TEST_F(ContractFiles, end_with_400_where_there_is_no_form) {
  EXPECT_EQ(send("/open", "x").status(), 400);
  EXPECT_EQ(send("/open", "--b--\r\n", "multipart/form-data").status(), 400);
  EXPECT_EQ(send("/open", title + "--b", "multipart/form-data; boundary=b").status(), 400) << "it has no end";
  EXPECT_EQ(handler_.calls, 0);
  EXPECT_EQ(send("/open", title + png("12"), "multipart/form-data; boundary=b").status(), 400);
  EXPECT_EQ(send("/open", title + "--b\r\nX: y\r\n\r\n", "multipart/form-data; boundary=b").status(), 400);
  const auto empty = server_->begin(http::ClientRequest(http::Method::Post, "/open")).response();
  EXPECT_EQ(empty.status(), 400);
  EXPECT_NE(empty.body().find("a request body is required"), std::string_view::npos);
  EXPECT_EQ(server_->begin(http::ClientRequest(http::Method::Post, "/closed")).response().body(), "no body");
}

TEST_F(ContractFiles, are_not_reached_when_the_fields_are_too_large_or_too_many) {
  constexpr std::size_t max = contract::FormReader::fields_bytes_max;
  const std::string large(max - 5, 'x');
  EXPECT_EQ(post(part("title", large) + png("12")), large + "|-|picture:image/png:a.png=12");
  EXPECT_EQ(post(part("title", large + 'x') + png("12")).substr(0, 3), "413");
  EXPECT_EQ(post(part("more", large + large) + title + png("12")), "A|-|picture:image/png:a.png=12")
      << "what is skipped is not kept";
  std::string many;
  for (std::size_t i = 0; i < contract::FormReader::fields_max; ++i) many += part("tags", "");
  EXPECT_EQ(post(many + title + png("12")).substr(0, 3), "413");
  std::string files;
  for (std::size_t i = 0; i < contract::FormReader::parts_max; ++i) files += part("p", "");
  EXPECT_EQ(post(title + png("12") + files).substr(0, 3), "413");
  // An input without a chosen file, whose type is kept as those of files are.
  const std::string unchosen = part("picture", "", "; filename=\"\"\r\nContent-Type: image/" + std::string(3000, 'x'));
  std::string few;
  for (int i = 0; i < 80; ++i) few += unchosen;
  EXPECT_EQ(post(title + few + png("12")), "A|-|picture:image/png:a.png=12");
  for (int i = 0; i < 10; ++i) few += unchosen;
  EXPECT_EQ(post(title + few + png("12")).substr(0, 3), "413");
}

TEST_F(ContractFiles, end_with_the_client_that_sends_them) {
  const std::string begin =
      title + "--b\r\nContent-Disposition: form-data; name=picture\r\nContent-Type: image/png\r\n\r\n12";
  for (const std::string& sent : {title.substr(0, 20), title, begin}) {
    http::ClientRequest request(http::Method::Post, "/open");
    request.stream("multipart/form-data; boundary=b", [&sent](http::ClientBodyWriter& body) -> Task<> {
      co_await body.write(sent);
      co_await fail(Code::Internal, "the client has lost its file");
    });
    const auto response = server_->begin(std::move(request)).response();
    EXPECT_EQ(response.status(), 0) << response.body();
  }
  EXPECT_EQ(post(title + png("12")), "A|-|picture:image/png:a.png=12");
  EXPECT_EQ(handler_.calls, 2);
}

TEST_F(ContractFiles, may_be_read_as_a_whole) {
  handler_.whole_bytes_max = 5;
  EXPECT_EQ(post(title + png("12345")), "A|-|picture:image/png:a.png=12345");
  EXPECT_EQ(post(title + png("123456")), "413 \"detail\":\"a file of the form is too large\"}");
}

// The memory does not depend on the size: a piece is a part of what was received.
TEST_F(ContractFiles, come_in_pieces_of_what_was_received) {
  const std::string large(300'000, 'x');
  EXPECT_EQ(post(title + png(large)).size(), large.size() + 28);
  EXPECT_LE(handler_.largest_piece, 64u << 10);
}

TEST_F(ContractFiles, are_sent_as_bytes_or_by_a_function_and_read_as_the_same) {
  std::mt19937 random(static_cast<unsigned>(GTEST_FLAG_GET(random_seed)) + 3);
  const auto below = [&](unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(random); };
  const auto text = [&] {
    static constexpr std::string_view pieces[] = {
        "a", "\r\n", "--", "\"", "\\", "----keel-form-0", "\xff", "é", " ", "\r\n------keel-form-1--"};
    std::string made;
    for (unsigned i = below(6); i != 0; --i) made += pieces[below(std::size(pieces))];
    return made;
  };
  for (int i = 0; i < 200; ++i) {
    Body body{.title = "é\"\r\n--b", .size = {}, .tags = std::vector<std::string>(below(3), "t"), .lines = {}};
    std::string expected = body.title + "|-";
    for (const std::string& tag : body.tags) expected += '|' + tag;
    std::vector<std::string> contents = {"12" + text(), text(), text()};
    const auto file = [&](std::string& content, std::string filename, std::string type) {
      FormFile made;
      if (below(2) == 0) {
        made.content = content;
      } else {
        const auto write = [&content](http::ClientBodyWriter& to) -> Task<> { co_await to.write(content); };
        const bool is_known = below(2) == 0;
        made.content = contract::Upload(write, is_known ? std::optional<std::uint64_t>(content.size()) : std::nullopt);
      }
      made.filename = std::move(filename);
      made.content_type = std::move(type);
      return made;
    };
    Output out(http::Method::Post, "/open");
    FormFile picture = file(contents[0], "a \"b\".png", "image/png");
    out.file(rules[0], picture);
    expected += "|picture:image/png:a \"b\".png=" + contents[0];
    std::vector<FormFile> pages;
    if (below(2) == 0) {
      for (int k : {1, 2}) {
        pages.push_back(file(contents[static_cast<std::size_t>(k)], "", ""));
        expected += "|pages:application/octet-stream:pages=" + contents[static_cast<std::size_t>(k)];
      }
    }
    out.file(rules[1], pages);
    out.form_body("multipart/form-data", fields, Form::Either, body);
    auto request = server_->run(
        [](Output sent) -> Task<http::ClientRequest> { co_return std::move(sent).finish(""); }(std::move(out)));
    ASSERT_TRUE(request) << request.error().describe();
    const auto response = server_->begin(*std::move(request)).response();
    ASSERT_EQ(response.body(), expected) << response.status() << response.error();
  }
}

TEST_F(ContractFiles, are_not_sent_when_the_contract_does_not_have_them) {
  const auto error_of = [](FormFile file, const FileRule& rule = rules[0]) {
    Output out(http::Method::Post, "/open");
    out.file(rule, file);
    out.files_body("multipart/form-data");
    const auto request = std::move(out).finish("");
    return request ? std::string("no error") : std::string(request.error().message());
  };
  EXPECT_EQ(error_of({.content = "12", .filename = {}, .content_type = "image/png"}), "no error");
  EXPECT_EQ(error_of({.content = {}}), "picture: the contract requires this file");
  EXPECT_EQ(error_of({.content = "12"}),
            "picture: the contract has several media types for this file: set its content_type to one of them");
  EXPECT_EQ(error_of({.content = "12", .filename = {}, .content_type = "image/gif"}),
            "picture: the contract does not declare this media type for the file: image/gif");
  EXPECT_EQ(error_of({.content = "12", .filename = "a\r\nb", .content_type = "image/png"}),
            "picture: the name of a file has a line end or U+0000");
  EXPECT_EQ(error_of({.content = "12", .filename = {}, .content_type = "image/x-a\r\nb: c"}).substr(0, 9), "picture: ");
  EXPECT_EQ(error_of({.content = {}}, rules[1]), "no error");
  Output out(http::Method::Post, "/open");
  FormFile none;
  out.file(rules[0], none);
  out.files_body("multipart/form-data", false);
  EXPECT_TRUE(std::move(out).finish("")) << "nothing is sent, and no body is required";
}

}  // namespace files_test
