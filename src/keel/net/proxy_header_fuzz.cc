// A PROXY header, whatever is in it: what was found does not depend on what follows it, nor on where it was cut.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/check.h"
#include "keel/net/proxy_header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel;
  using State = ProxyHeader::State;
  constexpr std::size_t bytes_max = 4096;
  const std::string_view received(reinterpret_cast<const char*>(data), size);
  const ProxyHeader header = parse_proxy_header(received);
  const bool has_client = header.sender == ProxyHeader::Sender::Client;
  KEEL_CHECK((header.state == State::Refused) == !std::string_view(header.reason).empty(), "a refusal says why");
  switch (header.state) {
    case State::Incomplete:
      KEEL_CHECK(size < bytes_max, "a header is bounded");
      break;
    case State::Refused: {
      const ProxyHeader longer = parse_proxy_header(std::string(received) + "\r\n");
      KEEL_CHECK(longer.state == State::Refused, "nothing that follows makes a header of it");
      break;
    }
    case State::Complete: {
      KEEL_CHECK(header.size <= size && header.size <= bytes_max, "a header is what has come, and bounded");
      KEEL_CHECK(has_client == (header.client.family() == AF_INET || header.client.family() == AF_INET6),
                 "a client that is told has an address");
      KEEL_CHECK(has_client || header.client.family() == AF_UNSPEC, "one that is not has none");
      const ProxyHeader alone = parse_proxy_header(received.substr(0, header.size));
      KEEL_CHECK(alone.state == State::Complete && alone.size == header.size && alone.sender == header.sender &&
                     alone.client == header.client,
                 "what follows a header is not looked at");
      for (std::size_t cut = 0; cut < header.size; ++cut) {
        KEEL_CHECK(parse_proxy_header(received.substr(0, cut)).state == State::Incomplete, "a part of it is no header");
      }
      break;
    }
  }
  return 0;
}
