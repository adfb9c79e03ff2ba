// tls_acme FOLDER [--network…]: a service that serves what an ACME client beside it puts into FOLDER, as docs/tls.md
// has it. acme.py asks it for its certificate, by TLS.

#include "keel/app/app.h"
#include "keel/http/server/router.h"
#include "keel/http/server/static_files.h"

using namespace keel;

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string folder = argv[1];
  argv[1] = argv[0];
  auto config = app::load_or_exit("tls_acme", argc - 1, argv + 1);
  app::App app("tls_acme", config);
  http::StaticFiles challenges({.folder = folder + "/.well-known/acme-challenge"});
  http::Router router;
  challenges.mount(router, "/.well-known/acme-challenge");
  router.get("/health", [](http::Request&) { return http::Response::text(http::Status::Ok, "ok"); });
  app.serve(router);
  return app.run();
}
