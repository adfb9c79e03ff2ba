#include "keel/contract/docs_page.h"

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "keel/base/ascii.h"
#include "keel/base/buffer.h"
#include "keel/base/check.h"
#include "keel/base/siphash.h"
#include "keel/contract/internal/page_files.h"
#include "keel/http/message/negotiate.h"
#include "keel/http/message/precondition.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"

namespace keel::contract {
namespace {

using http::Request;
using http::Response;
using http::Status;

// The content served at one path.
struct Resource {
  std::string owned = {};  // The storage of `text`, unless `text` is a literal.
  std::string_view text = {};
  std::string_view gzip = {};
  std::string_view content_type = {};
  std::string_view cache_control = "no-cache";
  // The plain and the compressed document need different entity tags, because their bytes differ.
  std::string etag = {};
  std::string gzip_etag = {};
  std::string policy = {};
  bool any_origin = false;
};

std::string tag_of(std::string_view text, std::string_view ending) {
  std::uint64_t hash = siphash({}, text);
  std::string tag = "\"";
  for (int i = 0; i < 16; ++i, hash <<= 4) tag += ascii::hex_lower[hash >> 60];
  return tag + std::string(ending) + '"';
}

Response respond(const Resource& resource, Request& request) {
  static constexpr std::array<std::string_view, 1> codings = {"gzip"};
  const bool is_packed = !resource.gzip.empty() &&
                         http::choose_coding(request.header("Accept-Encoding").value_or(""), codings).has_value();
  const std::string& etag = is_packed ? resource.gzip_etag : resource.etag;
  const http::Precondition verdict = http::evaluate(request.head(), {.etag = etag}, 0);
  if (verdict == http::Precondition::Failed) return Response(Status::PreconditionFailed);
  const bool is_known = verdict == http::Precondition::NotModified;
  Buffer content;
  if (!is_known) content.append(is_packed ? resource.gzip : resource.text);
  Response response =
      is_known ? Response(Status::NotModified) : Response::body(Status::Ok, std::move(content), resource.content_type);
  response.header("ETag", etag).header("Cache-Control", resource.cache_control);
  if (!resource.gzip.empty()) response.vary("Accept-Encoding");
  if (is_packed && !is_known) response.header("Content-Encoding", "gzip");
  response.header("X-Content-Type-Options", "nosniff");
  if (!resource.policy.empty()) {
    response.header("Content-Security-Policy", resource.policy).header("Referrer-Policy", "no-referrer");
  }
  if (resource.any_origin) {
    response.header("Access-Control-Allow-Origin", "*").header("Cross-Origin-Resource-Policy", "cross-origin");
  }
  return response;
}

void check_path(std::string_view path) {
  bool is_path = path.starts_with('/') && path.find("//") == path.npos;
  for (const char c : path) {
    is_path = is_path && (ascii::is_alphanumeric(c) || std::string_view("/-._~").find(c) != std::string_view::npos);
  }
  KEEL_CHECK(
      is_path,
      "a path of the documentation must begin with '/' and contain only letters, digits, '/', '-', '.', '_' and '~'");
}

std::string policy_of(const DocumentationOptions& options) {
  std::string connect = "'self'";
  for (const std::string& origin : options.origins) {
    const std::size_t host = origin.find("://") + 3;
    bool is_origin = (origin.starts_with("https://") || origin.starts_with("http://")) && origin.size() > host;
    for (const char c : is_origin ? std::string_view(origin).substr(host) : std::string_view()) {
      is_origin =
          is_origin && (ascii::is_alphanumeric(c) || std::string_view("-.:[]").find(c) != std::string_view::npos);
    }
    KEEL_CHECK(is_origin, "an origin must be a scheme and a host, such as https://api.example.com");
    connect += ' ' + origin;
  }
  return "default-src 'none'; script-src 'self'; style-src 'self'; connect-src " + connect +
         "; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
         "require-trusted-types-for 'script'";
}

void replace(std::string& text, std::string_view mark, std::string_view value) {
  const std::size_t at = text.find(mark);
  KEEL_CHECK(at != text.npos, "the page must contain a mark for each address");
  text.replace(at, mark.size(), value);
}

// Escapes the text as the value of an HTML attribute.
std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    made += c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  }
  return made;
}

// The addresses in the result are relative to the page.
std::string page_of(const DocumentationOptions& options, std::string_view folder, std::string_view base) {
  std::string up;
  for (const char c : std::string_view(options.page_path).substr(1)) {
    if (c == '/') up += "../";
  }
  std::string text(internal::page_html());
  replace(text, "{{style}}", std::string(folder) + std::string(internal::page_style().name));
  replace(text, "{{script}}", std::string(folder) + std::string(internal::page_script().name));
  for (int i = 0; i < 2; ++i) replace(text, "{{document}}", up + options.document_path.substr(1));
  replace(text, "{{base}}", escaped(base));
  return text;
}

template <class R>
void add(R& routes, const std::string& path, Resource resource) {
  auto kept = std::make_unique<Resource>(std::move(resource));
  if (!kept->owned.empty()) kept->text = kept->owned;
  kept->etag = tag_of(kept->text, "");
  kept->gzip_etag = tag_of(kept->text, "-gzip");
  routes.get(path, [kept = std::move(kept)](Request& request) { return respond(*kept, request); });
}

template <class R>
void mount(R& routes, const Document& document, const DocumentationOptions& options, std::string_view base) {
  if (options.document_path.empty()) return;
  check_path(options.document_path);
  add(routes, options.document_path,
      {.text = document.json,
       .gzip = document.gzip,
       .content_type = "application/json",
       .any_origin = options.any_origin});
  if (options.page_path.empty()) return;
  check_path(options.page_path);
  const std::string folder = options.page_path.substr(options.page_path.rfind('/') + 1) + '/';
  const std::string name_prefix = folder == "/" ? "" : folder;
  add(routes, options.page_path,
      {.owned = page_of(options, name_prefix, base),
       .content_type = "text/html; charset=utf-8",
       .policy = policy_of(options)});
  const std::string below = options.page_path.substr(0, options.page_path.rfind('/') + 1) + name_prefix;
  for (const auto& [file, type] : {std::pair(&internal::page_script(), "text/javascript; charset=utf-8"),
                                   std::pair(&internal::page_style(), "text/css; charset=utf-8")}) {
    add(routes, below + std::string(file->name),
        {.text = file->text,
         .gzip = file->gzip,
         .content_type = type,
         .cache_control = "public, max-age=31536000, immutable"});
  }
}

}  // namespace

void mount_documentation(http::Router& router, const Document& document, const DocumentationOptions& options,
                         std::string_view base) {
  mount(router, document, options, base);
}
void mount_documentation(http::Group group, const Document& document, const DocumentationOptions& options,
                         std::string_view base) {
  mount(group, document, options, base);
}

}  // namespace keel::contract
