// keel/http/client/shared_client.h — a Client for all workers: each worker has its own connections, under one name.
//
//   http::SharedClient payments(runtime.workers(), {.name = "payments", .base_url = "http://payments.internal"});
//   runtime.each([&](io::Loop& loop) { payments.attach(resolver_of(loop)); });
//   …
//   http::ClientResponse charge = co_await payments.get("/charges/7");    // on any worker
//   …
//   runtime.each([&](io::Loop&) { payments.detach(); });
//
// An App does all of this except the call: app.client({.name = "payments", …}).
//
// Errors:   those of Client; Internal when the calling thread is not a worker, or the client is not attached to that
//           worker.
// Threads:  that of any worker; each worker is attached and detached separately. Each worker has its own pool, circuit
//           breakers and retry budgets: each bound holds for one worker, and each worker detects a failing server by
//           itself. Metrics are summed.
// Lifetime: it must be detached on every worker before it is destroyed, when no call is in progress there (checked);
//           the resolvers outlive the last detach().
// Cost:     that of Client, plus finding the calling worker.

#pragma once

#include <memory>
#include <vector>

#include "keel/http/client/client.h"
#include "keel/http/client/client_calls.h"

namespace keel::http {

class SharedClient : public ClientCalls<SharedClient, ClientResponse> {
 public:
  SharedClient(int workers, ClientOptions options);
  ~SharedClient();
  SharedClient(const SharedClient&) = delete;
  SharedClient& operator=(const SharedClient&) = delete;

  // Call it on a worker's thread: the worker may make calls from now on, until detach().
  void attach(Resolver& resolver);
  void detach();

  // These do what the functions of Client with the same names do (client.h, client_calls.h).
  Task<ClientResponse> send(ClientRequest request);
  Task<ClientStream> open(ClientRequest request);

  // The Client of the calling worker; null if the SharedClient is not attached to that worker.
  Client* here() const noexcept;
  const ClientOptions& options() const noexcept { return options_; }

 private:
  const ClientOptions options_;
  std::vector<std::unique_ptr<Client>> clients_;  // Indexed by worker.
};

}  // namespace keel::http
