// keel/db/postgres/testing/fake_listener.h — for tests: listens on an address, and runs a FakeServer for each
// connection.
//
// Threads:  the loop's.
// Lifetime: must outlive the task of serve().

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "keel/base/host.h"
#include "keel/db/postgres/testing/fake_server.h"
#include "keel/net/listener.h"
#include "keel/net/stream.h"
#include "keel/task/event.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::testing {

class FakeListener {
 public:
  // With port 0, the system chooses a port.
  explicit FakeListener(FakeDatabase& database, FakeOptions options = {}, std::uint16_t port = 0)
      : database_(database),
        options_(std::move(options)),
        listener_(Listener::bind(Address::ip("127.0.0.1", port).value()).value()) {}

  std::uint16_t port() const { return listener_.address().port(); }

  std::string url() const {
    return "postgres://app:secret@" + listener_.address().to_string() + "/shop?sslmode=disable";
  }
  // Closes each connection after a random number of bytes in one of the two directions. `bytes` is the average of these
  // random numbers; 0: connections are not closed. The random numbers come from the loop's Host.
  void cut_after(std::uint64_t bytes) noexcept { cut_after_ = bytes; }
  std::uint64_t cuts() const noexcept { return cuts_; }
  // The response to a held statement is sent after this time; if the time is zero, the response is sent only after
  // FakeServer::release().
  void hold_for(Duration time) noexcept { hold_ = time; }

  // Accepts connections until its task is stopped.
  Task<> serve() {
    Scope connections;
    while (true) {
      Stream stream = co_await listener_.accept();
      connections.spawn(speak(std::move(stream)), OnError::Ignore);
    }
  }

 private:
  static constexpr std::uint64_t all = ~std::uint64_t{0};

  Task<> speak(Stream stream) {
    FakeOptions options = options_;
    options.seed = Host::current().random();
    FakeServer server(database_, options);
    std::uint64_t left = cut_after_ == 0 ? all : Host::current().random() % (2 * cut_after_);
    std::uint64_t left_in = all;
    if (cut_after_ != 0 && Host::current().random() % 2 == 0) left_in = std::exchange(left, all);
    Event has_output;
    server.set_on_output([&] { has_output.set(); });
    Scope writing;
    writing.spawn(write_all(server, stream, has_output, left), OnError::Ignore);
    while (true) {
      const Result<Chunk> chunk = co_await attempt(stream.receive());
      if (!chunk || chunk->empty()) break;
      server.receive(std::string_view(*chunk).substr(0, left_in));
      while (hold_ > Duration() && server.is_holding()) {
        has_output.set();
        co_await sleep_for(hold_);
        server.release();
      }
      if (chunk->size() > left_in) {  // The server has processed the bytes, but the client gets no response.
        ++cuts_;
        break;
      }
      if (left_in != all) left_in -= chunk->size();
      has_output.set();
    }
    writing.stop();
    static_cast<void>(co_await attempt(writing.join()));
    server.set_on_output({});
  }

  // Sends the server's output; some of it, such as a notification, does not follow a request.
  Task<> write_all(FakeServer& server, Stream& stream, Event& has_output, std::uint64_t left) {
    while (true) {
      co_await has_output.wait();
      has_output.reset();
      while (!server.output().empty()) {
        const std::string out(server.output().view().substr(0, left));
        const bool is_cut = out.size() < server.output().size();
        server.output().clear();
        if (left != all) left -= out.size();
        if (!out.empty()) co_await stream.write(out);
        if (is_cut) {
          ++cuts_;
          stream.shutdown();
          co_return;
        }
        server.refill();
      }
      if (server.is_closed()) {
        stream.shutdown();
        co_return;
      }
    }
  }

  FakeDatabase& database_;
  const FakeOptions options_;
  Listener listener_;
  std::uint64_t cut_after_ = 0;
  std::uint64_t cuts_ = 0;
  Duration hold_;
};

}  // namespace keel::db::postgres::testing
