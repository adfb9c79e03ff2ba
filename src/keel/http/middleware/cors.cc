#include "keel/http/middleware/cors.h"

#include <algorithm>

#include "keel/base/ascii.h"
#include "keel/base/check.h"
#include "keel/http/message/fields.h"
#include "keel/http/server/problem.h"

namespace keel::http {
namespace {

constexpr std::string_view request_method = "Access-Control-Request-Method";
constexpr std::string_view request_headers = "Access-Control-Request-Headers";

std::string joined(const std::vector<std::string>& list) {
  std::string all;
  for (const std::string& one : list) {
    KEEL_CHECK(is_token(one), "the fields that CORS allows or exposes must have valid names");
    all += (all.empty() ? "" : ", ") + one;
  }
  return all;
}

// Whether `text` has the form in which browsers send an origin: scheme and host in lower case, and a port only if it is
// not the default of the scheme. Other forms would match no request, because origins are compared byte by byte.
bool is_origin(std::string_view text) noexcept {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos || scheme == 0) return false;
  const std::string_view rest = text.substr(scheme + 3);
  if (text.starts_with("https:") && rest.ends_with(":443")) return false;
  if (text.starts_with("http:") && rest.ends_with(":80")) return false;
  return !rest.empty() && is_field_value(text) &&
         std::none_of(text.begin(), text.end(), [](char c) { return ascii::is_upper(c) || c == ' ' || c == ','; }) &&
         rest.find_first_of("/?#@*") == std::string_view::npos;
}

}  // namespace

Cors::Cors(CorsOptions options) : options_(std::move(options)) {
  KEEL_CHECK(!options_.origins.empty(), "CORS needs at least one allowed origin");
  any_ = options_.origins.front() == "*";
  KEEL_CHECK(!any_ || options_.origins.size() == 1, "CORS must allow either \"*\" or named origins, not both");
  KEEL_CHECK(!any_ || !options_.credentials, "CORS with credentials must name its origins: browsers reject \"*\"");
  for (const std::string& origin : options_.origins) {
    KEEL_CHECK(any_ || is_origin(origin),
               "an origin must consist of a scheme, a host, and a port unless it is the default of the scheme: "
               "\"https://app.example.com\"");
  }
  headers_ = joined(options_.headers);
  exposed_ = joined(options_.exposed);
  max_age_ = std::to_string(options_.max_age.count_ns() / 1'000'000'000);
}

bool Cors::allows(std::string_view origin) const noexcept {
  return any_ || std::find(options_.origins.begin(), options_.origins.end(), origin) != options_.origins.end();
}

bool Cors::allows_headers(Request& request) const {
  const auto asked = request.header_list(request_headers);
  if (!asked) return true;
  for (std::string_view rest = *asked, name; next_element(rest, name);) {
    if (!name.empty() && !lists(headers_, name)) return false;
  }
  return true;
}

void Cors::allow(Response& response, std::string_view origin) const {
  response.header("Access-Control-Allow-Origin", any_ ? std::string_view("*") : origin);
  if (options_.credentials) response.header("Access-Control-Allow-Credentials", "true");
}

std::optional<Response> Cors::before(Request& request) const {
  const auto method = request.header(request_method);
  const auto origin = request.header(Known::Origin);
  if (request.method() != Method::Options || !method || !origin) return std::nullopt;
  if (request.allow().empty()) return std::nullopt;  // The path has its own handler for OPTIONS, or does not exist.
  const auto refused = [](std::string_view why) {
    return refuse(Status::Forbidden, why)
        .header("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
  };
  if (!allows(*origin)) return refused("pages of this origin are not allowed to use this service");
  if (!lists(request.allow(), *method)) return refused("this path does not support the requested method");
  if (!allows_headers(request)) return refused("the request has a field that pages are not allowed to set");
  Response response(Status::NoContent);
  allow(response, *origin);
  response.header("Access-Control-Allow-Methods", request.allow());
  if (!headers_.empty()) response.header("Access-Control-Allow-Headers", headers_);
  response.header("Access-Control-Max-Age", max_age_);
  response.header("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
  return response;
}

void Cors::after(Request& request, Response& response) const {
  if (!any_) response.vary("Origin");
  const auto origin = request.header(Known::Origin);
  if (!origin || !allows(*origin)) return;
  allow(response, *origin);
  if (!exposed_.empty()) response.header("Access-Control-Expose-Headers", exposed_);
}

}  // namespace keel::http
