// keel/http/testing/test_client.h — a client for tests, which sends requests to the service under test and returns its
// responses.
//
//   http::TestClient ada(server);               // an http::TestServer or an app::TestApp
//   ada.header("Authorization", "Bearer ada");
//   EXPECT_EQ(ada.get("/me").status(), 200);
//   EXPECT_EQ(ada.post("/orders", NewOrder{"tea", 2}).json<Order>()->item, "tea");   // plain structs
//
// Codings:   the client asks for no content coding and decodes none; a test that sends Accept-Encoding itself gets the
//            body as it was sent.
// Errors:    if a call gets no response, status() is 0, and error() says why. Requests are not retried, and redirects
//            are not followed. If the server has closed a pooled connection, the client replaces the connection, like
//            any Client.
// Ownership: the tested server must outlive its clients, and the clients must outlive their calls.
// Threads:   the thread of the server or service that the client calls.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/time.h"
#include "keel/data/json_parse.h"
#include "keel/http/client/client.h"
#include "keel/io/loop.h"
#include "keel/task/start.h"

namespace keel::http {

// The server that a TestClient calls, and how the client waits for its responses.
struct TestTarget {
  io::Loop* loop = nullptr;                // The loop on which the calls run.
  Resolver* resolver = nullptr;            // A resolver that resolves every name to the server.
  std::string host = {};                   // The host of the server.
  std::uint16_t port = 80;                 // The port of the server.
  Duration timeout = 1_h;                  // Time limit of a call.
  std::size_t body_bytes_max = 64 << 20;   // Largest body that a response may have.
  Function<void(StartCore& task)> finish;  // Lets time pass until the task has ended.
};

// The host and the address that the server sees when a TestClient sends a request.
struct TestClientOptions {
  std::string host = {};     // The value of Host: a name without a port, or "10.0.0.1" if empty.
  std::string address = {};  // The IPv4 address from which the client connects; empty: 10.0.0.1.
};

// A copy of a response. A value.
class TestResponse {
 public:
  // 200, 404, …; 0 if there was no response.
  int status() const noexcept { return answer_ ? static_cast<int>(answer_->status()) : 0; }
  std::string_view body() const noexcept { return answer_ ? answer_->body() : std::string_view(); }
  // Parses the body as a T (data/json_parse.h), whatever the status is.
  template <class T>
  Result<T> json() const {
    return keel::json::parse<T>(body(), {.is_response = true});
  }
  // The value of the first field with that name (in any case), or nullopt.
  std::optional<std::string_view> header(std::string_view name) const noexcept {
    if (!answer_) return std::nullopt;
    return answer_->header(name);
  }
  // Why there was no response; empty if there was one.
  const std::string& error() const noexcept { return error_; }

 private:
  friend class TestCall;
  explicit TestResponse(Result<ClientResponse>&& result);
  std::optional<ClientResponse> answer_;
  std::string error_;
};

// A request in progress. Movable. If the object is destroyed before the request has ended, the request is stopped, as
// when a client disconnects.
class TestCall {
 public:
  TestCall(TestCall&&) noexcept = default;
  TestCall& operator=(TestCall&&) = delete;
  ~TestCall();
  bool has_ended() const noexcept { return call_->has_ended(); }
  // Stops the call: the client closes its connection.
  void stop();
  // Lets time pass until the call has ended. Call it once.
  TestResponse response();

 private:
  friend class TestClient;
  TestCall(const TestTarget& target, std::unique_ptr<Start<ClientResponse>> call) noexcept
      : target_(&target), call_(std::move(call)) {}
  const TestTarget* target_;
  std::unique_ptr<Start<ClientResponse>> call_;
};

// The functions get(), post() and so on, for `Asker`, which is a TestClient or an app::TestApp. Each function sends a
// request, and lets time pass until the response has arrived.
template <class Asker>
class TestRequests {
 public:
  TestResponse get(std::string_view path) { return send(ClientRequest(Method::Get, path)); }
  TestResponse del(std::string_view path) { return send(ClientRequest(Method::Delete, path)); }
  // Without a body.
  TestResponse post(std::string_view path) { return send(ClientRequest(Method::Post, path)); }
  TestResponse post(std::string_view path, std::string_view body, std::string_view content_type = "application/json") {
    return send(ClientRequest(Method::Post, path).body(body, content_type));
  }
  TestResponse put(std::string_view path, std::string_view body, std::string_view content_type = "application/json") {
    return send(ClientRequest(Method::Put, path).body(body, content_type));
  }
  TestResponse patch(std::string_view path, std::string_view body, std::string_view content_type = "application/json") {
    return send(ClientRequest(Method::Patch, path).body(body, content_type));
  }
  // Sends `value` as JSON: a plain struct, a list, a map (ClientRequest::json).
  template <IsNoText T>
  TestResponse post(std::string_view path, const T& value) {
    return send(ClientRequest(Method::Post, path).json(value));
  }
  template <IsNoText T>
  TestResponse put(std::string_view path, const T& value) {
    return send(ClientRequest(Method::Put, path).json(value));
  }
  template <IsNoText T>
  TestResponse patch(std::string_view path, const T& value) {
    return send(ClientRequest(Method::Patch, path).json(value));
  }
  TestResponse send(ClientRequest request) { return static_cast<Asker&>(*this).begin(std::move(request)).response(); }

 protected:
  TestRequests() = default;
  ~TestRequests() = default;
};

class TestClient : public TestRequests<TestClient> {
 public:
  explicit TestClient(const TestTarget& target, const TestClientOptions& options = {});
  // Makes a client of a TestServer or of an app::TestApp.
  template <class Tested>
    requires requires(const Tested& tested) { static_cast<const TestTarget&>(tested.target()); }
  explicit TestClient(const Tested& tested, const TestClientOptions& options = {})
      : TestClient(tested.target(), options) {}
  ~TestClient();
  TestClient(const TestClient&) = delete;
  TestClient& operator=(const TestClient&) = delete;

  // Adds a field that is sent with each later request.
  TestClient& header(std::string_view name, std::string_view value) &;

  // Starts the request. Time passes in TestServer::advance(), and in get(), post() and the other functions that wait
  // for a response.
  TestCall begin(ClientRequest request);

 private:
  const TestTarget& target_;
  const std::string host_;
  std::vector<std::pair<std::string, std::string>> fields_;
  std::unique_ptr<Client> client_;
};

}  // namespace keel::http
