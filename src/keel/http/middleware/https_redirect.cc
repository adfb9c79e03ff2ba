#include "keel/http/middleware/https_redirect.h"

#include <string>

#include "keel/http/server/problem.h"

namespace keel::http {

std::optional<Response> HttpsRedirect::before(Request& request) const {
  if (request.scheme() == "https") return std::nullopt;
  if (request.host().empty()) {
    return refuse(Status::BadRequest,
                  "this service is available only over https, and the request does not name its host");
  }
  std::string url = "https://" + std::string(request.host());
  if (options_.port != 443) url += ':' + std::to_string(options_.port);
  if (request.path() != "*") url += request.path();
  if (!request.query().empty()) url += '?' + std::string(request.query());
  return Response(Status::PermanentRedirect).header("Location", url);
}

}  // namespace keel::http
