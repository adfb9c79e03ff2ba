// A service whose contract has an operation of each kind, made by keel_api(), on every engine: what its handlers are
// given, what its clients see, and who is let in.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "keel/exec/thread_pool.h"
#include "keel/http/server/server.h"
#include "keel/http/testing/test_client.h"
#include "keel/io/testing/loop_test.h"
#include "library_service.h"

namespace service_test {

using namespace keel;
using namespace library;
using namespace library_service;

class Services : public io::testing::LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (loop_ == nullptr) return;
    mount(router_, access_, operations_, files_, books_);
    http::ServerOptions options;
    options.address = Address::parse("127.0.0.1:0").value();
    options.limits.queue_delay_max = Duration::forever();
    server_.emplace(router_, std::move(options));
    ASSERT_TRUE(server_->start(*loop_));
    target_.loop = loop_;
    target_.host = "127.0.0.1";
    target_.port = server_->address().port();
    target_.finish = [this](StartCore& task) { EXPECT_TRUE(until([&] { return !task.is_running(); })); };
    resolver_.emplace(pool_);
    target_.resolver = &*resolver_;
    client_.emplace(target_);
  }
  void TearDown() override {
    if (loop_ == nullptr) return;
    client_.reset();
    resolver_.reset();
    server_->begin_drain(Duration());
    EXPECT_TRUE(until([&] { return server_->is_drained(); }));
    server_.reset();
    LoopTest::TearDown();
  }

  using Fields = std::vector<std::pair<std::string_view, std::string_view>>;
  http::TestResponse ask(http::Method method, std::string_view path, const Fields& fields = {},
                         std::string_view body = {}, std::string_view type = {}) {
    http::ClientRequest request(method, "/library/v1" + std::string(path));
    for (const auto& [name, value] : fields) request.header(name, value);
    if (!type.empty()) request.body(body, type);
    return client_->send(std::move(request));
  }
  http::TestResponse get(std::string_view path, const Fields& fields = {}) {
    return ask(http::Method::Get, path, fields);
  }
  // The title of the first book: what the handler has seen.
  std::string seen(std::string_view query, const Fields& fields = {}) {
    const http::TestResponse response = get("/books" + std::string(query), fields);
    const auto books = response.json<std::vector<Book>>();
    if (response.status() != 200 || !books || books->empty())
      return std::to_string(response.status()) + ' ' + std::string(response.body());
    return books->front().title;
  }
  // The status, and what is wrong.
  std::string wrong(const http::TestResponse& response) {
    std::string_view body = response.body();
    const std::size_t at = body.find("\"errors\":");
    return std::to_string(response.status()) + ' ' + std::string(at == body.npos ? body : body.substr(at + 9));
  }

  Access access_;
  Books books_;
  Files files_;
  Operations operations_;
  http::Router router_;
  ThreadPool pool_{{.name = "resolver", .threads = 1}};
  std::optional<Resolver> resolver_;
  std::optional<http::Server> server_;
  http::TestTarget target_;
  std::optional<http::TestClient> client_;
};
INSTANTIATE_TEST_SUITE_P(, Services, io::testing::every_engine(), io::testing::name_of_engine);

const std::vector<std::pair<std::string_view, std::string_view>> reader = {{"Authorization", "Bearer reader"}};
const std::vector<std::pair<std::string_view, std::string_view>> writer = {{"Authorization", "Bearer writer"}};

TEST_P(Services, read_parameters_of_every_place_and_form) {
  EXPECT_EQ(seen(""), "none none title 10");
  EXPECT_EQ(seen("?genre=novel&genre=poetry&limit=50&sort=-title"), "novel poetry none none -title 50");
  EXPECT_EQ(seen("?id=1%7C2%7c3"), "1 2 3 none none title 10");
  EXPECT_EQ(seen("?published[from]=1900&published%5Bto%5D=1999"), "1900-1999 none title 10");
  EXPECT_EQ(seen("?filter=%7B%22from%22%3A1900%7D"), "none 1900- title 10");
  EXPECT_EQ(seen("?page=3"), "page 3 none none title 10");
  EXPECT_EQ(seen("?page=last"), "page last none none title 10");
  EXPECT_EQ(seen("?label[b]=x&label[a]=2"), "a=2 b=x none none title 10");
  EXPECT_EQ(seen("?first=4&words=a&words=1"), "from 4 'a' '1' none none title 10");
  EXPECT_EQ(seen("?unknown=1"), "none none title 10");
  EXPECT_EQ(seen("?available=false"), "lent none none title 10");
  EXPECT_EQ(seen("?since=2024-02-29T12:00:00Z"), "2024-02-29T12:00:00Z none none title 10");
  EXPECT_EQ(seen("", {{"X-Branch", "north, south"}}), "<north> <south> none none title 10");
  EXPECT_EQ(seen("", {{"X-Branch", "north,, south,"}}), "<north> <south> none none title 10");
  EXPECT_EQ(seen("?id=5", {{"Cookie", "a=b; id=0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50"}}),
            "5 0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50 none none title 10");
}

TEST_P(Services, tell_all_that_is_wrong_with_parameters) {
  EXPECT_EQ(wrong(get("/books?limit=51&genre=novel&genre=novel&genre=novel")),
            R"(422 [{"parameter":"genre","keyword":"maxItems","detail":"must have at most 2 elements"},)"
            R"({"parameter":"limit","keyword":"maximum","detail":"must be from 1 to 50"}]})");
  EXPECT_EQ(get("/books?limit=x").status(), 400);
  EXPECT_EQ(get("/books?limit=").status(), 400);
  EXPECT_EQ(get("/books?limit=1&limit=2").status(), 400);
  EXPECT_EQ(get("/books?genre=crime").status(), 422);
  EXPECT_EQ(get("/books?sort=x").status(), 422);
  EXPECT_EQ(get("/books?id=a").status(), 400);
  EXPECT_EQ(get("/books?since=yesterday").status(), 400);
  EXPECT_EQ(get("/books?filter=x").status(), 400);
  EXPECT_EQ(get("/books?filter=%7B%22from%22%3A1%7D").status(), 422);
  EXPECT_EQ(get("/books?published[from]=1").status(), 422);
  EXPECT_EQ(get("/books?published[from]=x").status(), 400);
  EXPECT_EQ(get("/books?page=0").status(), 422);
  EXPECT_EQ(get("/books?page=first").status(), 422);
  EXPECT_EQ(get("/books?first=x").status(), 400);
  EXPECT_EQ(get("/books?first=-1").status(), 422);
  EXPECT_EQ(get("/books?label[a]=").status(), 422);
  EXPECT_EQ(get("/books?label[a]=1&label[b]=1&label[c]=1").status(), 422);
  EXPECT_EQ(get("/books/newest").status(), 400) << "a parameter is missing";
  EXPECT_EQ(get("/books", {{"X-Branch", R"(a,"",b)"}}).status(), 422);
  EXPECT_EQ(get("/books", {{"Cookie", "id=x"}}).status(), 400);
  EXPECT_EQ(get("/books/0", reader).status(), 422);
  EXPECT_EQ(get("/books/x", reader).status(), 400);
  EXPECT_EQ(get("/books/9223372036854775808", reader).status(), 422);
  EXPECT_EQ(ask(http::Method::Put, "/books/1/loans/Tom", reader).status(), 422);
}

TEST_P(Services, respond_in_the_form_that_is_accepted_with_the_fields_of_the_contract) {
  const auto json = get("/books?available=true");
  EXPECT_EQ(json.header("Content-Type"), "application/json");
  EXPECT_EQ(json.header("X-Total"), "1");
  EXPECT_EQ(json.header("Link"), "</a>,</b>");
  EXPECT_EQ(get("/books").header("Link"), std::nullopt);
  const auto csv = get("/books", {{"Accept", "text/csv"}});
  EXPECT_EQ(csv.header("Content-Type"), "text/csv");
  EXPECT_EQ(csv.body(), "none none title 10");
  const auto second = get("/books", {{"Accept", "application/vnd.library.v2+json"}});
  EXPECT_EQ(second.header("Content-Type"), "application/vnd.library.v2+json");
  EXPECT_TRUE(second.body().starts_with(R"({"books":[{)")) << second.body();
  EXPECT_EQ(get("/books", {{"Accept", "image/png"}}).status(), 406);
  const auto other = get("/books?limit=7");
  EXPECT_EQ(other.status(), 503);
  EXPECT_EQ(other.header("Content-Type"), "application/problem+json");
  EXPECT_NE(other.body().find(R"("detail":"seven")"), std::string_view::npos) << other.body();
}

TEST_P(Services, read_a_body_as_json_and_as_a_form) {
  const std::string_view all =
      R"({"title":"Emma","genre":"novel","pages":3,"authors":["Jane"],"price":1.5,"is_new":true})";
  const auto json = ask(http::Method::Post, "/books", writer, all, "application/json; charset=utf-8");
  ASSERT_EQ(json.status(), 201) << json.body();
  EXPECT_EQ(json.header("Location"), "/library/v1/books/2");
  EXPECT_EQ(json.header("X-Expires"), "2030-01-02T03:04:05Z");
  const auto form =
      ask(http::Method::Post, "/books", writer, "title=Emma&genre=novel&pages=3&authors=Jane&price=1.5&is_new=true",
          "application/x-www-form-urlencoded");
  ASSERT_EQ(form.status(), 201) << form.body();
  EXPECT_EQ(form.body(), json.body());
  const auto few =
      ask(http::Method::Post, "/books", writer, "title=a+%26&genre=poetry", "application/x-www-form-urlencoded");
  EXPECT_EQ(few.json<Book>()->title, "a &");
  EXPECT_EQ(few.json<Book>()->pages, 100);
  EXPECT_EQ(few.header("X-Expires"), std::nullopt);
  EXPECT_EQ(wrong(ask(http::Method::Post, "/books", writer, R"({"genre":"novel","pages":0,"authors":["a","a"]})",
                      "application/json")),
            R"(422 [{"pointer":"/pages","keyword":"minimum","detail":"must be at least 1"},)"
            R"({"pointer":"/authors","keyword":"uniqueItems","detail":"must not have two equal elements"},)"
            R"({"pointer":"/title","keyword":"required","detail":"is required"}]})");
  EXPECT_EQ(
      ask(http::Method::Post, "/books", writer, "title=a&genre=novel&pages=x", "application/x-www-form-urlencoded")
          .status(),
      422);
  EXPECT_EQ(ask(http::Method::Post, "/books", writer, "{", "application/json").status(), 400);
  EXPECT_EQ(ask(http::Method::Post, "/books", writer, "a", "text/plain").status(), 415);
  EXPECT_EQ(ask(http::Method::Post, "/books", writer).status(), 400) << "a body is required";
}

TEST_P(Services, read_json_where_any_type_is_declared_as_exactly_one_of_the_alternatives) {
  for (const std::string_view type : {"application/json", "application/vnd.pay+json"}) {
    const http::TestResponse paid = ask(http::Method::Post, "/payments", {}, R"({"cents": 5, "card": "a"})", type);
    EXPECT_EQ(paid.status(), 200) << paid.body();
    EXPECT_EQ(paid.header("Content-Type"), "application/json");
    EXPECT_EQ(paid.body(), R"(["cents","card"])");
  }
  EXPECT_EQ(wrong(ask(http::Method::Post, "/payments", {}, R"({"cents": 500})", "application/json")).substr(0, 3),
            "422")
      << "both alternatives";
  EXPECT_EQ(wrong(ask(http::Method::Post, "/payments", {}, R"({"cents": "5"})", "application/json")).substr(0, 3),
            "422")
      << "none of them";
  EXPECT_EQ(ask(http::Method::Post, "/payments", {}, "cents=5", "text/plain").status(), 415);
  EXPECT_EQ(ask(http::Method::Post, "/payments", {}, "cents", "application/json").status(), 400);
}

TEST_P(Services, respond_with_the_statuses_of_the_contract_and_no_other) {
  const auto add = [&](std::string_view title) {
    return ask(http::Method::Post, "/books", writer, R"({"genre":"novel","title":")" + std::string(title) + "\"}",
               "application/json");
  };
  EXPECT_EQ(add("taken").status(), 409);
  EXPECT_EQ(add("later").status(), 202);
  EXPECT_EQ(add("later").body(), "");
  EXPECT_EQ(add("heavy").status(), 410);
  EXPECT_EQ(add("bug").status(), 500);
  EXPECT_EQ(get("/books/304", reader).status(), 304);
  EXPECT_EQ(get("/books/9", reader).status(), 404);
  EXPECT_EQ(ask(http::Method::Delete, "/books/1", reader).status(), 204);
  const auto lent = ask(http::Method::Delete, "/books/2", reader);
  EXPECT_EQ(lent.status(), 409);
  EXPECT_EQ(lent.body(), R"({"kind":"lent","loan":"tom"})");
  EXPECT_EQ(ask(http::Method::Delete, "/books/3", reader).body(), R"({"kind":"missing"})");
  EXPECT_EQ(ask(http::Method::Put, "/books/1/loans/tom", reader).status(), 200);
  EXPECT_EQ(ask(http::Method::Put, "/books/2/loans/tom", reader).status(), 202);
  EXPECT_EQ(ask(http::Method::Put, "/books/2/loans/tom", reader).body(), R"({"tom":2})");
  EXPECT_EQ(get("/health").body(), R"("well")");
  EXPECT_EQ(get("/books/newest?class=a").json<Book>()->title, "newest a");
  const auto head = ask(http::Method::Head, "/books/1", reader);
  EXPECT_EQ(head.status(), 204);
  EXPECT_EQ(head.header("X-Loans"), "4");
  EXPECT_EQ(ask(http::Method::Head, "/books/2", reader).status(), 404);
  const auto options = ask(http::Method::Options, "/notes");
  EXPECT_EQ(options.status(), 204);
  EXPECT_EQ(options.header("Allow"), "POST");
  EXPECT_EQ(ask(http::Method::Post, "/health").status(), 405);
  EXPECT_EQ(ask(http::Method::Post, "/health").header("Allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(get("/nothing").status(), 404);
}

TEST_P(Services, take_a_patch_whose_body_may_be_absent) {
  const auto change = [&](std::string_view body) {
    return ask(http::Method::Patch, "/books/1", reader, body, "application/merge-patch+json");
  };
  EXPECT_EQ(change(R"({"title":"b"})").json<Book>()->title, "b");
  EXPECT_NE(change(R"({"note":null})").body().find(R"("note":null)"), std::string_view::npos);
  EXPECT_EQ(change(R"({"title":"b"})").body().find("note"), std::string_view::npos);
  EXPECT_EQ(change("{}").status(), 422);
  EXPECT_EQ(change(R"({"note":1})").status(), 422);
  const auto none = ask(http::Method::Patch, "/books/1", reader);
  EXPECT_EQ(none.status(), 200) << none.body();
  EXPECT_EQ(none.json<Book>()->title, "as it was");
}

TEST_P(Services, stream_bodies_both_ways) {
  const auto whole = get("/covers/whole?key=key");
  EXPECT_EQ(whole.body(), std::string_view("\x89PNG\0\xff", 6));
  EXPECT_EQ(whole.header("Content-Type"), "image/png");
  EXPECT_EQ(whole.header("ETag"), "\"1\"");
  const auto streamed = get("/covers/a%2Fb?key=key");
  EXPECT_EQ(streamed.body(), "a/ba/ba/b");
  EXPECT_EQ(streamed.header("Content-Type"), "image/gif");
  EXPECT_EQ(get("/covers/none?key=key").status(), 404);
  EXPECT_EQ(get("/events").body(), "data: 1\n\n");
  EXPECT_EQ(get("/events").header("Content-Type"), "text/event-stream");
  const std::string large = io::testing::pattern(300'000);
  EXPECT_EQ(ask(http::Method::Put, "/covers/a", reader, large, "image/png").body(), R"({"bytes":300000})");
  EXPECT_EQ(ask(http::Method::Put, "/covers/a", reader, "abc", "application/octet-stream").body(), R"({"bytes":3})");
  EXPECT_EQ(ask(http::Method::Put, "/covers/a", reader, "abc", "image/gif").status(), 415);
  EXPECT_EQ(ask(http::Method::Put, "/covers/a", reader).status(), 400) << "a body is required";
}

TEST_P(Services, take_files_of_any_bytes_in_a_form) {
  const std::string_view type = "multipart/form-data; boundary=b";
  const auto part = [](std::string_view name, std::string_view value, std::string_view more = {}) {
    return "--b\r\nContent-Disposition: form-data; name=\"" + std::string(name) + '"' + std::string(more) + "\r\n\r\n" +
           std::string(value) + "\r\n";
  };
  const auto upload = [&](const std::string& parts) {
    return ask(http::Method::Post, "/uploads", {}, parts + "--b--\r\n", type);
  };
  const std::string title = part("title", "Caf\xc3\xa9");
  const auto good = upload(
      title + part("file", std::string_view("\xff\0\x80\r\n-", 6), "; filename=\"a.png\"\r\nContent-Type: image/png") +
      part("pages", "3") + part("tags", "a") + part("tags", "b") +
      part("about", R"({"from":1900})", "\r\nContent-Type: application/json"));
  EXPECT_EQ(good.status(), 201);
  EXPECT_EQ(good.body(), "{\"bytes\":6,\"from\":1900,\"pages\":3,\"tags\":[\"a\",\"b\"],\"title\":\"Caf\xc3\xa9\"}");
  const std::string file = part("file", "x", "; filename=\"a\"\r\nContent-Type: application/octet-stream");
  EXPECT_EQ(wrong(upload(part("title", "") + file + part("pages", "0") + part("other", "1"))),
            R"(422 [{"field":"title","keyword":"minLength","detail":"must have at least 1 character"},)"
            R"({"field":"pages","keyword":"minimum","detail":"must be at least 1"},)"
            R"({"field":"other","keyword":"additionalProperties","detail":"is not a field of this object"}]})");
  EXPECT_EQ(upload(title).status(), 422) << "the file is required";
  const std::string_view png = "; filename=\"a\"\r\nContent-Type: image/png";
  EXPECT_EQ(upload(title + part("file", std::string(600'000, 'x'), png)).status(), 201);
  EXPECT_EQ(wrong(upload(title + part("file", std::string(600'001, 'x'), png))),
            R"(422 [{"field":"file","keyword":"maxLength","detail":"must have at most 600000 bytes"}]})");
  EXPECT_EQ(upload(file + part("title", "\xff")).status(), 422) << "a text is UTF-8";
  EXPECT_EQ(upload(title + title + file).status(), 422) << "one title";
  EXPECT_EQ(upload(title + file + part("about", "x")).status(), 422);
  EXPECT_EQ(
      wrong(upload(title + part("file", "x", "; filename=\"a\"\r\nContent-Type: text/html") +
                   part("about", "{}", "\r\nContent-Type: application/xml"))),
      R"(422 [{"field":"file","keyword":"contentType","detail":"must be sent as image/png, application/octet-stream"},)"
      R"({"field":"about","keyword":"contentType","detail":"must be sent as application/json"}]})");
  EXPECT_EQ(ask(http::Method::Post, "/uploads", {}, "no form", type).status(), 400);
  EXPECT_EQ(ask(http::Method::Post, "/uploads", {}, "a=b", "application/x-www-form-urlencoded").status(), 415);
}

TEST_P(Services, read_the_files_of_a_form_as_they_arrive) {
  const std::string_view type = "multipart/form-data; boundary=b";
  const auto part = [](std::string_view name, std::string_view value, std::string_view more = {}) {
    return "--b\r\nContent-Disposition: form-data; name=\"" + std::string(name) + '"' + std::string(more) + "\r\n\r\n" +
           std::string(value) + "\r\n";
  };
  const auto file = [&](std::string_view name, std::string_view value, std::string_view media_type = "image/png") {
    return part(name, value, "; filename=\"a.png\"\r\nContent-Type: " + std::string(media_type));
  };
  const auto post = [&](const std::string& parts, std::string_view query = "?shelf=1") {
    return ask(http::Method::Post, "/pictures" + std::string(query), {}, parts + "--b--\r\n", type);
  };
  const std::string title = part("title", "Caf\xc3\xa9");
  const std::string good = title + part("tags", "a") + part("about", R"({"from":1900})") +
                           file("picture", std::string_view("\xff\0\r\n--", 6)) + file("pages", "", "text/csv");
  const std::string expected =
      R"({"files":[{"bytes":6,"field":"picture","name":"a.png","sum":3005864542,"type":"image/png"},)"
      R"({"bytes":0,"field":"pages","name":"a.png","sum":0,"type":"text/csv"}],"from":1900,"tags":["a"],"title":"Caf)"
      "\xc3\xa9\"}";
  EXPECT_EQ(post(good).body(), expected);
  EXPECT_EQ(post(good).status(), 201);
  for (const std::size_t piece : {1, 5}) {
    const std::string all = good + "--b--\r\n";
    http::ClientRequest request(http::Method::Post, "/library/v1/pictures?shelf=1");
    request.stream(type, [&](http::ClientBodyWriter& body) -> Task<> {
      for (std::size_t at = 0; at < all.size(); at += piece)
        co_await body.write(std::string_view(all).substr(at, piece));
    });
    EXPECT_EQ(client_->send(std::move(request)).body(), expected) << "in pieces of " << piece;
  }

  // Known before the handler is called.
  EXPECT_EQ(post(good, "?shelf=0").status(), 422);
  EXPECT_EQ(post(good, "").status(), 400);
  EXPECT_EQ(wrong(post(title)), R"(422 [{"field":"picture","keyword":"required","detail":"is required"}]})");
  EXPECT_EQ(
      wrong(post(file("picture", "x") + title)),
      R"(422 [{"field":"title","keyword":"required","detail":"is required, and has to be sent before the files"}]})");
  EXPECT_EQ(wrong(post(part("title", "") + part("other", "") + file("picture", "x", "image/gif"))),
            R"(422 [{"field":"other","keyword":"additionalProperties","detail":"is not a field of this object"},)"
            R"({"field":"picture","keyword":"contentType","detail":"must be sent as image/png, audio/*"},)"
            R"({"field":"title","keyword":"minLength","detail":"must have at least 1 character"}]})");
  // Known while the handler reads.
  EXPECT_EQ(wrong(post(title + file("picture", ""))),
            R"(422 [{"field":"picture","keyword":"minLength","detail":"must have 1 to 200000000 bytes"}]})");
  EXPECT_EQ(wrong(post(title + file("picture", "x") + file("thumbnail", "12345678901"))),
            R"(422 [{"field":"thumbnail","keyword":"maxLength","detail":"must have at most 10 bytes"}]})");
  EXPECT_EQ(wrong(post(title + file("picture", "x") + part("tags", "late"))),
            R"(422 [{"field":"tags","detail":"has to be sent before the files"}]})");
  EXPECT_EQ(ask(http::Method::Post, "/pictures?shelf=1", {}, good, type).status(), 400) << "it has no end";
  EXPECT_EQ(ask(http::Method::Post, "/pictures?shelf=1", {}, "{}", "application/json").status(), 415);
  EXPECT_EQ(ask(http::Method::Post, "/pictures?shelf=1").status(), 400) << "a body is required";
  EXPECT_EQ(post(title + file("picture", std::string(2 << 20, 'x'))).status(), 413) << "more than the server takes";
  EXPECT_EQ(ask(http::Method::Post, "/pictures/raw").body(), "[0,0]") << "none is required";
  EXPECT_EQ(
      ask(http::Method::Post, "/pictures/raw", {}, file("file", "12") + file("file", "3") + "--b--\r\n", type).body(),
      "[2,3]");
}

TEST_P(Services, take_text_that_need_not_be_there) {
  const auto note = ask(http::Method::Post, "/notes", {}, "Caf\xc3\xa9", "text/plain; charset=utf-8");
  EXPECT_EQ(note.body(), "Caf\xc3\xa9");
  EXPECT_EQ(note.header("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(ask(http::Method::Post, "/notes").status(), 204);
  EXPECT_EQ(ask(http::Method::Post, "/notes", {}, "\xff", "text/plain").status(), 400);
  EXPECT_EQ(ask(http::Method::Post, "/notes", {}, "{}", "application/json").status(), 415);
}

TEST_P(Services, let_in_whom_the_contract_lets_in) {
  const auto nobody = get("/books/1");
  EXPECT_EQ(nobody.status(), 401);
  EXPECT_TRUE(nobody.header("WWW-Authenticate").value_or("").starts_with("Bearer")) << nobody.body();
  EXPECT_EQ(get("/books/1", reader).json<Book>()->title, "reader 0");
  EXPECT_EQ(get("/books/1", {{"X-Library-Key", "key"}}).status(), 200);
  EXPECT_EQ(get("/books/1", {{"X-Library-Key", "other"}}).status(), 401);
  EXPECT_EQ(get("/books/1", {{"Authorization", "Bearer other"}}).status(), 401);
  EXPECT_EQ(get("/books/1", {{"Authorization", "Bearer broken"}}).status(), 503);
  const std::string_view book = R"({"genre":"novel","title":"a"})";
  const auto add = [&](const Fields& fields) {
    return ask(http::Method::Post, "/books", fields, book, "application/json").status();
  };
  EXPECT_EQ(add(writer), 201);
  EXPECT_EQ(add(reader), 403) << "its scopes";
  EXPECT_EQ(add({{"Authorization", "Basic YWRhOnNlY3JldA=="}}), 401) << "the key is missing";
  EXPECT_EQ(add({{"X-Library-Key", "key"}}), 401) << "the user is missing";
  EXPECT_EQ(add({{"Authorization", "Basic YWRhOnNlY3JldA=="}, {"X-Library-Key", "key"}}), 201);
  EXPECT_EQ(add({{"Authorization", "Basic YWRhOm5v"}, {"X-Library-Key", "key"}}), 401);
  EXPECT_EQ(get("/covers/none").status(), 401);
  EXPECT_EQ(get("/covers/none?key=other").status(), 401);
  EXPECT_EQ(ask(http::Method::Post, "/books", {}, "{", "application/json").status(), 401) << "before the body is read";
}

TEST_P(Services, look_at_credentials_that_need_not_be_there) {
  EXPECT_EQ(get("/shelves/;floor=2;room=a").body(), "floor 2, room a");
  EXPECT_EQ(get("/shelves/;floor=2", {{"Cookie", "session=key"}}).body(), "floor 2, room -, cookie");
  EXPECT_EQ(get("/shelves/;floor=2", {{"Cookie", "session=other"}}).status(), 401);
  EXPECT_EQ(get("/shelves/2").status(), 400);
  EXPECT_EQ(get("/shelves/;floor=x").status(), 400);
  EXPECT_EQ(get("/shelves/;room=a").status(), 422);
}

TEST_P(Services, serve_the_document_and_its_page_beside_the_base_path) {
  EXPECT_EQ(client_->get("/openapi.json").status(), 200);
  EXPECT_EQ(client_->get("/docs").status(), 200);
  EXPECT_EQ(client_->get("/books").status(), 404);
}

}  // namespace service_test
