// The handlers of the contract in service/api.yaml, which say what they are given.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/data/json_value.h"
#include "keel/data/timestamp.h"
#include "keel/http/server/body_writer.h"
#include "keel/http/server/event_writer.h"
#include "keel/task/task.h"
#include "library/api.h"

namespace library_service {

using namespace keel;
using namespace library;

inline std::string text_of(const std::optional<Years>& years) {
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

inline Task<> write_cover(http::BodyWriter& out, std::string name) {
  for (int i = 0; i < 3; ++i) co_await out.write(name);
}

inline Task<> follow(http::EventWriter& events) { co_await events.send("1"); }

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
    co_return WatchResponse::ok_events(&follow);
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
  Task<PayResponse> pay(http::Request&, const PayRequest& request) override {
    std::vector<std::string> names;
    for (const auto& [name, value] : request.body.members()) names.emplace_back(name);
    co_return names;
  }
  Task<EchoFormResponse> echo_form(http::Request&, const EchoFormRequest& request) override { co_return request.body; }
  Task<EchoPartsResponse> echo_parts(http::Request&, const EchoPartsRequest& request) override {
    co_return request.body;
  }
  Task<AddPictureResponse> add_picture(http::Request&, const AddPictureRequest& request,
                                       AddPictureFiles files) override {
    Picture picture;
    picture.title = request.body.title;
    if (request.body.tags) picture.tags = *request.body.tags;
    if (request.body.about) picture.from = request.body.about->from;
    while (true) {
      const auto file = co_await files.next();
      if (!file) break;
      StoredFile stored;
      stored.field = file->name == AddPictureFile::Picture ? "picture"
                     : file->name == AddPictureFile::Pages ? "pages"
                                                           : "thumbnail";
      stored.name = file->filename;
      stored.type = file->content_type;
      while (true) {
        const Chunk piece = co_await files.read();
        if (piece.empty()) break;
        stored.bytes += static_cast<std::int64_t>(piece.size());
        if (stored.bytes > 1 << 20) continue;
        for (const char c : piece) stored.sum = stored.sum * 31 + static_cast<unsigned char>(c);
      }
      picture.files.push_back(stored);
    }
    co_return picture;
  }
  Task<AddFilesResponse> add_files(http::Request&, const AddFilesRequest&, AddFilesFiles files) override {
    std::vector<std::int64_t> counts = {0, 0};
    while (true) {
      const auto file = co_await files.next();
      if (!file) break;
      ++counts[0];
      const std::string whole = co_await files.read_whole(1 << 20);
      counts[1] += static_cast<std::int64_t>(whole.size());
    }
    co_return counts;
  }
};

class Operations final : public OperationsHandler {
 public:
  Task<MakeAccountResponse> make_account(http::Request&, const MakeAccountRequest& request) override {
    Account made;
    made.id = 7;
    made.name = request.body.name;
    made.password = request.body.password;  // A response does not have it.
    MakeAccountCreatedHeaders headers;
    Seen& seen = headers.x_seen;
    seen.text = "id " + std::to_string(request.body.id) + ", password " + request.body.password.value_or("none");
    if (request.affects) {
      if (const auto* const list = std::get_if<std::vector<std::string>>(&*request.affects)) {
        for (const std::string& one : *list) seen.text += ", list of " + one;
      } else {
        seen.text += ", text " + std::get<std::string>(*request.affects);
      }
    }
    if (request.created) {
      const auto* const years = std::get_if<Years>(&*request.created);
      seen.text += ", created " + (years != nullptr ? text_of(*years) : std::to_string(std::get<1>(*request.created)));
    }
    if (request.shades) {
      for (const auto& [name, value] : *request.shades) seen.text += ", " + name + ' ' + std::to_string(value);
    }
    seen.tags = request.x_tags;
    seen.words = request.x_words;
    headers.link = request.x_tags;
    co_return MakeAccountResponse::created(made, headers);
  }
  Task<GetHealthResponse> get_health(http::Request&, const GetHealthRequest&) override { co_return GetHealthOk::Well; }
};

}  // namespace library_service
