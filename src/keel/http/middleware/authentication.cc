#include "keel/http/middleware/authentication.h"

#include <algorithm>

#include "keel/base/ascii.h"
#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/base/constant_time.h"
#include "keel/data/base64.h"
#include "keel/data/uri.h"
#include "keel/data/utf8.h"
#include "keel/http/message/fields.h"

namespace keel::http {
namespace {

constexpr std::string_view www_authenticate = "WWW-Authenticate";

std::string with_realm(std::string_view scheme, const std::string& realm) {
  KEEL_CHECK(is_field_value(realm) && realm.find_first_of("\"\\") == std::string::npos,
             "a realm must not contain quotes, backslashes or control characters");
  return std::string(scheme) + " realm=\"" + realm + '"';
}

Response unauthorized(std::string_view detail, std::string_view challenge) {
  return refuse(Status::Unauthorized, detail).header(www_authenticate, challenge);
}

// Whether `text` has the form token68 (RFC 7235), which a bearer token must have (RFC 6750 §2.1).
bool is_token68(std::string_view text) noexcept {
  while (text.ends_with('=')) text.remove_suffix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return ascii::is_alphanumeric(c) || std::string_view("-._~+/").find(c) != std::string_view::npos;
  });
}

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// The text, possibly empty, after the name of the scheme; nullopt if the credentials are of another scheme, or missing.
// A request has at most one Authorization field, because the parser rejects a second one.
std::optional<std::string_view> find_credentials(Request& request, std::string_view scheme) {
  const std::string_view value = request.header(Known::Authorization).value_or(std::string_view());
  const std::size_t end = std::min(value.find(' '), value.size());
  if (!equals_ignore_case(value.substr(0, end), scheme)) return std::nullopt;
  return trim_blanks(value.substr(end));
}

}  // namespace

BearerScheme::BearerScheme(const BearerOptions& options) : challenge_(with_realm("Bearer", options.realm)) {}

std::optional<Response> BearerScheme::read(Request& request, Credentials& credentials) const {
  const std::optional<std::string_view> token = find_credentials(request, "Bearer");
  if (!token) return unauthorized("a bearer token is required in the field Authorization", challenge_);
  credentials.secret = *token;
  if (is_token68(*token)) return std::nullopt;
  return refuse(Status::BadRequest, "the bearer token in the field Authorization is malformed")
      .header(www_authenticate, challenge_ + ", error=\"invalid_request\"");
}

Response BearerScheme::reject() const {
  return unauthorized("the bearer token is invalid or has expired", challenge_ + ", error=\"invalid_token\"");
}

BasicScheme::BasicScheme(const BasicOptions& options)
    : challenge_(with_realm("Basic", options.realm) + ", charset=\"UTF-8\"") {}

std::optional<Response> BasicScheme::read(Request& request, Credentials& credentials) const {
  const std::optional<std::string_view> text = find_credentials(request, "Basic");
  if (!text) return unauthorized("a user and a password are required", challenge_);
  const auto malformed = [&] {
    return refuse(Status::BadRequest, "the user and password in the field Authorization are malformed")
        .header(www_authenticate, challenge_);
  };
  const std::span<char> room = request.arena().array<char>(base64::decoded_size(*text));
  const Result<std::size_t> size = base64::decode(*text, std::as_writable_bytes(room), base64::Form::Standard);
  if (!size) return malformed();
  const std::string_view decoded(room.data(), *size);
  const std::size_t colon = decoded.find(':');
  if (colon == std::string_view::npos || std::ranges::any_of(decoded, is_control)) return malformed();
  if (!utf8::is_valid(decoded)) return reject();
  credentials = {decoded.substr(0, colon), decoded.substr(colon + 1)};
  return std::nullopt;
}

Response BasicScheme::reject() const { return unauthorized("the user or the password is wrong", challenge_); }

ApiKeyScheme::ApiKeyScheme(const ApiKeyOptions& options)
    : options_(options), challenge_(with_realm("ApiKey", options.realm)) {
  KEEL_CHECK(!options.header.empty() || !options.query.empty(),
             "ApiKeyOptions must name a header or a query parameter");
  KEEL_CHECK(options.header.empty() || is_token(options.header),
             "the header of an API key must be the name of a field");
}

std::optional<Response> ApiKeyScheme::read(Request& request, Credentials& credentials) const {
  if (!options_.header.empty()) {
    credentials.secret = request.header(options_.header).value_or(std::string_view());
    // header() returns the value of the first field, and header_list() joins the values of all fields with that name.
    // If there are several fields, the value from header_list() is longer than the value from header().
    if (request.header_list(options_.header).value_or(std::string_view()).size() != credentials.secret.size()) {
      return refuse(Status::BadRequest, "there is more than one API key");
    }
    if (!credentials.secret.empty()) return std::nullopt;
  }
  if (!options_.query.empty()) {
    const Result<std::optional<std::string_view>> given = request.query_param<std::string_view>(options_.query);
    // If the query contains several keys, another reader of the query may use the last one, so such a request is
    // rejected.
    uri::QueryPairs pairs(request.query(), request.arena());
    int count = 0;
    while (const auto pair = pairs.next()) count += pair->key == options_.query ? 1 : 0;
    if (count > 1) return refuse(Status::BadRequest, "there is more than one API key");
    if (!given || !pairs.finish()) return refuse(Status::BadRequest, "the API key in the query is malformed");
    credentials.secret = given->value_or(std::string_view());
    if (!credentials.secret.empty()) return std::nullopt;
  }
  const std::string where =
      !options_.header.empty() ? "in the field " + options_.header : "as the query parameter " + options_.query;
  return unauthorized("an API key is required " + where, challenge_);
}

Response ApiKeyScheme::reject() const { return unauthorized("the API key is unknown", challenge_); }

namespace internal {

Error failure_of(Error&& error) noexcept {
  if (error.code() == Code::PermissionDenied || error.code() == Code::Cancelled) return std::move(error);
  Error failure = std::move(error).because("verifying credentials");
  return http_status(failure.code()) >= 500 ? std::move(failure) : std::move(failure).as(Code::Internal);
}

}  // namespace internal

Response insufficient_scope(std::string_view scope) {
  std::string challenge = "Bearer error=\"insufficient_scope\", scope=\"";
  challenge.append(scope).append("\"");
  return refuse(Status::Forbidden, "these credentials do not allow this request").header(www_authenticate, challenge);
}

KnownKeys::KnownKeys(std::vector<NamedKey> keys) : keys_(std::move(keys)) {
  for (const NamedKey& key : keys_) {
    if (!key.key.empty()) continue;
    throw Misconfigured("the key of \"" + key.name + "\" for http::one_of() is empty: set it in the configuration");
  }
}

std::optional<KeyOwner> KnownKeys::operator()(std::string_view key) const noexcept {
  const NamedKey* found = nullptr;
  for (const NamedKey& known : keys_) {
    if (constant_time_equal(known.key, key)) found = &known;
  }
  if (found == nullptr) return std::nullopt;
  return KeyOwner{found->name};
}

std::optional<KeyOwner> KnownKeys::operator()(std::string_view name, std::string_view key) const noexcept {
  const NamedKey* found = nullptr;
  for (const NamedKey& known : keys_) {
    const bool is_name = constant_time_equal(known.name, name);
    const bool is_key = constant_time_equal(known.key, key);
    if (is_name & is_key) found = &known;
  }
  if (found == nullptr) return std::nullopt;
  return KeyOwner{found->name};
}

}  // namespace keel::http
