// The datagrams of a simulation: sockets without connections, what is on its way between them, and what is lost.

#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "keel/io/testing/internal/network.h"

namespace keel::sim {

// What a socket for datagrams has beside what all have.
struct DatagramSide {
  struct Packet {
    std::string bytes;
    Address from;
    std::uint32_t segment_bytes = 0;  // Several in one, of this size each.
  };
  Address peer;                 // Empty: not connected.
  std::vector<Address> groups;  // Of which it is a member; port 0.
  std::deque<Packet> inbox;     // Arrived.
  std::size_t unread = 0;       // Bytes of it.
  std::size_t flight = 0;       // Bytes on the way to a Unix socket, whose sender waits for room.
  int error = 0;                // Reported once.
  std::uint64_t id = 0;         // The sender, by which faults select it.
  std::uint64_t packets = 0;    // Packets of the sender so far, by which faults count.
  Instant last_arrival;         // Without a fault they arrive in order.

  bool has_news() const noexcept { return !inbox.empty() || error != 0; }
};

class Datagrams {
 public:
  Datagrams(World& world, Network& network) : world_(world), network_(network) {}

  Result<SocketPtr> open(const io::DatagramOptions& options);
  void close(const SocketPtr& socket);
  Result<> set_member(Socket& at, Address group, bool member);
  // Sends what is left of `op`. 0: all has left; EAGAIN: there is no room; else the errno of the next one.
  int send(Socket& at, io::SendDatagrams& op);
  // The next packet of the inbox, which has one; with `join` those behind it may come as one with it.
  DatagramSide::Packet take(DatagramSide& side, bool join);
  // The next attempt of the pending SendDatagrams.
  void plan_send(Socket& at);

 private:
  int send_one(Socket& at, const Address& to, std::string_view bytes);
  void arrive(const SocketPtr& sender, const Address& from, const Address& to, const std::string& bytes);
  // The same to all receivers; the sender is not notified of those that have no room.
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
