#include "keel/http/server/forwarded.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "keel/http/message/fields.h"

namespace keel::http {
namespace {

// Parses "192.0.2.7", "192.0.2.7:80", "[2001:db8::1]:80" and, for X-Forwarded-For, "2001:db8::1".
std::optional<Address> node(std::string_view text) noexcept {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (host.find(':') == std::string_view::npos) return std::nullopt;
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos && colon == text.rfind(':')) {
    host = text.substr(0, colon);
    port = text.substr(colon);
  }
  std::uint16_t number = 0;
  if (!port.empty()) {
    if (port.front() != ':') return std::nullopt;
    const auto [end, error] = std::from_chars(port.data() + 1, port.data() + port.size(), number);
    if (error != std::errc() || end != port.data() + port.size()) number = 0;  // An obfuscated port is accepted as 0.
  }
  // Uses inet_pton() and not Address::ip(), because the error message of Address::ip() would need memory.
  char buffer[INET6_ADDRSTRLEN + 1];
  if (host.empty() || host.size() >= sizeof buffer) return std::nullopt;
  std::memcpy(buffer, host.data(), host.size());
  buffer[host.size()] = '\0';
  sockaddr_in in4{};
  if (inet_pton(AF_INET, buffer, &in4.sin_addr) == 1) {
    in4.sin_family = AF_INET;
    in4.sin_port = htons(number);
    return Address::from_system(reinterpret_cast<const sockaddr*>(&in4), sizeof in4);
  }
  sockaddr_in6 in6{};
  if (inet_pton(AF_INET6, buffer, &in6.sin6_addr) == 1) {
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(number);
    return Address::from_system(reinterpret_cast<const sockaddr*>(&in6), sizeof in6);
  }
  return std::nullopt;
}

// The host in the value of a field, without the port; empty if the value has no valid host.
std::string_view host_of(std::string_view text) noexcept {
  std::size_t end = text.size();
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == std::string_view::npos) return {};
    ++end;
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    end = colon;
  }
  const std::string_view host = text.substr(0, end);
  const std::string_view port = text.substr(end);
  if (!port.empty() && (port.front() != ':' || port.find_first_not_of("0123456789", 1) != std::string_view::npos)) {
    return {};
  }
  for (const char c : host) {
    if (!byte_class::is(byte_class::host, c) && c != '[' && c != ']' && c != ':') return {};
  }
  return host;
}

std::string_view scheme_of(std::string_view text) noexcept {
  if (equals_ignore_case(text, "https")) return "https";
  if (equals_ignore_case(text, "http")) return "http";
  return {};
}

// Iterates over the elements of all fields with one name, from the last element to the first.
class FromTheRight {
 public:
  FromTheRight(const RequestHead& head, std::string_view name) noexcept
      : head_(head), name_(name), field_(head.field_count()) {}
  // Returns false when no element is left. A comma inside quotes does not end an element, and an escaped quote does not
  // end a quoted text.
  bool next(std::string_view& element) noexcept {
    while (!in_field_) {
      if (field_ == 0) return false;
      const Field field = head_.field(--field_);
      if (!equals_ignore_case(field.name, name_)) continue;
      rest_ = field.value;
      in_field_ = true;
    }
    bool quoted = false;
    std::size_t begin = rest_.size();
    while (begin != 0) {
      const char c = rest_[begin - 1];
      if (c == '"' && !is_escaped(begin - 1)) quoted = !quoted;
      if (c == ',' && !quoted) break;
      --begin;
    }
    element = trim_blanks(rest_.substr(begin));
    in_field_ = begin != 0;
    if (in_field_) rest_ = rest_.substr(0, begin - 1);
    return true;
  }

 private:
  // Whether the character at `at` is escaped: it has an odd number of backslashes directly before it (RFC 9110 §5.6.4).
  bool is_escaped(std::size_t at) const noexcept {
    std::size_t backslashes = 0;
    while (backslashes < at && rest_[at - 1 - backslashes] == '\\') ++backslashes;
    return backslashes % 2 != 0;
  }

  const RequestHead& head_;
  const std::string_view name_;
  unsigned field_;
  std::string_view rest_;
  bool in_field_ = false;
};

// If there are several X-Real-IP fields, all of them are ignored, because a proxy may have added its own field to the
// client's field, and the server cannot tell which field is whose.
std::optional<Address> real_ip(const RequestHead& head) noexcept {
  std::string_view text, another;
  FromTheRight values(head, "x-real-ip");
  if (!values.next(text) || values.next(another)) return std::nullopt;
  return node(text);
}

struct Element {
  std::string_view by_for, proto, host;
};

// RFC 7239 §4: an element consists of pairs with ';' between them; a value is a token or a quoted text.
Element forwarded_element(std::string_view text) noexcept {
  Element element;
  while (!text.empty()) {
    std::size_t end = 0;
    for (bool quoted = false; end < text.size() && (quoted || text[end] != ';'); ++end) {
      if (text[end] == '"') quoted = !quoted;
      if (text[end] == '\\' && quoted && end + 1 < text.size()) ++end;  // Skips the escaped character.
    }
    const std::string_view pair = trim_blanks(text.substr(0, end));
    text.remove_prefix(end == text.size() ? end : end + 1);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = pair.substr(0, equals);
    std::string_view value = pair.substr(equals + 1);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    if (equals_ignore_case(name, "for")) element.by_for = value;
    if (equals_ignore_case(name, "proto")) element.proto = value;
    if (equals_ignore_case(name, "host")) element.host = value;
  }
  return element;
}

}  // namespace

std::string_view client_of(const Address& address) noexcept {
  const auto bytes = [](const void* at, std::size_t size) {
    return std::string_view(static_cast<const char*>(at), size);
  };
  if (address.family() == AF_INET) {
    return bytes(&reinterpret_cast<const sockaddr_in*>(address.system())->sin_addr, 4);
  }
  if (address.family() == AF_INET6) {
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(address.system())->sin6_addr;
    // A client that connects to an IPv6 socket over IPv4 has an IPv4-mapped address.
    if (IN6_IS_ADDR_V4MAPPED(&v6)) return bytes(v6.s6_addr + 12, 4);
    return bytes(&v6, 8);
  }
  return {};
}

bool is_trusted(const Address& address, std::span<const Network> trusted) noexcept {
  for (const Network& network : trusted) {
    if (network.contains(address)) return true;
  }
  return false;
}

Origin origin_of(const RequestHead& head, const Address& peer, const Trust& trust, std::string_view scheme) noexcept {
  Origin origin{.client = peer, .scheme = scheme, .host = head.host(), .authority = head.authority()};
  const bool is_proxy = is_trusted(peer, trust.proxies);
  const auto believes = [is_proxy](TrustedPeers peers) {
    return peers == TrustedPeers::Everybody || (peers == TrustedPeers::TrustedProxies && is_proxy);
  };
  const bool takes_proto = believes(trust.believed.proto);
  const bool takes_host = believes(trust.believed.host);
  if (!is_proxy && !takes_proto && !takes_host) return origin;

  const bool is_standard = trust.forwarded_by == ForwardedBy::Forwarded;
  Element told;
  std::string_view text;
  if (trust.forwarded_by == ForwardedBy::XRealIp) {
    if (is_proxy) origin.client = real_ip(head).value_or(peer);
  } else {
    for (FromTheRight hops(head, is_standard ? "forwarded" : "x-forwarded-for"); hops.next(text);) {
      if (text.empty()) continue;  // RFC 9110 §5.6.1: a list may have empty elements.
      told = is_standard ? forwarded_element(text) : Element{text, {}, {}};
      if (!is_proxy) break;
      const std::optional<Address> client = node(told.by_for);
      origin.client = client.value_or(peer);
      if (!client || !is_trusted(*client, trust.proxies)) break;
    }
  }
  if (!is_standard) {
    FromTheRight(head, "x-forwarded-proto").next(told.proto);
    FromTheRight(head, "x-forwarded-host").next(told.host);
  }
  const std::string_view proto = scheme_of(told.proto);
  if (takes_proto && !proto.empty()) origin.scheme = proto;
  const std::string_view host = host_of(told.host);
  if (takes_host && !host.empty()) {
    origin.host = host;
    origin.authority = told.host;
  }
  return origin;
}

}  // namespace keel::http
