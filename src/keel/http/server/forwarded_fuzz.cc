// Fields of proxies, whatever is in them: the client is the peer or an address, scheme and host are what they may be.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/check.h"
#include "keel/http/message/fields.h"
#include "keel/http/server/forwarded.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel;
  using namespace keel::http;
  const std::string wire =
      "GET / HTTP/1.1\r\nHost: own.example\r\n" + std::string(reinterpret_cast<const char*>(data), size) + "\r\n";
  RequestHead head;
  if (parse_head(wire, {}, head).state != HeadState::Complete) return 0;
  const Address peer = Address::ip("10.0.0.1", 1).value();
  const Network trusted[] = {Network::parse("10.0.0.0/8").value(), Network::parse("::/0").value()};

  for (const ForwardedBy family : {ForwardedBy::XForwarded, ForwardedBy::Forwarded, ForwardedBy::XRealIp}) {
    const Trust trust{trusted, family, {.host = TrustedPeers::TrustedProxies}};
    const Origin origin = origin_of(head, peer, trust);
    KEEL_CHECK(origin.client == peer || origin.client.family() == AF_INET || origin.client.family() == AF_INET6,
               "a client has an address");
    KEEL_CHECK(origin.scheme == "http" || origin.scheme == "https", "a scheme is one of two");
    KEEL_CHECK(!origin.host.empty() && is_field_value(origin.host) && origin.host.find('/') == std::string_view::npos,
               "a host is one");
    KEEL_CHECK(origin.authority.starts_with(origin.host), "an authority is a host and its port");
    const Origin stranger = origin_of(head, Address::ip("192.0.2.1", 1).value(), trust);
    KEEL_CHECK(stranger.host == head.host() && stranger.scheme == "http", "a stranger is not believed");
  }
  return 0;
}
