// keel/net/stream.h — a byte stream to a peer: TCP or a Unix socket, on the current worker.
//
//   Task<> echo(Stream stream) {
//     while (true) {
//       Chunk chunk = co_await stream.receive();  // borrowed until the next read; empty: the peer has finished
//       if (chunk.empty()) co_return;
//       co_await stream.write(chunk);             // all of it, or an error
//     }
//   }
//
//   Chunk line = co_await stream.read_until("\r\n", 1024);
//   co_await stream.read_exact(header);           // a span that is filled
//
//   File page = co_await File::open("index.html", File::Mode::Read);
//   co_await stream.send_file(page, 0, co_await page.size());
//
// receive, read, read_exact and read_until may follow each other in any order: each call begins where the preceding
// call ended. One task may read and another one may write at the same time, so the task that reads notices that the
// peer has finished even while a write waits.
//
// Errors:    Unavailable with the errno when the connection breaks (ECONNRESET, EPIPE, …), ResourceExhausted for a
//            write when memory runs out, Cancelled and DeadlineExceeded when the task is stopped. A failed read loses
//            no bytes: received bytes remain for the next read.
// Ownership: owns its descriptor; movable between operations. Destroying the stream closes the connection; written
//            bytes are still sent. But if received bytes were not read, the connection is reset, and the peer may lose
//            bytes that it has not received yet (RFC 2525 §2.17), such as the response to an upload that was not read
//            to its end. close_gently() prevents that.
// Threads:   the worker it was made on.
// Cancel:    a cancelled read loses nothing and may be repeated; after a cancelled write or send_file it is unknown how
//            much was sent, so the stream can no longer be used.
// Cost:      on io_uring, receive copies nothing; on epoll, it copies only chunks of up to 4 KiB; read_until copies
//            only bytes that span two chunks; no heap in steady state. An idle stream takes 104 bytes and has no
//            buffer; a write uses a block of the pool until it ends.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/time.h"
#include "keel/io/address.h"
#include "keel/io/op.h"
#include "keel/io/socket_options.h"
#include "keel/task/leaf.h"
#include "keel/task/task.h"

namespace keel {

struct Endpoint;
class TransportLayer;
class TransportLayers;
class File;
class AddressGuard;
class Resolver;

// Received bytes; valid until the next read of their stream, or until the stream is destroyed.
using Chunk = std::string_view;

class Stream {
 public:
  class Receive;
  class Read;
  class ReadExact;
  class ReadUntil;
  class Write;
  class WriteParts;
  class SendFile;
  class Establish;
  static constexpr std::size_t parts_max = 64;

  // Connects to `address`. Unavailable when the connection is refused or the peer cannot be reached, NotFound when
  // nothing is at the path of a Unix socket. The call waits while the listener's backlog is full. A cancelled connect
  // leaves no socket open.
  static Task<Stream> connect(Address address, io::ConnectOptions options = {});
  // Connects to the first of several addresses that responds: IPv4 and IPv6 alternate, and after 250 ms without a
  // response the next address is tried as well (RFC 8305). An error names every address that was tried.
  static Task<Stream> connect(std::vector<Address> addresses, io::ConnectOptions options = {});
  // Connects to one of the addresses that the resolver returns for `host`.
  static Task<Stream> connect(Resolver& resolver, std::string host, std::uint16_t port,
                              io::ConnectOptions options = {});
  // Connects only to addresses that `guard` allows (net/address_guard.h). PermissionDenied: the guard allows none of
  // the addresses of `host`.
  static Task<Stream> connect(Resolver& resolver, std::string host, std::uint16_t port, const AddressGuard& guard,
                              io::ConnectOptions options = {});
  // Takes over a connected descriptor that is non-blocking (O_NONBLOCK) and belongs to the current worker's engine.
  explicit Stream(int fd);
  // Takes over an endpoint (net/transport.h), with or without a layer. `received` has bytes that were already read from
  // the endpoint: these bytes are copied, and the stream returns them first. After std::bad_alloc the endpoint still
  // belongs to the caller.
  explicit Stream(const Endpoint& endpoint, std::string_view received = {});
  // Puts a layer, which `layers` makes, over `plain`. If `plain` has already read bytes, its end_reading() must have
  // completed before this call. `host` is the host that was connected to; empty: the connection was accepted. The
  // handshake of the layer begins, and the first read or write, or establish(), waits for the handshake. If making the
  // layer fails, or memory runs out, `plain` is closed.
  static Result<Stream> layered(TransportLayers& layers, std::string_view host, Stream plain);
  Stream(Stream&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    if (this != &other) {
      close();
      state_ = std::exchange(other.state_, nullptr);
    }
    return *this;
  }
  ~Stream() { close(); }

  // Returns the next available bytes (at most 64 KiB, or the bytes that read_until() has buffered). Empty: the peer has
  // finished writing.
  [[nodiscard]] Receive receive() noexcept;
  // Copies at most `into.size()` bytes, and returns their number, or 0 at the end.
  [[nodiscard]] Read read(std::span<char> into) noexcept;
  // Fills `into`. Unavailable when the peer finishes too early; the message has the numbers of received and expected
  // bytes.
  [[nodiscard]] ReadExact read_exact(std::span<char> into) noexcept;
  // Reads up to and including the first `delimiter`, which must not be empty and must live until the read ends. Empty:
  // the peer has finished and no bytes were left. OutOfRange when the first `max` bytes do not contain the delimiter
  // completely; Unavailable when the peer finishes without sending it. After OutOfRange or Unavailable, receive() still
  // returns the bytes that had arrived.
  [[nodiscard]] ReadUntil read_until(std::string_view delimiter, std::size_t max);
  // Sends all of `bytes`. The characters must live until the write ends; the string_view itself need not. Only one
  // write may run at a time. The view is passed by reference, because a value would take room in the task's frame.
  [[nodiscard]] Write write(const std::string_view& bytes) noexcept;
  // Writes several pieces in order, at most `parts_max`, with one system call where possible. The pieces must live
  // until the write ends; the span itself need not.
  [[nodiscard]] WriteParts write(std::span<const std::string_view> parts);
  // Sends `bytes` bytes of `file`, beginning at `offset`. The call works as a write does, except that the kernel takes
  // the bytes from its page cache (sendfile(2)). The File must live until the call ends. OutOfRange when the file is
  // too short or is truncated during the call; the message says how many of the bytes were sent. InvalidArgument for a
  // folder or a pipe, DataLoss when the disk fails. Reading pages that are not in memory blocks the worker; after at
  // most 256 KiB, other connections run. Therefore send files that are in memory, or on fast disks. The call counts as
  // a write: only one write may run at a time.
  [[nodiscard]] SendFile send_file(File& file, std::uint64_t offset, std::uint64_t bytes) noexcept;
  // Waits for the handshake of the layer, if there is one, and fails if the handshake fails; after the handshake,
  // written bytes are sent without a further wait. Without a layer, the call completes immediately. The call counts as
  // a write: only one write may run at a time.
  [[nodiscard]] Establish establish() noexcept;
  // The layer over the stream (net/transport.h), such as TLS; null: none. The layer lives as long as the stream.
  const TransportLayer* layer() const noexcept;
  // Until the next read, makes the stream notice bytes that arrive while no task reads; call it for connections that
  // are kept for later use. Call watch() between reads, after all bytes that have arrived were read. Bytes that arrive
  // later are kept for the next read.
  void watch();
  // True once one of these has arrived since watch(), which must be called first: unread bytes, the end of the stream,
  // or a failure of the connection.
  bool has_input() const noexcept;
  // Does the same as has_input(), but also asks the kernel for input that the loop has not seen yet; call it in a long
  // event-loop iteration. Costs a system call.
  bool has_unseen_input() const noexcept;
  // Tells the peer that no more bytes will follow; reading continues. Call shutdown_write() only while no write is in
  // progress.
  void shutdown_write() noexcept;
  // Ends both directions, and wakes the tasks that wait on this stream: a write fails with Unavailable; a read returns
  // the bytes that have arrived, and then the end of the stream. Use shutdown() to end a connection that another task
  // is using.
  void shutdown() noexcept;
  // Ends reading, so that layered() or detach() may be called on a stream that was read from; use it for two peers that
  // first talk in clear text and then begin another protocol. All bytes that have arrived must have been read, and no
  // task may be reading or writing. Protocol: the peer has already sent more bytes. Unavailable: the peer has finished,
  // or the connection is broken. After an error or a cancellation, the stream must be closed.
  Task<> end_reading();
  // Gives up the connection, so that a layer can be put over it. Call detach() before the first read and the first
  // watch(), or after end_reading().
  Endpoint detach() noexcept;
  // Closes the stream immediately; the destructor does the same.
  void close() noexcept;
  // Closes so that the peer receives everything that was written, even if the peer keeps sending: shuts down writing,
  // then reads and drops the peer's bytes until the peer finishes, `timeout` has passed, or more than `bytes_max` bytes
  // have arrived; then closes in any case. After DeadlineExceeded, OutOfRange (more than `bytes_max`) and Unavailable
  // the peer may not have received everything. A cancelled call closes the stream immediately. The stream must live
  // until the call ends, and no task may read or write it.
  Task<> close_gently(Duration timeout = 1_s, std::uint64_t bytes_max = 1 << 20);

  // The stream must be open; socket_options.h describes the options.
  Result<> set_options(const io::SocketOptions& options);
  io::SocketOptions options() const;
  Address local_address() const noexcept;
  // For a client of a Unix socket, the address has no path.
  Address peer_address() const noexcept;
  // The descriptor, which may be duplicated and passed to getsockopt, setsockopt and ioctl. The stream closes the
  // descriptor, and only the stream may read from it, write to it, shut it down or wait on it (epoll, poll): io_uring
  // may be reading from it at any time, and on epoll the stream would not notice that other code reads from the
  // descriptor. The descriptor is non-blocking (O_NONBLOCK) and must stay so. In a simulation, the descriptor is a
  // number that the system does not know.
  int native_handle() const noexcept;

 private:
  friend class Outbox;
  friend class StreamInput;
  friend class StreamOutput;
  struct State;
  State* state_;
};

// The base class of the operations that read; such an operation waits until bytes arrive.
class StreamInput : public Leaf {
 public:
  bool start();

 protected:
  // The condition on which the read completes.
  enum class Until : std::uint8_t { SomeBytes, AllBytes, Delimiter };
  StreamInput(Stream::State& state, Until until, Cancel cancelled = &cancel) noexcept
      : Leaf(cancelled), until_(until), state_(state) {}
  static void cancel(Leaf& leaf) noexcept;
  // The reason why no more bytes arrive.
  Error end(std::size_t got, const std::string& wanted) noexcept;
  Error failure() const noexcept;

  bool cancelled_ = false;
  // True for SomeBytes if there are no bytes because of an error, and not because the stream has ended.
  bool failed_ = false;

 private:
  friend struct Stream::State;
  bool is_content() noexcept;
  Until until_;

 protected:
  Stream::State& state_;
};

class [[nodiscard]] Stream::Receive : public StreamInput {
 public:
  using Value = Chunk;
  explicit Receive(State& state) noexcept : StreamInput(state, Until::SomeBytes) {}
  bool failed() const noexcept { return failed_; }
  Result<Chunk> take() noexcept;
};

class [[nodiscard]] Stream::Read : public StreamInput {
 public:
  using Value = std::size_t;
  Read(State& state, std::span<char> into) noexcept : StreamInput(state, Until::SomeBytes), into_(into) {}
  bool failed() const noexcept { return failed_; }
  Result<std::size_t> take() noexcept;

 private:
  std::span<char> into_;
};

class [[nodiscard]] Stream::ReadExact : public StreamInput {
 public:
  using Value = void;
  ReadExact(State& state, std::span<char> into) noexcept
      : StreamInput(state, Until::AllBytes, &cancel_fill), into_(into) {}
  Result<> take() noexcept;

 private:
  friend class StreamInput;
  bool fill() noexcept;
  static void cancel_fill(Leaf& leaf) noexcept;
  void give_back() noexcept;
  std::span<char> into_;
  std::size_t filled_ = 0;
};

class [[nodiscard]] Stream::ReadUntil : public StreamInput {
 public:
  using Value = Chunk;
  ReadUntil(State& state, std::string_view delimiter, std::size_t max) noexcept
      : StreamInput(state, Until::Delimiter), delimiter_(delimiter), max_(max) {}
  Result<Chunk> take() noexcept;

 private:
  friend class StreamInput;
  bool search() noexcept;
  std::size_t end_in(Chunk fresh) const noexcept;
  std::string_view delimiter_;
  std::size_t max_;
  Chunk found_;
};

inline Stream::Receive Stream::receive() noexcept { return Receive(*state_); }
inline Stream::Read Stream::read(std::span<char> into) noexcept { return Read(*state_, into); }

// The base class of the operations that write; such an operation waits until the write ends.
class StreamOutput : public Leaf {
 public:
  using Value = void;
  Result<> take() noexcept;

 protected:
  explicit StreamOutput(Stream::State& state, Cancel cancelled = &cancel) noexcept : Leaf(cancelled), state_(state) {}
  bool send(iovec* parts, std::size_t count);  // True: the send is complete, and `result_` has the outcome.
  // Writes the parts. Without parts, the operation waits for the handshake.
  bool begin(iovec* parts, std::size_t count);
  // Before the write begins, this is 1 if the write is unhurried: a separate field would enlarge each task that writes.
  std::int32_t result_ = 0;
  Stream::State& state_;

 private:
  struct Sending;
  void complete(Sending& sending) noexcept;
  static void cancel(Leaf& leaf) noexcept;
};

class [[nodiscard]] Stream::Write : public StreamOutput {
 public:
  Write(State& state, std::string_view bytes) noexcept
      : StreamOutput(state), bytes_{const_cast<char*>(bytes.data()), bytes.size()} {}
  bool start() { return send(&bytes_, bytes_.iov_len != 0 ? 1 : 0); }
  bool failed() const noexcept { return result_ < 0; }
  // Allows the task to continue late: at the next event of any kind on its event loop. This saves a system call on
  // io_uring. Use set_unhurried() for a write to a peer that will respond, if the task has nothing else to do after the
  // write. Call set_unhurried() before the write is awaited.
  void set_unhurried(bool value) noexcept { result_ = value ? 1 : 0; }

 private:
  iovec bytes_;
};

inline Stream::Write Stream::write(const std::string_view& bytes) noexcept { return Write(*state_, bytes); }

class [[nodiscard]] Stream::WriteParts : public StreamOutput {
 public:
  WriteParts(State& state, std::span<const std::string_view> parts);
  bool start() { return send(parts_, count_); }
  bool failed() const noexcept { return result_ < 0; }

 private:
  std::size_t count_ = 0;
  iovec parts_[parts_max];
};

class [[nodiscard]] Stream::SendFile : public StreamOutput, private io::SendFile {
 public:
  SendFile(State& state, int descriptor, std::uint64_t from, std::uint64_t bytes) noexcept;
  bool start();
  Result<> take() noexcept;
};

class [[nodiscard]] Stream::Establish : public StreamOutput {
 public:
  explicit Establish(State& state) noexcept : StreamOutput(state) {}
  bool start() { return begin(nullptr, 0); }
};

inline Stream::Establish Stream::establish() noexcept { return Establish(*state_); }

}  // namespace keel
