// keel/http/server/body_writer.h — the body of a response, written piece by piece while it is sent.
//
//   Task<> count(http::BodyWriter& out) {
//     for (int i = 0; i < 1'000'000; ++i) co_await out.write(std::to_string(i) + "\n");
//   }
//   router.get("/numbers", [](http::Request&) {
//     return http::Response::stream(http::Status::Ok, "text/plain", &count);   // response.h: what count() works with
//   });
//
// A write is complete when its bytes are queued. A write waits while 32 KiB are queued, so a body of any length needs
// memory only for these 32 KiB and for the bytes that are being sent. A write sends its bytes immediately if no send is
// pending, so combine small pieces into larger ones. The head is sent together with the bytes that the task writes
// before it first waits. If the client waits for 100 (Continue), the 100 is sent first; the head is then sent when the
// request's body has arrived or the first piece is written.
//
// If middleware transforms the body (body_transform.h), as compression.h does, the written bytes are transformed in
// pieces of up to 64 KiB, as soon as there is room for them.
//
// Errors:    write: Unavailable when the connection has ended; a bug (base/bug.h) when the body would become longer
//            than the announced length; the error of a transform, if one has failed. The body fails when the task ends
//            with an error, when the task ends before it has written the announced length, and when a transform fails.
//            If the body fails before the task has first waited, no byte has been sent, and the client gets the
//            response for a handler that ends with this error (problem.h). If the body fails later, the connection is
//            aborted, because there is no other way to tell the client about the failure.
// Cancel:    the task is stopped when the server stops, when the client disconnects, when the client receives no bytes
//            for Limits::send_timeout or receives more slowly than Limits::send_rate_min, and when a client that has
//            stopped sending is sent no bytes for Limits::idle_timeout. The task has no deadline:
//            Limits::request_timeout applies only until the head of the response is ready. After a cancelled write, it
//            is unknown how many of its bytes are queued.
// Threads:   the worker. Only one task may write at a time; a write by a second task is a Bug (base/bug.h).
// Cost:      bytes are copied once; in steady state, no memory is allocated from the heap.

#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/http/message/trailers.h"
#include "keel/task/event.h"
#include "keel/task/leaf.h"
#include "keel/task/task.h"

namespace keel::http {

class BodyRead;       // body_reader.h
class BodyTransform;  // body_transform.h
class PendingExchange;

class BodyWriter {
 public:
  class Write;
  // The writer is a part of the connection's exchange; the callable of Response::stream() gets a reference to it.
  explicit BodyWriter(std::optional<std::uint64_t> length) noexcept : length_(length) {}
  BodyWriter(const BodyWriter&) = delete;
  BodyWriter& operator=(const BodyWriter&) = delete;

  // `bytes` must be valid until the write completes. Empty `bytes` have no effect.
  [[nodiscard]] Write write(std::string_view bytes) noexcept;
  // Returns the next piece of the request's body, like Request::read_body(); use it for a response that reads while it
  // writes. read_body() works for every route and handler.
  [[nodiscard]] BodyRead read_body() noexcept;
  // Completes when the server begins to drain (server.h). In the task of a body that would not end otherwise, await
  // until_drain(), because a drain waits for the end of the body.
  [[nodiscard]] Event::Wait until_drain() noexcept;
  // Adds a trailer, which is a field after the body (trailers.h). The trailer is sent when the task has ended. Use a
  // trailer for optional values that are known only at the end, such as a checksum or a duration. The trailer is
  // dropped if the body is not chunked (because a length was set, or for HTTP/1.0), and intermediaries may drop it. To
  // announce a trailer, call header("Trailer", name) of the response. A trailer that Trailers::add() does not accept is
  // a bug, and is not added.
  Result<> trailer(std::string_view name, std::string_view value,
                   std::source_location place = std::source_location::current()) {
    return trailers_.add(name, value, place);
  }
  // The number of bytes that have been queued so far, counted before the transforms.
  std::uint64_t written() const noexcept { return transforms_ == nullptr ? queued_ : transformed_; }

 private:
  friend class PendingExchange;
  // Passes `piece` through the transforms; if it is the last part, also ends the transforms. Returns false if a
  // transform has failed.
  bool transform(std::string_view piece, bool is_last) noexcept;
  // Transformed bytes that are not queued yet.
  std::string_view tail() const noexcept { return changed_.view().substr(changed_queued_); }
  // Call this function when the task has written everything; afterwards, tail() returns the last part of the body,
  // which the caller has to send.
  Result<> end() noexcept;
  PendingExchange* exchange_ = nullptr;
  Write* waiting_ = nullptr;
  std::optional<std::uint64_t> length_;
  std::uint64_t queued_ = 0;
  BodyTransform* transforms_ = nullptr;  // The first transform of the body.
  std::uint64_t transformed_ = 0;        // Bytes of the body that have passed through the transforms.
  Buffer changed_;                       // Output of the last transform.
  std::size_t changed_queued_ = 0;       // Bytes of changed_ that are queued.
  // Two buffers between transforms: each is the output of one transform and the input of the next.
  Buffer between_[2];
  std::optional<Error> failure_;  // The error of the transform that has failed.
  Trailers trailers_;
};

class [[nodiscard]] BodyWriter::Write : public Leaf {
 public:
  using Value = void;
  Write(BodyWriter& writer, std::string_view bytes) noexcept : Leaf(&cancel), writer_(writer), rest_(bytes) {}
  bool start();
  Result<> take() noexcept;

 private:
  friend class PendingExchange;
  static void cancel(Leaf& leaf) noexcept;
  bool go_on() noexcept;
  BodyWriter& writer_;
  std::string_view rest_;  // Bytes of this write that are neither queued nor transformed yet.
  bool cancelled_ = false;
  bool too_long_ = false;
};

inline BodyWriter::Write BodyWriter::write(std::string_view bytes) noexcept { return Write(*this, bytes); }

// Takes the place of the body in a response, and holds the callable that writes the body. The callable is allocated in
// the worker's pool, and this object, which is movable, owns it.
class StreamedBody {
 public:
  using Callable = Function<Task<>(BodyWriter&)>;
  StreamedBody() = default;
  explicit StreamedBody(Callable write);
  StreamedBody(StreamedBody&& other) noexcept : made_(std::exchange(other.made_, nullptr)) {}
  StreamedBody& operator=(StreamedBody&& other) noexcept {
    if (this != &other) {
      if (made_ != nullptr) free();
      made_ = std::exchange(other.made_, nullptr);
    }
    return *this;
  }
  ~StreamedBody() {
    if (made_ != nullptr) free();
  }

  explicit operator bool() const noexcept { return made_ != nullptr; }
  // Call write() only if this object has a callable. The callable stays in place when this object is moved.
  Task<> write(BodyWriter& out) const;
  std::optional<std::uint64_t> length() const noexcept;
  void set_length(std::uint64_t bytes) noexcept;
  // Adds a transform of the body, after the transforms that were added before; length() remains the length before all
  // transforms.
  void add(BodyTransform& transform) noexcept;
  // The first transform; null: the body is sent as it was written.
  BodyTransform* transforms() const noexcept;

 private:
  struct Made;
  void free() noexcept;
  Made* made_ = nullptr;
};

}  // namespace keel::http
