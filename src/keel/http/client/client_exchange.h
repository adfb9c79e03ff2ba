// keel/http/client/client_exchange.h — one request and its response on a connection that a Client has borrowed.
//
//   ClientExchange exchange(co_await pool.lend(origin, url, kind));
//   co_await exchange.ask(request, url, {.first_byte_timeout = 10_s});
//   while (true) {
//     Chunk chunk = co_await exchange.read(10_s);     // borrowed until the next read; empty: that was all
//     …
//
// The body of the request is sent while the client already waits for the response. When a server responds before it has
// read the whole request, the client stops sending, and the connection is not used again. When read() returns the empty
// chunk and no bytes follow the response, the connection returns to the pool; in all other cases the connection is
// closed.
//
// The body of a response in gzip, br or zstd is decoded, 16 KiB at a time, and Content-Encoding and Content-Length are
// removed from the head of the response. A body is not decoded if the caller has set Accept-Encoding or Range, if the
// status is 206, or if the coding is unknown. A body with several codings is rejected, because each further coding
// multiplies the size to which a small body may grow when it is decoded.
//
// Errors:   Unavailable when the connection breaks or ends too early; Upstream for a response that is malformed or
//           cannot be decoded; InvalidArgument for Proxy-Authorization when the client has a proxy; DeadlineExceeded;
//           the error of the function that writes the body.
// Cancel:   the connection is closed.
// Threads:  one loop.
// Lifetime: the exchange must not outlive the pool; it is movable while no task awaits it.

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

  // `decoders` contains decoders for the body of the response, and outlives this object; null: the body is not decoded.
  ClientExchange(ClientPool::Lease&& lease, ContentDecoders* decoders) noexcept
      : lease_(std::move(lease)), decoders_(decoders), proxy_(lease_->proxy), is_forwarded_(lease_->is_forwarded) {}

  // Sends the request and reads the response's head. The arguments must live until the task completes.
  Task<> ask(const ClientRequest& request, const Url& url, Asking asking);
  Task<Chunk> read(Duration limit) { return decoder_ == nullptr ? read_coded(limit) : read_decoded(limit); }
  // Reads and drops the rest of the body without decoding it, with the time limit `limit` for each piece; closes the
  // connection if more than `bytes_max` bytes are left or if reading fails. If reading fails, discard() still succeeds.
  Task<> discard(std::size_t bytes_max, Duration limit);

  // Whether the server may have closed the connection before the request arrived: the connection was used before, and
  // no byte of this response has arrived.
  bool may_have_been_stale() const noexcept { return was_used_ && lease_ && !lease_->reader.has_begun(); }
  // True if ask() failed because of the function that writes the body: such a failure does not count against the
  // server.
  bool is_writers_error() const noexcept { return is_writers_error_; }
  // The proxy of the connection; null if there is none.
  const Proxy* proxy() const noexcept { return proxy_; }
  // Whether the request was sent to the proxy without a tunnel, so that the response may come from the proxy and not
  // from the server.
  bool is_forwarded() const noexcept { return is_forwarded_; }
  bool is_decoding() const noexcept { return decoder_ != nullptr; }
  Status status() const noexcept { return status_; }
  Buffer&& take_head() noexcept { return std::move(head_); }
  // The trailers are complete once read() has returned the empty chunk.
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
  Chunk pending_;  // Received bytes that are not read yet; at first, those that arrived together with the head.
  ContentDecoders::Lease decoder_;
  Buffer room_;  // Decoded bytes, valid until the next read.
  Chunk coded_;  // Received bytes of the body that are not decoded yet.
  Status status_ = Status::Ok;
  bool is_forwarded_;
  bool has_more_decoded_ = false;
  bool was_used_ = false;
  bool is_writers_error_ = false;
  bool is_sent_ = false;      // The whole request was sent.
  bool is_complete_ = false;  // The whole response was read.
};

}  // namespace keel::http
