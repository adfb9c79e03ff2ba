// Whatever comes, Records answer with bytes within their bound or an error that stays, however the bytes are cut, and
// never deliver what the peer has not sent. records_test.cc runs the same function.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/check.h"
#include "keel/net/tls/records.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::tls {
namespace {

struct Contexts {
  testing::Authority authority{"Test Root"};
  ServerContext server =
      ServerContext::make({.certificates = {authority.issue({.names = {"server.test"}})}, .protocols = {"http/1.1"}})
          .value();
  ClientContext client = ClientContext::make({.trust = {.pem = authority.pem()}, .sessions_max = 0}).value();
};

// What it delivers of `bytes`, which come in pieces. Ends with the first error.
std::string feed(Records& records, std::string_view bytes, std::size_t piece) {
  std::string plain;
  char room[Records::plain_bytes_max];
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::string part(bytes.substr(at, piece));  // In memory of its own.
    std::string_view wire = part;
    while (true) {
      const std::size_t before = wire.size();
      const Result<std::size_t> got = records.read(wire, room);
      KEEL_CHECK(wire.size() <= before && wire.data() + wire.size() == part.data() + part.size(), "the front is taken");
      KEEL_CHECK(records.output().size() < Records::output_bytes_max + 256 * 1024, "what is to be sent is bounded");
      records.output().clear();
      if (!got) {
        std::string_view more = part;
        KEEL_CHECK(records.read(more, room).error().message() == got.error().message(), "an error stays");
        KEEL_CHECK(!records.ended(), "and the end does not make it good");
        return plain;
      }
      plain.append(room, *got);
      if (*got == 0 && (wire.empty() || records.has_peer_finished())) break;
    }
    if (records.has_peer_finished()) break;
  }
  return plain;
}

void shake(Records& client, Records& server) {
  std::string_view nothing;
  KEEL_CHECK(client.read(nothing, {}).is_ok(), "a client begins");
  for (int i = 0; i < 4; ++i) {
    for (auto [from, to] : {std::pair{&client, &server}, std::pair{&server, &client}}) {
      const std::string flight(std::exchange(from->output(), Buffer()).view());
      std::string_view wire = flight;
      char room[1];
      while (!wire.empty())
        KEEL_CHECK(to->read(wire, to->is_established() ? std::span(room) : std::span<char>()).is_ok(),
                   "a handshake succeeds");
    }
  }
  KEEL_CHECK(client.is_established() && server.is_established(), "both are established");
}

}  // namespace
}  // namespace keel::tls

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::tls;
  if (size < 4) return 0;
  static Contexts contexts;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 4, size - 4);
  const std::size_t piece = data[1] == 0 ? std::max<std::size_t>(bytes.size(), 1) : data[1];

  Records server(contexts.server);
  Records client(contexts.client, "server.test");
  switch (data[0] % 4) {
    case 0:
      KEEL_CHECK(feed(server, bytes, piece).empty(), "without a handshake nothing is delivered");
      break;
    case 1: {
      std::string_view nothing;
      KEEL_CHECK(client.read(nothing, {}).is_ok(), "a client begins");
      KEEL_CHECK(feed(client, bytes, piece).empty(), "without a handshake nothing is delivered");
      break;
    }
    case 2:
      shake(client, server);
      KEEL_CHECK(feed(server, bytes, piece).empty(), "what was not sealed is not delivered");
      break;
    default: {
      // What was sealed, with one of its bytes changed.
      shake(client, server);
      KEEL_CHECK(client.write(bytes.substr(0, 40'000)).is_ok(), "there is room");
      std::string wire(client.output().view());
      const std::size_t at = (data[2] * 256u + data[3]) % (wire.size() + 1);
      if (at < wire.size()) wire[at] = static_cast<char>(wire[at] ^ (1 << (data[0] / 4 % 8)));
      const std::string plain = feed(server, wire, piece);
      KEEL_CHECK(bytes.starts_with(plain), "what is delivered was sent");
      if (at == wire.size()) KEEL_CHECK(plain == bytes.substr(0, 40'000), "and all of it");
    }
  }
  return 0;
}
