#include "keel/http/server/internal/introduction.h"

#include <new>
#include <optional>

#include "keel/base/pool.h"
#include "keel/http/server/internal/connection.h"
#include "keel/http/server/internal/server_worker.h"
#include "keel/net/proxy_header.h"

namespace keel::http {

// An idle connection uses at most half a kilobyte, including the overhead of the heap and the engine's data for its
// descriptor.
static_assert(sizeof(Connection) <= 440);

static_assert(sizeof(Connection) % alignof(Introduction) == 0,
              "an introduction must be stored directly after its connection");

void Connection::begin(ServerWorker& worker, int fd) {
  void* memory = nullptr;
  Endpoint endpoint{.engine = &worker.engine(), .fd = fd};
  std::optional<std::uint32_t> client;
  const Address peer = worker.engine().peer_address(fd);
  const bool is_introduced = worker.is_introducer(peer);
  try {
    client = worker.enter(peer, fd);
    if (client) {
      memory = pool_allocate(size_of(is_introduced));
      if (!is_introduced) endpoint = worker.endpoint_of(fd, {});
    }
  } catch (const std::bad_alloc&) {
    worker.out_of_memory().meet(log::field("for", "a connection"));
    worker.leave(client.value_or(0));
    if (memory != nullptr) pool_free(memory, size_of(is_introduced));
    return worker.engine().close(fd);
  }
  if (!client) return worker.engine().close(fd);
  auto* connection = new (memory) Connection(worker, endpoint, *client, is_introduced ? &peer : nullptr);
  worker.add(*connection);
  connection->transport_.receive();
  connection->watch();
}

Connection::Connection(ServerWorker& worker, const Endpoint& endpoint, std::uint32_t client, const Address* peer)
    : worker_(worker), began_(worker.loop().now()), client_(client) {
  transport_.open(endpoint);
  if (peer == nullptr) return;
  is_introduced_ = true;
  phase_ = Phase::Introducing;
  new (this + 1) Introduction{*peer};
}

void Connection::introduce(std::string_view bytes) {
  const bool was_cut = !in_.empty();
  if (was_cut) {
    in_.append(bytes);
    bytes = in_.view();
  }
  const ProxyHeader header = parse_proxy_header(bytes);
  if (header.state == ProxyHeader::State::Refused) return reject_introduction(header.reason);
  if (header.state == ProxyHeader::State::Incomplete) {
    if (!was_cut) {
      in_.append(bytes);
      began_ = worker_.loop().now();
    }
    return watch();
  }
  Address& peer = introduction()->peer;
  if (header.sender != ProxyHeader::Sender::Proxy) peer = header.client;
  const std::optional<std::uint32_t> client = worker_.enter(peer, transport_.descriptor());
  if (!client) return abort();
  client_ = *client;
  began_ = worker_.loop().now();
  if (was_cut) {
    in_.consume(header.size);
  } else {
    in_.append(bytes.substr(header.size));
  }
  if (worker_.options().https != nullptr) {
    phase_ = Phase::Introduced;
    transport_.end_receive();
    return watch();
  }
  phase_ = Phase::Head;
  kept_ready_ = !in_.empty();
  if (!kept_ready_) in_.release();
  settle();
}

// Called when the receive has ended: in_ contains the bytes after the header, which are the first bytes of TLS.
void Connection::begin_layer() {
  const Endpoint layered = worker_.endpoint_of(transport_.descriptor(), in_.view());
  transport_.detach();
  in_.release();
  phase_ = Phase::Head;
  transport_.open(layered);
  transport_.receive();
  watch();
}

// No response is sent, because a client of another protocol would not understand it.
void Connection::reject_introduction(const char* reason) {
  worker_.reject_introduction(introduction()->peer, reason);
  abort();
}

// Called when the connection has ended before its header was complete. A client that has sent nothing probably only
// checked whether the port is open; this is not an error.
void Connection::lose_introduction() {
  if (phase_ == Phase::Introducing && !in_.empty())
    return reject_introduction("the connection ended before the header was complete");
  abort();
}

}  // namespace keel::http
