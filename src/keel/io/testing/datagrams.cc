#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "keel/io/datagrams.h"
#include "keel/io/internal/sockets.h"
#include "keel/io/testing/internal/datagrams.h"

namespace keel::sim {
namespace {

constexpr std::size_t udp_bytes_max = 65'507;  // The limit of IPv4: 65,535 bytes less the headers.
// Numbers of senders begin here, above the number of any direction of a connection.
constexpr std::uint64_t whom_first = std::uint64_t{1} << 40;

}  // namespace

Result<SocketPtr> Datagrams::open(const io::DatagramOptions& options) {
  Address bound = options.bind;
  if (bound.family() == AF_UNSPEC && !options.connect.is_unix()) {
    bound = options.connect;
    bound.set_port(0);
  }
  const bool is_named = bound.family() != AF_UNSPEC;
  const auto is_taken = [&](const SocketPtr& other) {
    return (covers(other->address, bound) || covers(bound, other->address)) &&
           !(options.reuse_port && other->reuse_port && !bound.is_unix());
  };
  if (is_named && !bound.is_unix() && bound.port() == 0) {
    do bound.set_port(network_.free_port());
    while (std::ranges::any_of(bound_, is_taken));
  } else if (is_named && std::ranges::any_of(bound_, is_taken)) {
    return Error::text(Code::AlreadyExists, "binding " + bound.to_string() + ": the address is in use");
  }
  if (options.connect.is_unix() && receiver(bound, options.connect) == nullptr) {
    return Error::from_errno("connect", ENOENT).because("connecting to " + options.connect.to_string());
  }
  const SocketPtr socket = network_.new_socket((is_named ? bound : options.connect).family());
  socket->address = bound;
  socket->reuse_port = options.reuse_port;
  socket->datagrams = std::make_unique<DatagramSide>();
  socket->datagrams->peer = options.connect;
  socket->datagrams->id = whom_first + ++sockets_;
  if (is_named) bound_.push_back(socket);
  return socket;
}

void Datagrams::close(const SocketPtr& socket) { std::erase(bound_, socket); }

Result<> Datagrams::set_member(Socket& at, Address group, bool member) {
  std::vector<Address>& groups = at.datagrams->groups;
  group.set_port(0);
  const auto found = std::ranges::find(groups, group);
  if (member == (found != groups.end())) {
    return Error::text(member ? Code::AlreadyExists : Code::NotFound, "the group " + group.to_string());
  }
  if (member) {
    groups.push_back(group);
  } else {
    groups.erase(found);
  }
  return {};
}

int Datagrams::send(Socket& at, io::SendDatagrams& op) {
  while (op.sent != op.count) {
    const io::OutgoingDatagram& next = op.datagrams[op.sent];
    const Address& to = next.to.family() != AF_UNSPEC ? next.to : at.datagrams->peer;
    std::string_view bytes = next.bytes.substr(op.offset);
    if (next.segment_bytes != 0) bytes = bytes.substr(0, next.segment_bytes);
    if (const int error = send_one(at, to, bytes)) return error;
    op.offset += bytes.size();
    if (op.offset != next.bytes.size()) continue;
    ++op.sent;
    op.offset = 0;
  }
  return 0;
}

// Joins datagrams as UDP_GRO does: consecutive datagrams of the same sender, all of one size except the last, which may
// be shorter (Linux, net/ipv4/udp_offload.c). Whether datagrams are joined is random, as on Linux, where a program
// cannot predict it.
DatagramSide::Packet Datagrams::take(DatagramSide& side, bool join) {
  const auto next = [&side] {
    DatagramSide::Packet packet = std::move(side.inbox.front());
    side.inbox.pop_front();
    side.unread -= packet.bytes.size();
    return packet;
  };
  DatagramSide::Packet packet = next();
  const std::size_t size = packet.bytes.size();
  bool may_grow = join && size != 0;
  while (may_grow && !side.inbox.empty()) {
    const DatagramSide::Packet& other = side.inbox.front();
    const std::size_t more = other.bytes.size();
    if (!(other.from == packet.from) || more == 0 || more > size || packet.bytes.size() + more > udp_bytes_max) break;
    if (world_.random.chance(0.2)) break;
    may_grow = more == size;
    packet.bytes += next().bytes;
    packet.segment_bytes = static_cast<std::uint32_t>(size);
  }
  return packet;
}

void Datagrams::plan_send(Socket& at) {
  world_.at(world_.now + world_.random.between(world_.options.latency_min, world_.options.latency_max),
            [this, socket = network_.shared(at.fd), attempt = at.attempt] {
              if (socket->closed || socket->attempt != attempt || socket->out == nullptr) return;
              auto& op = static_cast<io::SendDatagrams&>(*socket->out);
              const int error = send(*socket, op);
              if (error == EAGAIN && io::waits_for_room(op)) {
                plan_send(*socket);
              } else {
                network_.complete(*socket, op, io::result_of(op, error));
              }
            });
}

int Datagrams::send_one(Socket& at, const Address& to, std::string_view bytes) {
  DatagramSide& side = *at.datagrams;
  if (side.error != 0) return std::exchange(side.error, 0);
  if (to.family() == AF_UNSPEC) return EDESTADDRREQ;
  if (to.family() != at.family) return EAFNOSUPPORT;
  const SocketPtr sender = network_.shared(at.fd);
  Address from = at.address;
  if (to.is_unix()) {
    // Nothing is lost between Unix sockets: if the receiver has no room, the sender gets an error.
    const SocketPtr into = receiver(from, to);
    if (into == nullptr) return ENOENT;
    if (bytes.size() > world_.options.buffer_bytes) return EMSGSIZE;
    DatagramSide& other = *into->datagrams;
    if (other.flight + other.unread + bytes.size() > world_.options.buffer_bytes) return EAGAIN;
    other.flight += bytes.size();
    side.last_arrival = std::max(world_.now + world_.latency(side.id, side.packets++), side.last_arrival);
    world_.at(side.last_arrival,
              [this, sender, from, to, kept = std::string(bytes)] { arrive(sender, from, to, kept); });
    return 0;
  }
  if (bytes.size() > udp_bytes_max) return EMSGSIZE;
  if (is_broadcast(to) && !at.options.broadcast.value_or(false)) return EACCES;
  if (is_wildcard(from)) {
    const std::uint16_t port = from.port();
    const bool is_to_many = io::is_multicast(to) || is_broadcast(to);
    from = is_to_many ? Address::ip(to.family() == AF_INET ? "127.0.0.1" : "::1", 0).value() : to;
    from.set_port(port);
  }
  const std::uint64_t nth = side.packets++;
  if (world_.strikes(world_.options.no_room, FaultKind::NoRoom, side.id, nth)) {
    ++world_.faults.without_room;
    world_.trace("datagram without room fd={} {}", at.fd, bytes.size());
    return ENOBUFS;
  }
  world_.trace("datagram fd={} {} {:016x}", at.fd, bytes.size(), hash_bytes(0, bytes));
  if (world_.strikes(world_.options.loss, FaultKind::Loss, side.id, nth)) {
    ++world_.faults.lost;
    return 0;
  }
  const auto send_on = [&](Instant when) {
    world_.at(when, [this, sender, from, to, kept = std::string(bytes)] { arrive(sender, from, to, kept); });
  };
  const Instant when = std::max(world_.now + world_.latency(side.id, nth), side.last_arrival);
  if (auto how = world_.strikes(world_.options.reorder, FaultKind::Reorder, side.id, nth)) {
    ++world_.faults.reordered;
    send_on(when + how->between(1_us, 20_ms));
  } else {
    side.last_arrival = when;
    send_on(when);
  }
  if (auto how = world_.strikes(world_.options.duplicate, FaultKind::Duplicate, side.id, nth)) {
    ++world_.faults.duplicated;
    send_on(when + how->between(1_us, 20_ms));
  }
  return 0;
}

SocketPtr Datagrams::receiver(const Address& from, const Address& to) {
  std::vector<SocketPtr> candidates;
  for (const SocketPtr& socket : bound_) {
    const Address& peer = socket->datagrams->peer;
    if (covers(socket->address, to) && (peer.family() == AF_UNSPEC || peer == from)) candidates.push_back(socket);
  }
  return candidates.empty() ? nullptr : candidates[world_.random.below(candidates.size())];
}

void Datagrams::arrive(const SocketPtr& sender, const Address& from, const Address& to, const std::string& bytes) {
  if (io::is_multicast(to) || is_broadcast(to)) return arrive_at_many(from, to, bytes);
  const SocketPtr into = receiver(from, to);
  if (into == nullptr) {
    if (!to.is_unix()) refuse(sender);
    return;
  }
  if (to.is_unix()) into->datagrams->flight -= std::min(into->datagrams->flight, bytes.size());
  take_in(into, from, bytes);
}

void Datagrams::arrive_at_many(const Address& from, const Address& to, const std::string& bytes) {
  Address group = to;
  group.set_port(0);
  const bool to_all = is_broadcast(to);
  for (const SocketPtr& socket : bound_) {
    const DatagramSide& side = *socket->datagrams;
    if (socket->address.port() != to.port() || socket->family != to.family()) continue;
    if (!is_wildcard(socket->address) && !(socket->address == to)) continue;
    if (side.peer.family() != AF_UNSPEC && !(side.peer == from)) continue;
    if (to_all || std::ranges::find(side.groups, group) != side.groups.end()) take_in(socket, from, bytes);
  }
}

void Datagrams::take_in(const SocketPtr& into, const Address& from, const std::string& bytes) {
  DatagramSide& side = *into->datagrams;
  if (into->family != AF_UNIX && side.unread + bytes.size() > world_.options.buffer_bytes) {
    world_.trace("datagram full fd={} {}", into->fd, bytes.size());
    return;
  }
  world_.trace("datagram at fd={} {} {:016x}", into->fd, bytes.size(), hash_bytes(0, bytes));
  side.unread += bytes.size();
  side.inbox.push_back({bytes, from});
  if (into->in != nullptr) into->in_by->make_ready(*into->in);
}

// The sender gets "port unreachable" (ICMP, RFC 792), which only a connected socket reports.
void Datagrams::refuse(const SocketPtr& sender) {
  if (sender->datagrams->peer.family() == AF_UNSPEC) return;
  world_.at(world_.now + world_.latency(sender->datagrams->id, sender->datagrams->packets++), [sender] {
    if (sender->closed) return;
    sender->datagrams->error = ECONNREFUSED;
    if (sender->in != nullptr) sender->in_by->make_ready(*sender->in);
  });
}

}  // namespace keel::sim
