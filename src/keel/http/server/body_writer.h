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
// no more memory than that and the bytes being sent. Each write sends immediately when no send is pending: combine
// small pieces. The head is sent together with the bytes that are written before the task first waits. If the client
// waits for 100 (Continue), that is sent first, and the head waits for the request's body, or for the first piece that
// is written.
//
// If middleware transforms the body (body_transform.h), as compression.h does, the written bytes are transformed in
// pieces of up to 64 KiB, as soon as there is room for them.
//
// Errors:    write: Unavailable when the connection has ended; a bug (base/bug.h) when the body would be longer than
//            the announced length; the error of a transform. The body fails when the task ends with an error, when it
//            ends before the announced length is written, and when a transform fails. If the body fails before any byte
//            has been sent, because the task has not waited yet, the response is that of a handler with this error
//            (problem.h). Otherwise the connection is aborted: there is no other way to show the failure to the client.
// Cancel:    the task is stopped when the peer disconnects, receives no bytes for Limits::send_timeout or fewer than
//            Limits::send_rate_min, or has finished writing and was sent no bytes for Limits::idle_timeout, and when
//            the server stops. The task has no deadline: Limits::request_timeout ends with the head of the response.
//            After a cancelled write it is unknown how much of it is queued.
// Threads:   the worker. One task writes at a time; the write of a second one is a Bug (base/bug.h).
// Cost:      bytes are copied once; no heap in steady state.

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
  // A part of the connection's exchange; the callable of Response::stream gets a reference to it.
  explicit BodyWriter(std::optional<std::uint64_t> length) noexcept : length_(length) {}
  BodyWriter(const BodyWriter&) = delete;
  BodyWriter& operator=(const BodyWriter&) = delete;

  // `bytes` must be valid until the write completes. Empty `bytes` have no effect.
  [[nodiscard]] Write write(std::string_view bytes) noexcept;
  // The next piece of the request's body, as Request::read_body(): for a response that reads while it writes. This
  // works for every route and handler.
  [[nodiscard]] BodyRead read_body() noexcept;
  // Completes when the server begins to drain (server.h), for a body that would not end otherwise: a drain waits for
  // the body.
  [[nodiscard]] Event::Wait until_drain() noexcept;
  // A field after the body (trailers.h), sent when the task has ended. Use it for optional values that are known only
  // then, such as a checksum or a duration: it is dropped if the body is not chunked (a length was set, or HTTP/1.0),
  // and intermediaries may drop it. A response announces it by header("Trailer", name). A trailer that Trailers::add()
  // does not accept is a bug, and is not added.
  Result<> trailer(std::string_view name, std::string_view value,
                   std::source_location place = std::source_location::current()) {
    return trailers_.add(name, value, place);
  }
  // Bytes that have been queued so far, before they are transformed.
  std::uint64_t written() const noexcept { return transforms_ == nullptr ? queued_ : transformed_; }

 private:
  friend class PendingExchange;
  // Passes the next part, or the last part with the end of the body, through the transforms. False: a transform has
  // failed.
  bool transform(std::string_view piece, bool is_last) noexcept;
  // The part of the body that is not queued yet.
  std::string_view tail() const noexcept { return changed_.view().substr(changed_queued_); }
  // The task has written everything; tail() is the rest that is not queued yet.
  Result<> end() noexcept;
  PendingExchange* exchange_ = nullptr;
  Write* waiting_ = nullptr;
  std::optional<std::uint64_t> length_;
  std::uint64_t queued_ = 0;
  BodyTransform* transforms_ = nullptr;  // The first transform of the body.
  std::uint64_t transformed_ = 0;        // Bytes of the body that have passed the transforms.
  Buffer changed_;                       // Output of the last transform.
  std::size_t changed_queued_ = 0;       // Bytes of changed_ that are queued.
  Buffer between_[2];                    // The output of one transform, and the input of the next.
  std::optional<Error> failure_;         // The error of a transform.
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
  std::string_view rest_;  // Written bytes that are neither queued nor transformed yet.
  bool cancelled_ = false;
  bool too_long_ = false;
};

inline BodyWriter::Write BodyWriter::write(std::string_view bytes) noexcept { return Write(*this, bytes); }

// The task that writes a body, held in place of the body itself. This object owns it, in the worker's pool, and is
// movable.
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
  // Call it only if there is a task. The callable does not move when this object moves.
  Task<> write(BodyWriter& out) const;
  std::optional<std::uint64_t> length() const noexcept;
  void set_length(std::uint64_t bytes) noexcept;
  // Adds a transform of the body, after the previous ones; length() remains the length before the transforms.
  void add(BodyTransform& transform) noexcept;
  // The first transform; null: the body is sent as it is written.
  BodyTransform* transforms() const noexcept;

 private:
  struct Made;
  void free() noexcept;
  Made* made_ = nullptr;
};

}  // namespace keel::http
