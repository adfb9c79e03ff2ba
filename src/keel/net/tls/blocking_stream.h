// keel/net/tls/blocking_stream.h — a stream that speaks TLS, for programs without a loop (net/blocking/stream.h).
//
//   KEEL_TRY(auto stream, tls::BlockingStream::connect(context, "shop.example", 443, 5_s));  // authenticates the
//   server KEEL_TRY_VOID(stream.write("hello\n", 1_s)); KEEL_TRY(blocking::Chunk line, stream.read_until("\n", 1024,
//   1_s));
//
// A stream of this class has the functions of a blocking::Stream, with two exceptions: it cannot send files, and if the
// peer's bytes end without close_notify, the read fails (Unavailable), because the bytes may be truncated.
//
// Errors:    connect() fails with the errors of blocking::Stream::connect and of the handshake (Records,
//            net/tls/records.h), and with DeadlineExceeded when the handshake takes longer than the context's
//            handshake_timeout. All errors of connect() name the host. All functions except connect() fail with the
//            errors of a blocking::Stream, and with Protocol for a peer that violates TLS.
// Ownership: owns its descriptor, buffers and context; movable. The destructor sends close_notify if that does not
//            block, and then closes as a blocking::Stream does.
// Threads:   one at a time. Using the stream on a worker of a loop is a bug.
// Memory:    that of Records, plus received bytes that were not read.
// Cost:      that of Records; received bytes are copied once before and once after decryption.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/io/socket_options.h"
#include "keel/net/blocking/stream.h"
#include "keel/net/tls/context.h"

namespace keel::tls {

class Records;

class BlockingStream {
 public:
  // Connects to the first address of `host` that responds, and completes when that server has proved its identity; the
  // whole call takes at most `timeout`.
  static Result<BlockingStream> connect(const ClientContext& context, const std::string& host, std::uint16_t port,
                                        Duration timeout = Duration::forever(), const io::ConnectOptions& options = {});
  // Does the handshake over a connected stream from which nothing was read.
  static Result<BlockingStream> connect(const ClientContext& context, const std::string& host, blocking::Stream plain,
                                        Duration timeout = Duration::forever());
  // Does the server's side of the handshake over `plain`, and completes when the handshake is complete.
  static Result<BlockingStream> accept(const ServerContext& context, blocking::Stream plain,
                                       Duration timeout = Duration::forever());
  BlockingStream(BlockingStream&& other) noexcept;
  BlockingStream& operator=(BlockingStream&& other) noexcept;
  ~BlockingStream();

  // Returns the next bytes, at most 16 KiB, or the bytes that read_until() has buffered. Empty: the peer has finished
  // writing.
  Result<blocking::Chunk> receive(Duration timeout = Duration::forever());
  // Copies at most `into.size()` bytes, and returns their number, or 0 at the end.
  Result<std::size_t> read(std::span<char> into, Duration timeout = Duration::forever());
  // Reads up to and including the first `delimiter`. Empty: the peer has finished and no bytes were left. OutOfRange
  // when the first `max` bytes do not contain the delimiter completely; Unavailable when the peer finishes without
  // sending it.
  Result<blocking::Chunk> read_until(std::string_view delimiter, std::size_t max,
                                     Duration timeout = Duration::forever());
  // Sends all of `bytes`, or fails; after a failure it is unknown how much the peer has received.
  Result<> write(std::string_view bytes, Duration timeout = Duration::forever());
  // Tells the peer that no more bytes will follow (a later write is a Bug); reading continues.
  Result<> shutdown_write(Duration timeout = Duration::forever());
  void close() noexcept;

  // The result of the handshake; valid until the stream is closed.
  const Records& connection() const noexcept { return *records_; }
  // The stream below TLS, for queries about the socket. Only the BlockingStream itself may read from this stream and
  // write to it.
  const blocking::Stream& plain() const noexcept { return plain_; }

 private:
  BlockingStream(blocking::Stream plain, std::unique_ptr<Records> records) noexcept;
  Result<> shake(Duration timeout);
  Result<bool> fill(Instant deadline);
  Result<> flush(Instant deadline);
  Result<> receive_more(Instant deadline);
  Result<> check_open() const;
  std::string_view left() const noexcept { return in_.view().substr(taken_); }

  blocking::Stream plain_;
  std::unique_ptr<Records> records_;
  Buffer wire_;  // Received bytes that TLS has not read yet.
  Buffer in_;    // Decrypted bytes; the first `taken_` of them were read.
  std::size_t taken_ = 0;
  bool is_cut_ = false;  // A write was sent only in part, so the peer could not decode any bytes sent after this part.
};

}  // namespace keel::tls
