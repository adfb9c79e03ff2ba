#include "keel/http/client/shared_client.h"

#include "keel/base/check.h"
#include "keel/io/loop.h"

namespace keel::http {
namespace {

// The index of the calling worker; -1 if the calling thread is not a worker.
int worker() noexcept {
  const io::Loop* const loop = io::Loop::current();
  return loop != nullptr ? loop->index() : -1;
}

template <class T>
Task<T> refuse(std::string name) {
  co_return Error::text(Code::Internal,
                        "the client \"" + name + "\" can be used only on a worker and while the service runs");
}

}  // namespace

SharedClient::SharedClient(int workers, ClientOptions options)
    : options_(std::move(options)), clients_(static_cast<std::size_t>(workers)) {}

SharedClient::~SharedClient() {
  for (const auto& client : clients_) {
    KEEL_CHECK(client == nullptr, "a SharedClient must be detached on every worker before it is destroyed");
  }
}

void SharedClient::attach(Resolver& resolver) {
  const int here = worker();
  KEEL_CHECK(here >= 0 && here < static_cast<int>(clients_.size()),
             "a SharedClient must be attached on a worker's thread");
  auto& client = clients_[static_cast<std::size_t>(here)];
  KEEL_CHECK(client == nullptr, "a SharedClient can be attached only once to a worker");
  client = std::make_unique<Client>(resolver, options_);
}

void SharedClient::detach() {
  const int here = worker();
  KEEL_CHECK(here >= 0 && here < static_cast<int>(clients_.size()),
             "a SharedClient must be detached on a worker's thread");
  clients_[static_cast<std::size_t>(here)].reset();
}

Client* SharedClient::here() const noexcept {
  const int here = worker();
  if (here < 0 || here >= static_cast<int>(clients_.size())) return nullptr;
  return clients_[static_cast<std::size_t>(here)].get();
}

Task<ClientResponse> SharedClient::send(ClientRequest request) {
  Client* const client = here();
  if (client == nullptr) return refuse<ClientResponse>(options_.name);
  return client->send(std::move(request));
}

Task<ClientStream> SharedClient::open(ClientRequest request) {
  Client* const client = here();
  if (client == nullptr) return refuse<ClientStream>(options_.name);
  return client->open(std::move(request));
}

}  // namespace keel::http
