#include "keel/http/server/cbor.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "keel/base/bug.h"
#include "keel/http/message/fields.h"
#include "keel/http/message/negotiate.h"
#include "keel/http/server/problem.h"
#include "keel/http/server/rejection.h"

namespace keel::http::internal {
namespace {

constexpr std::string_view cbor_type = "application/cbor";

// Without its parameters.
std::string_view type_of_body(const Request& request) noexcept {
  const std::string_view type = request.header(Known::ContentType).value_or(std::string_view());
  return trim_blanks(type.substr(0, type.find(';')));
}

const char* accept_field_of(const Request& request) noexcept {
  return request.method() == Method::Patch ? "Accept-Patch" : "Accept";
}

bool has_coding(Request& request) {
  std::string_view codings = request.header_list("Content-Encoding").value_or(std::string_view());
  for (std::string_view coding; next_element(codings, coding);) {
    if (!coding.empty() && !equals_ignore_case(coding, "identity")) return true;
  }
  return false;
}

}  // namespace

// RFC 8949 §9.5 registers the suffix +cbor.
bool has_cbor(const Request& request) noexcept {
  constexpr std::string_view suffix = "+cbor";
  const std::string_view type = type_of_body(request);
  if (equals_ignore_case(type, cbor_type)) return true;
  const std::size_t slash = type.find('/');
  return slash != std::string_view::npos && is_token(type.substr(0, slash)) && is_token(type.substr(slash + 1)) &&
         type.size() - slash - 1 > suffix.size() &&
         equals_ignore_case(type.substr(type.size() - suffix.size()), suffix);
}

Result<> read_cbor_body(Request& request, ReadBinary read, void* value, std::source_location place) {
  const StageTimer timer(stage::validate);
  const std::string_view body = request.body(place);
  if (!body.empty() && !has_cbor(request)) [[unlikely]] {
    return Rejection::unsupported("Content-Type: expected application/cbor", accept_field_of(request),
                                  "application/cbor");
  }
  Violations wrong;
  if (read(value, body, request.arena(), wrong)) [[likely]]
    return {};
  if (wrong.is_malformed() && has_coding(request)) {
    return Rejection::unsupported("Content-Encoding: expected a body without a content coding", "Accept-Encoding",
                                  "identity");
  }
  return Rejection::error(Rejection::What::Body, std::move(wrong));
}

BodyForm accepted_form(Request& request) {
  static const std::array<std::string, 2> offered = {"application/json", std::string(cbor_type)};
  const std::optional<std::string_view> accept = request.header_list("Accept");
  if (!accept) return BodyForm::Json;
  const std::optional<std::size_t> chosen = choose_media_type(*accept, offered);
  if (!chosen) return BodyForm::Neither;
  return *chosen == 0 ? BodyForm::Json : BodyForm::Cbor;
}

Response not_acceptable() {
  return refuse(Status::NotAcceptable, "this path can produce only application/json or application/cbor")
      .header("Vary", "Accept");
}

}  // namespace keel::http::internal
