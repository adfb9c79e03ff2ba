// tls_exchange serve|ask [--peer HOST:PORT] [--certificate FILE] [--roots FILE] [--engine uring|epoll] [--records N]
//   [--expect BYTES] [--records-per-key N]
//
// One connection of TLS, over which both sides send at the same time. It sends N records of 1 to 1,200 bytes, each
// thousandth of 16 KiB, and compares BYTES that it receives with what exchange.py and exchange.go send: a sequence of
// digits that each side computes. `serve` prints its port first; both print what was sent and received. Code 1 with the
// reason when anything else happens.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/net/run.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/stream.h"
#include "keel/task/scope.h"

namespace keel {
namespace {

struct Arguments {
  std::string peer;
  std::string certificate;
  std::string roots;
  io::EngineKind engine = io::EngineKind::Auto;
  std::uint64_t records = 0;
  std::uint64_t bytes_expected = 0;
  std::uint32_t records_per_key = 1u << 24;
};

// A prime number: records and buffers never have the length of the sequence.
constexpr std::size_t period = 65521;
constexpr std::size_t record_bytes_max = 16 * 1024;

// The digits of exchange.py, and once more the first ones of them.
const std::string& digits() {
  static const std::string made = [] {
    std::string text;
    std::uint32_t state = 27;
    for (std::size_t i = 0; i < period; ++i) {
      state = (state * 1103515245u + 12345u) & 0x7FFFFFFFu;
      text += static_cast<char>('0' + (state >> 16) % 10);
    }
    return text + text.substr(0, record_bytes_max);
  }();
  return made;
}

struct Counts {
  std::uint64_t sent_records = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
};

Task<> send_all(Stream& stream, const Arguments& arguments, Counts& counts) {
  std::uint32_t state = 1;
  for (; counts.sent_records < arguments.records; ++counts.sent_records) {
    state = state * 1664525u + 1013904223u;
    const std::size_t size = counts.sent_records % 1000 == 999 ? record_bytes_max : 1 + (state >> 16) % 1200;
    const std::string_view record = std::string_view(digits()).substr(counts.sent_bytes % period, size);
    co_await stream.write(record);
    counts.sent_bytes += size;
  }
}

Task<> receive_all(Stream& stream, const Arguments& arguments, Counts& counts) {
  while (counts.received_bytes < arguments.bytes_expected) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) {
      co_await fail(Code::DataLoss, "the peer has finished before it has sent all");
    }
    for (std::string_view left = chunk; !left.empty();) {
      const std::size_t size = std::min(left.size(), record_bytes_max);
      const std::size_t at = counts.received_bytes % period;
      if (left.substr(0, size) != std::string_view(digits()).substr(at, size)) {
        co_await fail(Code::DataLoss, "other bytes than the peer has sent");
      }
      counts.received_bytes += size;
      left.remove_prefix(size);
    }
  }
}

Task<> exchange(Stream stream, const Arguments& arguments) {
  co_await stream.establish();
  const tls::Records& connection = *tls::connection_of(stream);
  std::printf("%s %s\n", connection.version() == tls::Version::Tls13 ? "TLS 1.3" : "TLS 1.2",
              std::string(connection.cipher()).c_str());
  Counts counts;
  Scope both;
  both.spawn(send_all(stream, arguments, counts));
  both.spawn(receive_all(stream, arguments, counts));
  const Result<> done = co_await attempt(both.join());
  std::printf("sent %llu records, %llu bytes; received %llu bytes\n",
              static_cast<unsigned long long>(counts.sent_records), static_cast<unsigned long long>(counts.sent_bytes),
              static_cast<unsigned long long>(counts.received_bytes));
  std::fflush(stdout);
  if (!done) co_await std::unexpected(done.error().clone());
  // The peer may be reading still, and a reset would take that from it.
  stream.shutdown_write();
  while (true) {
    const Result<Chunk> rest = co_await attempt(stream.receive());
    if (!rest || rest->empty()) co_return;
    co_await fail(Code::DataLoss, "the peer sends more than it has said");
  }
}

Task<> serve(const Arguments& arguments) {
  const tls::ServerOptions options = {.certificates = {{.certificate_file = arguments.certificate}},
                                      .records_per_key = arguments.records_per_key};
  tls::ServerContext context = co_await tls::ServerContext::make(options);
  tls::Listener listener = co_await tls::Listener::bind(std::move(context), *Address::parse("127.0.0.1:0"));
  std::printf("port %d\n", listener.address().port());
  std::fflush(stdout);
  Stream peer = co_await listener.accept();
  co_await exchange(std::move(peer), arguments);
}

Task<> ask(const Arguments& arguments) {
  const tls::ClientOptions options = {.trust = {.file = arguments.roots}, .records_per_key = arguments.records_per_key};
  tls::ClientContext context = co_await tls::ClientContext::make(options);
  const Address to = co_await Address::parse(arguments.peer);
  Stream peer = co_await tls::connect(std::move(context), "localhost", to);
  co_await exchange(std::move(peer), arguments);
}

bool take(std::string_view name, std::string_view value, Arguments& arguments) {
  const auto number = [&](auto& into) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), into);
    return error == std::errc() && end == value.data() + value.size();
  };
  if (name == "--peer") return !(arguments.peer = value).empty();
  if (name == "--certificate") return !(arguments.certificate = value).empty();
  if (name == "--roots") return !(arguments.roots = value).empty();
  if (name == "--records") return number(arguments.records);
  if (name == "--expect") return number(arguments.bytes_expected);
  if (name == "--records-per-key") return number(arguments.records_per_key);
  arguments.engine = value == "epoll" ? io::EngineKind::Epoll : io::EngineKind::Uring;
  return name == "--engine" && (value == "epoll" || value == "uring");
}

int exchange_all(const std::vector<std::string_view>& words) {
  Arguments arguments;
  bool is_usable = words.size() % 2 == 1 && (words[0] == "serve" || words[0] == "ask");
  for (std::size_t i = 1; is_usable && i < words.size(); i += 2) is_usable = take(words[i], words[i + 1], arguments);
  if (!is_usable) {
    std::fprintf(stderr, "tls_exchange: the first lines of tests/tls/exchange.cc say how it is used\n");
    return 2;
  }
  const Result<> done = run(words[0] == "serve" ? serve(arguments) : ask(arguments), arguments.engine);
  if (!done) std::fprintf(stderr, "%s\n", done.error().describe().c_str());
  return done ? 0 : 1;
}

}  // namespace
}  // namespace keel

int main(int argc, char** argv) { return keel::exchange_all({argv + 1, argv + argc}); }
