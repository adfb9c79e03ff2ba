// A request made of text, matched by a router: for tests of what handlers see, without a connection.

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "keel/base/arena.h"
#include "keel/base/check.h"
#include "keel/http/message/parser.h"
#include "keel/http/server/problem.h"
#include "keel/http/server/request.h"
#include "keel/http/server/router.h"

namespace keel::http {

// Stands in for Connection, which fills requests in when they arrive.
class TestRequest {
 public:
  TestRequest(const Router& router, std::string_view method, std::string_view target, std::string_view fields = "",
              std::string_view body = "", std::string_view host = "test")
      : wire_(std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: " + std::string(host) + "\r\n" +
              std::string(fields) + "\r\n"),
        body_(body) {
    const HeadResult result = parse_head(wire_, HeadLimits(), head_);
    KEEL_CHECK(result.state == HeadState::Complete, "a test's request is well-formed");
    request_.head_ = &head_;
    request_.arena_ = &arena_;
    request_.body_ = body_;
    match_ = router.match(request_);
  }
  Request& operator*() noexcept { return request_; }
  Request* operator->() noexcept { return &request_; }
  const Router::Match& match() const noexcept { return match_; }
  // What becomes of an answer that a handler has made, as Connection does it.
  Response finished(Result<Response> answer) {
    Response response = answer ? *std::move(answer) : problem(request_, answer.error());
    Middleware::after(request_, response);
    return response;
  }

 private:
  std::string wire_;
  std::string body_;
  RequestHead head_;
  Arena arena_;
  Request request_;
  Router::Match match_{};
};

}  // namespace keel::http
