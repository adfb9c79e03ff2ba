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
// Errors:   those of Client; Internal: it is not attached to the worker that calls, or no worker does.
// Threads:  any worker's, each attached and detached on its own. Pools, circuit breakers and retry budgets are a
//           worker's: bounds hold for each, and a server that fails is found out by each. Metrics are summed.
// Lifetime: it must be detached on every worker before it is destroyed, when no call is in progress there (checked);
//           the resolvers outlive that.
// Cost:     that of Client, and a look at which worker this is.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/http/client/client.h"

namespace keel::http {

class SharedClient {
 public:
  SharedClient(int workers, ClientOptions options);
  ~SharedClient();
  SharedClient(const SharedClient&) = delete;
  SharedClient& operator=(const SharedClient&) = delete;

  // On a worker's thread: the worker may make calls from here on until detach().
  void attach(Resolver& resolver);
  void detach();

  Task<ClientResponse> send(ClientRequest request);
  Task<ClientResponse> get(std::string_view url) { return send(ClientRequest(Method::Get, url)); }
  Task<ClientResponse> head(std::string_view url) { return send(ClientRequest(Method::Head, url)); }
  Task<ClientResponse> del(std::string_view url) { return send(ClientRequest(Method::Delete, url)); }
  Task<ClientResponse> post(std::string_view url, std::string_view body, std::string_view content_type) {
    return send(ClientRequest(Method::Post, url).body(body, content_type));
  }
  // `value` as JSON.
  template <class T>
    requires(!std::convertible_to<const std::remove_reference_t<T>&, std::string_view>)
  Task<ClientResponse> post(std::string_view url, T&& value) {
    internal::refuse_made_in_call<T>();
    return send(ClientRequest(Method::Post, url).json(value));
  }
  Task<ClientResponse> put(std::string_view url, std::string_view body, std::string_view content_type) {
    return send(ClientRequest(Method::Put, url).body(body, content_type));
  }
  template <class T>
    requires(!std::convertible_to<const std::remove_reference_t<T>&, std::string_view>)
  Task<ClientResponse> put(std::string_view url, T&& value) {
    internal::refuse_made_in_call<T>();
    return send(ClientRequest(Method::Put, url).json(value));
  }
  Task<ClientResponse> patch(std::string_view url, std::string_view body, std::string_view content_type) {
    return send(ClientRequest(Method::Patch, url).body(body, content_type));
  }
  template <class T>
    requires(!std::convertible_to<const std::remove_reference_t<T>&, std::string_view>)
  Task<ClientResponse> patch(std::string_view url, T&& value) {
    internal::refuse_made_in_call<T>();
    return send(ClientRequest(Method::Patch, url).json(value));
  }
  Task<ClientStream> open(ClientRequest request);

  // The Client of the worker that calls; null where it is not attached.
  Client* here() const noexcept;
  const ClientOptions& options() const noexcept { return options_; }

 private:
  const ClientOptions options_;
  std::vector<std::unique_ptr<Client>> clients_;  // Indexed by worker.
};

}  // namespace keel::http
