#include "keel/http/server/input.h"

#include <algorithm>
#include <string>
#include <utility>

#include "keel/base/bug.h"
#include "keel/data/uri.h"
#include "keel/http/message/fields.h"
#include "keel/http/server/route_options.h"
#include "keel/http/server/stage.h"

namespace keel::http {
namespace {

constexpr std::string_view urlencoded = "application/x-www-form-urlencoded";

// Without its parameters.
std::string_view media_type(const Request& request) noexcept {
  const std::string_view type = request.header(Known::ContentType).value_or(std::string_view());
  return trim_blanks(type.substr(0, type.find(';')));
}

// RFC 8259 §11 and RFC 6839 §3.1: application/json, and types that end in +json.
bool is_json(std::string_view type) noexcept {
  constexpr std::string_view suffix = "+json";
  if (equals_ignore_case(type, "application/json")) return true;
  const std::size_t slash = type.find('/');
  return slash != std::string_view::npos && is_token(type.substr(0, slash)) && is_token(type.substr(slash + 1)) &&
         type.size() - slash - 1 > suffix.size() &&
         equals_ignore_case(type.substr(type.size() - suffix.size()), suffix);
}

// The field that lists the accepted types (RFC 5789 §2.2 defines a separate one for PATCH).
const char* accept_field(const Request& request) noexcept {
  return request.method() == Method::Patch ? "Accept-Patch" : "Accept";
}

// Whether the body has a content coding; a compressed body cannot be read as JSON.
bool is_coded(Request& request) {
  std::string_view codings = request.header_list("Content-Encoding").value_or(std::string_view());
  for (std::string_view coding; next_element(codings, coding);) {
    if (!coding.empty() && !equals_ignore_case(coding, "identity")) return true;
  }
  return false;
}

// A list of texts that grows in the arena.
class Texts {
 public:
  explicit Texts(Arena& arena) noexcept : arena_(arena) {}
  void add(const NamedText& text) {
    if (count_ == texts_.size()) {
      const std::span<NamedText> grown = arena_.array<NamedText>(std::max<std::size_t>(8, count_ * 2));
      std::copy_n(texts_.data(), count_, grown.data());
      texts_ = grown;
    }
    texts_[count_++] = text;
  }
  Result<> add_pairs(std::string_view pairs_text) {
    uri::QueryPairs pairs(pairs_text, arena_);
    while (const auto pair = pairs.next()) add({pair->key, pair->value});
    return pairs.finish();
  }
  const NamedText* data() const noexcept { return texts_.data(); }
  std::size_t size() const noexcept { return count_; }

 private:
  Arena& arena_;
  std::span<NamedText> texts_;
  std::size_t count_ = 0;
};

}  // namespace

void Request::require_whole_body(const char* call, std::source_location place) const {
  if (is_before_body_) reject_early_read(call, place);
  if (match_.options == nullptr || !match_.options->streams_body) return;
  throw_bug(std::string(call) +
                " cannot be called on a route that streams its body, because the body is not collected: co_await "
                "read_body() instead",
            place);
}

Result<> Request::read_json(ReadJson read, void* value, std::source_location place) {
  const StageTimer timer(stage::validate);
  require_whole_body("json()", place);
  if (!body_.empty() && !is_json(media_type(*this))) [[unlikely]] {
    return Rejection::unsupported("Content-Type: expected application/json", accept_field(*this), "application/json");
  }
  Violations wrong;
  if (read(value, body_, *arena_, wrong)) [[likely]]
    return {};
  if (wrong.is_malformed() && is_coded(*this)) {
    return Rejection::unsupported("Content-Encoding: expected a body without a content coding", "Accept-Encoding",
                                  "identity");
  }
  return Rejection::error(Rejection::What::Body, std::move(wrong));
}

Result<> Request::read_query(ReadTexts read, void* value) {
  const StageTimer timer(stage::validate);
  Texts texts(*arena_);
  KEEL_TRY_VOID(texts.add_pairs(query()));
  Violations wrong;
  if (read(value, texts.data(), texts.size(), wrong)) return {};
  return Rejection::error(Rejection::What::Query, std::move(wrong));
}

Result<> Request::read_form(ReadTexts read, void* value, std::source_location place) {
  const StageTimer timer(stage::validate);
  require_whole_body("form()", place);
  const std::string_view type = media_type(*this);
  Texts texts(*arena_);
  if (equals_ignore_case(type, "multipart/form-data")) {
    KEEL_TRY(const std::span<const FormPart> parts, http::read_form(*this));
    for (const FormPart& part : parts) {
      const bool is_file = part.filename.has_value();
      // If no file was chosen in a file input of a web page, the browser sends an empty part for this input.
      if (is_file && part.filename->empty() && part.body.empty()) continue;
      texts.add({part.name, part.body, &part, is_file});
    }
  } else if (equals_ignore_case(type, urlencoded)) {
    KEEL_TRY_VOID(texts.add_pairs(body_));
  } else if (!body_.empty()) {
    return Rejection::unsupported("Content-Type: expected application/x-www-form-urlencoded or multipart/form-data",
                                  accept_field(*this), "application/x-www-form-urlencoded, multipart/form-data");
  }
  Violations wrong;
  if (read(value, texts.data(), texts.size(), wrong)) return {};
  return Rejection::error(Rejection::What::Form, std::move(wrong));
}

const char* read_text(const NamedText& in, FormPart& part) {
  if (in.source == nullptr) return "expected a file: send the form as multipart/form-data";
  part = *static_cast<const FormPart*>(in.source);
  return nullptr;
}

}  // namespace keel::http
