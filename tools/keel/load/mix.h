// The requests of a run: their notation in options or in a YAML file, and the bytes that are sent.
//
// A file contains a list:
//
//   - request: GET /users/{n:1..1000}
//     weight: 7                            # default 1
//     expect: {status: 200, contains: '"id"'}
//   - request: POST /users
//     headers: {Content-Type: application/json}
//     body: '{"name": "user {uuid}"}'      # or body_file: user.json
//     weight: 3
//     expect: {status: 201, json: {name: Ada}}
//
// `expect` may have the keys status, body, contains, length and json; see check.h. Paths and bodies are templates; see
// template.h.
//
// Errors: InvalidArgument with the reason and the place (file, line and key; or the request as given in an option).

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "load/check.h"
#include "load/random.h"
#include "load/template.h"

namespace keel::load {

struct RequestText {
  std::string where = {};  // For messages: "mix.yaml:3".
  std::string method = "GET";
  std::string target = "/";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::optional<std::string> body = {};
  std::uint64_t weight = 1;
  Check check = {};
};

// The text is a method and a path, such as "POST /users", or only a path, which means GET.
Result<> parse_request_line(std::string_view text, RequestText& request);

Result<std::vector<RequestText>> read_mix(const std::string& path);
// `name` is the name of the file, for messages; body_file is relative to the folder of that file.
Result<std::vector<RequestText>> parse_mix(const std::string& text, const std::string& name);

// One request of a mix, ready to be sent.
class Request {
 public:
  static Result<Request> compile(const RequestText& text, std::string_view host, const Csv* csv);

  // Whether the request has the same bytes each time; if so, text() returns these bytes. If `closes`, the request
  // contains the field Connection: close.
  bool is_fixed() const noexcept { return is_fixed_; }
  std::string_view text(bool closes) const noexcept { return closes ? closing_text_ : text_; }
  // Appends the bytes of request `n`; `scratch` is a buffer whose memory is reused.
  void write(Buffer& out, std::uint64_t n, Random& random, bool closes, Buffer& scratch) const;

  bool is_head() const noexcept { return is_head_; }
  const Check& check() const noexcept { return check_; }
  bool checks_body() const noexcept { return checks_body_; }

 private:
  bool is_fixed_ = false;
  bool is_head_ = false;
  bool checks_body_ = false;
  bool has_body_ = false;
  std::string text_;
  std::string closing_text_;
  std::string method_;
  std::string fields_;  // The text from " HTTP/1.1" to the last header field that the user gave for the request.
  Template target_;
  Template body_;
  Check check_;
};

// Several requests, each sent in proportion to its weight.
class Mix {
 public:
  // `host` is the value of the Host field. There is at least one request.
  static Result<Mix> compile(const std::vector<RequestText>& texts, std::string_view host, const Csv* csv);

  const Request& pick(Random& random) const noexcept {
    return requests_.size() == 1 ? requests_.front() : pick_by_weight(random);
  }
  const std::vector<Request>& requests() const noexcept { return requests_; }

 private:
  const Request& pick_by_weight(Random& random) const noexcept;

  std::vector<Request> requests_;
  std::vector<std::uint64_t> ends_;  // The cumulative weights of the requests.
};

}  // namespace keel::load
