// keel/io/engine.h — the only door to the outside: one interface over io_uring, epoll and simulation.
//
// An Engine belongs to one worker and one thread. Everything above it (timers, deadlines, accounting, streams, HTTP) is
// written once, in terms of submit, cancel, wait and dispatch. The three implementations are in uring.cc, epoll.cc,
// sim/simulation.cc; the same tests run on all three (engine_test.cc).
//
// Threads: all calls on the owning thread, but wake(), which any thread may call.
// Errors:  operations answer in Op::result; set-up calls return Result.
// Cost:    uring: one io_uring_enter per turn for everything submitted and completed in it. epoll: one epoll_wait per
//          turn, one recv per readable event, one send per Send that does not have to wait.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "keel/base/host.h"
#include "keel/base/result.h"
#include "keel/io/op.h"
#include "keel/io/socket_options.h"

namespace keel::io {

class Engine {
 public:
  virtual ~Engine() = default;

  // "uring", "epoll", "sim".
  virtual const char* name() const noexcept = 0;

  // Hands over `op`. True: it is complete already, `op.result` holds, and done() is not called (only Send,
  // SendFile, SendDatagrams and Connect).
  // False: done() will be called from a later dispatch(), never from inside this call. So it is now and then of what
  // could be complete already: after some 1 MiB, or 256 operations, that were submitted in a row and completed at
  // once, so that who only sends leaves the others their turn.
  virtual bool submit(Op& op) noexcept = 0;

  // Asks a pending `op` to end; done() follows from a later dispatch(), with -ECANCELED or with the result it had
  // reached. No effect on an idle op.
  virtual void cancel(Op& op) noexcept = 0;

  // While a Receive is paused its done() is not called; what arrives waits, and beyond a few buffers stays in the
  // kernel, so that the peer is slowed down. resume() delivers what waited from a later dispatch().
  static void pause(Receive& op) noexcept { op.paused = true; }
  virtual void resume(Receive& op) noexcept = 0;
  // Ends a pending Receive, paused or not, and loses nothing: done() is called for what has come until then, and last
  // with -ECANCELED, or with the end that the stream had reached. What comes afterwards is for the next Receive of the
  // descriptor, which sees an end that was seen once more.
  virtual void end_receive(Receive& op) noexcept = 0;

  // Inside done() of a Receive: keeps the bytes beyond the call.
  virtual Held hold(Receive& op) noexcept = 0;
  virtual void release(Held held) noexcept = 0;

  // Submits what waits, and waits for at least one completion but not beyond `until` (in the past: does not wait).
  // Returns early after wake(). Calls no done(). False: dispatch() has nothing to do.
  virtual bool wait(Instant until) noexcept = 0;
  // Calls done() for everything that had completed when wait() returned; returns how many. The loop reads the clock
  // between the two, so that done() sees the time of its completion.
  virtual int dispatch() noexcept = 0;

  // Makes a running or the next wait() return early. Any thread.
  virtual void wake() noexcept = 0;

  // Binds and listens; the descriptor is ready for Accept. AlreadyExists when the address is in use. The path of a Unix
  // socket is taken over when nobody listens there; another file stays, AlreadyExists. With options.inherited the
  // address is not looked at.
  virtual Result<int> open_listener(const Address& address, const ListenOptions& options) = 0;
  // A socket for Connect.
  virtual Result<int> open_stream(int family, const ConnectOptions& options = {}) = 0;
  // A socket for SendDatagrams and ReceiveDatagrams. AlreadyExists when the address is in use; the path of a Unix
  // socket is taken over when nobody has it open. InvalidArgument: nothing to bind or to connect to, or bytes_max.
  virtual Result<int> open_datagram(const DatagramOptions& options) = 0;
  virtual Result<> set_options(int fd, const SocketOptions& options) = 0;
  virtual SocketOptions options(int fd) = 0;
  // A socket for datagrams hears what is sent to the multicast `group` (its port is not looked at) by way of
  // `interface` (if_nametoindex(3); 0: that of the group's scope, or as the system's routes say), or no longer does.
  // InvalidArgument: no multicast address; AlreadyExists: it is a member; NotFound: it is none, or no such interface;
  // Unsupported: of a Unix socket.
  virtual Result<> set_member(int fd, const Address& group, std::uint32_t interface, bool member) = 0;
  // Nobody begins to connect to `listener` any more, and handshakes that have begun complete: between this and close()
  // all that come can be accepted. TCP: a first packet is dropped without an answer, and its sender tries again after a
  // second (where it may not be filtered, nothing happens). Unix: removes the path, unless another file is there by
  // now. For every descriptor of the socket.
  virtual void turn_away(int listener) noexcept = 0;
  // A connection that waits at `listener`, on which no Accept is pending, or a negative errno (-EAGAIN: none waits).
  // For the moment before close(), which resets those that wait.
  virtual int try_accept(int listener) noexcept = 0;
  // Closes `fd`, on which no operation is pending.
  virtual void close(int fd) noexcept = 0;
  // Tells the peer that nothing more will be written (FIN); reading goes on.
  virtual void shutdown_write(int fd) noexcept = 0;
  // Ends both directions: a pending Send ends with -EPIPE, a pending Receive with what has come and then 0.
  virtual void shutdown(int fd) noexcept = 0;
  virtual Address local_address(int fd) noexcept = 0;
  virtual Address peer_address(int fd) noexcept = 0;
  // How many bytes of what was sent on a connection its peer has acknowledged so far: what this side's kernel holds for
  // it is not counted. Nothing where nobody knows: Unix sockets, and TCP where the kernel does not say (tcp(7),
  // TCP_INFO).
  virtual std::optional<std::uint64_t> acknowledged(int fd) noexcept = 0;
  // How long ago the kernel was given the last bytes that have come on a connection, read or not, to one of its ticks
  // (4 ms or so). Zero where nobody knows: as acknowledged(), and in sim, where nothing waits unseen.
  virtual Duration last_came(int /*fd*/) noexcept { return {}; }
  // Whether bytes of a connection, or its end, are in the kernel that no receive has brought yet. False in sim, where
  // nothing waits unseen. A system call.
  virtual bool has_unread(int /*fd*/) noexcept { return false; }

  // Submits what waits, as wait() does: in a turn that lasts, what would wait for its end; after the last turn of a
  // loop, closes and wake-ups of other workers.
  virtual void flush() noexcept {}

  // As other.wake(), for the thread that owns this engine: the wake-up may leave with what is submitted by the next
  // wait(), for less than a system call of its own. A wake() of `other` until then wakes it at once.
  virtual void wake_other(Engine& other) noexcept { other.wake(); }

  // System calls this engine has made (an exact count in epoll and uring; 0 in sim).
  virtual std::uint64_t system_calls() const noexcept = 0;
};

// AlreadyExists when somebody listens at `address`, also one that would share it with us by ListenOptions::reuse_port:
// asked before the first of several sockets that share it, for of a second process nobody else would hear. An address
// with port 0 and that of a Unix socket are nobody's.
Result<> check_vacant(Engine& engine, const Address& address, ListenOptions options);
// Whether accept failed for the sake of one connection that went away: accept(2) lists these, try again.
bool is_transient_accept_error(int number) noexcept;
// Whether an errno of accept means "later": descriptors or memory have run out (EMFILE, ENFILE, ENOMEM, ENOBUFS).
bool is_exhaustion(int number) noexcept;

enum class EngineKind : std::uint8_t { Auto, Uring, Epoll };

struct EngineChoice {
  EngineKind kind;     // Uring or Epoll.
  std::string reason;  // One line for the log: "io_uring passed its probe (kernel 6.18)" or why not.
};

// Resolves Auto by a real probe of every uring feature in use; Uring fails with Unsupported and the reason when the
// probe does not pass.
Result<EngineChoice> choose_engine(EngineKind wanted);

struct EngineOptions {
  // How much one receive can bring: the size of each buffer that io_uring fills, of which there are as many as it
  // lately used, and of epoll's only one. Larger saves system calls where much comes at once, and costs memory and
  // cache. 0: 16 KiB on io_uring, 64 KiB on epoll.
  std::uint32_t receive_bytes = 0;
  static constexpr std::uint32_t receive_bytes_min = 1024;
  static constexpr std::uint32_t receive_bytes_max = 1024 * 1024;
};

// An engine for the calling thread. InvalidArgument: an option is outside of its bounds.
Result<std::unique_ptr<Engine>> make_engine(EngineKind kind, const EngineOptions& options = {});

}  // namespace keel::io
