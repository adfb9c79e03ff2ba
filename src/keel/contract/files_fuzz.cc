// A form of any bytes is read by a whole server in the simulation: it gets a response of the contract, and the same one
// however the bytes are cut.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/contract/files.h"
#include "keel/contract/input.h"
#include "keel/contract/response.h"
#include "keel/contract/routes.h"
#include "keel/http/testing/test_server.h"

namespace files_fuzz {
namespace {

using namespace keel;
using contract::Form;
using contract::Undeclared;

struct Body {
  std::string title;
  std::optional<std::int64_t> size;
  std::vector<std::string> tags;
  std::vector<std::int64_t> numbers;
  static constexpr std::string_view optional_fields[] = {"tags", "numbers"};
};
void read_body(json::Reader& in, Body& to, Violations& wrong) { json::internal::read_field<Body>(in, &to, wrong); }
struct Request {
  std::optional<Body> body;
};
enum class Name : std::uint16_t { Picture, Pages };

constexpr contract::FileRule rules[] = {
    {.name = "p", .media_types = "image/png, text/*", .is_required = true, .bytes_min = 2, .bytes_max = 100},
    {.name = "q", .is_list = true, .count_min = 2, .count_max = 3}};
constexpr contract::Field fields[] = {
    {"numbers", Form::JsonList}, {"size", Form::Bare}, {"tags", Form::TextList, "text/csv"}, {"title", Form::Text}};
constexpr contract::ReceivedForm form_of(Undeclared undeclared, bool is_required) {
  return {.files = rules,
          .fields = fields,
          .undeclared = undeclared,
          .is_required = is_required,
          .offset = offsetof(Request, body),
          .read = contract::field_reader<&read_body>,
          .room = &contract::room<std::optional<Body>, &read_body>};
}
constexpr contract::ReceivedForm open_form = form_of(Undeclared::Skipped, true);
constexpr contract::ReceivedForm closed_form = form_of(Undeclared::Rejected, false);
constexpr contract::Asked open_asked = {.form = &open_form};
constexpr contract::Asked closed_asked = {.form = &closed_form};

class Reply : public contract::Response {
 public:
  static Reply ok(std::string_view text) { return Reply(http::Response::text(http::Status::Ok, text)); }

 private:
  using Response::Response;
};

// Responds with all that it was given; every third file is skipped, every other one is read as a whole.
struct Handler {
  Task<Reply> take(http::Request&, const Request& request, contract::Files<Name> files) {
    std::string said = request.body ? request.body->title : "-";
    if (request.body) {
      for (const std::string& tag : request.body->tags) said += '|' + tag;
      for (const std::int64_t number : request.body->numbers) said += '|' + std::to_string(number);
    }
    for (int count = 1;; ++count) {
      const auto file = co_await files.next();
      if (!file) break;
      said += '|' + std::to_string(static_cast<int>(file->name)) + ':';
      said.append(file->filename).append(":").append(file->content_type).append("=");
      if (count % 3 == 0) continue;
      if (count % 2 == 0) {
        said += co_await files.read_whole(50);
        continue;
      }
      while (true) {
        const Chunk piece = co_await files.read();
        if (piece.empty()) break;
        said += piece;
      }
    }
    co_return Reply::ok(said);
  }
};

struct Service {
  Service() {
    static const contract::Route open = {http::Method::Post, "/open", contract::call_of<&Handler::take>, &open_asked,
                                         true};
    static const contract::Route closed = {http::Method::Post, "/closed", contract::call_of<&Handler::take>,
                                           &closed_asked, true};
    const contract::Route* const all[] = {&open, &closed};
    contract::Routes(router).streaming(8 << 20).serve(all, &handler);
    server.emplace(router);
  }
  // The status and the body of the response to a form that is sent in such pieces.
  std::string post(std::string_view path, std::string_view form, std::size_t piece) {
    http::ClientRequest request(http::Method::Post, path);
    const auto write = [form, piece](http::ClientBodyWriter& body) -> Task<> {
      for (std::size_t at = 0; at < form.size(); at += piece) co_await body.write(form.substr(at, piece));
    };
    request.stream("multipart/form-data; boundary=b", write);
    const http::TestResponse response = server->begin(std::move(request)).response();
    return std::to_string(response.status()) + ' ' + std::string(response.body());
  }

  Handler handler;
  http::Router router;
  std::optional<http::TestServer> server;
};

void check(std::string_view path, std::string_view form) {
  static Service& service = *new Service;  // Never destroyed: to make one takes longer than an input.
  const std::string whole = service.post(path, form, form.size() + 1);
  const std::string_view status = std::string_view(whole).substr(0, 3);
  KEEL_CHECK(status == "200" || status == "400" || status == "413" || status == "422",
             "the client is told what it did");
  KEEL_CHECK(service.post(path, form, 5) == whole, "the response does not depend on how the bytes are cut");
}

}  // namespace
}  // namespace files_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 512) return 0;
  // So that a fuzzer need not find them: '\1' begins a field, '\2' a file, and what follows is its name.
  std::string form;
  for (std::size_t i = 1; i < size; ++i) {
    const char c = static_cast<char>(data[i]);
    if (c == '\1') {
      form += "\r\n--b\r\nContent-Disposition: form-data; name=";
    } else if (c == '\2') {
      form += "\r\n--b\r\nContent-Type: image/png\r\nContent-Disposition: form-data; filename=f; name=";
    } else if (c == '\3') {
      form += "\r\n\r\n";
    } else if (c == '\4') {
      form += "\r\n--b--\r\n";
    } else {
      form += c;
    }
  }
  files_fuzz::check(data[0] % 2 == 0 ? "/open" : "/closed", form);
  return 0;
}
