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
// While no task reads, the server does not receive, which slows the client down. Therefore at most two parts of a body
// are held in memory: the part that arrived with the head, and the bytes of one receive (64 KiB). A client that waits
// for 100 (Continue) gets the 100 when the first read has to wait.
//
// Errors:    OutOfRange (413) when the body is larger than its route or the server accepts; Protocol (400 and 431) when
//            the framing of the body is malformed; ResourceExhausted (503) when there is no memory for the trailers;
//            DeadlineExceeded (408) when the body arrives too slowly (Limits::body_timeout for one read,
//            body_rate_min); Unavailable when the client stops sending before the end of the body. Further reads return
//            the same error. If the handler ends with any error after a failed read, the response has the status of the
//            failed read; if the handler returns a response, that response is sent. A failed read also ends the
//            connection. If the client has stopped sending or has disconnected, the handler is stopped, and nothing is
//            sent. If a handler does not read the whole body, the remaining part is discarded after the response. If
//            the remaining part of the body is larger than 256 KiB, or if the client still waits for 100 (Continue),
//            the connection ends after the response.
// Trailers:  use Request::trailer() after a read has returned the empty chunk.
// Lifetime:  that of the Request; a chunk is valid until the next read.
// Threads:   the worker. Only one task may read at a time; a read by a second task is a Bug (base/bug.h).
// Cancel:    a cancelled read loses no bytes, and may be repeated.
// Cost:      with io_uring, only the bytes that arrived with the head are copied; in steady state, no memory is
//            allocated from the heap.

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

// One read of a body: the awaitable that Request::read_body() returns.
class [[nodiscard]] BodyRead : public Leaf {
 public:
  using Value = Chunk;
  // Makes a read of a body that has already arrived: the first read yields `whole`, and the next read yields the end of
  // the body.
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

// Passes a body from its connection to its handler; the connection calls all functions of this class.
class BodyReader {
 public:
  // Tells the connection that the reader has used all bytes received so far. The reader either waits for more bytes, or
  // has reached the end of the body. Wanted is called from inside the handler, so it must not wake the handler.
  using Wanted = void (*)(BodyReader&) noexcept;

  BodyReader() = default;
  BodyReader(const BodyReader&) = delete;
  BodyReader& operator=(const BodyReader&) = delete;

  // `first` is the part of the body that arrived with the head; it is copied.
  void begin(const BodyDecoder& decoder, std::string_view first, Wanted wanted);

  // Passes bytes to the waiting read, or to the next one; the bytes must stay valid until Wanted is called. Returns
  // true if the task should be woken.
  bool arrived(std::string_view bytes) noexcept;
  // Whether the reader no longer needs the bytes that were passed to it.
  bool has_used_all() const noexcept { return left_.empty() && next_.empty(); }
  // Call this function when the rest of the body will not arrive, or is rejected: every further read fails.
  void refuse(Status status, const char* reason) noexcept;
  // Ends the body because there is no client to respond to any more.
  void lose() noexcept;
  // Lets the waiting task continue. The task may end during the call, and this object may be destroyed with it.
  void wake() noexcept;

  // Drops the received bytes that were not read; from then on, pass newly received bytes to discard(). Returns the
  // number of dropped bytes.
  std::size_t discard_held() noexcept;
  // Discards newly received bytes, and returns how many of them belonged to the body.
  std::size_t discard(std::string_view received) noexcept;

  // Whether a task waits for a piece of the body, and no piece has arrived.
  bool is_waited_for() const noexcept {
    return waiting_ != nullptr && next_.empty() && !is_over() && refusal_ == Status::Ok && !lost_;
  }
  bool is_over() const noexcept { return decoder_.is_over(); }
  const BodyDecoder& decoder() const noexcept { return decoder_; }
  // The status with which the body was rejected; Ok: it was not rejected. After a rejection, `reason` is a string
  // literal.
  Status refusal() const noexcept { return refusal_; }
  const char* reason() const noexcept { return reason_; }
  bool is_lost() const noexcept { return lost_; }
  // Keeps a part of the trailers; the trailers are complete when the body has ended. Handlers read the trailers through
  // the Request.
  void keep_trailers(std::string_view part) { trailers_.append(part); }
  std::string_view end_trailers() noexcept {
    trailers_.end();
    return trailers();
  }
  std::string_view trailers() const noexcept { return is_over() ? trailers_.lines() : std::string_view(); }
  // Received bytes that follow the end of the body.
  std::string_view left_over() const noexcept { return is_over() ? left_ : std::string_view(); }

 private:
  friend class BodyRead;
  bool start(BodyRead& read);
  // Finds the next piece; returns false if more bytes are needed.
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
