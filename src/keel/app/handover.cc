#include "keel/app/handover.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/observe/log.h"

namespace keel::app {
namespace {

constexpr std::string_view greeting = "keel-handover 1 ";
constexpr std::string_view any_greeting = "keel-handover ";
constexpr Duration reply_timeout = 5_s;
// A process that connects sends its greeting immediately, so a short timeout suffices.
constexpr Duration greeting_timeout = 1_s;
constexpr std::size_t message_bytes_max = 512;
constexpr int listeners_max = 4096;
constexpr std::size_t secret_bytes_max = 16 * 1024;  // A secret of this size fits into the buffer of a pipe.

// Owns a descriptor and closes it.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  int get() const noexcept { return fd_; }
  bool is_open() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

Result<Address> address_of(const std::string& path) {
  auto address = Address::parse("unix:" + path);
  if (!address) return Error::text(Code::InvalidArgument, "'" + path + "': " + std::string(address.error().message()));
  return address;
}

struct Peer {
  pid_t process = 0;
  bool is_trusted = false;
};

// The credentials of the process at the other end of the connection. A process of another user must not get sockets,
// and this process must not use sockets that come from such a process.
Peer peer_of(int fd) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return {peer.pid, peer.uid == ::geteuid() || peer.uid == 0};
}

bool send_message(int fd, std::string_view text, int descriptor = -1) noexcept {
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(text.size());
}

struct Message {
  enum class Kind : std::uint8_t { Text, End, Nothing };  // A result of Nothing means that no message has arrived yet.
  Kind kind = Kind::End;
  std::string text = {};
  Descriptor descriptor = {};
};

Message receive_message(int fd) {
  char bytes[message_bytes_max];
  iovec part{bytes, sizeof bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // The buffer has space for more descriptors than the one descriptor that is expected, so that all descriptors that
  // arrive are received and can be closed.
  constexpr int most = 16;
  alignas(cmsghdr) char control[CMSG_SPACE(most * sizeof(int))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  Message received;
  if (got < 0 && errno == EAGAIN) received.kind = Message::Kind::Nothing;
  if (got <= 0) return received;
  received.kind = Message::Kind::Text;
  received.text.assign(bytes, static_cast<std::size_t>(got));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof descriptor);
      received.descriptor = Descriptor(descriptor);
    }
  }
  return received;
}

// Waits for a message; returns Nothing when no message arrives within `timeout`, or when `stop` (a descriptor, or -1)
// becomes readable first.
Message wait_for_message(int fd, Duration timeout, int stop = -1) {
  const Instant end = Host::system().now() + timeout;
  for (;;) {
    pollfd waits[2] = {{.fd = fd, .events = POLLIN, .revents = 0}, {.fd = stop, .events = POLLIN, .revents = 0}};
    const std::int64_t left_ms = (end - Host::system().now()).count_ms();
    if (left_ms < 0) return Message{.kind = Message::Kind::Nothing};
    const int ready = ::poll(waits, 2, static_cast<int>(left_ms) + 1);
    if (ready > 0 && waits[1].revents != 0) return Message{.kind = Message::Kind::Nothing};
    if (ready > 0) return receive_message(fd);
  }
}

int number_behind(std::string_view text, std::string_view word) noexcept {
  int number = -1;
  if (!text.starts_with(word)) return number;
  const auto [end, error] = std::from_chars(text.data() + word.size(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

void wipe(std::string& secret) noexcept {
  ::explicit_bzero(secret.data(), secret.size());
  secret.clear();
}

// Returns the read end of a pipe that contains the secret; an empty Descriptor if the process can open no more
// descriptors. Closing the read end removes the last copy of the secret.
Descriptor pipe_with(const std::string& secret) noexcept {
  int ends[2];
  if (secret.empty() || secret.size() > secret_bytes_max || ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return {};
  Descriptor reads(ends[0]);
  const Descriptor writes(ends[1]);
  if (::write(writes.get(), secret.data(), secret.size()) != static_cast<ssize_t>(secret.size())) return {};
  return reads;
}

// Reads everything in the pipe. This does not wait, because the sender wrote the data before it sent the descriptor.
std::string secret_in(const Descriptor& pipe) {
  // The space is allocated once, because a growing string would leave copies of the secret in memory.
  std::string secret(secret_bytes_max, '\0');
  std::size_t size = 0;
  struct stat status;
  if (::fstat(pipe.get(), &status) == 0 && S_ISFIFO(status.st_mode)) {
    ::fcntl(pipe.get(), F_SETFL, O_NONBLOCK);
    for (ssize_t got = 0; size < secret.size(); size += static_cast<std::size_t>(got)) {
      got = ::read(pipe.get(), secret.data() + size, secret.size() - size);
      if (got <= 0) break;
    }
  }
  secret.resize(size);
  return secret;
}

}  // namespace

// --- The running process.

struct Handover::Server {
  ~Server() {
    if (!ended) finish();
  }

  void work() noexcept;
  void greet(Descriptor connection);
  void hear_successor();
  bool give(int connection);
  State finish() noexcept;

  std::string path;
  std::string prepared;  // The path of the socket until publish() moves it to `path`.
  std::string service;
  Listeners listeners;
  Function<std::string()> secret;
  Function<void()> taken;
  log::Logger log{"app.handover"};
  Descriptor socket;
  Descriptor stop;
  dev_t device = 0;
  ino_t inode = 0;
  bool published = false;
  bool ended = false;
  std::unique_ptr<Thread> thread;
  // Until `thread` has ended, only that thread uses the members below:
  Descriptor successor;
  pid_t process = 0;
  State state = State::Kept;
};

Handover::Handover(std::unique_ptr<Server> server) : server_(std::move(server)) {}
Handover::~Handover() = default;
pid_t Handover::successor() const noexcept { return server_->process; }

Result<std::unique_ptr<Handover>> Handover::make(std::string path, std::string service, Function<void()> taken) {
  auto server = std::make_unique<Server>();
  server->path = std::move(path);
  server->service = std::move(service);
  server->taken = std::move(taken);
  const std::string beside = server->path + "." + std::to_string(::getpid());
  KEEL_TRY(const Address address, address_of(beside));
  server->socket = Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  server->stop = Descriptor(::eventfd(0, EFD_CLOEXEC));
  if (!server->socket.is_open() || !server->stop.is_open()) return Error::from_errno("socket", errno);
  // The bound path gets the mode of the socket (minus the umask) as soon as it exists.
  if (::fchmod(server->socket.get(), S_IRUSR | S_IWUSR) != 0) return Error::from_errno("fchmod", errno);
  ::unlink(beside.c_str());  // Removes a file that an earlier process with the same process id left.
  if (::bind(server->socket.get(), address.system(), address.system_size()) != 0) {
    const int number = errno;
    const bool is_of_folder = number == ENOENT || number == EACCES;
    return Error::from_errno("bind", number)
        .because(is_of_folder
                     ? "the folder of '" + server->path + "' must exist, and this user must be able to write there"
                     : "'" + beside + "'");
  }
  server->prepared = beside;
  struct stat status;
  if (::stat(beside.c_str(), &status) != 0) return Error::from_errno("stat", errno);
  server->device = status.st_dev;
  server->inode = status.st_ino;
  if (::listen(server->socket.get(), 16) != 0) return Error::from_errno("listen", errno);
  return std::unique_ptr<Handover>(new Handover(std::move(server)));
}

Result<> Handover::publish(Listeners listeners, Function<std::string()> secret) {
  Server& server = *server_;
  KEEL_CHECK(!server.published && !server.ended, "a hand-over can be published only once");
  server.listeners = std::move(listeners);
  server.secret = std::move(secret);
  // The thread that serves the socket is started first, because a successor that finds the socket needs this thread.
  try {
    server.thread = Host::system().start_thread("handover", [&server] { server.work(); });
  } catch (const std::system_error&) {
    return Error::from_exception();
  }
  if (::rename(server.prepared.c_str(), server.path.c_str()) != 0) {
    const int number = errno;
    return Error::from_errno("rename", number).because("'" + server.path + "'");
  }
  server.published = true;
  server.prepared.clear();
  return {};
}

Handover::State Handover::end() noexcept { return server_->finish(); }

Handover::State Handover::Server::finish() noexcept {
  if (ended) return state;
  ended = true;
  if (thread != nullptr) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop.get(), &one, sizeof one);
    thread->join();
    thread.reset();
  }
  successor.reset();
  socket.reset();
  listeners.clear();
  if (!prepared.empty()) ::unlink(prepared.c_str());
  struct stat status;
  // A successor puts its own socket at the path, so only a process without a successor removes the path.
  if (published && state == State::Kept && ::stat(path.c_str(), &status) == 0 && status.st_dev == device &&
      status.st_ino == inode) {
    ::unlink(path.c_str());
  }
  return state;
}

void Handover::Server::work() noexcept {
  while (state != State::Taken) {
    pollfd waits[3] = {{.fd = stop.get(), .events = POLLIN, .revents = 0},
                       {.fd = socket.get(), .events = POLLIN, .revents = 0},
                       {.fd = successor.get(), .events = POLLIN, .revents = 0}};
    if (::poll(waits, 3, -1) < 0) continue;
    if (waits[2].revents != 0) hear_successor();
    if (state == State::Taken || waits[0].revents != 0) return;
    if (waits[1].revents == 0) continue;
    Descriptor connection(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.is_open()) {
      greet(std::move(connection));
    } else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
      Host::system().sleep(50_ms);  // The process can open no more descriptors, or has no memory.
    }
  }
}

void Handover::Server::greet(Descriptor connection) {
  const auto refuse = [&](const std::string& why) {
    log.warn("a successor was rejected", log::field("why", why));
    send_message(connection.get(), "refused: " + why);
  };
  const Peer peer = peer_of(connection.get());
  if (!peer.is_trusted) return refuse("the successor is a process of another user");
  // A process that has only connected must delay neither the shutdown nor another process that has sent a message.
  timeval limit{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const Message hello = wait_for_message(connection.get(), greeting_timeout, stop.get());
  if (hello.kind != Message::Kind::Text) return;
  if (!hello.text.starts_with(any_greeting)) return refuse("the successor does not speak the hand-over protocol");
  if (!hello.text.starts_with(greeting)) {
    return refuse(
        "the successor's version of the hand-over protocol differs from version 1, which the running process uses: "
        "stop the running process first");
  }
  if (hello.text.substr(greeting.size()) != service) {
    return refuse("the running process is '" + service + "', another service");
  }
  if (state != State::Kept) {
    return refuse("process " + std::to_string(process) + " is taking over from process " + std::to_string(::getpid()));
  }
  process = peer.process;
  state = State::Given;
  successor = std::move(connection);
  if (!give(successor.get())) return hear_successor();
  log.info("a successor has the listening sockets", log::field("process", static_cast<std::int64_t>(process)));
}

bool Handover::Server::give(int connection) {
  std::string text = secret ? secret() : std::string();
  const Descriptor pipe = pipe_with(text);
  wipe(text);
  if (!send_message(connection, "listeners " + std::to_string(listeners.entries().size()), pipe.get())) return false;
  for (const Listeners::Entry& entry : listeners.entries()) {
    if (!send_message(connection, (entry.kept ? "kept " : "listener ") + entry.name, entry.fd)) return false;
  }
  return true;
}

void Handover::Server::hear_successor() {
  const Message message = receive_message(successor.get());
  if (message.kind == Message::Kind::Nothing) return;
  if (message.kind == Message::Kind::Text && message.text == "ready") {
    state = State::Taken;
    send_message(successor.get(), "taken");
    taken();
    return;
  }
  log.warn("a successor exited before it was ready; this process continues to serve",
           log::field("process", static_cast<std::int64_t>(process)));
  successor.reset();
  state = State::Kept;
}

// --- The starting process.

Predecessor::Predecessor(Predecessor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), process_(other.process_), listeners_(std::move(other.listeners_)) {
  secret_.swap(other.secret_);
}

Predecessor::~Predecessor() {
  wipe(secret_);
  if (fd_ >= 0) ::close(fd_);
}

Result<std::optional<Predecessor>> Predecessor::find(const std::string& path, const std::string& service) {
  KEEL_TRY(const Address address, address_of(path));
  Descriptor connection(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!connection.is_open()) return Error::from_errno("socket", errno);
  timeval limit{.tv_sec = reply_timeout.count_ms() / 1000, .tv_usec = 0};
  ::setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (::connect(connection.get(), address.system(), address.system_size()) != 0) {
    const int number = errno;
    // A file that is not a socket is an error too, because publish() would replace that file.
    struct stat status;
    const bool is_other = ::stat(path.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode);
    if (number == EPROTOTYPE || number == ENOTSOCK || is_other) {
      return Error::text(Code::FailedPrecondition, "'" + path + "' is not the hand-over socket of a service");
    }
    if (number == ENOENT || number == ECONNREFUSED) return std::optional<Predecessor>();
    return Error::from_errno("connect", number).because("'" + path + "'");
  }
  const Peer peer = peer_of(connection.get());
  if (!peer.is_trusted) {
    return Error::text(Code::PermissionDenied, "'" + path + "' belongs to a process of another user");
  }
  const std::string who = "process " + std::to_string(peer.process) + " at '" + path + "'";
  const auto strange = [&](const std::string& text) {
    return Error::text(Code::FailedPrecondition,
                       who + " does not support version 1 of the hand-over protocol (it sent '" + text.substr(0, 40) +
                           "'): stop it first");
  };
  if (!send_message(connection.get(), std::string(greeting) + service)) return std::optional<Predecessor>();

  Predecessor found(-1, peer.process);
  int expected = -1;
  for (int have = 0; expected < 0 || have < expected;) {
    Message message = wait_for_message(connection.get(), reply_timeout);
    if (message.kind == Message::Kind::End) return std::optional<Predecessor>();
    if (message.kind == Message::Kind::Nothing) return Error::text(Code::Unavailable, who + " does not respond");
    if (message.text.starts_with("refused: ")) {
      return Error::text(Code::FailedPrecondition, who + " rejects the hand-over: " + message.text.substr(9));
    }
    if (expected < 0) {
      expected = number_behind(message.text, "listeners ");
      if (expected < 0 || expected > listeners_max) return strange(message.text);
      if (message.descriptor.is_open()) found.secret_ = secret_in(message.descriptor);
      continue;
    }
    const bool kept = message.text.starts_with("kept ");
    if (!(kept || message.text.starts_with("listener ")) || !message.descriptor.is_open()) return strange(message.text);
    KEEL_TRY_VOID(
        found.listeners_.add(message.text.substr(message.text.find(' ') + 1), message.descriptor.release(), kept)
            .because(who));
    ++have;
  }
  found.fd_ = connection.release();
  return std::optional<Predecessor>(std::move(found));
}

bool Predecessor::leave() noexcept {
  if (!send_message(fd_, "ready")) return false;
  return wait_for_message(fd_, reply_timeout).text == "taken";
}

}  // namespace keel::app
