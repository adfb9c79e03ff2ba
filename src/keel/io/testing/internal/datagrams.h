// The datagrams of a simulation: sockets without connections, the packets in transit between them, and lost packets.

#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "keel/io/testing/internal/network.h"

namespace keel::sim {

// The additional state of a datagram socket.
struct DatagramSide {
  struct Packet {
    std::string bytes;
    Address from;
    std::uint32_t segment_bytes = 0;  // If not 0, the packet has several datagrams of this size.
  };
  Address peer;                 // Empty: not connected.
  std::vector<Address> groups;  // The groups that the socket has joined, with port 0.
  std::deque<Packet> inbox;     // Packets that have arrived.
  std::size_t unread = 0;       // Bytes in the inbox.
  // Bytes in transit to this Unix socket, whose senders wait until it has room; 0 for a UDP socket.
  std::size_t flight = 0;
  int error = 0;  // An error that is reported once.
  // The number of this socket as a sender; the faults of the socket depend on this number.
  std::uint64_t id = 0;
  std::uint64_t packets = 0;  // The number of packets that this socket has sent; the number identifies a fault.
  Instant last_arrival;       // The time at which the last packet arrives. Without a fault, packets arrive in order.

  bool has_news() const noexcept { return !inbox.empty() || error != 0; }
};

class Datagrams {
 public:
  Datagrams(World& world, Network& network) : world_(world), network_(network) {}

  Result<SocketPtr> open(const io::DatagramOptions& options);
  void close(const SocketPtr& socket);
  Result<> set_member(Socket& at, Address group, bool member);
  // Sends the remaining bytes of `op`. Returns 0 if all datagrams were sent, EAGAIN if there is no room, or the errno
  // with which the next datagram failed.
  int send(Socket& at, io::SendDatagrams& op);
  // Takes the next packet from the inbox, which must not be empty; with `join`, following packets may be joined to that
  // packet.
  DatagramSide::Packet take(DatagramSide& side, bool join);
  // Schedules the next attempt of the pending SendDatagrams.
  void plan_send(Socket& at);

 private:
  int send_one(Socket& at, const Address& to, std::string_view bytes);
  void arrive(const SocketPtr& sender, const Address& from, const Address& to, const std::string& bytes);
  // Sends the packet to all receivers. The sender is not notified of receivers without room.
  void arrive_at_many(const Address& from, const Address& to, const std::string& bytes);
  void take_in(const SocketPtr& into, const Address& from, const std::string& bytes);
  void refuse(const SocketPtr& sender);
  SocketPtr receiver(const Address& from, const Address& to);

  World& world_;
  Network& network_;
  std::vector<SocketPtr> bound_;
  std::uint64_t sockets_ = 0;
};

}  // namespace keel::sim
