// A small service as a library, which a program serves and a test calls.

#pragma once

#include <string>
#include <utility>

#include "keel/http/server/router.h"

namespace greeting {

// The service has no state that changes, so all workers can share one object.
class Greeter {
 public:
  explicit Greeter(std::string greeting) : greeting_(std::move(greeting)) {}
  void mount(keel::http::Router& router);

 private:
  keel::Result<keel::http::Response> hello(keel::http::Request& request);
  keel::Result<keel::http::Response> hello_all(keel::http::Request& request);
  keel::Task<keel::http::Response> later(keel::http::Request& request);

  const std::string greeting_;
};

}  // namespace greeting
