// keel/contract/docs_page.h — the OpenAPI document of a service, and a page that shows it and tries its operations.
//
//   contract::mount_documentation(router, document);          // GET /openapi.json and GET /docs
//   contract::mount_documentation(router.group("/v1"), document, {.page_path = "/reference"});
//
// The page is one script and one style, which are part of the program: a browser asks no other host for anything. It
// shows what the document says as text, never as HTML. Its Content-Security-Policy allows no inline script, and no
// other origin than the service's and those in `origins`.
//
// All are answered to GET and HEAD, with an entity tag and 304, as gzip to a client that accepts it. Script and style
// have a hash of their content in their names and may be kept for ever. Addresses in the page are relative: behind the
// prefix of a group or of a proxy it works as well.
//
// Lifetime: the texts of `document` are kept as views: literals, or what outlives the router.
// Errors:   a path that does not begin with '/', or has anything but letters, digits and "/-._~", and an origin that is
//           none, are bugs and abort.
// Cost:     a copy of what is sent. At start, a hash of the document: about 1 ms for each MiB.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "keel/http/server/router.h"

namespace keel::contract {

// The document of a contract, compressed, as generated code has it.
struct Document {
  std::string_view json;
  std::string_view gzip = {};  // The same as a file of gzip; empty: it is sent as it is.
};

// Where the page and the document are served, and which pages may read the document.
struct DocumentationOptions {
  std::string document_path = "/openapi.json";  // Empty: neither the document nor the page is served.
  std::string page_path = "/docs";              // Empty: there is no page.
  // More origins that the page may send requests to, such as "https://api.example.com"; the page offers all servers of
  // the document, and only those here and the service itself can be reached.
  std::vector<std::string> origins = {};
  // Pages of every site may read the document: Access-Control-Allow-Origin: *.
  bool any_origin = false;
};

// Adds the routes of the document and of the page that shows it.
void mount_documentation(http::Router& router, const Document& document, const DocumentationOptions& options = {});
void mount_documentation(http::Group group, const Document& document, const DocumentationOptions& options = {});

}  // namespace keel::contract
