// keel/telemetry/admin_pages.h — the pages of an admin listener, each added by the module that knows its content.
//
//   telemetry::AdminPages pages;
//   pages.add({.path = "/admin/stages",
//              .json = [&](Buffer& out) { telemetry::write_stage_times_json(out, server.stage_times()); },
//              .text = [&](Buffer& out) { telemetry::write_stage_times_text(out, server.stage_times()); }});
//   pages.add("/metrics", [&](http::Request& request) { return metrics(request); });
//   pages.mount(router);
//
// The page at "/" is a text that lists the pages. No page may be cached: each response has Cache-Control: no-store.
//
// Threads:  add() and mount() on one thread, before the listener starts. Pages are made on the worker of the admin
//           listener; a page that blocks is made on a separate thread.
// Lifetime: outlives the listener that serves the router. Objects that a page refers to outlive the AdminPages, and
//           must exist when the first request arrives.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/function.h"
#include "keel/exec/thread_pool.h"
#include "keel/http/server/router.h"

namespace keel::telemetry {

// A page in JSON; with ?format=text, the page is a text for people.
struct AdminPage {
  std::string path;                       // "/admin/stages"
  Function<void(Buffer& out)> json;       // Appends the page.
  Function<void(Buffer& out)> text = {};  // Empty: the page is JSON in every format.
  bool waits = false;                     // True: making the page takes longer than a worker may be away from its loop.
};

class AdminPages {
 public:
  AdminPages();
  ~AdminPages();
  AdminPages(const AdminPages&) = delete;
  AdminPages& operator=(const AdminPages&) = delete;

  // A duplicate path is a bug.
  void add(AdminPage page);
  // Adds a page that sets its own status and content type.
  void add(std::string path, Function<http::Response(http::Request& request)> page);

  // A listener for probes from outside has metrics and health only: the pages that are not below /admin/.
  enum class Which : std::uint8_t { All, ForProbes };
  // Adds a route for each page that `which` selects. Adds the list of these pages at "/", unless a page has that path.
  // Call mount() after the last add().
  void mount(http::Router& router, Which which = Which::All);
  // The paths in the order in which they were added, with a space between them.
  std::string paths() const;

 private:
  struct Route;
  struct List;
  Route& add_route(std::string path);

  std::vector<std::unique_ptr<Route>> routes_;
  std::vector<std::unique_ptr<List>> lists_;  // One List for each router.
  // The thread pool that makes the pages that block; it is created at the first request for such a page.
  std::optional<ThreadPool> waiting_;
};

}  // namespace keel::telemetry
