// Boost.Asio's io_context and steady_timer; see turns.h.

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <deque>
#include <string_view>

#include "turns.h"

namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

constexpr long turns_per_round = 1000;

struct Bench {
  explicit Bench(long count) {
    for (long i = 0; i < count; ++i) timers.emplace_back(context);
    quiet.async_wait(asio::local::stream_protocol::socket::wait_read, [](boost::system::error_code) {});
  }

  void idle_turns() {
    for (long i = 0; i < turns_per_round; ++i) context.poll();
  }
  void posted() {
    for (long i = 0; i < turns_per_round; ++i) {
      asio::post(context, [] {});
      context.poll();
    }
  }
  void start(std::chrono::steady_clock::time_point base, long step, long steps) {
    long i = 0;
    for (auto& timer : timers) {
      timer.expires_at(base + milliseconds(step * (i++ % steps)));
      timer.async_wait([this](boost::system::error_code) { --left; });
    }
    left = timers.size();
  }
  void start_stop() {
    start(std::chrono::steady_clock::now() + milliseconds(1000), 1, 1000);
    for (auto& timer : timers) timer.cancel();
    while (left != 0) context.poll();  // Each handler is told of it.
  }
  void expiry() {
    start(std::chrono::steady_clock::now() + milliseconds(1), 1, 8);
    while (left != 0) context.run_one();
  }

  asio::io_context context{1};
  asio::local::stream_protocol::socket quiet{context, asio::local::stream_protocol(), turns_quiet_connection()};
  std::deque<asio::steady_timer> timers;
  std::size_t left = 0;
};

template <auto method>
int measure(Bench& bench, long operations) {
  return turns_measure([](void* with) { (static_cast<Bench*>(with)->*method)(); }, &bench, operations);
}

}  // namespace

int main(int argc, char** argv) {
  const turns_options options = turns_read(argc, argv);
  const std::string_view what = options.what;
  Bench bench(options.count);
  if (what == "idle-turn") return measure<&Bench::idle_turns>(bench, turns_per_round);
  if (what == "posted") return measure<&Bench::posted>(bench, turns_per_round);
  if (what == "start-stop") return measure<&Bench::start_stop>(bench, options.count);
  if (what == "expiry") return measure<&Bench::expiry>(bench, options.count);
  return 2;
}
