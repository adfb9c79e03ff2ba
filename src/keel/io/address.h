// keel/io/address.h — where a socket listens or connects: IPv4, IPv6 or a Unix path.
//
// Text forms: "127.0.0.1:8080", "[::1]:8080", "unix:/run/app.sock". Host names are not resolved here.
//
// A link-local IPv6 address (fe80::/10, ff02::/16) states its link after a %, as the name of an existing interface
// ("[fe80::1%eth0]:8080") or as the number of an interface ("[fe80::1%2]:8080"). A link-local address is printed with
// the interface's name, or with the number if no interface has that number. The same fe80::1 on two links is two
// different addresses. The system refuses to bind or connect to a link-local address without a scope.
//
// Threads: a value.
// Cost:    parsing and printing; looking up the name of a scope adds up to three system calls.
// Source:  RFC 4007 §11.

#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/result.h"

namespace keel {

class Address {
 public:
  Address() = default;
  // InvalidArgument: `text` is not an address; the message names the part that is wrong.
  static Result<Address> parse(std::string_view text);
  static Result<Address> ip(std::string_view host, std::uint16_t port);
  static Address from_system(const sockaddr* address, socklen_t size) noexcept;

  int family() const noexcept { return storage_.any.sa_family; }  // AF_INET, AF_INET6, AF_UNIX; AF_UNSPEC when empty
  bool is_unix() const noexcept { return family() == AF_UNIX; }
  std::uint16_t port() const noexcept;  // 0 for Unix
  void set_port(std::uint16_t port) noexcept;
  std::string to_string() const;

  const sockaddr* system() const noexcept { return &storage_.any; }
  socklen_t system_size() const noexcept { return size_; }
  bool operator==(const Address& other) const noexcept;

 private:
  union Storage {
    sockaddr any;
    sockaddr_storage largest;
    sockaddr_un path;
  } storage_ = {};
  socklen_t size_ = 0;
};

}  // namespace keel
