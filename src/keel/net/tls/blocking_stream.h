// keel/net/tls/blocking_stream.h — a stream that speaks TLS, for programs without a loop (net/blocking/stream.h).
//
//   KEEL_TRY(auto stream, tls::BlockingStream::connect(context, "shop.example", 443, 5_s));  // it has proved who it is
//   KEEL_TRY_VOID(stream.write("hello\n", 1_s));
//   KEEL_TRY(blocking::Chunk line, stream.read_until("\n", 1024, 1_s));
//
// Its calls are those of a blocking::Stream, except that it cannot send files, and that the end of the peer's bytes
// without close_notify is an error of the read (Unavailable), because the bytes may be truncated.
//
// Errors:    of connect: those of blocking::Stream::connect; then of the handshake, as Records has them
//            (net/tls/records.h), and DeadlineExceeded above the context's handshake_timeout. All name the host. The
//            errors of the other functions are those of a blocking::Stream, and Protocol for a peer that breaks TLS.
// Ownership: owns its descriptor, buffers and context; movable. The destructor sends close_notify if that does not
//            block, and then closes as a blocking::Stream does.
// Threads:   one at a time. It must not be used on a worker of a loop, which is a bug.
// Memory:    as Records, and received bytes that were not read.
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
  // Connects to the first address of `host` that responds, which then proves its identity; both within `timeout`.
  static Result<BlockingStream> connect(const ClientContext& context, const std::string& host, std::uint16_t port,
                                        Duration timeout = Duration::forever(), const io::ConnectOptions& options = {});
  // Over a connected stream from which nothing was read.
  static Result<BlockingStream> connect(const ClientContext& context, const std::string& host, blocking::Stream plain,
                                        Duration timeout = Duration::forever());
  // The server's side; complete when the handshake is.
  static Result<BlockingStream> accept(const ServerContext& context, blocking::Stream plain,
                                       Duration timeout = Duration::forever());
  BlockingStream(BlockingStream&& other) noexcept;
  BlockingStream& operator=(BlockingStream&& other) noexcept;
  ~BlockingStream();

  // The next bytes, at most 16 KiB, or what read_until() has buffered. Empty: the peer has finished writing.
  Result<blocking::Chunk> receive(Duration timeout = Duration::forever());
  // Copies at most `into.size()` bytes; returns how many, 0 at the end.
  Result<std::size_t> read(std::span<char> into, Duration timeout = Duration::forever());
  // Reads up to and including the first `delimiter`. Empty: the peer has finished and nothing was left. OutOfRange when
  // it is not complete within the first `max` bytes; Unavailable when the peer finishes without it.
  Result<blocking::Chunk> read_until(std::string_view delimiter, std::size_t max,
                                     Duration timeout = Duration::forever());
  // Sends all of it, or fails; then it is unknown how much the peer has received.
  Result<> write(std::string_view bytes, Duration timeout = Duration::forever());
  // Tells the peer that nothing more will come (a write after it is a Bug); reading continues.
  Result<> shutdown_write(Duration timeout = Duration::forever());
  void close() noexcept;

  // The result of the handshake. It lives until the stream is closed.
  const Records& connection() const noexcept { return *records_; }
  // Use it for queries about the socket. Only this object may read and write.
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
  Buffer in_;    // Decrypted bytes; the first `taken_` of them are used.
  std::size_t taken_ = 0;
  bool is_cut_ = false;  // A write was sent only in part: the peer could not understand anything after it.
};

}  // namespace keel::tls
