// keel/http/response.h — what a handler answers.
//
//   return http::Response::text(http::Status::Ok, "Hello, World!");
//   return http::Response::json(http::Status::Created, user).header("Location", where);
//
// A Response owns its body and fields; their memory comes from the worker's pool. Content-Length, Date, Connection and,
// where the status has no content (1xx, 204, 205, 304), the absence of a body are the server's business.
//
// A body that is too large to be made at once is written while it leaves, by a task:
//
//   Task<> write_rows(Table& table, http::BodyWriter& out);
//   return http::Response::stream(http::Status::Ok, "text/csv", [&table](http::BodyWriter& out) {
//     return write_rows(table, out);
//   });
//
// Threads: a value; made and sent on one worker.  Cost: no heap in steady state.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/base/error.h"
#include "keel/base/function.h"
#include "keel/data/json.h"
#include "keel/http/body_writer.h"
#include "keel/http/status.h"
#include "keel/http/upgrade.h"
#include "keel/observe/span.h"
#include "keel/task/task.h"

namespace keel::http {

struct Framing;

class Response {
 public:
  // No body.
  explicit Response(Status status) noexcept : status_(status) {}

  // `content_type` outlives the response: a literal. One that is no field's value makes a 500 of it, as in header().
  // The text is copied.
  static Response text(Status status, std::string_view text,
                       std::string_view content_type = "text/plain; charset=utf-8");
  // The buffer becomes the body.
  static Response body(Status status, Buffer&& bytes, std::string_view content_type);
  // `write` is called when the head is on its way; its task writes the body (body_writer.h). `length`: of the whole
  // body, where it is known; else it is sent in chunks, and to an HTTP/1.0 client until the connection ends. Not called
  // for HEAD and where the status has no content.
  // The callable is kept until its task has ended, so that here a coroutine may use what a lambda captured. The Request
  // of a Task handler lives as long; a handler that answers at once copies what is needed of it into the callable.
  static Response stream(Status status, std::string_view content_type, Function<Task<>(BodyWriter&)> write,
                         std::optional<std::uint64_t> length = std::nullopt);
  // 101: the connection goes on with `protocol`, a literal, and `talk` has it; 426 for those who do not ask for that.
  // Everything about it: upgrade.h.
  template <class F>
  static Response upgrade(std::string_view protocol, F talk) {
    static_assert(
        internal::Talks<F>,
        "what goes on with a connection takes (Stream), by value, and returns Task<>: a reference would dangle "
        "after the first suspension");
    return make_upgrade(protocol, Upgrade::Callable(std::move(talk)));
  }
  // Calls write_json(json::Writer&, value), found beside T's definition.
  template <class T>
  static Response json(Status status, const T& value) {
    const StageTimer timer(Stage::Serialize);
    Response response(status);
    response.content_type_ = "application/json";
    json::Writer writer(response.body_, json_options());
    write_json(writer, value);
    return response;
  }

  // Adds a field. A name that is not a token or a value with a control character is a bug of the caller or an attack
  // (response splitting): the whole response then becomes a 500 and the error is logged. Framing fields
  // (Content-Length, Transfer-Encoding, Connection, Date) are the server's and treated the same way. Content-Type takes
  // the place of the one before: there is one.
  Response& header(std::string_view name, std::string_view value) &;
  Response&& header(std::string_view name, std::string_view value) && {
    header(name, value);
    return std::move(*this);
  }
  // The connection ends after this response.
  Response& close() & noexcept {
    close_ = true;
    return *this;
  }
  Response&& close() && noexcept {
    close_ = true;
    return std::move(*this);
  }

  // For middleware. The value of the first added field of that name (any case), or nullopt.
  std::optional<std::string_view> field(std::string_view name) const noexcept;
  // Puts `value` in the place of all added fields of that name.
  Response& replace(std::string_view name, std::string_view value) &;
  // Has Vary name `field`, unless it does already.
  Response& vary(std::string_view field) &;
  // Puts `bytes` in the place of the body, also of one that would be streamed; the content type stays.
  Response& replace_content(Buffer&& bytes) & noexcept {
    streamed_ = StreamedBody();
    body_ = std::move(bytes);
    return *this;
  }

  Status status() const noexcept { return status_; }
  std::string_view content_type() const noexcept;
  std::string_view content() const noexcept { return body_.view(); }
  // The added fields as they will be sent: "Name: value\r\n" each.
  std::string_view fields() const noexcept { return fields_.view(); }
  bool is_valid() const noexcept { return valid_; }
  // Its body is written while it leaves; content() is empty.
  bool is_streamed() const noexcept { return static_cast<bool>(streamed_); }
  // It is an upgrade(), which becomes 101 or a refusal once it is the answer to a request.
  bool is_upgrade() const noexcept { return static_cast<bool>(upgrade_); }

  // How Response::json writes, for the whole process; set once before serving (container.json.pretty_print).
  static void set_json_options(json::WriterOptions options) noexcept;

 private:
  friend class Connection;
  friend void write_answer(Buffer& out, const Response& response, const Framing& framing);
  void remove(std::string_view name) noexcept;
  // RFC 9110 §15.3.6: a 205 has none, and says so with a length of 0.
  void drop_content() noexcept {
    replace_content({});
    content_type_ = {};
  }
  static json::WriterOptions json_options() noexcept;
  static Response make_upgrade(std::string_view protocol, Upgrade::Callable talk);

  Buffer body_;
  Buffer fields_;
  StreamedBody streamed_;
  Upgrade upgrade_;
  std::string_view content_type_;  // Empty: none, or among the fields.
  Status status_;
  bool close_ = false;
  bool valid_ = true;
};

}  // namespace keel::http
