// keel/net/address_guard.h — decides to which addresses a connection may be made.
//
//   http::Client webhooks(resolver, {.guard = public_addresses_only});      // URLs from strangers
//   http::Client reports(resolver, {.guard = [networks](const Address& to) { return networks.contains(to); }});
//   Stream stream = co_await Stream::connect(resolver, host, 443, guard);
//
// A guard is called with each address after a name was looked up and before the connection is made, and the connection
// is made to exactly that address: neither a name whose addresses change between two look-ups (DNS rebinding) nor an
// address that is written as 127.1 or 0x7f000001 evades the guard. A rejected address is not tried, as if the name did
// not have that address.
//
// Threads: a guard is a value; its function may be called at the same time on every worker that has a copy, and must
//          not block.
// Cost:    one indirect call for each address of a new connection; none for a connection that is reused.

#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "keel/base/function.h"
#include "keel/io/address.h"

namespace keel {

class AddressGuard {
 public:
  // Allows every address.
  AddressGuard() = default;
  // Allows the addresses for which `function(const Address&)` returns true. The address includes the port of the
  // connection.
  template <class F>
    requires(!std::is_same_v<F, AddressGuard> && std::is_invocable_r_v<bool, F&, const Address&>)
  AddressGuard(F function) : allows_(std::make_shared<const Function<bool(const Address&)>>(std::move(function))) {}

  // Whether there is a function that may reject addresses.
  bool is_set() const noexcept { return allows_ != nullptr; }
  bool allows(const Address& address) const { return allows_ == nullptr || (*allows_)(address); }

 private:
  // Shared by all copies of the guard: each worker's client has a copy.
  std::shared_ptr<const Function<bool(const Address&)>> allows_;
};

// Whether an address belongs to the public internet. False for Unix paths, and for the addresses that IANA's
// special-purpose registries do not list as globally reachable: this machine (127.0.0.0/8, ::1), unspecified
// (0.0.0.0/8, ::), private (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7), shared by a provider's customers
// (100.64.0.0/10), link-local (169.254.0.0/16 with the metadata service of clouds at 169.254.169.254, fe80::/10),
// multicast, broadcast, reserved, for benchmarks and for documentation; and all of IPv6 outside of 2000::/3. The result
// is also false for 168.63.129.16, a public address at which a virtual machine of Azure reaches its host. If an IPv6
// address represents an IPv4 address, the function returns the result for the IPv4 address: this applies to mapped
// addresses (::ffff:0:0/96), NAT64 (64:ff9b::/96) and 6to4 (2002::/16). Teredo (2001::/32) and NAT64 with a local
// prefix (64:ff9b:1::/48) are not public. The function does not know which public addresses belong to the machine or
// its network, or which NAT64 prefix the network uses: your own guard must reject these public addresses, and all
// addresses with that NAT64 prefix. Source: RFC 6890 and the registries iana-ipv4-special-registry and
// iana-ipv6-special-registry; RFC 6052, RFC 3056.
bool public_addresses_only(const Address& address) noexcept;

}  // namespace keel
