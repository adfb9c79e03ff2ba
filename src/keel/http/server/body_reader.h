// keel/http/server/body_reader.h — the body of a request, read piece by piece while it arrives.
//
//   Task<http::Response> upload(http::Request& request) {
//     std::uint64_t bytes = 0;
//     while (true) {
//       const Chunk chunk = co_await request.read_body();  // borrowed until the next read; empty: the body is over
//       if (chunk.empty()) break;
//       bytes += chunk.size();
//     }
//     co_return http::Response::text(http::Status::Ok, std::to_string(bytes));
//   }
//   router.put("/files/{name}", &upload, {.body_bytes_max = 1u << 30, .streams_body = true});
//
// While no task reads, nothing is received, so that the peer is slowed down: at most the part of a body that came with
// the head and one receive (64 KiB) are held. A client that waits for 100 (Continue) gets it when the first read has to
// wait.
//
// Errors:    OutOfRange (413) when the body is larger than its route or server accepts; Protocol (400 and 431) when its
//            framing is wrong; ResourceExhausted (503) when there is no memory for its trailers; DeadlineExceeded (408)
//            when it arrives too slowly (Limits::body_timeout for one read, body_rate_min); Unavailable when the peer
//            has finished before the end of the body. The next read returns the same error. If the handler ends with an
//            error after such a failure, the response has the status of the failed read, whatever the error is; a
//            response that the handler makes itself is sent. The connection ends in each case. If the peer has finished
//            or is gone, the handler is stopped as well, and nothing is sent. The part of a body that a handler has not
//            read is discarded after its response. If the rest is more than 256 KiB, or the client still waits for 100
//            (Continue), the connection ends with the response.
// Trailers:  use Request::trailer() after a read has returned the empty chunk.
// Lifetime:  that of the Request; a chunk is valid until the next read.
// Threads:   the worker. One task reads at a time; the read of a second one is a Bug (base/bug.h).
// Cancel:    a cancelled read loses no bytes and may be repeated.
// Cost:      on io_uring only the bytes that came with the head are copied; no heap in steady state.

#pragma once

#include <cstdint>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/http/message/body_decoder.h"
#include "keel/http/message/trailers.h"
#include "keel/task/leaf.h"

namespace keel {
// Received bytes, valid until the next read.
using Chunk = std::string_view;
}  // namespace keel

namespace keel::http {

class BodyReader;

// One read: the operation of Request::read_body().
class [[nodiscard]] BodyRead : public Leaf {
 public:
  using Value = Chunk;
  // Makes a read of a body that has already arrived: yields `whole`, then the end.
  explicit BodyRead(Chunk whole) noexcept : chunk_(whole) {}
  explicit BodyRead(BodyReader& reader) noexcept : Leaf(&cancel), reader_(&reader) {}
  bool start();
  Result<Chunk> take() noexcept;

 private:
  friend class BodyReader;
  static void cancel(Leaf& leaf) noexcept;
  BodyReader* reader_ = nullptr;
  Chunk chunk_;
  bool cancelled_ = false;
};

// Passes a body from its connection, which calls all functions here, to its handler.
class BodyReader {
 public:
  // Tells the connection that the reader waits for bytes, or has reached the end of the body: all bytes received so far
  // have been used. It is called from inside the handler, which must not be woken during the call.
  using Wanted = void (*)(BodyReader&) noexcept;

  BodyReader() = default;
  BodyReader(const BodyReader&) = delete;
  BodyReader& operator=(const BodyReader&) = delete;

  // `first`: the bytes that arrived with the head; they are copied.
  void begin(const BodyDecoder& decoder, std::string_view first, Wanted wanted);

  // Passes bytes to the waiting read, or to the next one; they must stay valid until Wanted is called. True: there is a
  // reason to wake the task.
  bool arrived(std::string_view bytes) noexcept;
  // The received bytes are not needed any more.
  bool has_used_all() const noexcept { return left_.empty() && next_.empty(); }
  // The rest of the body will not arrive, or is rejected: every read fails from now on.
  void refuse(Status status, const char* reason) noexcept;
  // Ends the body when there is no longer a client to respond to.
  void lose() noexcept;
  // The waiting task continues; it may end, together with everything that belongs to it.
  void wake() noexcept;

  // Drops the received bytes that have not been read; pass bytes that arrive later to discard(). Returns the number of
  // dropped bytes.
  std::size_t discard_held() noexcept;
  // Discards newly received bytes; returns how many of them belonged to the body.
  std::size_t discard(std::string_view received) noexcept;

  // A task waits for a piece, and none has arrived.
  bool is_waited_for() const noexcept {
    return waiting_ != nullptr && next_.empty() && !is_over() && refusal_ == Status::Ok && !lost_;
  }
  bool is_over() const noexcept { return decoder_.is_over(); }
  const BodyDecoder& decoder() const noexcept { return decoder_; }
  // The status with which the body was rejected; Ok: it was not rejected. After a rejection `reason` is a literal.
  Status refusal() const noexcept { return refusal_; }
  const char* reason() const noexcept { return reason_; }
  bool is_lost() const noexcept { return lost_; }
  // Keeps a part of the trailers; they are complete when the body has ended. Handlers read them through the Request.
  void keep_trailers(std::string_view part) { trailers_.append(part); }
  std::string_view end_trailers() noexcept {
    trailers_.end();
    return trailers();
  }
  std::string_view trailers() const noexcept { return is_over() ? trailers_.lines() : std::string_view(); }
  // Bytes that followed the end of the body.
  std::string_view left_over() const noexcept { return is_over() ? left_ : std::string_view(); }

 private:
  friend class BodyRead;
  bool start(BodyRead& read);
  // Finds the next piece; false: more bytes are needed.
  bool advance() noexcept;
  void keep_or_refuse(std::string_view trailers) noexcept;
  Error error() const noexcept;

  BodyDecoder decoder_;
  Wanted wanted_ = nullptr;
  BodyRead* waiting_ = nullptr;
  Buffer first_;           // Bytes that arrived with the head.
  std::string_view left_;  // The part of first_, or of the last received bytes, that is not decoded yet.
  Chunk next_;
  Trailers trailers_;
  const char* reason_ = "";
  Status refusal_ = Status::Ok;
  bool lost_ = false;
};

}  // namespace keel::http
