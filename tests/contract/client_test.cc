// The clients that are made from a contract ask the service that is made from it, on every engine: what they are given
// is what its handlers have answered, and what a service does that keeps no contract is an error that says so.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/sanitizers.h"
#include "keel/exec/thread_pool.h"
#include "keel/http/client/client.h"
#include "keel/http/server/server.h"
#include "keel/io/testing/loop_test.h"
#include "library/books_client.h"
#include "library/files_media_client.h"
#include "library/operations_client.h"
#include "library_service.h"

namespace client_test {

using namespace keel;
using namespace library;

// What a liar answers, who serves the same paths below /liar.
struct Lie {
  http::Status status = http::Status::Ok;
  std::string type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> fields;
};

class ContractClients : public io::testing::LoopTest {
 protected:
  void SetUp() override {
    LoopTest::SetUp();
    if (loop_ == nullptr) return;
    mount(router_, access_, operations_, files_, books_, {.streamed_bytes_max = 256u << 20});
    for (const http::Method method : {http::Method::Get, http::Method::Post}) {
      http::Handler lie;
      lie.at_once = [this](http::Request& request) -> Result<http::Response> {
        ++lies_;
        authorization_ = request.header("Authorization").value_or("none");
        key_ = request.header("Idempotency-Key").value_or("none");
        accept_ = request.header("Accept").value_or("none");
        http::Response response = http::Response::text(lie_.status, lie_.body, lie_.type);
        for (const auto& [name, value] : lie_.fields) response.header(name, value);
        return response;
      };
      router_.add(method, "/liar/{rest...}", std::move(lie));
    }
    router_.get("/cut/events", *this, &ContractClients::cut);
    router_.get("/slow/health", *this, &ContractClients::sleep);
    http::ServerOptions options;
    options.address = Address::parse("127.0.0.1:0").value();
    options.limits.queue_delay_max = Duration::forever();
    server_.emplace(router_, std::move(options));
    ASSERT_TRUE(server_->start(*loop_));
    resolver_.emplace(pool_);
    http::ClientOptions client;
    client.base_url = "http://127.0.0.1:" + std::to_string(server_->address().port());
    client.retry.attempts_max = 1;
    client.breaker.failure_ratio = 2;
    client_.emplace(*resolver_, std::move(client));
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

  Task<http::Response> sleep(http::Request&) {
    co_await sleep_for(300_ms);  // The server waits for it at its end.
    co_return http::Response::json(http::Status::Ok, std::string("well"));
  }
  static Task<> write_some(http::BodyWriter& out) {
    // More than is kept until there is a response to send.
    const std::string event = io::testing::pattern(300'000);
    co_await out.write(event);
    co_await sleep_for(10_ms);
    co_await fail(Code::Internal, "cut");
  }
  Task<http::Response> cut(http::Request&) {
    co_return http::Response::stream(http::Status::Ok, "text/event-stream", &write_some);
  }

  static ClientOptions with(contract::Credential bearer) {
    ClientOptions options;
    options.credentials.bearer = std::move(bearer);
    return options;
  }
  static ClientOptions below(std::string base) {
    ClientOptions options;
    options.base = std::move(base);
    options.credentials.bearer = "reader";
    options.credentials.query_key = "key";
    return options;
  }
  BooksClient books(std::string token = "writer") { return BooksClient(*client_, with(std::move(token))); }
  FilesMediaClient files() {
    ClientOptions options = with("reader");
    options.credentials.query_key = "key";
    return FilesMediaClient(*client_, std::move(options));
  }
  template <class R>
  static std::string error_of(const Result<R>& result) {
    if (result) return "no error";
    EXPECT_EQ(result.error().code(), Code::Upstream);
    EXPECT_TRUE(result.error().is_from_environment());
    std::string message(result.error().message());
    // The port is another one in each run.
    const std::size_t at = message.find("127.0.0.1:");
    if (at != std::string::npos) message.erase(at, message.find('/', at) - at);
    return message;
  }

  library_service::Access access_;
  library_service::Books books_;
  library_service::Files files_;
  library_service::Operations operations_;
  Lie lie_;
  int lies_ = 0;
  std::string authorization_;
  std::string key_;
  std::string accept_;
  http::Router router_;
  ThreadPool pool_{{.name = "resolver", .threads = 1}};
  std::optional<Resolver> resolver_;
  std::optional<http::Server> server_;
  std::optional<http::Client> client_;
};
INSTANTIATE_TEST_SUITE_P(, ContractClients, io::testing::every_engine(), io::testing::name_of_engine);

TEST_P(ContractClients, get_one_of_the_declared_responses) {
  BooksClient books = this->books("reader");
  const Result<GetBookResult> one = run(books.get_book({.book_id = 1}));
  ASSERT_TRUE(one) << one.error().describe();
  EXPECT_EQ(one->status(), http::Status::Ok);
  ASSERT_NE(one->ok(), nullptr);
  EXPECT_EQ(one->ok()->id, 1);
  EXPECT_EQ(one->ok()->title, "reader 0");
  EXPECT_EQ(one->not_found(), nullptr);
  EXPECT_FALSE(one->not_modified());
  EXPECT_TRUE(one->url().ends_with("/library/v1/books/1")) << one->url();
  EXPECT_EQ(one->header("content-type"), "application/json");
  EXPECT_TRUE(run(books.get_book({.book_id = 304}))->not_modified());
  const Result<GetBookResult> none = run(books.get_book({.book_id = 9}));
  ASSERT_NE(none->not_found(), nullptr);
  EXPECT_EQ(none->not_found()->detail, "there is no such book");
  EXPECT_EQ(none->ok(), nullptr);

  EXPECT_TRUE(run(books.remove_book({.book_id = 1}))->no_content());
  const Result<RemoveBookResult> lent = run(books.remove_book({.book_id = 2}));
  EXPECT_EQ(lent->status(), http::Status::Conflict);
  EXPECT_EQ(std::get<FailureOption1>(*lent->other()).loan, "tom");
  LendBookRequest lend;
  lend.book_id = 2;
  lend.loan = "tom";
  const Result<LendBookResult> lending = run(books.lend_book(lend));
  EXPECT_EQ(lending->status(), http::Status::Accepted);
  EXPECT_EQ(lending->success()->at("tom"), 2);
  OperationsClient operations(*client_);
  EXPECT_EQ(*run(operations.get_health())->ok(), GetHealthOk::Well);
}

TEST_P(ContractClients, give_the_success_alone_where_the_rest_are_errors) {
  BooksClient books = this->books("reader");
  const Result<Book> one = run(books.get_book({.book_id = 1}).value());
  ASSERT_TRUE(one) << one.error().describe();
  EXPECT_EQ(one->title, "reader 0");
  EXPECT_EQ(error_of(run(books.get_book({.book_id = 9}).value())),
            "getBook: GET http:///library/v1/books/9: returned 404 Not Found: there is no such book");
  EXPECT_TRUE(run(books.has_book({.book_id = 1}).value()));
  EXPECT_EQ(error_of(run(books.has_book({.book_id = 2}).value())),
            "hasBook: HEAD http:///library/v1/books/2: returned 404 Not Found");
}

TEST_P(ContractClients, read_the_headers_of_a_response) {
  BooksClient books = this->books();
  AddBookRequest add;
  add.body.title = "Emma";
  add.body.genre = Genre::Novel;
  add.body.is_new = true;
  const Result<AddBookResult> made = run(books.add_book(add));
  ASSERT_TRUE(made) << made.error().describe();
  ASSERT_NE(made->created(), nullptr);
  EXPECT_EQ(made->created()->pages, 100);
  EXPECT_EQ(made->created_headers()->location, "/library/v1/books/2");
  EXPECT_EQ(made->created_headers()->x_expires->text(), "2030-01-02T03:04:05Z");
  add.body.is_new = {};
  EXPECT_EQ(run(books.add_book(add))->created_headers()->x_expires, std::nullopt);
  add.body.title = "taken";
  const Result<AddBookResult> taken = run(books.add_book(add));
  EXPECT_EQ(taken->conflict()->detail, "there is one of this title");
  EXPECT_EQ(taken->created_headers(), nullptr);
  EXPECT_EQ(taken->client_error(), nullptr);
  add.body.title = "later";
  EXPECT_TRUE(run(books.add_book(add))->accepted());
  add.body.title = "heavy";
  const Result<AddBookResult> heavy = run(books.add_book(add));
  EXPECT_EQ(heavy->status(), http::Status::Gone);
  EXPECT_EQ(heavy->client_error()->detail, "no room");
  EXPECT_EQ(run(books.has_book({.book_id = 1}))->no_content_headers()->x_loans, 4);
  FilesMediaClient files = this->files();
  EXPECT_EQ(run(files.ask_notes())->no_content_headers()->allow, "POST");
}

TEST_P(ContractClients, send_parameters_of_every_place_and_form) {
  BooksClient books = this->books();
  const auto seen = [&](const ListBooksRequest& request) -> std::string {
    const Result<ListBooksResult> result = run(books.list_books(request));
    if (!result) return result.error().describe();
    if (result->ok() == nullptr) return "no 200";
    EXPECT_EQ(result->ok_headers()->x_total, 1);
    return result->ok()->front().title;
  };
  EXPECT_EQ(seen({}), "none none title 10");
  EXPECT_EQ(run(books.list_books())->ok()->front().title, "none none title 10");
  // A title has at most 80 characters.
  ListBooksRequest lists;
  lists.genre = {Genre::Novel, Genre::Poetry};
  lists.id_query = {1, -2};
  lists.x_branch = {"north", "south"};
  lists.available = false;
  lists.page = ListBooksPage(std::int64_t{3});
  EXPECT_EQ(seen(lists), "novel poetry 1 -2 <north> <south> lent page 3 none none title 10");
  ListBooksRequest values;
  values.id_cookie = Uuid::parse("0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50").value();
  values.since = Timestamp::parse("2024-02-29T12:00:00Z").value();
  EXPECT_EQ(seen(values), "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50 2024-02-29T12:00:00Z none none title 10");
  ListBooksRequest objects;
  objects.label = {{"a", "2"}, {"b", "x"}};
  objects.window = Window{.first = 4, .words = std::vector<std::string>{"a", "1"}};
  objects.published = Years{.from = 1900, .to = 1999};
  objects.filter = Years{.from = {}, .to = 2000};
  objects.sort = ListBooksSort::Title2;
  objects.limit = 50;
  EXPECT_EQ(seen(objects), "a=2 b=x from 4 'a' '1' 1900-1999 -2000 -title 50");
  GetNewestRequest newest;
  newest.class_ = "a&b=ü";
  EXPECT_EQ(run(books.get_newest(newest).value())->title, "newest a&b=ü");
  GetShelfRequest shelf;
  shelf.place = Place{.floor = -2, .room = "a;b=c/d"};
  EXPECT_EQ(*run(books.get_shelf(shelf))->ok(), "floor -2, room a;b=c/d");
  // A parameter of a path is no segment of its own.
  FilesMediaClient files = this->files();
  for (const std::string name : {"a/b", "..", ".", "%2e%2e", "a b?c#d", "whole;x"}) {
    const GetCoverRequest cover{.name = name};
    EXPECT_EQ(*run(files.get_cover(cover))->ok(), name + name + name);
  }
}

TEST_P(ContractClients, send_hostile_texts_which_the_service_reads_as_the_same) {
  BooksClient books = this->books();
  std::mt19937 random(static_cast<unsigned>(io::testing::seed_of_test()) + 1);
  const auto below = [&](unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(random); };
  const auto text = [&](std::string_view without) {
    static constexpr std::string_view pieces[] = {"a", ",", ";",   "=", "&", "|", ".",  "..",  " b",
                                                  "+", "%", "%2C", "/", "?", "#", "\"", "\\",  "'",
                                                  "{", "]", "<",   ":", "@", "é", "😀", "null"};
    std::string made = "x";
    for (unsigned i = below(5); i != 0; --i) {
      const std::string_view piece = pieces[below(std::size(pieces))];
      if (without.find(piece[0]) == std::string_view::npos) made += piece;
    }
    return made;
  };
  for (int i = 0; i < 50; ++i) {
    ListBooksRequest request;
    request.x_branch = {text("")};
    request.label.emplace();
    (*request.label)[text("")] = text("");
    request.window = Window{.first = {}, .words = std::vector<std::string>{text(""), text("")}};
    const std::string expected = '<' + request.x_branch->front() + "> " + request.label->begin()->first + '=' +
                                 request.label->begin()->second + " from -1 '" + (*request.window->words)[0] + "' '" +
                                 (*request.window->words)[1] + "' none none title 10";
    const Result<ListBooksResult> result = run(books.list_books(request));
    ASSERT_TRUE(result) << result.error().describe();
    ASSERT_NE(result->ok(), nullptr);
    EXPECT_EQ(result->ok()->front().title, expected);
  }
}

TEST_P(ContractClients, send_what_a_request_has_and_get_what_a_response_has) {
  OperationsClient operations(*client_);
  MakeAccountRequest request;
  request.body = {.id = 3, .name = "ann", .password = "secret"};
  const Result<MakeAccountResult> made = run(operations.make_account(request));
  ASSERT_TRUE(made) << made.error().describe();
  EXPECT_EQ(made->created()->id, 7);
  EXPECT_EQ(made->created()->password, std::nullopt);
  EXPECT_EQ(made->created_headers()->x_seen.text, "id 0, password secret");

  OperationsClient liar(*client_, {.base = "/liar"});
  const auto said = [&](std::string_view body) {
    lie_ = {http::Status::Created, "application/json", std::string(body), {{"X-Seen", R"({"text":"a"})"}}};
    const Result<MakeAccountResult> lied = run(liar.make_account(request));
    return lied ? std::string("no error") : std::string(lied.error().message());
  };
  EXPECT_EQ(said(R"({"id":1,"name":"ann"})"), "no error");
  const std::string message = said(R"({"name":"ann"})");
  EXPECT_NE(message.find("does not match the contract: "), std::string::npos) << message;
  EXPECT_NE(message.find("is required"), std::string::npos) << message;
  EXPECT_NE(message.find("/id"), std::string::npos) << message;
}

TEST_P(ContractClients, send_alternatives_and_odd_texts_in_headers_and_get_them_again) {
  OperationsClient operations(*client_);
  MakeAccountRequest request;
  request.body = {.name = "ann", .password = "secret"};
  const auto seen = [&] {
    const Result<MakeAccountResult> made = run(operations.make_account(request));
    if (!made) return made.error().describe();
    EXPECT_EQ(made->created_headers()->link, request.x_tags);
    EXPECT_EQ(made->created_headers()->x_seen.tags, request.x_tags);
    EXPECT_EQ(made->created_headers()->x_seen.words, request.x_words);
    return made->created_headers()->x_seen.text.substr(std::string_view("id 0, password secret").size());
  };
  request.affects = MakeAccountAffects(std::string("a,b&affects=c"));
  request.created = MakeAccountCreated(std::int64_t{1900});
  request.shades = {{"red", 1}, {"dark,blue", 2}};
  EXPECT_EQ(seen(), ", text a,b&affects=c, created 1900, dark,blue 2, red 1");
  request.affects = MakeAccountAffects(std::vector<std::string>{"a", "b,c"});
  request.created = MakeAccountCreated(Years{.from = 1900, .to = {}});
  request.shades = {};
  request.x_tags = {{"a,b", "\"c\"", "", " d ", "<https://a.example/?x=1,2>; rel=\"next, last\"", "x=\"y"}};
  request.x_words = {{"a", "b, \"c\""}, {"d", ""}};
  EXPECT_EQ(seen(), ", list of a, list of b,c, created 1900-");

  std::mt19937 random(static_cast<unsigned>(io::testing::seed_of_test()) + 2);
  static constexpr std::string_view pieces[] = {"a", ",", "\"", "\\", "=", "<", ">", " ", ";", "=\"", "é", "null", "1"};
  for (int i = 0; i < 50; ++i) {
    const auto text = [&] {
      std::string made;
      for (unsigned j = random() % 5; j != 0; --j) made += pieces[random() % std::size(pieces)];
      return made;
    };
    request.x_tags = {text(), text(), text()};
    request.x_words = {{"a", text()}, {"b c", text()}};
    EXPECT_EQ(seen(), ", list of a, list of b,c, created 1900-");
  }
}

TEST_P(ContractClients, get_the_media_type_that_a_call_asks_for) {
  BooksClient books = this->books();
  const ListBooksRequest request;
  const Result<ListBooksResult> csv = run(books.list_books(request, {.accept = "text/csv"}));
  ASSERT_TRUE(csv) << csv.error().describe();
  EXPECT_EQ(csv->ok(), nullptr);
  EXPECT_EQ(*csv->ok_csv(), "none none title 10");
  const Result<ListBooksResult> second = run(books.list_books(request, {.accept = "application/vnd.library.v2+json"}));
  EXPECT_EQ(second->ok_vnd_library_v2_json()->books.front().title, "none none title 10");
  const Result<ListBooksResult> none = run(books.list_books(request, {.accept = "text/html"}));
  EXPECT_EQ(none.error().code(), Code::InvalidArgument);
  EXPECT_EQ(none.error().message(), "listBooks: the contract declares no response of the media type text/html");
}

TEST_P(ContractClients, send_bodies_of_every_kind) {
  BooksClient books = this->books("reader");
  ChangeBookRequest change{.book_id = 1, .body = {}};
  EXPECT_EQ(run(books.change_book(change))->ok()->title, "as it was") << "no body";
  change.body = BookChange();
  change.body->title = "b";
  change.body->note = Patch<std::string>::null();
  EXPECT_EQ(run(books.change_book(change))->ok()->title, "b");
  EXPECT_TRUE(run(books.change_book(change))->ok()->note.is_null());
  FilesMediaClient files = this->files();
  EXPECT_EQ(*run(files.add_note({.body = "Café"}))->ok(), "Café");
  EXPECT_TRUE(run(files.add_note())->no_content());
  UploadRequest form;
  form.body.title = "\"quoted\"\r\n--b";
  for (const unsigned char byte : std::string_view("\xff\0\x80\r\n--", 7)) form.body.file.push_back(std::byte(byte));
  form.body.pages = 3;
  form.body.tags = {"a,b", ""};
  form.body.about = Years{.from = 1900, .to = {}};
  const Result<UploadResult> came = run(files.upload(form));
  ASSERT_TRUE(came) << came.error().describe();
  EXPECT_EQ(came->created()->title, form.body.title);
  EXPECT_EQ(came->created()->bytes, 7);
  EXPECT_EQ(came->created()->pages, 3);
  EXPECT_EQ(came->created()->tags, *form.body.tags);
  EXPECT_EQ(came->created()->from, 1900);
}

TEST_P(ContractClients, send_and_get_json_where_any_type_is_declared) {
  FilesMediaClient files = this->files();
  PayRequest request;
  request.body = json::Value::object({{"cents", 5}, {"iban", "DE"}});
  const Result<PayResult> paid = run(files.pay(request));
  ASSERT_TRUE(paid) << paid.error().describe();
  ASSERT_NE(paid->ok(), nullptr);
  EXPECT_EQ(*paid->ok(), (std::vector<std::string>{"cents", "iban"}));
}

TEST_P(ContractClients, send_files_as_bytes_or_by_a_function) {
  FilesMediaClient files = this->files();
  AddPictureRequest request;
  request.shelf = 1;
  request.body.title = "cat";
  AddPictureUpload upload;
  upload.picture = {.content = "\x89PNG", .filename = "a \"b\".png", .content_type = "image/png"};
  const std::string digits = "12";
  upload.thumbnail = contract::FormFile{.content = std::string(digits)};  // It keeps what is moved into it.
  upload.pages.push_back(
      {.content = contract::Upload([](http::ClientBodyWriter& body) { return body.write("page"); })});
  const Result<AddPictureResult> came = run(files.add_picture(request, upload));
  ASSERT_TRUE(came) << came.error().describe();
  ASSERT_NE(came->created(), nullptr) << json::write(*came->client_error());
  EXPECT_EQ(json::write(came->created()->files),
            R"([{"bytes":4,"field":"pages","name":"pages","sum":3433103,"type":"application/octet-stream"},)"
            R"({"bytes":4,"field":"picture","name":"a \"b\".png","sum":4160736,"type":"image/png"},)"
            R"({"bytes":2,"field":"thumbnail","name":"thumbnail","sum":1569,"type":"image/png"}])");

  const auto error_of = [&](AddPictureUpload&& sent) {
    const Result<AddPictureResult> result = run(files.add_picture(request, sent));
    return result ? std::string("no error") : std::string(result.error().message());
  };
  AddPictureUpload none;
  EXPECT_EQ(error_of(std::move(none)), "addPicture: picture: the contract requires this file");
  AddPictureUpload other;
  other.picture = {.content = "x", .content_type = "image/gif"};
  EXPECT_EQ(error_of(std::move(other)),
            "addPicture: picture: the contract does not declare this media type for the file: image/gif");
  AddPictureUpload empty;
  empty.picture = {.content = "", .content_type = "image/png"};
  EXPECT_EQ(run(files.add_picture(request, empty))->status(), http::Status::UnprocessableContent);
  AddFilesUpload nothing;
  EXPECT_EQ(*run(files.add_files(nothing))->ok(), (std::vector<std::int64_t>{0, 0}));
  AddFilesUpload two;
  two.file.push_back({.content = "12"});
  two.file.push_back({.content = "345"});
  EXPECT_EQ(*run(files.add_files(two))->ok(), (std::vector<std::int64_t>{2, 5}));
}

// In kilobytes: VmRSS is the memory of the process now, VmHWM the most since forget_peak_of_memory().
std::int64_t status_of_memory(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stoll(line.substr(name.size() + 1));
  }
  return 0;
}
void forget_peak_of_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }  // proc_pid_clear_refs(5).

TEST_P(ContractClients, send_a_file_of_100_mib_which_is_never_in_memory) {
  constexpr std::uint64_t bytes = 100u << 20;
  const std::string piece = io::testing::pattern(1 << 16);
  const auto write = [&piece](http::ClientBodyWriter& body) -> Task<> {
    for (std::uint64_t sent = 0; sent < bytes; sent += piece.size()) co_await body.write(piece);
  };
  FilesMediaClient files = this->files();
  AddPictureRequest request;
  request.shelf = 1;
  request.body.title = "large";
  for (const bool has_length : {true, false}) {
    AddPictureUpload upload;
    upload.picture.content = contract::Upload(write, has_length ? std::optional(bytes) : std::nullopt);
    upload.picture.content_type = "image/png";
    forget_peak_of_memory();
    const std::int64_t before = status_of_memory("VmRSS:");
    const Result<AddPictureResult> came = run(files.add_picture(request, upload));
    ASSERT_TRUE(came) << came.error().describe();
    EXPECT_EQ(came->created()->files[0].bytes, static_cast<std::int64_t>(bytes));
    if (KEEL_SANITIZED) continue;  // They keep freed memory for a while.
    EXPECT_LT(status_of_memory("VmHWM:") - before, 20'000) << "kilobytes";
  }
}

TEST_P(ContractClients, send_forms_of_hostile_texts_which_the_service_reads_as_the_same) {
  FilesMediaClient files = this->files();
  std::mt19937 random(static_cast<unsigned>(GTEST_FLAG_GET(random_seed)) + 5);
  const auto below = [&](unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(random); };
  const auto text = [&] {
    static constexpr std::string_view pieces[] = {"a",
                                                  "&",
                                                  "=",
                                                  "%",
                                                  "+",
                                                  " ",
                                                  "\r\n",
                                                  "\"",
                                                  "\\",
                                                  "é",
                                                  ";",
                                                  ",",
                                                  "--",
                                                  "\n",
                                                  "null",
                                                  "5",
                                                  "true",
                                                  "{}",
                                                  "[",
                                                  "\x01",
                                                  "%00",
                                                  "\t",
                                                  "#",
                                                  "x[y]",
                                                  "----keel-form-0",
                                                  "\r\n------keel-form-0--\r\n"};
    std::string made;
    for (unsigned i = below(5); i != 0; --i) made += pieces[below(std::size(pieces))];
    return made;
  };
  for (int i = 0; i < 40; ++i) {
    Entry entry;
    entry.text = text();
    entry.words.assign(1 + below(3), text());
    if (below(2) == 0) entry.counts = std::vector<std::int64_t>{static_cast<std::int64_t>(random()), -1};
    if (below(2) == 0) entry.size = 0.1 * below(100);
    if (below(2) == 0) entry.is_new = below(2) == 0;
    if (below(2) == 0) entry.genre = Genre::Poetry;
    Seen seen;
    seen.text = text();
    seen.tags = std::vector<std::string>{text(), text()};
    if (below(2) == 0) entry.about = seen;
    if (below(2) == 0) entry.others = std::vector<Seen>(1 + below(2), seen);
    EchoFormRequest form{.body = entry};
    const Result<EchoFormResult> echoed = run(files.echo_form(form));
    ASSERT_TRUE(echoed) << echoed.error().describe();
    EXPECT_EQ(json::write(*echoed->ok()), json::write(entry));
    EchoPartsRequest parts{.body = entry};
    const Result<EchoPartsResult> also = run(files.echo_parts(parts));
    ASSERT_TRUE(also) << also.error().describe();
    EXPECT_EQ(json::write(*also->ok()), json::write(entry));

    AddPictureRequest request;
    request.shelf = 1;
    request.body = {.about = {}, .tags = entry.words, .title = 'T' + text()};
    std::vector<std::string> contents = {text(), text(), 'P' + text()};
    AddPictureUpload upload;
    const auto content = [&](const std::string& bytes) -> contract::Upload {
      if (below(2) == 0) return bytes;
      return contract::Upload([&bytes](http::ClientBodyWriter& body) { return body.write(bytes); },
                              below(2) == 0 ? std::optional<std::uint64_t>(bytes.size()) : std::nullopt);
    };
    for (int k : {0, 1}) upload.pages.push_back({.content = content(contents[static_cast<std::size_t>(k)])});
    upload.picture = {
        .content = content(contents[2]), .filename = "\"\\" + std::to_string(i), .content_type = "audio/x-a"};
    const Result<AddPictureResult> came = run(files.add_picture(request, upload));
    ASSERT_TRUE(came) << came.error().describe();
    ASSERT_NE(came->created(), nullptr) << json::write(*came->client_error());
    EXPECT_EQ(came->created()->title, request.body.title);
    EXPECT_EQ(came->created()->tags, entry.words);
    for (std::size_t k = 0; k < contents.size(); ++k) {
      std::uint32_t sum = 0;
      for (const char c : contents[k]) sum = sum * 31 + static_cast<unsigned char>(c);
      EXPECT_EQ(came->created()->files[k].sum, sum);
      EXPECT_EQ(came->created()->files[k].bytes, static_cast<std::int64_t>(contents[k].size()));
    }
    EXPECT_EQ(came->created()->files[2].name, "\"\\" + std::to_string(i));
  }
}

Task<> write_twice(http::ClientBodyWriter& body, std::string text) {
  co_await body.write(text);
  co_await body.write(text);
}
Task<std::string> read_all(FilesMediaClient& files, std::string name) {
  const GetCoverRequest request{.name = std::move(name)};
  contract::Streamed<GetCoverResult> cover = co_await files.get_cover_stream(request);
  if (cover.result().ok() == nullptr) co_return "none";
  std::string all = cover.result().header("content-type").value_or("") + ' ' + cover.result().ok_headers()->e_tag + ' ';
  while (true) {
    const Chunk chunk = co_await cover.read();
    if (chunk.empty()) co_return all;
    all += chunk;
  }
}

TEST_P(ContractClients, stream_bodies_both_ways) {
  FilesMediaClient files = this->files();
  const PutCoverRequest cover{.name = "a"};
  const std::string large = io::testing::pattern(300'000);
  EXPECT_EQ(run(files.put_cover(cover, "image/png", large).value())->bytes, 300'000);
  const auto twice = [&](http::ClientBodyWriter& body) { return write_twice(body, large); };
  EXPECT_EQ(run(files.put_cover(cover, "application/octet-stream", twice).value())->bytes, 600'000);
  EXPECT_EQ(run(files.put_cover(cover, "image/png", contract::Upload(twice, 600'000)).value())->bytes, 600'000);
  const auto gif = run(files.put_cover(cover, "image/gif", "GIF"));
  EXPECT_EQ(gif.error().code(), Code::InvalidArgument);
  EXPECT_EQ(gif.error().message(), "putCover: the contract accepts no body of the media type image/gif");
  EXPECT_EQ(run(files.put_cover(cover, "image/png", {})).error().message(), "putCover: the contract requires a body");

  EXPECT_EQ(*run(read_all(files, "a/b")), "image/gif \"1\" a/ba/ba/b");
  EXPECT_EQ(*run(read_all(files, "none")), "none");
  const GetCoverRequest whole{.name = "whole"};
  EXPECT_EQ(*run(files.get_cover(whole))->ok(), std::string_view("\x89PNG\0\xff", 6));
  auto events = run(files.watch_stream());
  ASSERT_TRUE(events) << events.error().describe();
  EXPECT_EQ(*run(events->read()), "data: 1\n\n");
  EXPECT_EQ(*run(events->read()), "");
}

TEST_P(ContractClients, prove_who_they_are_by_the_first_alternative_that_they_can) {
  const AddBookRequest add = [] {
    AddBookRequest request;
    request.body.title = "a";
    return request;
  }();
  const auto status = [&](ClientOptions options, contract::CallOptions call = {}) -> std::string {
    BooksClient books(*client_, std::move(options));
    const Result<AddBookResult> result = run(books.add_book(add, call));
    if (!result) return result.error().describe();
    return std::to_string(static_cast<int>(result->status()));
  };
  EXPECT_EQ(status(with("writer")), "201");
  EXPECT_EQ(status(with("reader")), "403");
  EXPECT_EQ(status({}),
            "addBook: the client has no credentials that the operation accepts: give it the credentials of bearer, or "
            "apiKey and basic");
  ClientOptions both;
  both.credentials.basic = "ada:secret";
  EXPECT_EQ(status(both),
            "addBook: the client has no credentials that the operation accepts: give it the credentials of bearer, or "
            "apiKey and basic");
  both.credentials.api_key = "key";
  EXPECT_EQ(status(both), "201");
  both.credentials.basic = "ada:no";
  EXPECT_EQ(status(both), "401");
  const http::Field own[] = {{"Authorization", "Bearer writer"}};
  EXPECT_EQ(status({}, {.headers = own}), "201");
  EXPECT_EQ(status(with("a\nb")).substr(0, 9), "addBook: ") << "no header is split by a token";

  GetShelfRequest shelf;
  shelf.place.floor = 1;
  BooksClient nobody(*client_);
  EXPECT_EQ(*run(nobody.get_shelf(shelf))->ok(), "floor 1, room -") << "it need not prove anything";
  ClientOptions cookie;
  cookie.credentials.cookie = "key";
  BooksClient known(*client_, std::move(cookie));
  EXPECT_EQ(*run(known.get_shelf(shelf))->ok(), "floor 1, room -, cookie");
}

TEST_P(ContractClients, ask_for_a_token_before_each_call) {
  int calls = 0;
  std::string scopes;
  const auto provider = [&](contract::Scopes wanted) -> Task<std::string> {
    ++calls;
    scopes.clear();
    for (const std::string_view one : wanted) scopes += std::string(one) + ' ';
    return [](bool is_away) -> Task<std::string> {
      if (is_away) co_return fail(Code::Unavailable, "the sign-in is away");
      co_return "writer";
    }(calls == 3);
  };
  BooksClient books(*client_, with(provider));
  AddBookRequest add;
  add.body.title = "a";
  EXPECT_NE(run(books.add_book(add))->created(), nullptr);
  EXPECT_EQ(scopes, "books.write books.read ");
  EXPECT_NE(run(books.get_book({.book_id = 1}))->ok(), nullptr);
  EXPECT_EQ(scopes, "");
  const auto failed = run(books.get_book({.book_id = 1}));
  EXPECT_EQ(failed.error().code(), Code::Unavailable);
  EXPECT_EQ(failed.error().message(), "getBook: the sign-in is away");
}

TEST_P(ContractClients, say_what_a_service_answers_that_the_contract_does_not_have) {
  BooksClient books(*client_, below("/liar"));
  const auto asked = [&] { return error_of(run(books.get_book({.book_id = 7}))); };
  lie_ = {.status = http::Status::InternalServerError,
          .type = "application/problem+json",
          .body = R"({"title":"Broken","detail":"the disk is full"})",
          .fields = {}};
  EXPECT_EQ(asked(),
            "getBook: GET http:///liar/books/7: returned 500 Internal Server Error: the disk is full, a status that "
            "the contract does not declare for this operation");
  lie_ = {.status = http::Status::Ok, .type = "text/html", .body = "<html>", .fields = {}};
  EXPECT_EQ(asked(),
            "getBook: GET http:///liar/books/7: returned 200 OK with text/html, but the contract declares "
            "application/json");
  lie_ = {.status = http::Status::Ok,
          .type = "application/json",
          .body = R"({"id":"x","title":"","genre":"crime","pages":0})",
          .fields = {}};
  EXPECT_EQ(
      asked(),
      "getBook: GET http:///liar/books/7: returned 200 OK with application/json that does not match the contract: /id: "
      "expected an integer; /title must have 1 to 80 characters; /genre must be one of novel, poetry, "
      "science; /pages must be at least 1");
  lie_.body = R"({"id":1)";
  EXPECT_NE(asked().find("that does not match the contract: unexpected end of text at line 1 column 8"),
            std::string::npos)
      << asked();
  EXPECT_GE(lies_, 4);

  BooksClient lists(*client_, below("/liar"));
  lie_ = {.status = http::Status::Ok, .type = "application/json", .body = "[]", .fields = {}};
  EXPECT_EQ(error_of(run(lists.list_books())),
            "listBooks: GET http:///liar/books: returned 200 OK without the header X-Total, which the contract "
            "requires");
  lie_.fields = {{"X-Total", "many"}};
  EXPECT_NE(error_of(run(lists.list_books()))
                .find("with the header X-Total that does not match the contract: expected an integer"),
            std::string::npos);
  lie_.fields = {{"X-Total", "0"}};
  EXPECT_EQ(run(lists.list_books())->ok()->size(), 0u);
  EXPECT_EQ(accept_,
            "application/json, application/vnd.library.v2+json;q=0.5, text/csv;q=0.5, application/problem+json");
}

TEST_P(ContractClients, say_the_same_of_what_would_be_streamed) {
  FilesMediaClient files(*client_, below("/liar"));
  const GetCoverRequest cover{.name = "a"};
  lie_ = {.status = http::Status::ServiceUnavailable,
          .type = "application/problem+json",
          .body = R"({"detail":"later"})",
          .fields = {}};
  EXPECT_EQ(error_of(run(files.get_cover_stream(cover))),
            "getCover: GET http:///liar/covers/a: returned 503 Service Unavailable: later, a status that the contract "
            "does not declare for this operation");
  lie_ = {.status = http::Status::Ok, .type = "text/html", .body = "x", .fields = {}};
  EXPECT_NE(error_of(run(files.get_cover_stream(cover))).find("with text/html, but the contract declares image/*"),
            std::string::npos);
}

TEST_P(ContractClients, end_with_the_error_of_a_connection_that_breaks_or_is_late) {
  FilesMediaClient files(*client_, below("/cut"));
  const auto cut = run(files.watch());
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code(), Code::Unavailable);
  EXPECT_TRUE(cut.error().is_from_environment());
  EXPECT_TRUE(cut.error().message().starts_with("watch: ")) << cut.error().describe();
  auto begun = run(files.watch_stream());
  ASSERT_TRUE(begun) << begun.error().describe();
  std::size_t bytes = 0;
  Result<Chunk> chunk = run(begun->read());
  for (; chunk && !chunk->empty(); chunk = run(begun->read())) bytes += chunk->size();
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ(chunk.error().code(), Code::Unavailable);

  OperationsClient slow(*client_, below("/slow"));
  const auto late = run(slow.get_health({}, {.timeout = 20_ms}));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::DeadlineExceeded);
  EXPECT_TRUE(late.error().message().starts_with("GET /health: ")) << late.error().describe();

  http::ClientOptions nowhere;
  nowhere.base_url = "http://127.0.0.1:1";
  nowhere.retry.attempts_max = 1;
  http::Client client(*resolver_, std::move(nowhere));
  OperationsClient away(client);
  EXPECT_EQ(run(away.get_health()).error().code(), Code::Unavailable);
}

TEST_P(ContractClients, send_the_fields_of_one_call) {
  BooksClient books(*client_, below("/liar"));
  lie_ = {.status = http::Status::NotModified, .type = {}, .body = {}, .fields = {}};
  const http::Field own[] = {{"Authorization", "Bearer mine"}, {"Accept", "application/json"}};
  EXPECT_TRUE(run(books.get_book({.book_id = 1}, {.idempotency_key = "k", .headers = own}))->not_modified());
  EXPECT_EQ(authorization_, "Bearer mine");
  EXPECT_EQ(key_, "k");
  EXPECT_EQ(accept_, "application/json");
  const http::Field split[] = {{"X-A", "a\r\nX-B: b"}};
  EXPECT_EQ(run(books.get_book({.book_id = 1}, {.headers = split})).error().code(), Code::InvalidArgument);
}

TEST_P(ContractClients, send_nothing_for_what_its_style_cannot_express) {
  BooksClient books(*client_, below("/liar"));
  ListBooksRequest request;
  request.x_branch = {"a\nb"};
  const auto result = run(books.list_books(request));
  EXPECT_EQ(result.error().code(), Code::InvalidArgument);
  EXPECT_EQ(result.error().message(), "listBooks: X-Branch: a header cannot contain control characters");
  EXPECT_FALSE(result.error().is_from_environment());
  FilesMediaClient files(*client_, below("/liar"));
  const GetCoverRequest empty{};
  EXPECT_EQ(run(files.get_cover(empty)).error().message(), "getCover: name: a path parameter cannot be empty");
  EXPECT_EQ(lies_, 0);
}

}  // namespace client_test
