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
#include "library/api.h"

namespace service_test {

using namespace keel;
using namespace library;

std::string text_of(const std::optional<Years>& years) {
  if (!years) return "none";
  return (years->from ? std::to_string(*years->from) : "") + '-' + (years->to ? std::to_string(*years->to) : "");
}

class Access final : public Security {
 public:
  Task<> bearer(http::Request& http, std::string_view token, contract::Scopes scopes) override {
    if (token == "broken") co_await fail(Code::Unavailable, "the sign-in is away");
    if (token != "reader" && token != "writer") co_await fail(Code::Unauthenticated, "no such token");
    if (!scopes.empty() && token != "writer") co_await fail(Code::PermissionDenied, "this token may not write");
    who_ = std::string(token) + ' ' + std::to_string(scopes.size());
    http.set(std::string_view(who_));
  }
  Task<> basic(http::Request&, std::string_view user, std::string_view password, contract::Scopes) override {
    if (user != "ada" || password != "secret") co_await fail(Code::Unauthenticated, "no such user");
  }
  Task<> api_key(http::Request&, std::string_view key, contract::Scopes) override { return check(key); }
  Task<> query_key(http::Request&, std::string_view key, contract::Scopes) override { return check(key); }
  Task<> cookie(http::Request& http, std::string_view key, contract::Scopes) override {
    co_await check(key);
    who_ = "cookie";
    http.set(std::string_view(who_));
  }

 private:
  static Task<> check(std::string_view key) {
    if (key != "key") co_await fail(Code::Unauthenticated, "no such key");
  }
  std::string who_;
};

class Books final : public BooksHandler {
 public:
  Task<ListBooksResponse> list_books(http::Request& http, const ListBooksRequest& request) override {
    std::string seen;
    if (request.genre) {
      for (const Genre genre : *request.genre) seen += std::string(enum_name(genre)) + ' ';
    }
    if (request.id_query) {
      for (const std::int64_t id : *request.id_query) seen += std::to_string(id) + ' ';
    }
    if (request.x_branch) {
      for (const std::string& branch : *request.x_branch) seen += '<' + branch + "> ";
    }
    if (request.id_cookie) seen += std::string(request.id_cookie->text()) + ' ';
    if (request.since) seen += std::string(request.since->text()) + ' ';
    if (request.available) seen += *request.available ? "available " : "lent ";
    if (request.page) {
      const auto* const number = std::get_if<std::int64_t>(&*request.page);
      seen += "page " + (number != nullptr ? std::to_string(*number) : "last") + ' ';
    }
    if (request.label) {
      for (const auto& [name, value] : *request.label) seen += name + '=' + value + ' ';
    }
    if (request.window) {
      seen += "from " + std::to_string(request.window->first.value_or(-1)) + ' ';
      if (request.window->words) {
        for (const std::string& word : *request.window->words) seen += '\'' + word + "' ";
      }
    }
    seen += text_of(request.published) + ' ' + text_of(request.filter) + ' ' + std::string(enum_name(request.sort)) +
            ' ' + std::to_string(request.limit);
    if (request.limit == 7) co_return ListBooksResponse::other(http::Status::ServiceUnavailable, "seven");
    ListBooksOkHeaders headers{.link = {}, .x_total = 1};
    if (request.available) headers.link = {"</a>", "</b>"};
    if (http.header("Accept").value_or("") == "text/csv") co_return ListBooksResponse::ok_csv(seen, headers);
    Book book;
    book.id = 1;
    book.title = seen;
    if (http.header("Accept").value_or("") == "application/vnd.library.v2+json") {
      ListBooksOk all;
      all.books.push_back(book);
      co_return ListBooksResponse::ok_vnd_library_v2_json(all, headers);
    }
    std::vector<Book> all;
    all.push_back(book);
    co_return ListBooksResponse::ok(all, headers);
  }
  Task<AddBookResponse> add_book(http::Request&, const AddBookRequest& request) override {
    if (request.body.title == "taken") co_return AddBookResponse::conflict("there is one of this title");
    if (request.body.title == "later") co_return AddBookResponse::accepted();
    if (request.body.title == "heavy") co_return AddBookResponse::client_error(http::Status::Gone, "no room");
    if (request.body.title == "bug") co_return AddBookResponse::client_error(http::Status::Ok, "not a 4XX");
    Book book;
    book.id = 2;
    book.title = request.body.title;
    book.genre = request.body.genre;
    book.pages = request.body.pages;
    book.authors = request.body.authors;
    book.price = request.body.price;
    book.is_new = request.body.is_new;
    AddBookCreatedHeaders headers;
    headers.location = "/library/v1/books/2";
    if (request.body.is_new) headers.x_expires = Timestamp::parse("2030-01-02T03:04:05Z").value();
    co_return AddBookResponse::created(book, headers);
  }
  Task<GetBookResponse> get_book(http::Request& http, const GetBookRequest& request) override {
    if (request.book_id == 304) co_return GetBookResponse::not_modified();
    if (request.book_id != 1) co_return GetBookResponse::not_found("there is no such book");
    Book book;
    book.id = 1;
    if (const auto* const who = http.get<std::string_view>()) book.title = std::string(*who);
    co_return book;
  }
  Task<GetNewestResponse> get_newest(http::Request&, const GetNewestRequest& request) override {
    Book book;
    book.title = "newest " + request.class_;
    co_return book;
  }
  Task<HasBookResponse> has_book(http::Request&, const HasBookRequest& request) override {
    if (request.book_id != 1) co_return HasBookResponse::not_found();
    HasBookNoContentHeaders headers;
    headers.x_loans = 4;
    co_return HasBookResponse::no_content(headers);
  }
  Task<ChangeBookResponse> change_book(http::Request&, const ChangeBookRequest& request) override {
    Book book;
    book.id = request.book_id;
    book.title = request.body && request.body->title ? *request.body->title : "as it was";
    if (request.body) book.note = request.body->note;
    co_return book;
  }
  Task<RemoveBookResponse> remove_book(http::Request&, const RemoveBookRequest& request) override {
    if (request.book_id == 1) co_return RemoveBookResponse::no_content();
    FailureOption1 lent;
    lent.loan = "tom";
    if (request.book_id == 2) co_return RemoveBookResponse::other(http::Status::Conflict, Failure(lent));
    co_return RemoveBookResponse::other(http::Status::NotFound, Failure(FailureOption2()));
  }
  Task<LendBookResponse> lend_book(http::Request&, const LendBookRequest& request) override {
    std::map<std::string, std::int64_t> lent;
    lent[request.loan] = request.book_id;
    co_return LendBookResponse::success(request.book_id == 1 ? http::Status::Ok : http::Status::Accepted, lent);
  }
  Task<GetShelfResponse> get_shelf(http::Request& http, const GetShelfRequest& request) override {
    const auto* const who = http.get<std::string_view>();
    co_return GetShelfResponse::ok("floor " + std::to_string(request.place.floor) + ", room " +
                                   request.place.room.value_or("-") + (who != nullptr ? ", " + std::string(*who) : ""));
  }
};

Task<> write_cover(http::BodyWriter& out, std::string name) {
  for (int i = 0; i < 3; ++i) co_await out.write(name);
}

Task<> write_events(http::BodyWriter& out) { co_await out.write("data: 1\n\n"); }

class Files final : public FilesMediaHandler {
 public:
  Task<GetCoverResponse> get_cover(http::Request&, const GetCoverRequest& request) override {
    if (request.name == "none") co_return GetCoverResponse::not_found();
    GetCoverOkHeaders headers;
    headers.e_tag = "\"1\"";
    if (request.name == "whole") {
      Buffer bytes;
      bytes.append(std::string_view("\x89PNG\0\xff", 6));
      co_return GetCoverResponse::ok("image/png", std::move(bytes), headers);
    }
    co_return GetCoverResponse::ok_stream("image/gif", headers, &write_cover, request.name);
  }
  Task<PutCoverResponse> put_cover(http::Request& http, const PutCoverRequest&) override {
    std::int64_t count = 0;
    while (true) {
      const std::string_view chunk = co_await http.read_body();
      if (chunk.empty()) break;
      count += static_cast<std::int64_t>(chunk.size());
    }
    PutCoverOk answer;
    answer.bytes = count;
    co_return answer;
  }
  Task<AddNoteResponse> add_note(http::Request&, const AddNoteRequest& request) override {
    if (!request.body) co_return AddNoteResponse::no_content();
    co_return AddNoteResponse::ok(*request.body);
  }
  Task<AskNotesResponse> ask_notes(http::Request&, const AskNotesRequest&) override {
    AskNotesNoContentHeaders headers;
    headers.allow = "POST";
    co_return AskNotesResponse::no_content(headers);
  }
  Task<WatchResponse> watch(http::Request&, const WatchRequest&) override {
    co_return WatchResponse::ok_stream(&write_events);
  }
  Task<UploadResponse> upload(http::Request&, const UploadRequest& request) override {
    Upload came;
    came.title = request.body.title;
    came.bytes = static_cast<std::int64_t>(request.body.file.size());
    came.pages = request.body.pages;
    if (request.body.tags) came.tags = *request.body.tags;
    if (request.body.about) came.from = request.body.about->from;
    co_return came;
  }
};

class Operations final : public OperationsHandler {
 public:
  Task<GetHealthResponse> get_health(http::Request&, const GetHealthRequest&) override { co_return GetHealthOk::Well; }
};

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
  EXPECT_EQ(seen("?id=5", {{"Cookie", "a=b; id=0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50"}}),
            "5 0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50 none none title 10");
}

TEST_P(Services, tell_all_that_is_wrong_with_parameters) {
  EXPECT_EQ(wrong(get("/books?limit=51&genre=novel&genre=novel&genre=novel")),
            R"(422 [{"parameter":"genre","detail":"must have at most 2 elements"},)"
            R"({"parameter":"limit","detail":"must be from 1 to 50"}]})");
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
  EXPECT_EQ(get("/books", {{"X-Branch", "a,,b"}}).status(), 422);
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
            R"(422 [{"pointer":"/pages","detail":"must be at least 1"},)"
            R"({"pointer":"/authors","detail":"must not have two equal elements"},)"
            R"({"pointer":"/title","detail":"is required"}]})");
  EXPECT_EQ(
      ask(http::Method::Post, "/books", writer, "title=a&genre=novel&pages=x", "application/x-www-form-urlencoded")
          .status(),
      422);
  EXPECT_EQ(ask(http::Method::Post, "/books", writer, "{", "application/json").status(), 400);
  EXPECT_EQ(ask(http::Method::Post, "/books", writer, "a", "text/plain").status(), 415);
  EXPECT_EQ(ask(http::Method::Post, "/books", writer).status(), 400) << "a body is required";
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
  const std::string file = part("file", "x", "; filename=\"a\"");
  EXPECT_EQ(wrong(upload(part("title", "") + file + part("pages", "0") + part("other", "1"))),
            R"(422 [{"field":"title","detail":"must have at least 1 character"},)"
            R"({"field":"pages","detail":"must be at least 1"},)"
            R"({"field":"other","detail":"is not a field of this object"}]})");
  EXPECT_EQ(upload(title).status(), 422) << "the file is required";
  EXPECT_EQ(upload(file + part("title", "\xff")).status(), 422) << "a text is UTF-8";
  EXPECT_EQ(upload(title + title + file).status(), 422) << "one title";
  EXPECT_EQ(upload(title + file + part("about", "x")).status(), 422);
  EXPECT_EQ(ask(http::Method::Post, "/uploads", {}, "no form", type).status(), 400);
  EXPECT_EQ(ask(http::Method::Post, "/uploads", {}, "a=b", "application/x-www-form-urlencoded").status(), 415);
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
