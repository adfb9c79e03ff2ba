// keel/app/idempotency.h — a request that a client repeats takes effect only once: Idempotency-Key
// (draft-ietf-httpapi-idempotency-key-header-07). The guarantee is exact, because the response is stored in the same
// transaction as the handler's writes.
//
//   class Payments {
//    public:
//     explicit Payments(app::App& app) : once_(app) { router_.post("/payments", *this, &Payments::pay); … }
//
//     Task<http::Response> pay(http::Request& request) {
//       auto body = [&](db::Transaction& transaction) -> Task<http::Response> {
//         const auto payment = co_await request.json<NewPayment>();
//         const auto id = co_await transaction.query_one<std::int64_t>("insert into payments … returning id", …);
//         co_return http::Response::json(http::Status::Created, Payment{id, payment.amount});
//       };
//       co_return co_await once_.run(request, client_of(request), body);
//     }
//
//    private:
//     app::Idempotency once_;
//   };
//
// The response that run() returns to a request with
//   a new key                            the response of `body`, once it and all that `body` wrote are committed
//   a key that has a response            the stored response, with Idempotent-Replayed: true
//   a key of another request             422: method, path, query and body have to be the same
//   a key whose request still runs       409 with Retry-After, in this process; one that runs in another process is
//                                        waited for, and its response given
//   no key, or one that is invalid       400 (no key: see IdempotencyOptions::required)
// If the process ends, even between the commit and the response, either the response and all writes are stored, or
// nothing is stored. When the client repeats the request, the client gets the stored response, or `body` runs again.
//
// `body` is Task<http::Response>(db::Transaction&), or a callable of that form that returns the response type of an
// operation of a contract. `body` must write through the transaction, not through the session. A response with a status
// below 500 is stored, and the writes of `body` are committed. After an error or a status of 500 or above, the writes
// are rolled back and nothing is stored: `body` runs again when the client repeats the request. `body` also runs again
// when the database aborts the transaction because of a conflict with another transaction (db/session.h, transact()),
// so `body` should only run statements. Calls to other servers are not part of the transaction: give each call its own
// idempotency key, and remember that `body` holds SQLite's only writer while `body` waits for another server.
//
// `client` identifies the owner of the key, such as the number of the authenticated customer: the same key sent by two
// clients counts as two keys, so no client gets the response of another client. If `client` is empty, all requests
// share one set of keys.
//
// The key is a string as in structured fields (RFC 8941), either in quotes, or without quotes, as most clients send it.
// The key has 1 to 255 visible characters; a key without quotes must not contain a comma, semicolon, quote or
// backslash.
//
// The table belongs to the application and is created by its migrations (docs/idempotency.md has the statement for each
// database):
//   create table idempotency_keys (client, idempotency_key, fingerprint, status, content_type, fields, content,
//     created_at, primary key (client, idempotency_key))
// The start fails if the table does not exist. Responses are deleted within an hour after `retention` has passed.
//
// On a route that streams its request, the fingerprint does not cover the body.
//
// Errors:   those of `body` and of the database; returning a streamed response or an upgrade is a Bug (base/bug.h).
// Lifetime: make the object before App::run(); the object must outlive run(). `body` and `client` must live until the
//           task completes.
// Threads:  all workers share one object.
// Cancel:   a task that is cancelled before the commit has no effect.
// Cost:     one read, two writes of one row, two passes of siphash() over the body, and a look-up among the requests in
//           progress, under a mutex that all workers share; a request that gets a stored response writes nothing.

#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/db/session.h"
#include "keel/http/server/request.h"
#include "keel/http/server/response.h"
#include "keel/observe/metric.h"
#include "keel/task/task.h"

namespace keel::app {

class App;

// How long responses are stored, and which requests need a key.
struct IdempotencyOptions {
  // The minimum time for which a response is stored. Once the response has been deleted, a repetition counts as a new
  // request.
  Duration retention = 24_h;
  // Whether a request without a key is rejected with 400. If false, the `body` of a request without a key runs in a
  // transaction, and no response is stored.
  bool required = true;
};

class Idempotency {
 public:
  // Uses the App's database, and adds background work to the App. This work checks at the start that the table exists,
  // and deletes old rows.
  explicit Idempotency(App& app, IdempotencyOptions options = {});
  Idempotency(const Idempotency&) = delete;
  Idempotency& operator=(const Idempotency&) = delete;

  template <class F>
    requires std::is_invocable_v<F&, db::Transaction&>
  std::invoke_result_t<F&, db::Transaction&> run(http::Request& request, std::string_view client, F&& body) {
    using Result = std::invoke_result_t<F&, db::Transaction&>;
    static_assert(
        requires { typename Result::promise_type; },
        "the body of Idempotency::run() must be callable as Task<http::Response>(db::Transaction&)");
    static_assert(std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<F>,
                  "a body that captures by value must be a named variable, not a temporary: auto body = [...] { ... }; "
                  "co_await once.run(request, client, body)");
    if constexpr (std::is_same_v<Result, Task<http::Response>>) {
      return run_once(request, client, body);
    } else {
      return run_as<typename Result::Value>(request, client, body);
    }
  }

  // Returns the key in the value of the field; InvalidArgument if the value has neither of the two forms of a key.
  static Result<std::string> parse_key(std::string_view field);

 private:
  using Body = FunctionRef<Task<http::Response>(db::Transaction&)>;
  struct Claim;
  class Running;

  Task<http::Response> run_once(http::Request& request, std::string_view client, Body body);
  Task<http::Response> write(const Claim* claim, Body body);
  Task<std::optional<http::Response>> stored(const Claim& claim);
  Task<> check_table();
  Task<> forget();
  // This overload is for the response types of a contract: a T can be converted to an http::Response, and can be made
  // from a stored http::Response.
  template <class T>
  Task<T> run_as(http::Request& request, std::string_view client, FunctionRef<Task<T>(db::Transaction&)> body) {
    auto plain = [&body](db::Transaction& transaction) -> Task<http::Response> {
      T made = co_await body(transaction);
      co_return std::move(made).response();
    };
    http::Response response = co_await run_once(request, client, plain);
    co_return T::template stored<T>(std::move(response));
  }

  db::Session& database_;
  const IdempotencyOptions options_;
  const metrics::Counter replayed_;
  const metrics::Counter mismatched_;
  const metrics::Counter still_running_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> running_;  // The client and the key of each request in progress.
};

}  // namespace keel::app
