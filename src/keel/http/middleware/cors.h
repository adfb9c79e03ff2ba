// keel/http/middleware/cors.h — decides which pages of other origins may use this service (Fetch standard, "HTTP-CORS
// protocol").
//
//   http::Cors cors({.origins = {"https://app.example.com"}, .credentials = true});
//   router.group("/api").use(cors).get("/users", …);
//
// The middleware itself responds to preflights, which are OPTIONS requests with Origin and
// Access-Control-Request-Method, so they need no route. The response is 204 with the allowed methods and fields, or 403
// when the origin, the method or a field is not allowed. The allowed methods are those for which the path has handlers.
// Every other response to an allowed origin gets the fields that let a page read the response. A response to any other
// origin gets none of these fields, so the browser does not let the page read it. Vary names the request fields on
// which the response depends, so that no cache sends the response to another origin.
//
// CORS protects only the data in responses: requests without Origin, and requests of origins that are not allowed,
// still reach the handlers.
//
// Threads: one object for all workers.
// Cost:    a comparison with each of the allowed origins; no heap.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/time.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"

namespace keel::http {

// The origins, methods and fields that are allowed.
struct CorsOptions {
  // Each origin is "https://app.example.com", with the port unless it is the default of the scheme. {"*"}: every origin
  // is allowed, without credentials.
  std::vector<std::string> origins;
  bool credentials = false;  // Pages may send requests with cookies and Authorization, and read the responses.
  // Request fields that pages may set, in addition to those that are always allowed (Accept, Accept-Language, …).
  std::vector<std::string> headers = {"Content-Type", "Authorization"};
  // Response fields that pages may read, in addition to those that are always allowed.
  std::vector<std::string> exposed = {};
  Duration max_age = Duration::seconds(600);  // How long a browser may keep the response to a preflight.
};

class Cors {
 public:
  // Each of these is a bug and aborts: no origin; an origin that does not consist of scheme, host and port; "*"
  // together with other origins or with credentials.
  explicit Cors(CorsOptions options);

  std::optional<Response> before(Request& request) const;
  void after(Request& request, Response& response) const;

 private:
  bool allows(std::string_view origin) const noexcept;
  bool allows_headers(Request& request) const;
  void allow(Response& response, std::string_view origin) const;

  CorsOptions options_;
  bool any_ = false;
  std::string headers_;
  std::string exposed_;
  std::string max_age_;
};

}  // namespace keel::http
