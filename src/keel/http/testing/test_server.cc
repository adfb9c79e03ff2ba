#include "keel/http/testing/test_server.h"

#include <string>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/task/timing.h"

namespace keel::http {
namespace {

constexpr std::string_view server_address = "10.0.0.1";

Task<> nap(Duration time) { co_await sleep_for(time); }

}  // namespace

TestServer::TestServer(const Router& router, TestServerOptions options)
    : options_(std::move(options)),
      simulation_(options_.simulation),
      loop_(&simulation_.add_loop()),
      target_{.loop = &simulation_.add_loop(),
              .host = std::string(server_address),
              .timeout = options_.timeout,
              .body_bytes_max = options_.body_bytes_max,
              .finish = [this](StartCore& task) { finish(task); }} {
  ServerOptions server = options_.server;
  server.address = Address::ip(server_address, 80).value();
  server.listen = {};
  {
    const io::Loop::Entered entered(*loop_);
    server_ = std::make_unique<Server>(router, std::move(server));
    KEEL_CHECK(server_->start(*loop_).is_ok(), "the only server of a simulation must have the simulation's address");
  }
  // All names are resolved to the server.
  resolver_ = std::make_unique<Resolver>(simulation_.pool(), ResolverOptions(), [](const std::string&) {
    return Result<std::vector<Address>>(std::vector{Address::ip(server_address, 0).value()});
  });
  target_.resolver = resolver_.get();
  client_ = std::make_unique<TestClient>(target_);
}

TestServer::~TestServer() {
  client_.reset();
  resolver_.reset();
  const io::Loop::Entered entered(*loop_);
  server_->begin_drain(Duration());
  const bool is_drained = simulation_.run_until([this] { return server_->is_drained(); }, Duration::forever());
  KEEL_CHECK(is_drained, "handlers must end when they are stopped");
  server_.reset();
}

void TestServer::advance(Duration time) { run(nap(time)).value(); }

Instant TestServer::now() noexcept { return simulation_.now(); }

void TestServer::finish(StartCore& task) {
  const bool has_ended = simulation_.run_until([&] { return !task.is_running(); }, Duration::forever());
  KEEL_CHECK(has_ended, "a call must end before the simulation runs out of events");
}

}  // namespace keel::http
