// The network of a simulation: descriptors, listeners, and the connections between them.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keel/io/op.h"
#include "keel/io/socket_options.h"
#include "keel/io/testing/internal/world.h"

namespace keel::sim {

class Disk;
struct Socket;
struct DatagramSide;

bool is_wildcard(const Address& address) noexcept;
// Whether a socket bound to `bound` receives connections or datagrams for `wanted`.
bool covers(const Address& bound, const Address& wanted) noexcept;
// Whether UDP datagrams to this address are sent to all sockets that are bound to the port.
bool is_broadcast(const Address& address) noexcept;

// The receiving state of one side of a connection.
struct End {
  Socket* socket = nullptr;  // Null before accept and after close.
  std::string inbox;         // Bytes that have arrived; the first `taken` of them were read.
  std::size_t taken = 0;
  std::size_t flight = 0;     // Bytes in transit to this end.
  std::uint64_t arrived = 0;  // The total number of received bytes.
  // The arrival time of the last bytes; bytes that are sent later must not arrive before this time.
  Instant last_arrival;
  int error = 0;     // An error that is reported once.
  bool fin = false;  // The peer's end of stream has arrived.
  bool reset = false;
  bool write_closed = false;  // This end sends nothing more.
  bool closed = false;        // The program has closed this end.
  std::uint64_t packets = 0;  // The number of packets sent to this end; the number identifies a fault.
  std::uint64_t pieces = 0;

  std::size_t unread() const noexcept { return inbox.size() - taken; }
  bool has_news() const noexcept { return unread() != 0 || fin || reset || error != 0; }
};

struct Connection {
  std::uint64_t id = 0;
  bool vanished = false;
  bool is_mapped = false;  // True: an IPv4 connection that a dual-stack IPv6 listener accepted.
  Address address[2];
  End end[2];
};
using ConnectionPtr = std::shared_ptr<Connection>;

// The interface of an engine to the network.
class Completer {
 public:
  virtual void make_ready(io::Op& op) noexcept = 0;

 protected:
  ~Completer() = default;
};

struct Socket {
  Socket();
  ~Socket();

  int fd = -1;
  // Counts sends and connects, so that an event of an earlier send or connect is recognized as stale.
  std::uint32_t attempt = 0;
  io::Op* in = nullptr;   // The pending Receive, Accept or ReceiveDatagrams, which the engine `in_by` completes.
  io::Op* out = nullptr;  // The pending Send, SendFile, Connect or SendDatagrams.
  Completer* in_by = nullptr;
  Completer* out_by = nullptr;
  bool closed = false;
  bool step_planned = false;  // The next attempt of a Send is scheduled.
  // Members of a stream:
  ConnectionPtr connection;
  int side = 0;
  int family = AF_UNSPEC;
  io::SocketOptions options;
  Address address;  // The address of a listener, or the local address of a stream if it was set.
  // Members of a listener:
  bool listening = false;
  bool reuse_port = false;
  bool dual_stack = false;
  std::size_t backlog = 0;
  std::uint64_t accepts = 0;  // The number of accepts so far; the number identifies a fault.
  std::deque<ConnectionPtr> queue;
  // Members of a datagram socket:
  std::unique_ptr<DatagramSide> datagrams;
  // Members of a file:
  bool is_file = false;
  bool writable = false;
  Disk* disk = nullptr;
  int file = -1;  // The file's descriptor on the disk; -1: this is a folder.
  std::string folder;
};
using SocketPtr = std::shared_ptr<Socket>;

class Network {
 public:
  explicit Network(World& world);

  // --- Descriptors.

  SocketPtr new_socket(int family);
  Socket& socket(int fd);
  SocketPtr shared(int fd) { return socket(fd), sockets_[static_cast<std::size_t>(fd)]; }
  // Frees the descriptor of `socket`. Other owners of `socket` see that it is closed.
  void forget(const SocketPtr& socket);
  std::uint16_t free_port();

  // Removes `op` from its socket; done() follows from the next dispatch of its engine.
  void complete(Socket& at, io::Op& op, int result);

  // --- Listening and connecting.

  // False: the address is in use.
  bool listen(const SocketPtr& socket);
  void stop_listening(const SocketPtr& socket) { std::erase(listeners_, socket); }
  void connect(Socket& at, io::Connect& op);
  // The address of one end of a connection (`side`), as the program that has the socket `by` sees the address.
  static Address seen(const Socket& by, int side) noexcept;

  // --- Bytes.

  // Sends all bytes of `op` immediately if the seed and the room allow it. True: `op` is complete.
  bool send_at_once(Socket& at, io::Send& op, std::size_t worker);
  // Schedules the next attempt of the pending Send.
  void plan_send(Socket& at);
  // The size of the next piece to deliver: `size`, or 1 if a fault divides the bytes.
  std::size_t delivered(std::size_t size, Connection& to, int side);
  // Notifies the sender that the reader at `side` has made room.
  void opened_window(const ConnectionPtr& connection, int side);
  void notify_reader(End& end);
  void send_fin(const ConnectionPtr& connection, int from);
  void send_reset(const ConnectionPtr& connection, int side);
  // Informs the peers of a socket that it is closed.
  void hang_up(const SocketPtr& socket);

 private:
  Duration latency(Connection& to, int side);
  Instant arrival(Connection& connection, int side);
  void syn(const SocketPtr& client, std::uint32_t attempt, const Address& to);
  void plan_faults(const ConnectionPtr& connection);
  void connected(const SocketPtr& client, std::uint32_t attempt, const ConnectionPtr& connection);
  void send_bytes(const ConnectionPtr& connection, int from, std::string_view bytes);
  void deliver(const ConnectionPtr& connection, int side, const std::string& piece);
  void on_reset(const ConnectionPtr& connection, int side);
  std::size_t space(const Connection& connection, int from) const noexcept;
  bool push(Socket& at, io::Send& op, std::size_t bytes);
  void send_step(Socket& at);
  void send_file_step(Socket& at, io::SendFile& op);
  // The number of bytes that may be sent immediately, at most `left`.
  std::size_t some(Socket& at, std::size_t left);

  World& world_;
  std::vector<SocketPtr> sockets_;  // By descriptor.
  std::vector<SocketPtr> listeners_;
  std::uint64_t connections_ = 0;
  std::uint16_t next_port_;
};

}  // namespace keel::sim
