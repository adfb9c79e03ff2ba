// keel/contract/client.h — calls a service by its contract: the common part of the clients that `keel gen api
// --generate client` generates.
//
//   api::ProductsClient products(app.client({.name = "shop", .base_url = "http://shop.internal"}));
//
//   const auto result = co_await products.get_product({.id = 7});
//   if (const api::Product* const product = result.ok()) …            // one function for each declared response
//   if (result.not_found() != nullptr) …
//   const api::Product product = co_await products.get_product({.id = 7}).value();       // 200, or an error
//
// A client has a function for each operation. The function takes the same struct as the service's handler, and returns
// one of the responses that the contract declares, after reading and checking it. Calls go through an http::Client or
// an http::SharedClient (http/client/client.h), and use its pool, deadlines, retries, redirects and circuit breaker.
//
// Give the credentials of each security scheme once, as a text or as a function that returns the text for each call: a
// token (Bearer, OAuth 2, OpenID Connect), a key, or "user:password" (Basic). For each call, the client sends the
// credentials of the first alternative in the operation's `security` for which it has every credential; they are sent
// as secret fields. A client certificate is not given here, but in the options of the connection
// (ClientPoolOptions::https).
//
// Where the service's handler reads a body as it arrives, the client takes an Upload; the content of each file of a
// form that is read as it arrives is an Upload, too (upload.h). For an operation `name` with a successful response that
// is not typed JSON, name_stream() returns a Streamed, which is read piece by piece; name() returns the whole content.
//
// Errors:   InvalidArgument if a parameter cannot be expressed in its style (output.h), the client lacks credentials
//           that the operation requires, or the contract does not have the media type; nothing has been sent in these
//           cases. Upstream, from the environment (base/error.h), for a response that the contract does not declare, or
//           that does not match the contract (reply.h); value() also returns Upstream for any response that is not a
//           success. The message contains the operation, its method and URL, the status, and each violation with its
//           pointer. Errors of the http::Client and of a credential's provider are passed on, with the operation's name
//           in front of the message.
// Lifetime: the http::Client outlives the client; the client outlives its calls. A function writes the HTTP request
//           before it returns, so the request struct need not live until the call has ended. Results own their content.
// Threads:  as for the http::Client. With a SharedClient, any worker may call the client, concurrently with others;
//           providers are called on the calling worker.
// Cancel:   like a call of the http::Client.
// Cost:     that of the HTTP call and of writing and reading the bodies, plus a few allocations.

#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/contract/output.h"
#include "keel/contract/reply.h"
#include "keel/contract/scheme.h"
#include "keel/contract/upload.h"
#include "keel/http/client/client.h"
#include "keel/http/message/fields.h"
#include "keel/task/task.h"
#include "keel/task/timing.h"

namespace keel::http {
class SharedClient;
}

namespace keel::contract {

// The HTTP client that makes the calls: an http::Client of the caller's loop, or an http::SharedClient of all workers
// (http/client/shared_client.h, app.client()).
class Transport {
 public:
  Transport(http::Client& client) noexcept : client_(&client) {}
  Transport(http::SharedClient& client) noexcept : shared_(&client) {}

  Task<http::ClientResponse> send(http::ClientRequest request) const;
  Task<http::ClientStream> open(http::ClientRequest request) const;

 private:
  http::Client* client_ = nullptr;
  http::SharedClient* shared_ = nullptr;
};

// The credential of one security scheme. A Credential is a value; all copies of a Credential share its provider.
class Credential {
 public:
  // The provider is called for each call, with the scopes that the operation requires; if the provider fails, the call
  // fails with the provider's error. A provider that should not fetch a new token for each call has to cache the token
  // itself.
  using Provider = Function<Task<std::string>(Scopes)>;

  Credential() = default;  // No credential.
  template <class T>
    requires std::convertible_to<T, std::string>
  Credential(T&& text) : text_(std::forward<T>(text)) {}
  template <class F>
    requires(std::is_invocable_r_v<Task<std::string>, F&, Scopes> && !std::same_as<std::remove_cvref_t<F>, Credential>)
  Credential(F&& provider) : provider_(std::make_shared<const Provider>(std::forward<F>(provider))) {}

  bool is_given() const noexcept { return provider_ != nullptr || !text_.empty(); }
  Task<std::string> text(Scopes scopes) const;

 private:
  std::string text_;
  // Shared, because the client of each tag has a copy of the Credential.
  std::shared_ptr<const Provider> provider_;
};

// Options of one call; they are used only while the function of that call runs. The members are views, so the text that
// they refer to must live until the function returns.
struct CallOptions {
  // The media type to ask for, which must be one of the contract's, such as "text/csv". Empty: all of the contract's
  // media types, JSON first.
  std::string_view accept = {};
  // With a key, the call may be retried whatever its method is (ClientRequest::idempotency_key).
  std::string_view idempotency_key = {};
  std::optional<Duration> timeout = {};  // Overrides ClientOptions::timeout.
  // Header fields that are sent in addition to those of the contract, such as Authorization for this call only.
  std::span<const http::Field> headers = {};
};

// The members that every result has in addition to its declared responses.
class Outcome {
 public:
  http::Status status() const noexcept { return status_; }
  // The value of the field with that name, or the values of several such fields joined by commas; nullopt when there is
  // none.
  std::optional<std::string> header(std::string_view name) const;
  // The URL of the response; after redirects, the last one.
  const std::string& url() const noexcept { return url_; }

 protected:
  Outcome() = default;
  // The Upstream error for a response that is not a success.
  Error unexpected() const;

 private:
  friend class Call;
  const Operation* operation_ = nullptr;
  http::Status status_ = {};
  std::string head_;
  std::string url_;
  std::string described_;  // The description of a response that is not a success.
};

// A response whose body the caller reads piece by piece unless it is typed JSON; result() has the status, the headers,
// and the typed JSON.
template <class R>
class Streamed {
 public:
  R& result() noexcept { return result_; }
  const R& result() const noexcept { return result_; }
  // Returns the next chunk, as ClientStream::read() does. The chunk is empty at the end of the body, or if result()
  // already has the body.
  Task<Chunk> read() {
    if (!stream_) co_return Chunk();
    co_return co_await stream_->read();
  }

 private:
  friend class Call;
  R result_;
  std::optional<http::ClientStream> stream_;
};

// A base class for generated code, which adds value(): co_await client.get_product(request).value() gives the body of
// the only successful response, or an error.
template <class R>
struct ValueOfCall {
  auto value() && {
    using Value = typename decltype(std::declval<R>().value())::value_type;
    return take<Value>(keel::internal::HeldTask<R>(static_cast<Task<R>&&>(*this)));
  }

 private:
  template <class Value>
  static Task<Value> take(keel::internal::HeldTask<R> call) {
    R result = co_await call.release();
    if constexpr (std::is_void_v<Value>) {
      co_await std::move(result).value();
    } else {
      co_return std::move(result).value();
    }
  }
};

// Generated code uses this function because of a compiler bug: GCC 12 destroys an aggregate twice when it is created
// within an awaiting expression (task/compiler_test.cc).
template <class T>
void refuse_made_in_call() noexcept {
  static_assert(std::is_trivially_destructible_v<T>,
                "a request with text members must be a named variable, not a temporary: const api::ListProductsRequest "
                "request{...}; co_await client.list_products(request)");
}

// A security scheme of the contract, by its name.
struct ClientScheme {
  std::string_view name;  // The name of the scheme in the contract.
  Scheme scheme;
};

// The common part of generated clients. The members other than `base` and `credentials` are constants of the contract.
struct ClientSettings {
  std::string base;  // The prefix of all paths.
  std::span<const ClientScheme> schemes = {};
  std::vector<Credential> credentials = {};  // The credentials for each security scheme of the contract.
};

// For generated code: a call whose request is being written.
class Call {
 public:
  Call(const Transport& transport, const ClientSettings& settings, const Operation& operation,
       const CallOptions& options);

  Output& out() noexcept { return out_; }
  // Sets a body whose media type must match one of `media_types`, which may be ranges. A missing body is an error if
  // the body is required.
  void upload(std::span<const std::string_view> media_types, std::string_view media_type, Upload&& body,
              bool is_required);

  template <class R>
  Task<R> ask() && {
    return ask_for<R>(std::move(*this));
  }
  template <class R>
  Task<Streamed<R>> stream() && {
    return stream_for<R>(std::move(*this));
  }

 private:
  using Read = Result<> (*)(void* result, const Reply& reply);
  template <class R>
  static Result<> read_into(void* result, const Reply& reply) {
    return static_cast<R*>(result)->read(reply);
  }
  template <class R>
  static Task<R> ask_for(Call call) {
    R result;
    co_await call.fetch(result, &result, &read_into<R>);
    co_return std::move(result);
  }
  template <class R>
  static Task<Streamed<R>> stream_for(Call call) {
    Streamed<R> streamed;
    co_await call.begin(streamed.result_, &streamed.result_, &read_into<R>, streamed.stream_);
    co_return std::move(streamed);
  }

  // Sends the request; the messages of errors begin with the operation's name.
  Task<> fetch(Outcome& outcome, void* result, Read read);
  Task<> begin(Outcome& outcome, void* result, Read read, std::optional<http::ClientStream>& stream);
  Task<> send(Outcome& outcome, void* result, Read read);
  Task<> open(Outcome& outcome, void* result, Read read, std::optional<http::ClientStream>& stream);
  Task<http::ClientRequest> request();
  Task<> authenticate();
  Task<> prove(const Requirement& requirement);
  bool is_given(const Requirement& requirement) const;
  bool has_own(std::string_view header) const;
  Result<> take(Outcome& outcome, std::string_view head, std::string_view url, Reply& reply) const;
  Error told(Error&& error, std::string_view url) const;

  Transport transport_;
  const ClientSettings* settings_;
  const Operation* operation_;
  Output out_;
  std::optional<Duration> timeout_;
  std::string idempotency_key_;
  std::string accept_;
  std::vector<std::string> own_headers_;  // The names of the header fields that CallOptions::headers sets.
  std::string problem_;
};

}  // namespace keel::contract
