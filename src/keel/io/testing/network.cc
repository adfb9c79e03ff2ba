#include "keel/io/testing/internal/network.h"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "keel/base/check.h"
#include "keel/io/testing/disk.h"
#include "keel/io/testing/internal/datagrams.h"

namespace keel::sim {
namespace {

constexpr int first_fd = 3;
constexpr std::uint16_t first_ephemeral_port = 32768;
constexpr std::size_t piece_bytes_max = 16 * 1024;
constexpr std::size_t file_bytes_max = 64 * 1024;  // How much of a file is sent in one step.

// Returns a number that identifies one direction of a connection, namely the direction towards `side`.
std::uint64_t direction(const Connection& connection, int side) noexcept {
  return connection.id * 2 + static_cast<std::uint64_t>(side);
}
int send_error(End& end) noexcept {
  if (end.error != 0) return std::exchange(end.error, 0);
  return end.reset || end.write_closed ? EPIPE : 0;
}
std::size_t left(const io::Send& op) noexcept {
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < op.part_count; ++i) bytes += op.parts[i].iov_len;
  return bytes;
}

}  // namespace

bool is_wildcard(const Address& address) noexcept {
  if (address.family() == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(address.system())->sin_addr.s_addr == INADDR_ANY;
  }
  if (address.family() == AF_INET6) {
    const in6_addr any = IN6ADDR_ANY_INIT;
    return std::memcmp(&reinterpret_cast<const sockaddr_in6*>(address.system())->sin6_addr, &any, sizeof any) == 0;
  }
  return false;
}

bool covers(const Address& bound, const Address& wanted) noexcept {
  if (bound == wanted) return true;
  return bound.family() == wanted.family() && bound.port() == wanted.port() && is_wildcard(bound);
}

bool is_broadcast(const Address& address) noexcept {
  if (address.family() != AF_INET) return false;
  // The simulation has one network with all hosts, so the only directed broadcast address is that of the loopback
  // network.
  const in_addr_t to = ntohl(reinterpret_cast<const sockaddr_in*>(address.system())->sin_addr.s_addr);
  return to == INADDR_BROADCAST || to == 0x7fffffff;
}

namespace {

bool answers(const Socket& listener, const Address& wanted) noexcept {
  if (covers(listener.address, wanted)) return true;
  return listener.dual_stack && wanted.family() == AF_INET && listener.address.port() == wanted.port() &&
         listener.address.family() == AF_INET6 && is_wildcard(listener.address);
}

}  // namespace

Socket::Socket() = default;
Socket::~Socket() = default;

Network::Network(World& world) : world_(world), next_port_(first_ephemeral_port) { sockets_.resize(first_fd); }

Duration Network::latency(Connection& to, int side) {
  return world_.latency(direction(to, side), to.end[side].packets++);
}
Instant Network::arrival(Connection& connection, int side) {
  End& to = connection.end[side];
  to.last_arrival = std::max(world_.now + latency(connection, side), to.last_arrival);
  return to.last_arrival;
}
std::size_t Network::delivered(std::size_t size, Connection& to, int side) {
  if (!world_.strikes(world_.options.short_delivery, FaultKind::ShortDelivery, direction(to, side),
                      to.end[side].pieces++)) {
    return size;
  }
  ++world_.faults.short_deliveries;
  return 1;
}

// --- Descriptors.

SocketPtr Network::new_socket(int family) {
  auto socket = std::make_shared<Socket>();
  auto free = std::find(sockets_.begin() + first_fd, sockets_.end(), nullptr);
  if (free == sockets_.end()) free = sockets_.insert(free, nullptr);
  socket->fd = static_cast<int>(free - sockets_.begin());
  socket->family = family;
  *free = socket;
  return socket;
}
Socket& Network::socket(int fd) {
  KEEL_CHECK(fd >= first_fd && static_cast<std::size_t>(fd) < sockets_.size() &&
                 sockets_[static_cast<std::size_t>(fd)] != nullptr,
             "a descriptor can be used only while it is open");
  return *sockets_[static_cast<std::size_t>(fd)];
}
void Network::forget(const SocketPtr& socket) {
  socket->closed = true;
  sockets_[static_cast<std::size_t>(socket->fd)] = nullptr;
}
std::uint16_t Network::free_port() {
  for (;;) {
    const std::uint16_t port = next_port_;
    next_port_ = next_port_ == 65535 ? first_ephemeral_port : static_cast<std::uint16_t>(next_port_ + 1);
    const auto takes = [&](const SocketPtr& l) { return l->address.port() == port; };
    if (std::none_of(listeners_.begin(), listeners_.end(), takes)) return port;
  }
}

// --- Completion.

void Network::complete(Socket& at, io::Op& op, int result) {
  Completer* by = at.in == &op ? at.in_by : at.out_by;
  if (at.in == &op) at.in = nullptr;
  if (at.out == &op) at.out = nullptr;
  op.result = result;
  op.cancelling = true;
  by->make_ready(op);
}
void Network::notify_reader(End& end) {
  if (end.socket != nullptr && end.socket->in != nullptr) end.socket->in_by->make_ready(*end.socket->in);
}

// --- Listening and connecting.

bool Network::listen(const SocketPtr& socket) {
  const Address& bound = socket->address;
  for (const SocketPtr& other : listeners_) {
    if (!answers(*other, bound) && !answers(*socket, other->address)) continue;
    if (!bound.is_unix() && other->reuse_port && socket->reuse_port) continue;
    return false;
  }
  listeners_.push_back(socket);
  return true;
}

void Network::connect(Socket& at, io::Connect& op) {
  if (at.connection != nullptr) {
    complete(at, op, -EISCONN);
    return;
  }
  const auto answers = [&](const SocketPtr& l) { return l->address == op.address; };
  if (op.address.is_unix() && std::none_of(listeners_.begin(), listeners_.end(), answers)) {
    complete(at, op, -ENOENT);
    return;
  }
  world_.at(world_.now + world_.latency(),
            [this, client = shared(op.fd), attempt = at.attempt, to = op.address] { syn(client, attempt, to); });
}

void Network::syn(const SocketPtr& client, std::uint32_t attempt, const Address& to) {
  if (client->closed || client->attempt != attempt) return;
  std::vector<SocketPtr> candidates;
  for (const SocketPtr& listener : listeners_) {
    if (answers(*listener, to)) candidates.push_back(listener);
  }
  if (candidates.empty()) {
    world_.at(world_.now + world_.latency(), [this, client, attempt] { connected(client, attempt, nullptr); });
    return;
  }
  const SocketPtr listener = candidates[world_.random.below(candidates.size())];
  if (listener->queue.size() >= listener->backlog) {
    // The packet is dropped, and sent again after a second, as with TCP. For a Unix socket, see
    // internal/unix_connects.h.
    world_.at(world_.now + (to.is_unix() ? 1_ms : 1_s), [this, client, attempt, to] { syn(client, attempt, to); });
    return;
  }
  auto connection = std::make_shared<Connection>();
  connection->id = ++connections_;
  connection->is_mapped = listener->family == AF_INET6 && to.family() == AF_INET;
  connection->address[1] = to;
  connection->address[0] = client->address.family() == to.family() ? client->address : to;
  if (!to.is_unix() && client->address.port() == 0) connection->address[0].set_port(free_port());
  world_.trace("syn fd={} c{} listener={}", client->fd, connection->id, listener->fd);
  listener->queue.push_back(connection);
  if (listener->in != nullptr) listener->in_by->make_ready(*listener->in);
  world_.at(arrival(*connection, 0), [this, client, attempt, connection] { connected(client, attempt, connection); });
  plan_faults(connection);
}

// An IPv4 address is shown as ::ffff:192.0.2.1 to an IPv6 socket (RFC 4291 §2.5.5.2).
Address Network::seen(const Socket& by, int side) noexcept {
  const Address& address = by.connection->address[side];
  if (!by.connection->is_mapped || by.side == 0) return address;
  sockaddr_in6 mapped{};
  mapped.sin6_family = AF_INET6;
  mapped.sin6_port = htons(address.port());
  mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
  std::memcpy(&mapped.sin6_addr.s6_addr[12], &reinterpret_cast<const sockaddr_in*>(address.system())->sin_addr, 4);
  return Address::from_system(reinterpret_cast<sockaddr*>(&mapped), sizeof mapped);
}

void Network::plan_faults(const ConnectionPtr& connection) {
  if (auto when = world_.strikes(world_.options.reset, FaultKind::Reset, connection->id, 0)) {
    world_.at(world_.now + when->between(Duration(), 1_s), [this, connection] {
      End* ends = connection->end;
      if ((ends[0].closed || ends[0].reset) && (ends[1].closed || ends[1].reset)) return;
      ++world_.faults.resets;
      on_reset(connection, 0);
      on_reset(connection, 1);
    });
  }
  if (auto when = world_.strikes(world_.options.vanish, FaultKind::Vanish, connection->id, 0)) {
    world_.at(world_.now + when->between(Duration(), 1_s), [this, connection] {
      ++world_.faults.vanished;
      world_.trace("vanish c{}", connection->id);
      connection->vanished = true;
    });
  }
}

void Network::connected(const SocketPtr& client, std::uint32_t attempt, const ConnectionPtr& connection) {
  if (client->closed || client->attempt != attempt) {
    if (connection != nullptr) {
      connection->end[0].closed = true;
      send_reset(connection, 1);
    }
    return;
  }
  world_.trace("connected fd={} c{}", client->fd, connection != nullptr ? connection->id : 0);
  if (connection != nullptr) {
    client->connection = connection;
    client->side = 0;
    connection->end[0].socket = client.get();
  }
  if (client->out != nullptr) complete(*client, *client->out, connection != nullptr ? 0 : -ECONNREFUSED);
}

// --- Bytes.

bool Network::send_at_once(Socket& at, io::Send& op, std::size_t worker) {
  op.sent = 0;
  if (at.connection == nullptr || !world_.random.chance(world_.options.instant_send)) return false;
  if (const int error = send_error(at.connection->end[at.side])) {
    op.result = -error;
    return true;
  }
  const std::size_t bytes = std::min(space(*at.connection, at.side), left(op));
  world_.trace("send w{} fd={} {}", worker, op.fd, bytes);
  if (!push(at, op, bytes)) return false;
  op.result = op.total();
  return true;
}

void Network::send_bytes(const ConnectionPtr& connection, int from, std::string_view bytes) {
  End& to = connection->end[1 - from];
  to.flight += bytes.size();
  while (!bytes.empty()) {
    std::size_t size = std::min(bytes.size(), piece_bytes_max);
    if (world_.random.chance(0.5)) size = 1 + world_.random.below(size);
    size = delivered(size, *connection, 1 - from);
    world_.at(arrival(*connection, 1 - from),
              [this, connection, to_side = 1 - from, piece = std::string(bytes.substr(0, size))] {
                deliver(connection, to_side, piece);
              });
    bytes.remove_prefix(size);
  }
}

void Network::deliver(const ConnectionPtr& connection, int side, const std::string& piece) {
  if (connection->vanished) return;
  End& end = connection->end[side];
  end.flight -= piece.size();
  if (end.reset) return;
  world_.trace("deliver c{}.{} {} {:016x}", connection->id, side, piece.size(), hash_bytes(0, piece));
  if (end.closed) {
    send_reset(connection, 1 - side);
    return;
  }
  if (end.taken == end.inbox.size()) {
    end.inbox.clear();
    end.taken = 0;
  }
  end.inbox += piece;
  end.arrived += piece.size();
  notify_reader(end);
}

void Network::send_fin(const ConnectionPtr& connection, int from) {
  End& end = connection->end[from];
  if (end.write_closed || end.reset) return;
  end.write_closed = true;
  world_.at(arrival(*connection, 1 - from), [this, connection, side = 1 - from] {
    End& to = connection->end[side];
    if (connection->vanished || to.reset || to.closed) return;
    world_.trace("fin c{}.{}", connection->id, side);
    to.fin = true;
    notify_reader(to);
  });
}

void Network::send_reset(const ConnectionPtr& connection, int side) {
  // A reset either arrives after the data sent before it, or overtakes queued data, which is then lost.
  const Instant when = world_.random.chance(0.5) ? arrival(*connection, side) : world_.now + latency(*connection, side);
  world_.at(when, [this, connection, side] {
    if (!connection->vanished) on_reset(connection, side);
  });
}

void Network::on_reset(const ConnectionPtr& connection, int side) {
  End& end = connection->end[side];
  if (end.reset || end.closed) return;
  world_.trace("reset c{}.{}", connection->id, side);
  end.reset = true;
  end.error = end.fin ? EPIPE : ECONNRESET;
  Socket* socket = end.socket;
  if (socket == nullptr) return;
  // The error is reported only once: either to the reader or to the sender.
  if (socket->out != nullptr && (socket->in == nullptr || world_.random.chance(0.5))) {
    complete(*socket, *socket->out, -send_error(end));
  }
  notify_reader(end);
  if (socket->out != nullptr) plan_send(*socket);
}

std::size_t Network::space(const Connection& connection, int from) const noexcept {
  const End& to = connection.end[1 - from];
  const std::size_t used = to.flight + to.unread();
  return used < world_.options.buffer_bytes ? world_.options.buffer_bytes - used : 0;
}

// Sends the next `bytes` bytes of `op`; returns true when none are left.
bool Network::push(Socket& at, io::Send& op, std::size_t bytes) {
  op.sent += bytes;
  for (;;) {
    while (op.part_count != 0 && op.parts->iov_len == 0) {
      ++op.parts;
      --op.part_count;
    }
    if (op.part_count == 0 || bytes == 0) return op.part_count == 0;
    const std::size_t size = std::min(bytes, op.parts->iov_len);
    send_bytes(at.connection, at.side, {static_cast<const char*>(op.parts->iov_base), size});
    op.parts->iov_base = static_cast<char*>(op.parts->iov_base) + size;
    op.parts->iov_len -= size;
    bytes -= size;
  }
}

void Network::plan_send(Socket& at_socket) {
  if (at_socket.step_planned) return;
  at_socket.step_planned = true;
  world_.at(world_.now + world_.random.between(world_.options.latency_min, world_.options.latency_max),
            [this, socket = shared(at_socket.fd), attempt = at_socket.attempt] {
              if (socket->attempt != attempt) return;
              socket->step_planned = false;
              if (!socket->closed && socket->out != nullptr) send_step(*socket);
            });
}
void Network::send_step(Socket& at_socket) {
  End& end = at_socket.connection->end[at_socket.side];
  if (const int error = send_error(end)) {
    complete(at_socket, *at_socket.out, -error);
    return;
  }
  if (at_socket.out->kind == io::Kind::SendFile) {
    send_file_step(at_socket, static_cast<io::SendFile&>(*at_socket.out));
    return;
  }
  auto& op = static_cast<io::Send&>(*at_socket.out);
  if (push(at_socket, op, some(at_socket, left(op)))) {
    complete(at_socket, op, op.total());
  } else if (space(*at_socket.connection, at_socket.side) != 0) {
    plan_send(at_socket);
  }
}
std::size_t Network::some(Socket& at_socket, std::size_t left) {
  std::size_t bytes = std::min(space(*at_socket.connection, at_socket.side), left);
  if (bytes > 1 && world_.random.chance(0.3)) bytes = 1 + world_.random.below(bytes);
  world_.trace("send fd={} {}", at_socket.fd, bytes);
  return bytes;
}
void Network::send_file_step(Socket& at_socket, io::SendFile& op) {
  const Socket& file = socket(op.file);
  if (!file.is_file || file.file < 0) {
    complete(at_socket, op, -EINVAL);
    return;
  }
  std::string bytes(some(at_socket, std::min<std::uint64_t>(op.size - op.sent, file_bytes_max)), '\0');
  const std::int64_t got = bytes.empty() ? 0 : file.disk->read(file.file, bytes, op.offset);
  if (got < 0) {
    complete(at_socket, op, static_cast<int>(got));
    return;
  }
  const auto size = static_cast<std::size_t>(got);
  send_bytes(at_socket.connection, at_socket.side, std::string_view(bytes).substr(0, size));
  op.sent += size;
  op.offset += size;
  const bool file_ends = size == 0 && !bytes.empty();
  if (file_ends || op.sent == op.size) {
    complete(at_socket, op, op.total());
  } else if (space(*at_socket.connection, at_socket.side) != 0) {
    plan_send(at_socket);
  }
}
void Network::opened_window(const ConnectionPtr& connection, int side) {
  Socket* sender = connection->end[1 - side].socket;
  if (sender != nullptr && sender->out != nullptr && !connection->vanished) plan_send(*sender);
}

void Network::hang_up(const SocketPtr& socket) {
  stop_listening(socket);
  for (const ConnectionPtr& waiting : socket->queue) {
    waiting->end[1].closed = true;
    send_reset(waiting, 0);
  }
  if (socket->connection == nullptr) return;
  End& end = socket->connection->end[socket->side];
  end.socket = nullptr;
  if ((end.unread() != 0 || socket->options.reset_on_close.value_or(false)) && !end.reset) {
    send_reset(socket->connection, 1 - socket->side);
  } else {
    send_fin(socket->connection, socket->side);
  }
  end.closed = true;
}

}  // namespace keel::sim
