// keel/http/server/static_files.h — serves the files of a folder.
//
//   http::StaticFiles files({.folder = "public"});
//   files.mount(router, "/static");                          // GET and HEAD of /static/…
//
// Nothing outside of the folder is ever opened, whatever the path is and wherever a link leads (openat2(2),
// RESOLVE_BENEATH). The path is decoded once. The response is 404 for a path with a segment that is empty, "." or "..",
// for a hidden file, and for everything else that is not a regular file in the folder, so that a client cannot
// distinguish forbidden files from missing ones. For a link to a hidden file or into a hidden folder, the response is
// 404 as well; a mounted Kubernetes ConfigMap contains such links (..data) and needs the option `hidden`.
//
// The other responses are: 200 with ETag, Last-Modified, Accept-Ranges and X-Content-Type-Options: nosniff; 206 for one
// range or up to 8 ranges (multipart/byteranges); 304, 412 and 416 as preconditions and ranges require (precondition.h,
// range.h); and 301 for the path of a folder, including the mounted one, without its final slash: it redirects to the
// path with the slash and keeps the query. If ranges overlap, or if there are more than 8, the response is the whole
// file. The entity tag consists of the size and the modification time of the file. The tag is weak for 2 s after a
// change, because the tag might not show another change within this time. If a file is truncated while it is sent, the
// connection ends.
//
// Lifetime: the object must outlive the router.
// Threads:  any worker may use the object, which is immutable.
// Cost:     files are read without blocking the loop (io/file.h). A file of up to 32 KiB is sent together with the
//           head, and is read for HEAD as well; a larger file is sent in pieces of 64 KiB. Each request opens the
//           folder as well as the file, so that a new release, which replaces the folder, is used immediately. For a
//           path that contains a link, a request opens one more file and makes two more system calls.
// Source:   RFC 9110 §8.8, §13, §14.

#pragma once

#include <string>
#include <string_view>

#include "keel/http/server/request.h"
#include "keel/http/server/response.h"
#include "keel/http/server/router.h"
#include "keel/task/task.h"

namespace keel::http {

// The folder, its index, and fields of the responses.
struct StaticFilesOptions {
  // The path of the folder; each request resolves it, relative to the working directory.
  std::string folder;
  // The file that is served for a path that ends with '/'; empty: such a path is 404.
  std::string index = "index.html";
  // The value of Cache-Control for 200, 206 and 304, such as "public, max-age=3600"; empty: the field is not set.
  std::string cache_control = {};
  // The value of Cross-Origin-Resource-Policy for the files, such as "cross-origin"; it says which other sites may
  // embed these files. Empty: the field is not set, but middleware may set it (SecurityHeaders).
  std::string cross_origin_resource_policy = {};
  // If true, files whose names begin with a dot, and links to such files, are served as well. "/.well-known/…" (RFC
  // 8615) is always served.
  bool hidden = false;
};

class StaticFiles {
 public:
  explicit StaticFiles(StaticFilesOptions options);
  StaticFiles(const StaticFiles&) = delete;
  StaticFiles& operator=(const StaticFiles&) = delete;

  // Adds GET routes, which serve HEAD as well: "`prefix`/{path...}" and, if there is an index, `prefix` itself. The
  // prefix "" stands for the whole site. If a group is given, the files get its prefix, options and middleware.
  void mount(Router& router, std::string_view prefix);
  void mount(Group group, std::string_view prefix);
  // The handler, for a route of your own whose pattern ends with {path...}.
  Task<Response> serve(Request& request);

 private:
  template <class R>
  void mount_in(R& routes, std::string_view prefix);

  StaticFilesOptions options_;
};

}  // namespace keel::http
