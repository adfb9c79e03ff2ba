// keel/http/client/client_exchange.h — one request and its response on a connection that a Client has borrowed.
//
//   ClientExchange exchange(co_await pool.lend(origin, url, kind));
//   co_await exchange.ask(request, url, {.first_byte_timeout = 10_s});
//   while (true) {
//     Chunk chunk = co_await exchange.read(10_s);     // borrowed until the next read; empty: that was all
//     …
//
// The body is sent while the response is awaited. When a server responds before it has read everything, the client
// stops sending, and the connection is not used again. A connection whose response was read to its end, with nothing
// after it, returns to the pool when read() returns the empty chunk; in all other cases it is closed.
//
// A body in gzip, br or zstd is decoded, 16 KiB at a time, and Content-Encoding and Content-Length are removed from the
// head. A body is not decoded if the caller of the request decodes it, if the status is 206, or if its coding is
// unknown. A body with several codings is rejected: each coding multiplies the size to which a small body may grow.
//
// Errors:   Unavailable when the connection breaks or ends too early; Upstream for a response that is malformed or
//           cannot be decoded; InvalidArgument for Proxy-Authorization when the client has a proxy; DeadlineExceeded;
//           the error of the function that writes the body.
// Cancel:   the connection is closed.
// Threads:  one loop.
// Lifetime: it must not outlive the pool; movable while no task awaits it.

#pragma once

#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/time.h"
#include "keel/http/client/client_pool.h"
#include "keel/http/client/client_request.h"
#include "keel/http/client/url.h"
#include "keel/http/message/content_decoder.h"
#include "keel/http/message/status.h"
#include "keel/http/message/trailers.h"
#include "keel/task/task.h"

namespace keel::http {

class ClientExchange {
 public:
  struct Asking {
    Duration first_byte_timeout = Duration::forever();
    bool sends_deadline = false;
  };

  // `decoders` undo the content codings of the response, and outlive this object; null: the body is not decoded.
  ClientExchange(ClientPool::Lease&& lease, ContentDecoders* decoders) noexcept
      : lease_(std::move(lease)), decoders_(decoders), proxy_(lease_->proxy), is_forwarded_(lease_->is_forwarded) {}

  // Sends the request and reads the response's head. The arguments must live until it completes.
  Task<> ask(const ClientRequest& request, const Url& url, Asking asking);
  Task<Chunk> read(Duration limit) { return decoder_ == nullptr ? read_coded(limit) : read_decoded(limit); }
  // Reads and drops the rest of the body without decoding it, with the time limit `limit` for each piece; closes the
  // connection when more than `bytes_max` is left or reading fails. A failure is not reported.
  Task<> discard(std::size_t bytes_max, Duration limit);

  // The connection was used before, and no byte of this response arrived: the server may have closed it unnoticed.
  bool may_have_been_stale() const noexcept { return was_used_ && lease_ && !lease_->reader.has_begun(); }
  // Whether ask() failed because of the function that writes the body, so that the failure does not count against the
  // server.
  bool is_writers_error() const noexcept { return is_writers_error_; }
  // The proxy of the connection; null: none.
  const Proxy* proxy() const noexcept { return proxy_; }
  // The request itself was sent to the proxy, which may have responded in place of the server.
  bool is_forwarded() const noexcept { return is_forwarded_; }
  bool is_decoding() const noexcept { return decoder_ != nullptr; }
  Status status() const noexcept { return status_; }
  Buffer&& take_head() noexcept { return std::move(head_); }
  // Complete after read() has returned the empty chunk.
  const Trailers& trailers() const noexcept { return trailers_; }
  Trailers&& take_trailers() noexcept { return std::move(trailers_); }

 private:
  struct Sending;
  static constexpr std::size_t room_bytes = 16 * 1024;  // Number of bytes that are decoded at a time.
  Buffer format_head(const ClientRequest& request, const Url& url, bool sends_deadline, Instant deadline) const;
  Task<> send(const ClientRequest& request, std::string_view head, Sending& sending);
  Task<> send_streamed(const ClientRequest& request, std::string_view head, Sending& sending);
  Task<> read_head();
  Result<> begin_decoding(const ClientRequest& request);
  Task<Chunk> read_coded(Duration limit);
  Task<Chunk> read_decoded(Duration limit);
  Error undecodable(Error error);
  Task<Chunk> next_piece(Duration limit);
  void end() noexcept;

  ClientPool::Lease lease_;
  ContentDecoders* decoders_;
  const Proxy* proxy_;
  Buffer head_;
  Trailers trailers_;
  Chunk pending_;  // Bytes that arrived with the head.
  ContentDecoders::Lease decoder_;
  Buffer room_;  // Decoded bytes, valid until the next read.
  Chunk coded_;  // Bytes that are not decoded yet.
  Status status_ = Status::Ok;
  bool is_forwarded_;
  bool has_more_decoded_ = false;
  bool was_used_ = false;
  bool is_writers_error_ = false;
  bool is_sent_ = false;      // The whole request was sent.
  bool is_complete_ = false;  // The whole response was read.
};

}  // namespace keel::http
