// keel/net/blocking/stream.h — a byte stream for programs without a loop: the API of net/stream.h with calls that
// block.
//
//   KEEL_TRY(auto stream, blocking::Stream::connect(*Address::parse("127.0.0.1:7000"), 2_s));
//   KEEL_TRY_VOID(stream.write("hello\n", 1_s));
//   KEEL_TRY(Chunk line, stream.read_until("\n", 1024, 1_s));
//
// Every call takes a time limit; a call without a time limit waits forever. Signals do not end a wait.
//
// Errors:    DeadlineExceeded when the time limit is reached; Unavailable with the errno when the connection breaks. A
//            read that fails loses nothing: the next read returns the bytes that had arrived. After a write that fails,
//            it is unknown how much was sent, so the stream is no longer usable.
// Ownership: owns its descriptor and a buffer; movable. The destructor closes the connection; bytes that were already
//            written are still sent. If received bytes were not read, closing resets the connection, and the peer may
//            lose bytes that it has not received yet; close_gently() prevents that loss.
// Threads:   one thread at a time; any thread may call shutdown() while the stream is open. Using the stream on a
//            worker of a loop is a bug.
// Cost:      a system call for each recv and send; two more when a call with a time limit has to wait.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/io/address.h"
#include "keel/io/socket_options.h"

namespace keel::blocking {

// Received bytes; valid until the next read of the stream or until the stream is destroyed.
using Chunk = std::string_view;

class Stream {
 public:
  static constexpr std::size_t parts_max = 64;

  // Unavailable when the connection is refused or the peer cannot be reached; NotFound when nothing is at the path of a
  // Unix socket.
  static Result<Stream> connect(const Address& address, Duration timeout = Duration::forever(),
                                const io::ConnectOptions& options = {});
  // Connects to the first of several addresses that responds, trying one after the other: the remaining time is divided
  // equally between an address and those after it, so the last address gets all the time that remains. If there is no
  // time limit, the system's limit applies, about two minutes for each silent address. An error names every address
  // that was tried, and has the code of the last attempt. InvalidArgument: there is no address.
  static Result<Stream> connect(const std::vector<Address>& addresses, Duration timeout = Duration::forever(),
                                const io::ConnectOptions& options = {});
  // Looks up the addresses of `host`, and connects to the first one that responds, as connect() with several addresses
  // does. The look-up (getaddrinfo) has its own time limit, which the system sets; the time that the look-up takes is
  // subtracted from `timeout`.
  static Result<Stream> connect(std::string_view host, std::uint16_t port, Duration timeout = Duration::forever(),
                                const io::ConnectOptions& options = {});
  // Takes over a connected socket, and makes it blocking.
  explicit Stream(int fd) noexcept;
  Stream(Stream&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), in_(std::move(other.in_)), taken_(std::exchange(other.taken_, 0)) {}
  Stream& operator=(Stream&& other) noexcept;
  ~Stream() { close(); }

  // Waits for bytes and returns those that are available (at most 64 KiB, or the bytes that read_until() has gathered).
  // Empty: the peer has finished writing.
  Result<Chunk> receive(Duration timeout = Duration::forever());
  // Copies at most `into.size()` bytes; returns their number, or 0 at the end.
  Result<std::size_t> read(std::span<char> into, Duration timeout = Duration::forever());
  // Fills `into`. Unavailable when the peer finishes too early; the message has the numbers of received and expected
  // bytes.
  Result<> read_exact(std::span<char> into, Duration timeout = Duration::forever());
  // Reads up to and including the first `delimiter`. Empty: the peer has finished and no bytes were left. OutOfRange
  // when the first `max` bytes do not contain the delimiter completely; Unavailable when the peer finishes without
  // sending it.
  Result<Chunk> read_until(std::string_view delimiter, std::size_t max, Duration timeout = Duration::forever());
  // Sends all of `bytes`, or fails.
  Result<> write(std::string_view bytes, Duration timeout = Duration::forever());
  // Writes several pieces in order, at most `parts_max`.
  Result<> write(std::span<const std::string_view> parts, Duration timeout = Duration::forever());
  // Sends `bytes` bytes of a regular file, beginning at `offset`, with sendfile(2); `file` is a descriptor that is open
  // for reading. OutOfRange when the file ends too early; InvalidArgument for a folder or a pipe. Reads of the disk
  // have no time limit.
  Result<> send_file(int file, std::uint64_t offset, std::uint64_t bytes, Duration timeout = Duration::forever());
  // Tells the peer that no more bytes will follow; reading continues.
  void shutdown_write() noexcept;
  // Ends both directions, and wakes threads that wait on this stream: a write ends with Unavailable; a read returns the
  // bytes that have arrived, and the next read reports the end.
  void shutdown() noexcept;
  void close() noexcept;
  // Closes so that the peer receives everything that was written, even if it keeps sending: shuts down writing, then
  // reads and drops the bytes that the peer sends until the peer finishes, for at most `timeout` and `bytes_max` bytes;
  // then closes in any case. On DeadlineExceeded, on OutOfRange (more than `bytes_max` arrived) and on Unavailable, the
  // peer may not have received everything.
  Result<> close_gently(Duration timeout = 1_s, std::uint64_t bytes_max = 1 << 20);

  // Call set_options() while the stream is open; see socket_options.h.
  Result<> set_options(const io::SocketOptions& options);
  io::SocketOptions options() const;
  Address local_address() const noexcept;
  Address peer_address() const noexcept;
  // The descriptor, which may be duplicated and passed to getsockopt, setsockopt, ioctl and poll; bytes that were read
  // ahead are no longer in the descriptor. The stream closes the descriptor.
  int native_handle() const noexcept { return fd_; }

 private:
  Chunk left() const noexcept { return in_.view().substr(taken_); }
  Result<bool> fill(Instant deadline);

  int fd_;
  Buffer in_;  // Received bytes; the first `taken_` of them were read.
  std::size_t taken_ = 0;
};

}  // namespace keel::blocking
