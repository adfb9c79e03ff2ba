// keel/http/client/client_request.h — a request for a Client.
//
//   ClientRequest request(Method::Post, "http://orders.internal/orders");
//   request.json(order).header("Authorization", token).idempotency_key(order.id).timeout(2_s);
//   ClientResponse response = co_await client.send(std::move(request));
//
// A body is either given whole, or written piece by piece by a function while it is sent, with backpressure:
//
//   request.stream("text/csv", [&rows](ClientBodyWriter& body) -> Task<> {
//     for (const Row& row : rows) co_await body.write(to_csv(row));
//   });
//
// The request owns the function, and the call owns the request until the call has ended. Therefore objects captured by
// value are safe in the function, and objects captured by reference must outlive the call. The function runs only once:
// a request whose body is written by a function is neither retried nor repeated after a redirect.
//
// A secret field is sent only to the origin of the URL: after a redirect to another origin, the field is not sent again
// during the call. Authorization, Cookie and Proxy-Authorization are always secret; secret_header() adds other secret
// fields.
//
// The client decodes a compressed response (ClientOptions::decompresses). For a request with its own Accept-Encoding or
// Range, the body is returned as it arrives and is not decoded. Set Accept-Encoding to store a body in compressed form,
// and Range to request a part of a body.
//
// Errors:   send() fails with InvalidArgument, and sends nothing, if the name of a field is not a token, a value has a
//           control character, a field is one that only the client may set (Host, Content-Type, Content-Length,
//           Transfer-Encoding, Connection, …), or the URL is invalid.
// Threads:  a value.
// Cost:     the functions copy their arguments.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/base/function.h"
#include "keel/base/time.h"
#include "keel/data/json.h"
#include "keel/http/message/method.h"
#include "keel/net/stream.h"
#include "keel/observe/span.h"
#include "keel/task/task.h"

namespace keel::http {

namespace internal {
// GCC 12 destroys an aggregate twice if it is a temporary in an expression that contains a co_await
// (task/compiler_test.cc).
template <class T>
void refuse_made_in_call() noexcept {
  static_assert(std::is_reference_v<T> || !std::is_aggregate_v<T> || std::is_trivially_destructible_v<T>,
                "a struct that is sent must be a named variable, not a temporary: const Charge charge{...}; co_await "
                "client.post(url, charge)");
}
}  // namespace internal

// Writes a streamed body. The writer is valid while the function that received it runs.
class ClientBodyWriter {
 public:
  // Sends `bytes`, which must live until the returned task completes. The task waits while the server does not read. A
  // write fails when the connection breaks, when the server has already responded, or when more bytes are written than
  // the announced length (InvalidArgument). After a write that failed or was stopped, it is unknown how much of the
  // body was sent: each further write fails, and the whole request fails as well.
  Task<> write(std::string_view bytes);
  // Bytes of the body that have been written so far.
  std::uint64_t written() const noexcept { return written_; }

 private:
  friend class ClientExchange;
  ClientBodyWriter(Stream& stream, std::optional<std::uint64_t> length) noexcept : stream_(stream), length_(length) {}
  Stream& stream_;
  std::optional<std::uint64_t> length_;  // Absent: chunked.
  std::uint64_t written_ = 0;
  bool has_failed_ = false;  // The connection has failed; the function that writes the body has not.
  bool is_cut_ = false;      // A write has begun, but not all of its bytes have been sent.
};

class ClientRequest {
 public:
  using Writer = Function<Task<>(ClientBodyWriter&)>;

  // `url` is absolute (http://host[:port]/path?query), or a path below ClientOptions::base_url (/path?query). `method`
  // may be any method except Other, CONNECT and TRACE.
  ClientRequest(Method method, std::string_view url) : url_(url), method_(method) {}

  // Adds a field.
  ClientRequest& header(std::string_view name, std::string_view value) &;
  ClientRequest&& header(std::string_view name, std::string_view value) && { return std::move(header(name, value)); }
  // Adds a secret field, such as X-Api-Key.
  ClientRequest& secret_header(std::string_view name, std::string_view value) &;
  ClientRequest&& secret_header(std::string_view name, std::string_view value) && {
    return std::move(secret_header(name, value));
  }
  // The body, whole. Replaces an earlier body.
  ClientRequest& body(std::string_view bytes, std::string_view content_type) &;
  ClientRequest&& body(std::string_view bytes, std::string_view content_type) && {
    return std::move(body(bytes, content_type));
  }
  // The body: Sends `value` as JSON (data/json_write.h): a plain struct, a list, a map, or a type with its own
  // write_json().
  template <class T>
  ClientRequest& json(const T& value) & {
    body({}, "application/json");
    json::Writer writer(body_);
    json::internal::write_given(writer, value);
    return *this;
  }
  template <class T>
  ClientRequest&& json(const T& value) && {
    return std::move(json(value));
  }
  // Sets a body, which `writer` writes while the body is sent. With a length, the body has exactly this many bytes
  // (Content-Length); without a length, the body is chunked.
  ClientRequest& stream(std::string_view content_type, Writer writer,
                        std::optional<std::uint64_t> length = std::nullopt) &;
  ClientRequest&& stream(std::string_view content_type, Writer writer,
                         std::optional<std::uint64_t> length = std::nullopt) && {
    return std::move(stream(content_type, std::move(writer), length));
  }
  // Sends Idempotency-Key: a server that supports this field executes the request only once, even if the request
  // arrives several times, so a request of any method may be retried.
  ClientRequest& idempotency_key(std::string_view key) &;
  ClientRequest&& idempotency_key(std::string_view key) && { return std::move(idempotency_key(key)); }
  // Overrides ClientOptions::timeout.
  ClientRequest& timeout(Duration limit) & {
    timeout_ = limit;
    return *this;
  }
  ClientRequest&& timeout(Duration limit) && { return std::move(timeout(limit)); }
  // The trace that this call is a part of, sent as traceparent (W3C Trace Context). The default is the trace of the
  // request for which the calling task works (observe/span.h), if there is such a request.
  ClientRequest& trace(log::TraceId id) & {
    trace_ = id;
    return *this;
  }
  ClientRequest&& trace(log::TraceId id) && { return std::move(trace(id)); }

  Method method() const noexcept { return method_; }
  const std::string& url() const noexcept { return url_; }

 private:
  friend class Client;
  friend class ClientExchange;
  friend class TestClient;
  void add(Buffer& fields, std::string_view name, std::string_view value);

  std::string url_;
  Buffer fields_;         // The line "Name: value\r\n" for each field.
  Buffer secret_fields_;  // The secret fields, which are sent after the other fields.
  Buffer body_;
  std::string content_type_;
  Writer writer_;
  std::optional<std::uint64_t> length_;  // The announced length of the body that writer_ writes.
  std::optional<Duration> timeout_;
  log::TraceId trace_;  // If zero, the trace of the calling task is used.
  // A string literal that describes the first invalid argument. Null: all arguments are valid.
  const char* problem_ = nullptr;
  Method method_;
  bool has_body_ = false;  // True also for an empty body.
  bool has_idempotency_key_ = false;
  bool has_proxy_authorization_ = false;
  bool decodes_itself_ = false;  // The caller has set Accept-Encoding or Range.
};

}  // namespace keel::http
