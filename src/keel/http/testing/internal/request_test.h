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
    router.match(request_);
  }
  Request& operator*() noexcept { return request_; }
  Request* operator->() noexcept { return &request_; }
  const RouteMatch& match() const noexcept { return request_.match_; }
  // What the handler of the route makes, and the middleware in front of it; as a connection asks them.
  Result<Response> answer() {
    if (auto first = Middleware::before(request_)) return *std::move(first);
    return match().handler->at_once(request_);
  }
  Task<Response> answer_later() {
    if (auto first = Middleware::before(request_)) co_return *std::move(first);
    co_return co_await match().handler->later(request_);
  }
  // What becomes of a response that a handler has made, as Connection does it.
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
};

}  // namespace keel::http
