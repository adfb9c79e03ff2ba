// keel/http/middleware/cors.h — which pages of other origins may use this service (Fetch standard, "HTTP-CORS
// protocol").
//
//   http::Cors cors({.origins = {"https://app.example.com"}, .credentials = true});
//   router.group("/api").use(cors).get("/users", …);
//
// A preflight, which is OPTIONS with Origin and Access-Control-Request-Method, gets its response here, without a route
// of its own: 204 with the allowed methods and fields, or 403 when the origin, the method or a field is not allowed.
// The allowed methods are those that the path has handlers for. Every other response to an allowed origin has the
// fields that permit its use; a response to another origin has none of them, and the browser withholds it from the
// page. Vary names the request fields that the response depends on, so that no cache sends it to another origin.
//
// CORS protects the data in responses, not the service: requests without Origin, and those of other origins, still
// reach the handlers.
//
// Threads: one object for all workers.
// Cost:    a comparison with each origin; no heap.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/time.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"

namespace keel::http {

// Which origins, methods and fields are allowed.
struct CorsOptions {
  // "https://app.example.com", with the port unless it is the default of the scheme. {"*"}: every origin, and no
  // credentials.
  std::vector<std::string> origins;
  bool credentials = false;  // Pages may send cookies and authorization, and read the response.
  // Request fields that pages may set, in addition to the ones that are always allowed (Accept, Accept-Language, …).
  std::vector<std::string> headers = {"Content-Type", "Authorization"};
  // Response fields that pages may read, in addition to the ones that are always allowed.
  std::vector<std::string> exposed = {};
  Duration max_age = Duration::seconds(600);  // How long a browser may keep the response to a preflight.
};

class Cors {
 public:
  // These options are a bug and abort: no origin; an origin that is not scheme, host and port; "*" together with other
  // origins or with credentials.
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
