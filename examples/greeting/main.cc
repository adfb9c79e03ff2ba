// A service that consists of one class; greeting_test.cc tests it.
//
//   greeting --network.http.port=8080
//   curl http://127.0.0.1:8080/hello/Ada
//   curl http://127.0.0.1:8080/hello --json '{"names": ["Ada", "Grace"]}'

#include "greeting.h"
#include "keel/app/app.h"

int main(int argc, char** argv) {
  auto config = keel::app::load_or_exit("greeting", argc, argv);
  keel::app::App app("greeting", config);
  greeting::Greeter greeter("Hello");
  keel::http::Router router;
  greeter.mount(router);
  app.serve(router);
  return app.run();
}
