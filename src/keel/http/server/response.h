// keel/http/server/response.h — the response that a handler returns.
//
//   return http::Response::text(http::Status::Ok, "Hello, World!");
//   return http::Response::json(http::Status::Created, user).header("Location", where);
//
// A Response owns its body and its fields, whose memory comes from the worker's pool. The server sets Content-Length,
// Date and Connection, and drops the body if the status has no content (1xx, 204, 205, 304).
//
// If a body is too large to be kept in memory as a whole, a task can write the body while it is sent:
//
//   Task<> write_rows(http::BodyWriter& out, Table& table, std::string name);
//   return http::Response::stream(http::Status::Ok, "text/csv", &write_rows, std::ref(table), std::move(name));
//
// Threads: a value; a response is made and sent on the same worker.
// Cost:    in steady state, no memory is allocated from the heap.

#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/base/error.h"
#include "keel/data/json.h"
#include "keel/http/message/status.h"
#include "keel/http/server/body_writer.h"
#include "keel/http/server/event_writer.h"
#include "keel/http/server/internal/kept_call.h"
#include "keel/http/server/recording.h"
#include "keel/http/server/stage.h"
#include "keel/http/server/upgrade.h"
#include "keel/observe/span.h"
#include "keel/task/task.h"

namespace keel::http {

struct Framing;

class Response {
 public:
  // No body.
  explicit Response(Status status) noexcept : status_(status) {}

  // `content_type` must outlive the response: it is a string literal or a view into the request; a std::string is
  // copied (see below). If `content_type` cannot be the value of a field, the response becomes a 500, as for header().
  // `text` is copied.
  static Response text(Status status, std::string_view text,
                       std::string_view content_type = "text/plain; charset=utf-8");
  // `bytes` becomes the body.
  static Response body(Status status, Buffer&& bytes, std::string_view content_type);
  // A content type that is a std::string, such as the stored type of a picture, is copied.
  template <std::same_as<std::string> Type>
  static Response text(Status status, std::string_view text, const Type& content_type) {
    return std::move(Response::text(status, text, std::string_view()).header("Content-Type", content_type));
  }
  template <std::same_as<std::string> Type>
  static Response body(Status status, Buffer&& bytes, const Type& content_type) {
    return std::move(body(status, std::move(bytes), std::string_view()).header("Content-Type", content_type));
  }
  // `write` is called after the head has been queued, and returns the task that writes the body (body_writer.h). Unless
  // length() is called, the body is sent in chunks; an HTTP/1.0 client gets the body without chunks, and the end of the
  // connection marks its end. `write` is not called for HEAD, nor for a status without content. `write` must be a
  // function, or a lambda without captures, with the signature Task<>(BodyWriter&, …). `write` receives the writer and
  // then `args`, which are copied or moved and kept until the task has ended; use std::ref(x) for an object x that
  // outlives the server. When `write` runs, the handler has returned and the Request may no longer exist. Therefore the
  // Request, views and spans are rejected as arguments by the compiler. Copy the texts of the request that you need, as
  // in std::string(request.path()), and read its body with BodyWriter::read_body().
  template <class F, class... Args>
    requires(!(std::is_member_function_pointer_v<std::decay_t<Args>> || ...))
  static Response stream(Status status, std::string_view content_type, F write, Args&&... args) {
    return make_stream(status, content_type,
                       internal::keep_call<BodyWriter&>(std::move(write), std::forward<Args>(args)...));
  }
  template <std::same_as<std::string> Type, class... Rest>
  static Response stream(Status status, const Type& content_type, Rest&&... rest) {
    return std::move(
        stream(status, std::string_view(), std::forward<Rest>(rest)...).header("Content-Type", content_type));
  }
  // For a member function of `object`, which must outlive the server: stream(status, type, table, &Table::write).
  template <class O, class Call, class... Args>
    requires std::is_member_function_pointer_v<Call>
  static Response stream(Status status, std::string_view content_type, O& object, Call write, Args&&... args) {
    return make_stream(status, content_type,
                       internal::keep_member_call<BodyWriter&>(object, write, std::forward<Args>(args)...));
  }
  // Server-sent events: `follow` is like `write` above, but its first parameter is an EventWriter& (event_writer.h).
  template <class F, class... Args>
    requires(!(std::is_member_function_pointer_v<std::decay_t<Args>> || ...))
  static Response events(F follow, Args&&... args) {
    return make_events(internal::keep_call<EventWriter&>(std::move(follow), std::forward<Args>(args)...));
  }
  template <class O, class Call, class... Args>
    requires std::is_member_function_pointer_v<Call>
  static Response events(O& object, Call follow, Args&&... args) {
    return make_events(internal::keep_member_call<EventWriter&>(object, follow, std::forward<Args>(args)...));
  }
  // Responds with 101. The connection continues with `protocol`, a string literal, and is passed to `talk`, a
  // Task<>(Stream, …). `args` are kept as for stream(). A request that does not ask for `protocol` gets 426. upgrade.h
  // has the details.
  template <class F, class... Args>
    requires(!(std::is_member_function_pointer_v<std::decay_t<Args>> || ...))
  static Response upgrade(std::string_view protocol, F talk, Args&&... args) {
    return make_upgrade(protocol, internal::keep_call<Stream>(std::move(talk), std::forward<Args>(args)...));
  }
  template <class O, class Call, class... Args>
    requires std::is_member_function_pointer_v<Call>
  static Response upgrade(std::string_view protocol, O& object, Call talk, Args&&... args) {
    return make_upgrade(protocol, internal::keep_member_call<Stream>(object, talk, std::forward<Args>(args)...));
  }
  // The body is `value` as JSON (data/json_write.h): a plain struct, a list, a map, a std::optional, or a type that has
  // a write_json() next to it. The status is 200 if none is given.
  template <class T>
  static Response json(Status status, const T& value) {
    const StageTimer timer(stage::serialize);
    Response response(status);
    response.content_type_ = "application/json";
    KEEL_RECORD_TYPE(response.content_type_, describe_value<T>);
    json::Writer writer(response.body_);
    json::internal::write_given(writer, value);
    return response;
  }
  template <class T>
  static Response json(const T& value) {
    static_assert(!std::is_same_v<T, Status>, "a JSON response needs a value: Response::json(status, value)");
    return json(Status::Ok, value);
  }

  // Adds a field. A name that is not a token, or a value with a control character, is a bug of the caller or an attack
  // (response splitting): the whole response becomes a 500, and the error is logged. An attempt to set a framing field
  // (Content-Length, Transfer-Encoding, Connection, Date) turns the whole response into a 500 as well, because only the
  // server may set these fields. A Content-Type replaces an earlier one.
  Response& header(std::string_view name, std::string_view value) &;
  Response&& header(std::string_view name, std::string_view value) && {
    header(name, value);
    return std::move(*this);
  }
  // Announces the length of the whole body of a stream(); the stream's task must write exactly this many bytes. The
  // call is a Bug (base/bug.h) if the response is not a stream().
  Response& length(std::uint64_t bytes, std::source_location place = std::source_location::current()) &;
  Response&& length(std::uint64_t bytes, std::source_location place = std::source_location::current()) && {
    length(bytes, place);
    return std::move(*this);
  }
  // For an upgrade(): allows pages of every origin to request the upgrade (upgrade.h). The call is a Bug (base/bug.h)
  // if the response is not an upgrade().
  Response& any_origin(std::source_location place = std::source_location::current()) &;
  Response&& any_origin(std::source_location place = std::source_location::current()) && {
    any_origin(place);
    return std::move(*this);
  }
  // The connection is closed after this response.
  Response& close() & noexcept {
    close_ = true;
    return *this;
  }
  Response&& close() && noexcept {
    close_ = true;
    return std::move(*this);
  }

  // For middleware. The value of the first added field with that name (in any case), or nullopt.
  std::optional<std::string_view> field(std::string_view name) const noexcept;
  // Replaces all added fields with that name by a single field with `value`.
  Response& replace(std::string_view name, std::string_view value) &;
  // Adds `field` to Vary, unless Vary already contains it.
  Response& vary(std::string_view field) &;
  // Removes all added fields with that name.
  Response& remove(std::string_view name) & noexcept;
  // The length that was announced for the body of a stream(), if there is one.
  std::optional<std::uint64_t> length() const noexcept { return is_streamed() ? streamed_.length() : std::nullopt; }
  // Adds a transform to the body of a stream(), after the transforms that were added before (body_transform.h). The
  // length of the transformed body is unknown, so the body is sent in chunks. The call is a Bug if the response is not
  // a stream().
  Response& transform(BodyTransform& transform, std::source_location place = std::source_location::current()) &;
  // Replaces the body, which may be a streamed one, with `bytes`; the content type is kept.
  Response& replace_content(Buffer&& bytes) & noexcept {
    streamed_ = StreamedBody();
    body_ = std::move(bytes);
    return *this;
  }

  Status status() const noexcept { return status_; }
  std::string_view content_type() const noexcept;
  std::string_view content() const noexcept { return body_.view(); }
  // The added fields, as they are sent: "Name: value\r\n" each.
  std::string_view fields() const noexcept { return fields_.view(); }
  bool is_valid() const noexcept { return valid_; }
  // Whether a task writes the body while it is sent; content() is then empty.
  bool is_streamed() const noexcept { return static_cast<bool>(streamed_); }
  // Whether this is an upgrade(), which becomes a 101 or a rejection when it is sent.
  bool is_upgrade() const noexcept { return static_cast<bool>(upgrade_); }

 private:
  friend class Connection;
  friend class Exchange;
  friend class PendingExchange;
  friend class Upgraded;
  friend void write_response(Buffer& out, const Response& response, const Framing& framing);
  // RFC 9110 §15.3.6: a 205 has no content, and is sent with a length of 0.
  void drop_content() noexcept {
    replace_content({});
    content_type_ = {};
  }
  static Response make_stream(Status status, std::string_view content_type, StreamedBody::Callable write);
  static Response make_events(EventWriter::Callable follow);
  static Response make_upgrade(std::string_view protocol, Upgrade::Callable talk);

  Buffer body_;
  Buffer fields_;
  StreamedBody streamed_;
  Upgrade upgrade_;
  std::string_view content_type_;  // Empty: the response has no Content-Type, or has it in fields_.
  Status status_;
  bool close_ = false;
  bool valid_ = true;
};

}  // namespace keel::http
