// keel/http/server/request.h — the request that a handler receives.
//
// All texts are views into the request's own memory; for a synchronous handler, nothing is copied. Before a handler
// that returns a Task is started, the head and the body are moved to the request's arena, so that views into them stay
// valid across suspensions.
//
// Lifetime: the Request and all views into it are valid until the response has been made; for a handler that returns a
//           Task, until the Task has ended.
// Threads:  the worker that received the request.
// Cost:     accessors are loads; path_param() and query_param() decode when they are called, into the arena if there is
//           an escape.
//
// json(), query() and form() fill plain structs; they are implemented in input.h, which keel/http.h includes.

#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <new>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/arena.h"
#include "keel/base/integer_range.h"
#include "keel/base/result.h"
#include "keel/base/text_value.h"
#include "keel/base/time.h"
#include "keel/http/message/parser.h"
#include "keel/http/server/body_reader.h"
#include "keel/http/server/forwarded.h"
#include "keel/http/server/recording.h"
#include "keel/http/server/route_match.h"
#include "keel/io/address.h"
#include "keel/observe/span.h"
#include "keel/task/task.h"

namespace keel {
class TransportLayer;
class Violations;
struct NamedText;
namespace contract {
class Input;
}
}  // namespace keel

namespace keel::http {

class BodyCollector;
class Response;

namespace internal {
template <class T>
struct Input;  // input.h
template <class T>
concept HasInput = requires { sizeof(Input<T>); };
}  // namespace internal

// A Request cannot be copied, because everything in it is valid only until the response has been made.
class Request {
 public:
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  Method method() const noexcept { return head_->method(); }
  // As sent: The path as sent, "/api/users/7"; percent-escapes are not decoded.
  std::string_view path() const noexcept { return head_->path(); }
  // The part of the target after the '?', not decoded; empty when there is none.
  std::string_view query() const noexcept { return head_->query(); }
  // The pattern of the route that matched, "/api/users/{id}"; empty if no route matched. The pattern is valid as long
  // as the router.
  std::string_view route() const noexcept { return match_.pattern; }
  // The methods for which the path has handlers, "GET, HEAD, OPTIONS"; set only for a response to OPTIONS and for a
  // 405, otherwise empty.
  std::string_view allow() const noexcept { return match_.allow; }
  // The media type in RouteOptions::produces that the client prefers; empty if the route has no such list.
  std::string_view accepted_type() const noexcept { return match_.accepted_type; }
  // The value of the first field with that name (in any case), or nullopt.
  std::optional<std::string_view> header(std::string_view name) const noexcept { return head_->find(name); }
  std::optional<std::string_view> header(Known name) const noexcept { return head_->find(name); }
  // The values of all fields with that name, joined by ", " (RFC 9110 §5.2); nullopt if there is no such field. If
  // several fields have that name, the result is in the arena. Use header_list() for fields whose values are lists.
  std::optional<std::string_view> header_list(std::string_view name);
  const RequestHead& head() const noexcept { return *head_; }
  // The whole body, decoded from its transfer coding; empty if there is no body. The size of the body is limited by
  // Limits::body_bytes_max, or by the limit of the route. On a route that streams its body, the result is empty: call
  // read_body() there. A call in middleware that runs before the handler is a Bug (base/bug.h), because the body may
  // not have arrived: call whole_body() there.
  std::string_view body(std::source_location place = std::source_location::current()) const {
    if (is_before_body_) [[unlikely]]
      reject_early_read("body()", place);
    return body_;
  }
  // For middleware that calls the handler itself (middleware.h): receives the rest of the body; afterwards, body()
  // returns the body. Until whole_body() or the handler is called, the server receives only the part of the body that
  // arrived with the head, and a client that waits for 100 (Continue) does not get the 100. Errors: those of
  // read_body(), and ResourceExhausted (503) when the memory limit for all bodies, or for the bodies of this client, is
  // reached. A call of whole_body() on a route that streams its body is a Bug.
  Task<std::string_view> whole_body(std::source_location place = std::source_location::current());
  // `co_await request.read_body()` returns the next piece of the body when it has arrived; the piece is valid until the
  // next read, and an empty chunk means the end of the body. On a route that does not stream its body, the first read
  // returns the whole body, and the next read returns an empty chunk. A read in middleware is a Bug, as is a call of
  // body() there. body_reader.h has the errors and the other rules.
  BodyRead read_body(std::source_location place = std::source_location::current()) {
    if (is_before_body_) [[unlikely]]
      reject_early_read("read_body()", place);
    if (reader_ != nullptr) return BodyRead(*reader_);
    return BodyRead(std::exchange(body_given_, true) ? Chunk() : body_);
  }

  // The trailers, which are fields after a chunked body (trailers.h); they are available when the body has been read to
  // its end. trailer() returns the value of the first trailer with that name (in any case), or nullopt; trailers()
  // returns all trailers, for next_field() (response_reader.h). Trailers are never among the fields of the head.
  std::optional<std::string_view> trailer(std::string_view name) const noexcept;
  std::string_view trailers() const noexcept;

  // The decoded value of the parameter `{name}` of the path. InvalidArgument (400) if the value is not a T. If the
  // route has no parameter with this name, the code at `place` has a bug (500, base/bug.h), which is returned as an
  // error. T may be std::string_view, an integer, double (finite values only), or a type that can be read from text
  // (base/text_value.h), such as Uuid and Timestamp.
  template <class T>
  Result<T> path_param(std::string_view name, std::source_location place = std::source_location::current());
  // The value of `{name}` as sent; percent-escapes are not decoded. If the route has no parameter with this name,
  // throws a Bug (base/bug.h).
  std::string_view raw_path_param(std::string_view name,
                                  std::source_location place = std::source_location::current()) const;
  // The decoded value of the first `name=` in the query, or nullopt if there is none; InvalidArgument (400) if the
  // value is not a T, or if its escapes are malformed.
  template <class T>
  Result<std::optional<T>> query_param(std::string_view name);

  // json(), query() and form() return the client's input as a plain struct (data/fields.h); views in the struct are
  // valid as long as the request. Use `co_await` or KEEL_TRY to get the T: an error then becomes a response that lists
  // every violation (input.h, rejection.h). json() reads the body as JSON: 415 for another Content-Type, 400 for text
  // that is not JSON, 422 with every violation.
  template <class T>
  Result<T> json(std::source_location place = std::source_location::current()) {
    if constexpr (is_readable<T>()) return internal::Input<T>::json(*this, place);
  }
  // Reads the query: 400 with every violation.
  template <class T>
  Result<T> query() {
    if constexpr (is_readable<T>()) return internal::Input<T>::query(*this);
  }
  // Reads the body as a form, urlencoded or multipart: 415 for another Content-Type, 422 with every violation.
  template <class T>
  Result<T> form(std::source_location place = std::source_location::current()) {
    if constexpr (is_readable<T>()) return internal::Input<T>::form(*this, place);
  }

  // Keeps a copy of `value` with the request, for code that runs later, for example for the handler after a middleware.
  // A value replaces an earlier one only if both have the same type and the same `by` (an address that identifies the
  // code that keeps the value); get() finds the value that was set last.
  template <class T>
  void set(const T& value, const void* by = nullptr) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> && alignof(T) <= 16,
                  "a value that is kept with a request must be trivially copyable, because it is copied into the "
                  "request's arena, where no destructor runs: keep a pointer instead");
    auto* note = static_cast<Note*>(arena_->allocate(sizeof(Note)));
    T* const kept = new (arena_->allocate(sizeof(T), alignof(T))) T(value);
    *note = {&type_mark<T>, by, kept, notes_};
    notes_ = note;
  }
  // The value of type T that was passed to set() last, or null.
  template <class T>
  const T* get(const void* by = nullptr) const noexcept {
    for (const Note* note = notes_; note != nullptr; note = note->next) {
      if (note->type == &type_mark<T> && note->by == by) return static_cast<const T*>(note->value);
    }
    return nullptr;
  }

  // Values that are not trivially copyable are not copied: their owner has to keep them alive, and lends them with
  // LentValue.

  // The peer of the connection: the client, or the proxy in front of the server, or the address that the proxy has
  // named (ServerOptions::proxy_protocol; empty if the proxy has named no address). The address includes the port; the
  // address of a client of a Unix socket has no path. The first call for a request asks the kernel for the
  // address, unless the proxy has named it.
  const Address& peer();
  // The client's address, the scheme and the host, as reported by trusted proxies (ServerOptions::trusted_proxies and
  // ::believed; forwarded.h). If the proxies do not report a fact, it is taken from the connection or the head: the
  // client's address is that of the peer, the scheme is that of the connection ("https" over TLS), and the host is that
  // of the head. The first call of client_address(), scheme() or host() determines all three values.
  const Address& client_address() { return origin().client; }
  std::string_view scheme() { return origin().scheme; }
  std::string_view host() { return origin().host; }
  // The host with its port, if one was given: "example.com:8443".
  std::string_view authority() { return origin().authority; }
  // The name that the peer's TLS certificate proves (tls::Records::peer_identity()), if the server asks for client
  // certificates (tls::ServerOptions::client_certificates). Empty: the peer has sent no certificate.
  std::string_view peer_identity() const noexcept;
  // An id of this request that other processes know as well: X-Request-Id if a trusted peer sent it (a token of at most
  // 128 bytes), and otherwise the trace in 32 hexadecimal digits. The id is not a secret: clients, proxies and logs see
  // it, so a client that knows it has proved nothing.
  std::string_view id();

  // Memory that is freed with this request.
  Arena& arena() noexcept { return *arena_; }
  // The time at which the head had arrived, on the worker's clock.
  Instant started() const noexcept { return started_; }
  // The id in all log lines that are recorded while this request is handled: random, or the trace of a
  // trusted traceparent.
  log::TraceId trace() const noexcept { return span_.trace; }
  // The span of the code that runs for this request; tasks that the code starts inherit this span.
  const Span& span() const noexcept { return span_; }

 private:
  friend class Exchange;
  friend class Router;
  friend class Middleware;
  friend class Next;
  friend class LentValue;
  friend class TestRequest;  // internal/request_test.h
  friend class contract::Input;
  template <class T>
  friend struct internal::Input;
  friend Response problem(const Request& request, const Error& error);
  struct Note {
    const void* type;
    const void* by;
    const void* value;
    const Note* next;
  };
  struct AfterBody {  // A value that is kept with a request when its body has been collected.
    std::string_view trailers;
  };
  template <class T>
  static constexpr char type_mark = 0;  // The address of this variable identifies the type T.
  std::string no_such_parameter(std::string_view name) const;
  Result<std::string_view> path_text(std::string_view name, std::source_location place);
  Result<std::optional<std::string_view>> query_text(std::string_view name);
  template <class T>
  static Result<T> convert(std::string_view text, std::string_view name);
  static Error bad_parameter(std::string_view name, std::string_view expected);
  void reject_early_read(const char* call, std::source_location place) const;
  void require_whole_body(const char* call, std::source_location place) const;
  template <class T>
  static consteval bool is_readable() {
    static_assert(internal::HasInput<T>,
                  "json(), query() and form() of a Request need keel/http/server/input.h, which keel/http.h includes");
    return internal::HasInput<T>;
  }
  // For input.h: `read` fills `value`.
  using ReadJson = bool (*)(void* value, std::string_view text, Arena& arena, Violations& wrong);
  using ReadTexts = bool (*)(void* value, const NamedText* texts, std::size_t count, Violations& wrong);
  Result<> read_json(ReadJson read, void* value, std::source_location place);
  Result<> read_query(ReadTexts read, void* value);
  Result<> read_form(ReadTexts read, void* value, std::source_location place);
  const Origin& origin();
  // Counts this request as one that failed because of a bug.
  void count_bug() const noexcept;
  // Whether `peers` includes the peer of this request.
  bool believes(TrustedPeers peers) const noexcept;
  // Whether the request's target is an absolute URL whose scheme differs from the connection's, and the peer is not
  // trusted to name the scheme.
  bool is_of_another_scheme() const noexcept;
  // Continues the trace that the request names, if the peer is trusted to name it.
  void continue_trace() noexcept;
  std::optional<Instant> deadline_told() const noexcept;

  RequestHead* head_ = nullptr;
  Arena* arena_ = nullptr;
  std::string_view body_;
  BodyReader* reader_ = nullptr;  // The reader of a body that is streamed or collected; otherwise null.
  BodyCollector* collector_ = nullptr;
  const Note* notes_ = nullptr;
  Instant started_;
  Span span_;
  RouteMatch match_;
  bool body_given_ = false;      // Whether read_body() has already returned the body.
  bool is_before_body_ = false;  // Whether middleware is running before the body may have arrived.
  int fd_ = -1;
  const TransportLayer* layer_ = nullptr;  // The TLS layer of the connection; null: no TLS.
  const Arrival* arrival_ = nullptr;
  // After the first call of peer(), points into the arena, or to the connection's Introduction (introduction.h).
  const Address* peer_ = nullptr;
  const Origin* origin_ = nullptr;  // Null until the first call of origin(); the Origin is in the arena.
  std::string_view id_;
};

// Lends a value of any type to the handlers inside a middleware: Request::get<T>() returns a pointer to `value` until
// this object is destroyed, and null afterwards. `value` must outlive this object, and this object must be destroyed
// before the request.
//
//   const Customer customer = co_await find(token);
//   const http::LentValue lent(request, customer);
//   co_return co_await next(request);
class LentValue {
 public:
  template <class T>
  LentValue(Request& request, const T& value)
      : note_(*new(request.arena_->allocate(sizeof(Request::Note)))
                  Request::Note{&Request::type_mark<T>, nullptr, &value, request.notes_}) {
    request.notes_ = &note_;
  }
  template <class T>
  LentValue(Request& request, const T&& value) = delete;
  ~LentValue() { note_.value = nullptr; }
  LentValue(const LentValue&) = delete;
  LentValue& operator=(const LentValue&) = delete;

 private:
  Request::Note& note_;
};

template <class T>
Result<T> Request::convert(std::string_view text, std::string_view name) {
  if constexpr (std::same_as<T, std::string_view>) {
    return text;
  } else if constexpr (TextValue<T>) {
    Result<T> value = T::parse(text);
    if (!value) return bad_parameter(name, T::expected);
    return value;
  } else {
    static_assert((std::integral<T> && !std::same_as<T, bool>) || std::floating_point<T>,
                  "a parameter must be read as std::string_view, an integer or a double");
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool is_good = error == std::errc() && end == text.data() + text.size();
    // from_chars() also accepts "nan" and "inf", which pass most range checks unnoticed.
    if constexpr (std::floating_point<T>) is_good = is_good && value - value == 0;
    if (!is_good) {
      if constexpr (std::floating_point<T>) return bad_parameter(name, "expected a number");
      if constexpr (std::integral<T>) return bad_parameter(name, integer_range<T>.refusal_of(text));
    }
    return value;
  }
}

template <class T>
Result<T> Request::path_param(std::string_view name, std::source_location place) {
  KEEL_RECORD_ASKED(*this, PathParameter, name, describe_value<T>, place.function_name());
  KEEL_TRY(std::string_view text, path_text(name, place));
  return convert<T>(text, name);
}

template <class T>
Result<std::optional<T>> Request::query_param(std::string_view name) {
  KEEL_RECORD_ASKED(*this, QueryParameter, name, describe_value<T>, nullptr);
  KEEL_TRY(std::optional<std::string_view> text, query_text(name));
  if (!text) return std::optional<T>();
  KEEL_TRY(T value, convert<T>(*text, name));
  return std::optional<T>(value);
}

}  // namespace keel::http
