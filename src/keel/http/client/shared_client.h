// keel/http/client/shared_client.h — a Client for all workers: each worker has its own connections, and all of them
// have one name in logs and metrics.
//
//   http::SharedClient payments(runtime.workers(), {.name = "payments", .base_url = "http://payments.internal"});
//   runtime.each([&](io::Loop& loop) { payments.attach(resolver_of(loop)); });
//   …
//   http::ClientResponse charge = co_await payments.get("/charges/7");    // on any worker
//   …
//   runtime.each([&](io::Loop&) { payments.detach(); });
//
// In an App, app.client({.name = "payments", …}) makes the shared client, attaches it to each worker, and detaches it.
//
// Errors:   those of Client; Internal when the calling thread is not a worker, or is a worker to which the SharedClient
//           is not attached.
// Threads:  call it on any worker's thread; attach and detach it on each worker separately. Each worker has its own
//           pool, circuit breakers and retry budgets: each limit applies to one worker, and each worker has to detect a
//           failing server itself. Metrics are summed.
// Lifetime: before a SharedClient is destroyed, it must be detached on every worker, when that worker has no call in
//           progress (checked); the resolvers outlive the last detach().
// Cost:     that of Client, plus the lookup of the calling worker.

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

  // Call attach() on a worker's thread: from then on, until detach(), this worker may make calls.
  void attach(Resolver& resolver);
  void detach();

  // send() and open() do what the functions of Client with the same names do (client.h, client_calls.h).
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
