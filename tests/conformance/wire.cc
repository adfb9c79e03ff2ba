#include "wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/net/tls/records.h"

namespace conformance {
namespace {

using namespace keel;

constexpr std::size_t at_once_max = 250;

struct Socket {
  int fd = -1;
  Instant began;
  std::unique_ptr<tls::Records> records = nullptr;  // Of TLS; null: without.
};

std::optional<tls::ClientContext>& context_of_all() {
  static std::optional<tls::ClientContext> one;
  return one;
}

int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  KEEL_CHECK(fd >= 0, "a test can make a socket");
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  // No TIME_WAIT: thousands of connections follow.
  const linger abrupt{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &abrupt, sizeof abrupt);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int error = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  if (error == EINTR) {  // It continues by itself: connect(2) must not be called again.
    pollfd connected{.fd = fd, .events = POLLOUT, .revents = 0};
    while (::poll(&connected, 1, 5000) < 0 && errno == EINTR) {
    }
    socklen_t size = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  KEEL_CHECK(error == 0, "the server listens");
  return fd;
}

// What the peer does not take any more is its response to give.
void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void send_output(const Socket& socket) {
  send_all(socket.fd, socket.records->output().view());
  socket.records->output().clear();
}

void send_all(const Socket& socket, std::string_view bytes) {
  if (socket.records == nullptr) return send_all(socket.fd, bytes);
  while (!bytes.empty()) {
    const Result<std::size_t> done = socket.records->write(bytes);
    if (!done) return;
    bytes.remove_prefix(*done);
    send_output(socket);
  }
}

void finish(const Socket& socket) {
  if (socket.records != nullptr) {
    socket.records->finish();
    send_output(socket);
  }
  ::shutdown(socket.fd, SHUT_WR);
}

// The handshake; what the server does in it is not judged here.
void secure(Socket& socket) {
  if (!context_of_all()) return;
  socket.records = std::make_unique<tls::Records>(*context_of_all(), "localhost");
  char bytes[16 * 1024];
  std::string_view wire;
  while (true) {
    char plain[tls::Records::plain_bytes_max];
    const Result<std::size_t> got = socket.records->read(wire, plain);
    KEEL_CHECK(got, "the server shakes hands");
    send_output(socket);
    if (socket.records->is_established()) return;
    ssize_t count = -1;
    while ((count = ::recv(socket.fd, bytes, sizeof bytes, 0)) < 0 && errno == EINTR) {
    }
    KEEL_CHECK(count > 0, "the server continues with its handshake");
    wire = {bytes, static_cast<std::size_t>(count)};
  }
}

void take_plain(Exchange& one, std::string_view bytes) {
  if (one.received.empty()) one.first_bytes = bytes.size();
  one.received.append(bytes);
}

void take_records(Exchange& one, const Socket& socket, std::string_view wire) {
  const std::size_t before = one.received.size();
  char plain[tls::Records::plain_bytes_max];
  while (true) {
    const Result<std::size_t> got = socket.records->read(wire, plain);
    one.reset = !got;
    if (!got || *got == 0) break;
    one.received.append(plain, *got);
  }
  if (before == 0) one.first_bytes = one.received.size();
  one.ended = socket.records->has_peer_finished();
}

void take(Exchange& one, const Socket& socket) {
  char bytes[65536];
  const ssize_t got = ::recv(socket.fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got > 0) {
    const std::string_view all(bytes, static_cast<std::size_t>(got));
    socket.records != nullptr ? take_records(one, socket, all) : take_plain(one, all);
  } else if (got == 0) {
    (socket.records == nullptr ? one.ended : one.reset) = true;
  } else if (errno != EAGAIN && errno != EINTR) {
    one.reset = true;
  }
  if (one.ended || one.reset) one.took = Host::system().now() - socket.began;
}

// Reads what comes until `until`, or until all have ended.
void read_until(std::span<Exchange> part, std::span<const Socket> sockets, Instant until) {
  std::vector<pollfd> waiting;
  std::vector<std::size_t> which;
  for (;;) {
    waiting.clear();
    which.clear();
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i].ended || part[i].reset) continue;
      waiting.push_back({.fd = sockets[i].fd, .events = POLLIN, .revents = 0});
      which.push_back(i);
    }
    const std::int64_t left_ns = (until - Host::system().now()).count_ns();
    if (waiting.empty() || left_ns < 0) return;
    const timespec left{.tv_sec = left_ns / 1'000'000'000, .tv_nsec = left_ns % 1'000'000'000};
    const int ready = ::ppoll(waiting.data(), waiting.size(), &left, nullptr);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) take(part[which[i]], sockets[which[i]]);
    }
  }
}

void sleep_for(Duration pause) {
  if (pause.count_ns() <= 0) return;
  const timespec time{.tv_sec = pause.count_ns() / 1'000'000'000, .tv_nsec = pause.count_ns() % 1'000'000'000};
  ::nanosleep(&time, nullptr);
}

void run_part(std::uint16_t port, std::span<Exchange> part, const Pace& pace) {
  std::vector<Socket> sockets(part.size());
  std::size_t rounds = 0;
  for (std::size_t i = 0; i < part.size(); ++i) {
    sockets[i] = {connect_to(port), Host::system().now()};
    secure(sockets[i]);
    rounds = std::max(rounds, part[i].pieces.size());
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (round < part[i].pieces.size()) send_all(sockets[i], part[i].pieces[round]);
    }
    if (round + 1 < rounds) sleep_for(pace.pause);
  }
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i].finishes) finish(sockets[i]);
  }
  read_until(part, sockets, Host::system().now() + pace.patience);
  for (const Socket& socket : sockets) ::close(socket.fd);
}

}  // namespace

void speak_tls(const tls::ClientContext& context) { context_of_all() = context; }

std::string Reply::field(std::string_view name) const {
  const std::size_t at = head.find("\r\n" + std::string(name) + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

void exchange(std::uint16_t port, std::vector<Exchange>& all, const Pace& pace) {
  for (std::size_t at = 0; at < all.size(); at += at_once_max) {
    run_part(port, std::span(all).subspan(at, std::min(at_once_max, all.size() - at)), pace);
  }
}

Exchange exchange(std::uint16_t port, std::string_view bytes, bool finishes) {
  std::vector<Exchange> one(1);
  one[0].pieces = {bytes};
  one[0].finishes = finishes;
  exchange(port, one, {});
  return std::move(one[0]);
}

std::vector<Reply> replies(std::string_view bytes, const std::vector<bool>& to_head, std::string_view* rest) {
  std::vector<Reply> list;
  for (std::size_t blank; (blank = bytes.find("\r\n\r\n")) != std::string_view::npos;) {
    Reply reply;
    reply.head = bytes.substr(0, blank + 2);
    if (!reply.head.starts_with("HTTP/1.1 ")) break;
    reply.status = std::atoi(reply.head.c_str() + 9);
    const bool is_bodyless = list.size() < to_head.size() && to_head[list.size()];
    const std::size_t size = is_bodyless ? 0 : std::strtoul(reply.field("Content-Length").c_str(), nullptr, 10);
    if (bytes.size() - blank - 4 < size) break;
    reply.body = bytes.substr(blank + 4, size);
    bytes.remove_prefix(blank + 4 + size);
    if (reply.status != 100) list.push_back(std::move(reply));
  }
  if (rest != nullptr) *rest = bytes;
  return list;
}

}  // namespace conformance
