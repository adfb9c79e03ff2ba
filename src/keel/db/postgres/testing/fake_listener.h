// keel/db/postgres/testing/fake_listener.h — for tests: a FakeServer for each connection to an address of a loop.
//
// Threads: the loop's.  Lifetime: outlives the task of serve().

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

namespace keel::db::postgres::testing {

class FakeListener {
 public:
  explicit FakeListener(FakeDatabase& database, FakeOptions options = {})
      : database_(database),
        options_(std::move(options)),
        listener_(Listener::bind(Address::ip("127.0.0.1", 0).value()).value()) {}

  std::string url() const {
    return "postgres://app:secret@" + listener_.address().to_string() + "/shop?sslmode=disable";
  }
  // The connection ends after this many bytes to the client, on average; 0: never. By the loop's random numbers.
  void cut_after(std::uint64_t bytes) noexcept { cut_after_ = bytes; }
  std::uint64_t cuts() const noexcept { return cuts_; }

  // Until it is stopped.
  Task<> serve() {
    Scope connections;
    while (true) {
      Stream stream = co_await listener_.accept();
      connections.spawn(speak(std::move(stream)), OnError::Ignore);
    }
  }

 private:
  Task<> speak(Stream stream) {
    FakeOptions options = options_;
    options.seed = Host::current().random();
    FakeServer server(database_, options);
    std::uint64_t left = cut_after_ == 0 ? ~std::uint64_t{0} : Host::current().random() % (2 * cut_after_);
    while (true) {
      const Chunk chunk = co_await stream.receive();
      if (chunk.empty()) co_return;
      server.receive(chunk);
      while (!server.output().empty()) {
        const std::string out(server.output().view().substr(0, left));
        const bool is_cut = out.size() < server.output().size();
        server.output().clear();
        left -= out.size();
        if (!out.empty()) co_await stream.write(out);
        if (is_cut) {
          ++cuts_;
          co_return;
        }
        server.refill();
      }
      if (server.is_closed()) co_return;
    }
  }

  FakeDatabase& database_;
  const FakeOptions options_;
  Listener listener_;
  std::uint64_t cut_after_ = 0;
  std::uint64_t cuts_ = 0;
};

}  // namespace keel::db::postgres::testing
