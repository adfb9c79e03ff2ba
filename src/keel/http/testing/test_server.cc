#include "keel/http/testing/test_server.h"

#include <string>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/http/client/url.h"
#include "keel/task/timing.h"

namespace keel::http {
namespace {

constexpr std::string_view server_address = "10.0.0.1";

Task<> nap(Duration time) { co_await sleep_for(time); }

}  // namespace

TestResponse::TestResponse(Result<ClientResponse>&& result) {
  if (result) {
    answer_ = *std::move(result);
  } else {
    error_ = result.error().describe();
  }
}

TestCall::~TestCall() {
  if (call_ == nullptr || !call_->is_running()) return;
  stop();
  server_->finish(*call_);
}

void TestCall::stop() {
  const io::Loop::Entered entered(*server_->client_loop_);
  call_->stop();
}

TestResponse TestCall::response() {
  server_->finish(*call_);
  const io::Loop::Entered entered(*server_->client_loop_);
  return TestResponse(call_->take());
}

TestClient::TestClient(TestServer& server, const TestClientOptions& client)
    : server_(server), origin_("http://" + (client.host.empty() ? std::string(server_address) : client.host)) {
  const Result<Url> origin = Url::parse(origin_);
  KEEL_CHECK(origin && origin->port() == 80 && origin->target() == "/", "a test asks for a host by its name alone");
  ClientOptions options;
  if (!client.address.empty()) {
    const Result<Address> from = Address::ip(client.address, 0);
    KEEL_CHECK(from && from->family() == AF_INET, "a test's client connects from an IPv4 address");
    options.pool.connect.from = *from;
  }
  options.timeout = server.options_.timeout;
  options.first_byte_timeout = server.options_.timeout;
  options.read_timeout = server.options_.timeout;
  options.body_bytes_max = server.options_.body_bytes_max;
  options.redirects_max = 0;
  options.retry.attempts_max = 1;
  options.breaker.failure_ratio = 2;  // A test that asks for errors gets them.
  const io::Loop::Entered entered(*server.client_loop_);
  client_ = std::make_unique<Client>(*server.resolver_, std::move(options));
}

TestClient::~TestClient() {
  const io::Loop::Entered entered(*server_.client_loop_);
  client_.reset();
}

TestClient& TestClient::header(std::string_view name, std::string_view value) & {
  fields_.emplace_back(name, value);
  return *this;
}

TestCall TestClient::begin(ClientRequest request) {
  KEEL_CHECK(request.url().starts_with('/'), "a test asks for a path, which begins with a slash");
  request.url_.insert(0, origin_);
  for (const auto& [name, value] : fields_) request.header(name, value);
  auto call = std::make_unique<Start<ClientResponse>>();
  const io::Loop::Entered entered(*server_.client_loop_);
  call->begin(client_->send(std::move(request)), [](StartCore&) noexcept {});
  return TestCall(server_, std::move(call));
}

TestServer::TestServer(const Router& router, TestServerOptions options)
    : options_(std::move(options)),
      simulation_(options_.simulation),
      loop_(&simulation_.add_loop()),
      client_loop_(&simulation_.add_loop()) {
  ServerOptions server = options_.server;
  server.address = Address::ip(server_address, 80).value();
  server.listen = {};
  {
    const io::Loop::Entered entered(*loop_);
    server_ = std::make_unique<Server>(router, std::move(server));
    KEEL_CHECK(server_->start(*loop_).is_ok(), "the only server of a simulation has its address");
  }
  // Every name is the server's.
  resolver_ = std::make_unique<Resolver>(simulation_.pool(), ResolverOptions(), [](const std::string&) {
    return Result<std::vector<Address>>(std::vector{Address::ip(server_address, 0).value()});
  });
  client_ = std::make_unique<TestClient>(*this);
}

TestServer::~TestServer() {
  client_.reset();
  resolver_.reset();
  const io::Loop::Entered entered(*loop_);
  server_->begin_drain(Duration());
  const bool is_drained = simulation_.run_until([this] { return server_->is_drained(); }, Duration::forever());
  KEEL_CHECK(is_drained, "handlers end when they are stopped");
  server_.reset();
}

void TestServer::advance(Duration time) { run(nap(time)).value(); }

Instant TestServer::now() noexcept { return simulation_.now(); }

void TestServer::finish(StartCore& task) {
  const bool has_ended = simulation_.run_until([&] { return !task.is_running(); }, Duration::forever());
  KEEL_CHECK(has_ended, "a call ends, or something is left that will happen");
}

}  // namespace keel::http
