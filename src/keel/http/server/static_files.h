// keel/http/server/static_files.h — serves the files of a folder.
//
//   http::StaticFiles files({.folder = "public"});
//   files.mount(router, "/static");                          // GET and HEAD of /static/…
//
// Nothing outside of the folder is ever opened, whatever the path or a link says (openat2(2), RESOLVE_BENEATH). The
// path is decoded once; segments that are empty, "." or "..", and hidden files, are 404, and so is everything else that
// is not a regular file in the folder: a client cannot distinguish forbidden files from missing ones. A link to a
// hidden file, or into a hidden folder, is 404 as well; a mounted Kubernetes ConfigMap has such links (..data) and
// needs `hidden`.
//
// 200 with ETag, Last-Modified, Accept-Ranges and X-Content-Type-Options: nosniff; 206 for a range or up to 8 of them
// (multipart/byteranges); 304, 412 and 416 as preconditions and ranges require (precondition.h, range.h); a folder
// without its final slash, including the mounted one, redirects with 301 to the path with it and keeps the query. If
// ranges overlap, or are more than 8, the response is the whole file. The entity tag consists of size and modification
// time; it is weak while the file is younger than 2 s, because a second change could go unnoticed. A file that is
// truncated while it is sent ends its connection.
//
// Lifetime: outlives the router.
// Threads:  any worker; immutable.
// Cost:     files are read off the loop (io/file.h); files of up to 32 KiB are sent with their head in one send, and
//           are read for HEAD as well; larger files are sent in pieces of 64 KiB. Each request opens two files, because
//           it opens the folder too: a folder that a new release has replaced is then seen immediately. A path with a
//           link in it costs another open and two system calls.
// Source:   RFC 9110 §8.8, §13, §14.

#pragma once

#include <string>
#include <string_view>

#include "keel/http/server/request.h"
#include "keel/http/server/response.h"
#include "keel/http/server/router.h"
#include "keel/task/task.h"

namespace keel::http {

// Index, caching and other fields of the responses.
struct StaticFilesOptions {
  std::string folder;                // Each request looks the folder up, from the working directory.
  std::string index = "index.html";  // The file for a path that ends in '/'; empty: 404.
  std::string cache_control = {};    // Cache-Control of 200, 206 and 304, such as "public, max-age=3600"; empty: none.
  // Cross-Origin-Resource-Policy of these responses says which other sites may embed the files, such as "cross-origin".
  // Empty: the middleware around the files sets the field, if any does (SecurityHeaders).
  std::string cross_origin_resource_policy = {};
  // True: files whose names begin with a dot, and links to such files, are served as well. "/.well-known/…" (RFC 8615)
  // is always served.
  bool hidden = false;
};

class StaticFiles {
 public:
  explicit StaticFiles(StaticFilesOptions options);
  StaticFiles(const StaticFiles&) = delete;
  StaticFiles& operator=(const StaticFiles&) = delete;

  // Adds GET (and with it HEAD) for "`prefix`/{path...}", and of `prefix` itself if there is an index; the prefix ""
  // stands for the whole site. Files that are mounted in a group get its prefix, options and middleware.
  void mount(Router& router, std::string_view prefix);
  void mount(Group group, std::string_view prefix);
  // The handler itself, for a route whose pattern ends in {path...}.
  Task<Response> serve(Request& request);

 private:
  template <class R>
  void mount_in(R& routes, std::string_view prefix);

  StaticFilesOptions options_;
};

}  // namespace keel::http
