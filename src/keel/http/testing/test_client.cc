#include "keel/http/testing/test_client.h"

#include "keel/base/check.h"
#include "keel/http/client/url.h"

namespace keel::http {
namespace {

std::string origin_of(const TestTarget& target, const std::string& host) {
  std::string origin = "http://" + (host.empty() ? target.host : host);
  if (target.port != 80) origin += ":" + std::to_string(target.port);
  return origin;
}

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
  target_->finish(*call_);
}

void TestCall::stop() {
  const io::Loop::Entered entered(*target_->loop);
  call_->stop();
}

TestResponse TestCall::response() {
  target_->finish(*call_);
  const io::Loop::Entered entered(*target_->loop);
  return TestResponse(call_->take());
}

TestClient::TestClient(const TestTarget& target, const TestClientOptions& client)
    : target_(target), host_(client.host) {
  const Result<Url> origin = Url::parse(origin_of(target, host_));
  KEEL_CHECK(origin && origin->port() == target.port && origin->target() == "/",
             "the host of a test's request must be a name without a port");
  ClientOptions options;
  if (!client.address.empty()) {
    const Result<Address> from = Address::ip(client.address, 0);
    KEEL_CHECK(from && from->family() == AF_INET, "a test's client must connect from an IPv4 address");
    options.pool.connect.from = *from;
  }
  options.timeout = target.timeout;
  options.first_byte_timeout = target.timeout;
  options.read_timeout = target.timeout;
  options.body_bytes_max = target.body_bytes_max;
  options.redirects_max = 0;
  options.decompresses = false;
  options.retry.attempts_max = 1;
  // The breaker never opens: a test that causes errors must get these errors, not the error of an open circuit.
  options.breaker.failure_ratio = 2;
  const io::Loop::Entered entered(*target.loop);
  client_ = std::make_unique<Client>(*target.resolver, std::move(options));
}

TestClient::~TestClient() {
  const io::Loop::Entered entered(*target_.loop);
  client_.reset();
}

TestClient& TestClient::header(std::string_view name, std::string_view value) & {
  fields_.emplace_back(name, value);
  return *this;
}

TestCall TestClient::begin(ClientRequest request) {
  KEEL_CHECK(request.url().starts_with('/'), "the path of a test's request must begin with a slash");
  request.url_.insert(0, origin_of(target_, host_));
  for (const auto& [name, value] : fields_) request.header(name, value);
  auto call = std::make_unique<Start<ClientResponse>>();
  const io::Loop::Entered entered(*target_.loop);
  call->begin(client_->send(std::move(request)), [](StartCore&) noexcept {});
  return TestCall(target_, std::move(call));
}

}  // namespace keel::http
