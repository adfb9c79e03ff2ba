// keel/contract/docs_page.h — serves the OpenAPI document of a service, and a page that shows it and can call its
// operations.
//
//   contract::mount_documentation(router, document);          // GET /openapi.json and GET /docs
//   contract::mount_documentation(router.group("/v1"), document, {.page_path = "/reference"});
//
// The page consists of one script and one style sheet, which are part of the program: a browser loads nothing from
// another host. It shows the document's contents as text, never as HTML. Its Content-Security-Policy allows no inline
// script, and requests only to the service's own origin and to those in `origins`.
//
// The document, the page, its script and its style sheet support GET and HEAD, with an entity tag and 304. All but the
// page itself are compressed with gzip for clients that accept it. Script and style sheet have a hash of their content
// in their names and may be cached for ever. Addresses in the page are relative, so it also works under the prefix of a
// group or of a proxy.
//
// Lifetime: the texts of `document` are kept as views: they are literals, or outlive the router.
// Errors:   a malformed origin, and a path that does not begin with '/' or that contains anything but letters, digits
//           and "/-._~", are bugs and abort.
// Cost:     each response copies the document or page. At the start, the document is hashed: about 1 ms for each MiB.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "keel/http/server/router.h"

namespace keel::contract {

// The document of a contract, as generated code holds it: its text, and the same compressed.
struct Document {
  std::string_view json;
  std::string_view gzip = {};  // The same document as a gzip file; empty: it is sent uncompressed.
};

// The paths at which the page and the document are served, and the pages of other origins that may read the document.
struct DocumentationOptions {
  std::string document_path = "/openapi.json";  // Empty: neither the document nor the page is served.
  std::string page_path = "/docs";              // Empty: there is no page.
  // More origins that the page may send requests to, such as "https://api.example.com". The page lists all servers of
  // the document, but can reach only these origins and the service itself.
  std::vector<std::string> origins = {};
  // Whether pages of every site may read the document: Access-Control-Allow-Origin: *.
  bool any_origin = false;
};

// Adds the routes of the document and of the page that shows it. The page sends requests to the paths of the document,
// below `base`, which is "" or a path such as "/v1". With a group, `base` is below the group's prefix.
void mount_documentation(http::Router& router, const Document& document, const DocumentationOptions& options = {},
                         std::string_view base = {});
void mount_documentation(http::Group group, const Document& document, const DocumentationOptions& options = {},
                         std::string_view base = {});

}  // namespace keel::contract
