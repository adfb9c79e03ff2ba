#include "keel/io/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <charconv>
#include <cstddef>
#include <cstring>

namespace keel {
namespace {

const sockaddr_in& v4(const sockaddr* any) { return *reinterpret_cast<const sockaddr_in*>(any); }
const sockaddr_in6& v6(const sockaddr* any) { return *reinterpret_cast<const sockaddr_in6*>(any); }

bool has_scope(const in6_addr& address) noexcept {
  return IN6_IS_ADDR_LINKLOCAL(&address) || IN6_IS_ADDR_MC_LINKLOCAL(&address);
}

// The index of the interface with the number or name `text`; 0: there is no such interface.
std::uint32_t scope_of(std::string_view text) noexcept {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  char name[IF_NAMESIZE] = {};
  if (text.empty() || text.size() >= sizeof name) return 0;
  std::memcpy(name, text.data(), text.size());
  return if_nametoindex(name);
}

std::string scope_text(std::uint32_t number) {
  char name[IF_NAMESIZE] = {};
  return '%' + (if_indextoname(number, name) != nullptr ? std::string(name) : std::to_string(number));
}

}  // namespace

Result<Address> Address::ip(std::string_view host, std::uint16_t port) {
  char text[INET6_ADDRSTRLEN + 1];
  const std::size_t percent = host.find('%');
  const std::string_view bare = host.substr(0, percent);
  if (bare.empty() || bare.size() >= sizeof text) return fail(Code::InvalidArgument, "address: not an IP address");
  std::memcpy(text, bare.data(), bare.size());
  text[bare.size()] = '\0';
  sockaddr_in in4{};
  if (percent == std::string_view::npos && inet_pton(AF_INET, text, &in4.sin_addr) == 1) {
    in4.sin_family = AF_INET;
    in4.sin_port = htons(port);
    return from_system(reinterpret_cast<sockaddr*>(&in4), sizeof in4);
  }
  sockaddr_in6 in6{};
  if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1) {
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(port);
    if (percent != std::string_view::npos) {
      if (!has_scope(in6.sin6_addr)) {
        return Error::text(Code::InvalidArgument, "address: '" + std::string(host) +
                                                      "' has a zone but is not link-local (fe80::/10, ff02::/16)");
      }
      in6.sin6_scope_id = scope_of(host.substr(percent + 1));
      if (in6.sin6_scope_id == 0) {
        return Error::text(Code::InvalidArgument,
                           "address: there is no interface '" + std::string(host.substr(percent + 1)) + '\'');
      }
    }
    return from_system(reinterpret_cast<sockaddr*>(&in6), sizeof in6);
  }
  return Error::text(Code::InvalidArgument, "address: '" + std::string(host) +
                                                "' is not an IPv4 or IPv6 address (host names are not resolved here)");
}

Result<Address> Address::parse(std::string_view text) {
  if (text.starts_with("unix:")) {
    const std::string_view path = text.substr(5);
    sockaddr_un un{};
    if (path.empty() || path.size() >= sizeof un.sun_path) {
      return fail(Code::InvalidArgument, "address: a Unix socket path must have 1 to 107 bytes");
    }
    un.sun_family = AF_UNIX;
    std::memcpy(un.sun_path, path.data(), path.size());
    return from_system(reinterpret_cast<sockaddr*>(&un),
                       static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1));
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return Error::text(Code::InvalidArgument, "address: '" + std::string(text) + "' has no port: expected host:port");
  }
  std::string_view host = text.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return fail(Code::InvalidArgument, "address: an IPv6 address must be in brackets: [::1]:8080");
  }
  const std::string_view digits = text.substr(colon + 1);
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || port > 65535) {
    return Error::text(Code::InvalidArgument, "address: '" + std::string(digits) + "' is not a port (0 to 65535)");
  }
  return ip(host, static_cast<std::uint16_t>(port));
}

Address Address::from_system(const sockaddr* address, socklen_t size) noexcept {
  Address result;
  result.size_ = size < sizeof result.storage_ ? size : static_cast<socklen_t>(sizeof result.storage_);
  std::memcpy(&result.storage_, address, result.size_);
  return result;
}

std::uint16_t Address::port() const noexcept {
  if (family() == AF_INET) return ntohs(v4(system()).sin_port);
  if (family() == AF_INET6) return ntohs(v6(system()).sin6_port);
  return 0;
}

void Address::set_port(std::uint16_t port) noexcept {
  if (family() == AF_INET) reinterpret_cast<sockaddr_in&>(storage_).sin_port = htons(port);
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6&>(storage_).sin6_port = htons(port);
}

std::string Address::to_string() const {
  char text[INET6_ADDRSTRLEN] = {};
  switch (family()) {
    case AF_INET:
      inet_ntop(AF_INET, &v4(system()).sin_addr, text, sizeof text);
      return std::string(text) + ':' + std::to_string(port());
    case AF_INET6:
      inet_ntop(AF_INET6, &v6(system()).sin6_addr, text, sizeof text);
      return '[' + std::string(text) +
             (v6(system()).sin6_scope_id != 0 ? scope_text(v6(system()).sin6_scope_id) : std::string()) +
             "]:" + std::to_string(port());
    case AF_UNIX: {
      const std::size_t offset = offsetof(sockaddr_un, sun_path);
      if (size_ <= offset) return "unix:";
      return "unix:" + std::string(storage_.path.sun_path, strnlen(storage_.path.sun_path, size_ - offset));
    }
    default:
      return "none";
  }
}

bool Address::operator==(const Address& other) const noexcept {
  if (family() != other.family()) return false;
  switch (family()) {
    case AF_INET:
      return port() == other.port() && v4(system()).sin_addr.s_addr == v4(other.system()).sin_addr.s_addr;
    case AF_INET6:
      return port() == other.port() && v6(system()).sin6_scope_id == v6(other.system()).sin6_scope_id &&
             std::memcmp(&v6(system()).sin6_addr, &v6(other.system()).sin6_addr, sizeof(in6_addr)) == 0;
    default:
      return size_ == other.size_ && std::memcmp(&storage_, &other.storage_, size_) == 0;
  }
}

}  // namespace keel
