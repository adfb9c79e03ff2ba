#include "keel/net/proxy_header.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "keel/net/crc32c.h"

namespace keel {
namespace {

using State = ProxyHeader::State;
using Sender = ProxyHeader::Sender;

constexpr std::string_view v1_begin = "PROXY ";
constexpr std::size_t v1_bytes_max = 107;
constexpr std::string_view v2_begin("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::size_t v2_fixed_bytes = 16;
constexpr std::size_t v2_bytes_max = 4096;
constexpr std::uint8_t crc32c_type = 0x03;

ProxyHeader refused(const char* reason) noexcept { return {.state = State::Refused, .reason = reason}; }

std::uint8_t byte_at(std::string_view bytes, std::size_t at) noexcept { return static_cast<std::uint8_t>(bytes[at]); }

std::size_t number_at(std::string_view bytes, std::size_t at) noexcept {
  return std::size_t{byte_at(bytes, at)} << 8 | byte_at(bytes, at + 1);
}

// --- version 1 -----------------------------------------------------------------------------------------------------

// Removes the next word, and one space after the word, from `rest`.
std::string_view next_word(std::string_view& rest) noexcept {
  const std::size_t space = rest.find(' ');
  const std::string_view word = rest.substr(0, space);
  rest.remove_prefix(space == std::string_view::npos ? rest.size() : space + 1);
  return word;
}

std::optional<std::uint16_t> port_of(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || (text.size() > 1 && text.front() == '0')) return {};
  return port;
}

// inet_pton() needs a null-terminated string, and rejects leading zeros, blanks and truncated addresses.
std::optional<Address> address_of(int family, std::string_view host, std::string_view port) noexcept {
  char text[INET6_ADDRSTRLEN + 1] = {};
  const auto number = port_of(port);
  if (!number || host.size() >= sizeof text || host.find('\0') != std::string_view::npos) return std::nullopt;
  std::memcpy(text, host.data(), host.size());
  if (family == AF_INET) {
    sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(*number), .sin_addr = {}, .sin_zero = {}};
    if (inet_pton(family, text, &v4.sin_addr) != 1) return std::nullopt;
    return Address::from_system(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(*number);
  if (inet_pton(family, text, &v6.sin6_addr) != 1) return std::nullopt;
  return Address::from_system(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
}

ProxyHeader parse_v1(std::string_view received) noexcept {
  const std::string_view most = received.substr(0, v1_bytes_max);
  const std::size_t end = most.find("\r\n");
  if (end == std::string_view::npos) {
    if (most.size() == v1_bytes_max) return refused("the line of version 1 has more than 107 bytes");
    const std::string_view begun = most.ends_with('\r') ? most.substr(0, most.size() - 1) : most;
    if (begun.find_first_of("\r\n") != std::string_view::npos)
      return refused("the line of version 1 ends without CRLF");
    return {};
  }
  std::string_view rest = most.substr(v1_begin.size(), end - v1_begin.size());
  if (most.substr(0, end).find_first_of("\r\n") != std::string_view::npos) {
    return refused("the line of version 1 ends without CRLF");
  }
  ProxyHeader header{.state = State::Complete, .size = end + 2};
  const std::string_view protocol = next_word(rest);
  // The rest of the line is ignored, because a proxy may write anything there.
  if (protocol == "UNKNOWN") return header;
  if (protocol != "TCP4" && protocol != "TCP6") return refused("version 1 names neither TCP4, TCP6 nor UNKNOWN");
  const int family = protocol == "TCP4" ? AF_INET : AF_INET6;
  const std::string_view source = next_word(rest);
  const std::string_view destination = next_word(rest);
  const std::string_view source_port = next_word(rest);
  // The last word has no space after it.
  const auto client = address_of(family, source, source_port);
  if (!client || !address_of(family, destination, rest))
    return refused("a header of version 1 has an invalid address or port");
  header.sender = Sender::Client;
  header.client = *client;
  return header;
}

// --- version 2 -----------------------------------------------------------------------------------------------------

// Whether the CRC32C at `at` is the checksum of the whole header, computed with four zeros in place of the checksum.
bool is_intact(std::string_view header, std::size_t at) noexcept {
  std::uint32_t crc = crc32c(header.substr(0, at));
  crc = crc32c(std::string_view("\0\0\0\0", 4), crc);
  crc = crc32c(header.substr(at + 4), crc);
  return crc == (static_cast<std::uint32_t>(number_at(header, at)) << 16 | number_at(header, at + 2));
}

// Checks the TLVs from `at` on; null: the TLVs are well-formed.
const char* wrong_with_tlvs(std::string_view header, std::size_t at) noexcept {
  while (at != header.size()) {
    if (header.size() - at < 3) return "a TLV of version 2 is truncated";
    const std::size_t size = number_at(header, at + 1);
    if (header.size() - at - 3 < size) return "a TLV of version 2 is longer than the header";
    if (byte_at(header, at) == crc32c_type) {
      if (size != 4) return "the CRC32C of version 2 does not have four bytes";
      if (!is_intact(header, at + 3)) return "the CRC32C of version 2 is wrong";
    }
    at += 3 + size;
  }
  return nullptr;
}

// The source address of version 2, from the bytes of a source address, a destination address and their ports.
Address v2_client(int family, std::string_view addresses) noexcept {
  if (family == AF_INET) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    std::memcpy(&v4.sin_addr, addresses.data(), 4);
    std::memcpy(&v4.sin_port, addresses.data() + 8, 2);
    return Address::from_system(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  std::memcpy(&v6.sin6_addr, addresses.data(), 16);
  std::memcpy(&v6.sin6_port, addresses.data() + 32, 2);
  return Address::from_system(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
}

ProxyHeader parse_v2(std::string_view received) noexcept {
  constexpr std::size_t address_bytes[] = {0, 12, 36, 216};  // The index is the family: unspecified, IPv4, IPv6, Unix.
  if (received.size() <= v2_begin.size()) return {};
  const std::uint8_t command = byte_at(received, 12);
  if (command >> 4 != 2) return refused("the binary header is not of version 2");
  const bool is_local = (command & 0xf) == 0;
  if ((command & 0xf) > 1) return refused("the command of version 2 is neither LOCAL nor PROXY");
  if (received.size() < v2_fixed_bytes) return {};
  const std::uint8_t family = byte_at(received, 13) >> 4;
  const std::uint8_t protocol = byte_at(received, 13) & 0xf;
  const std::size_t size = v2_fixed_bytes + number_at(received, 14);
  if (size > v2_bytes_max) return refused("the header of version 2 has more than 4096 bytes");
  // Everything in a LOCAL header, including the family, must be discarded.
  if (!is_local) {
    if (family > 3 || protocol > 2) return refused("version 2 names an unknown family or protocol");
    if (size < v2_fixed_bytes + address_bytes[family])
      return refused("the header of version 2 ends before the end of its addresses");
  }
  if (received.size() < size) return {};
  ProxyHeader header{.state = State::Complete, .sender = is_local ? Sender::Proxy : Sender::Unknown, .size = size};
  if (is_local) return header;
  const std::string_view whole = received.substr(0, size);
  if (const char* const wrong = wrong_with_tlvs(whole, v2_fixed_bytes + address_bytes[family])) return refused(wrong);
  const bool is_stream = protocol == 1;
  if (is_stream && (family == 1 || family == 2)) {
    header.sender = Sender::Client;
    header.client = v2_client(family == 1 ? AF_INET : AF_INET6, whole.substr(v2_fixed_bytes));
  }
  return header;
}

}  // namespace

ProxyHeader parse_proxy_header(std::string_view received) noexcept {
  if (received.starts_with(v2_begin)) return parse_v2(received);
  if (received.starts_with(v1_begin)) return parse_v1(received);
  if (v1_begin.starts_with(received) || v2_begin.starts_with(received)) return {};
  return refused("the connection does not begin with a PROXY header");
}

}  // namespace keel
