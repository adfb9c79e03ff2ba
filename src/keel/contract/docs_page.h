// keel/contract/docs_page.h — serves the OpenAPI document of a service, and a page that shows it and can call its
// operations.
//
//   contract::mount_documentation(router, document);          // GET /openapi.json and GET /docs
//   contract::mount_documentation(router.group("/v1"), document, {.page_path = "/reference"});
//
// The page uses one script and one style sheet, which are part of the program, so a browser loads nothing from another
// host. The page shows the document's contents as text, never as HTML. The page's Content-Security-Policy allows no
// inline script, and allows requests only to the service's own origin and to the origins in `origins`.
//
// The document, the page, its script and its style sheet support GET and HEAD, with an entity tag and status 304. Each
// of these files except the page is compressed with gzip for clients that accept gzip. The names of the script and the
// style sheet contain a hash of their content, so browsers may cache them forever. Addresses in the page are relative,
// so the page also works below the prefix of a group or of a proxy.
//
// Lifetime: the texts of `document` are kept as views, so they must be literals or outlive the router.
// Errors:   a malformed origin, and a path that does not begin with '/' or that contains anything but letters, digits
//           and "/-._~", are bugs and abort.
// Cost:     each response copies the document or page. When the routes are added, the document is hashed, which takes
//           about 1 ms for each MiB.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "keel/http/server/router.h"

namespace keel::contract {

// The document of a contract, as generated code holds it: its text, plain and compressed.
struct Document {
  std::string_view json;
  std::string_view gzip = {};  // The same document as a gzip file; if empty, the document is always sent uncompressed.
};

// The paths of the document and of the page, the origins to which the page may send requests, and whether other sites
// may read the document.
struct DocumentationOptions {
  std::string document_path = "/openapi.json";  // If empty, neither the document nor the page is served.
  std::string page_path = "/docs";              // If empty, the page is not served.
  // Origins, such as "https://api.example.com", to which the page may send requests in addition to the origin of the
  // service. The page lists all servers of the document, but can reach only these origins and the service itself.
  std::vector<std::string> origins = {};
  // Whether pages of every site may read the document: Access-Control-Allow-Origin: *.
  bool any_origin = false;
};

// Adds the routes of the document and of the page that shows it. The page sends requests to the paths of the document,
// below `base`, which is "" or a path such as "/v1". For a group, `base` is relative to the group's prefix.
void mount_documentation(http::Router& router, const Document& document, const DocumentationOptions& options = {},
                         std::string_view base = {});
void mount_documentation(http::Group group, const Document& document, const DocumentationOptions& options = {},
                         std::string_view base = {});

}  // namespace keel::contract
