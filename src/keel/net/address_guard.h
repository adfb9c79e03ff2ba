// keel/net/address_guard.h — decides to which addresses a connection may be made.
//
//   http::Client webhooks(resolver, {.guard = public_addresses_only});      // URLs that strangers give
//   http::Client reports(resolver, {.guard = [networks](const Address& to) { return networks.contains(to); }});
//   Stream stream = co_await Stream::connect(resolver, host, 443, guard);
//
// A guard is called with each address after a name was looked up and before the connection is made, and the connection
// is made to exactly that address: a name whose addresses change between two look-ups (DNS rebinding) does not pass,
// nor does one that is written as 127.1 or 0x7f000001. An address that is not allowed is not tried, as if the name did
// not have it.
//
// Threads: a guard is a value; its function is called on every worker that has a copy, at the same time, and does not
//          block.
// Cost:    one indirect call for each address of a new connection; none for a connection that is kept.

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
  // Allows those for which `function(const Address&)` is true. The address has the port that is connected to.
  template <class F>
    requires(!std::is_same_v<F, AddressGuard> && std::is_invocable_r_v<bool, F&, const Address&>)
  AddressGuard(F function) : allows_(std::make_shared<const Function<bool(const Address&)>>(std::move(function))) {}

  // Whether it may reject any address.
  bool is_set() const noexcept { return allows_ != nullptr; }
  bool allows(const Address& address) const { return allows_ == nullptr || (*allows_)(address); }

 private:
  // Its copies share it: each worker's client has one.
  std::shared_ptr<const Function<bool(const Address&)>> allows_;
};

// Whether an address is one of the public internet. False: Unix paths, and what the special-purpose registries of IANA
// do not call globally reachable: this machine (127.0.0.0/8, ::1), unspecified (0.0.0.0/8, ::), private
// (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7), shared by a provider's customers (100.64.0.0/10), link-local
// (169.254.0.0/16 with the metadata service of clouds at 169.254.169.254, fe80::/10), multicast, broadcast, reserved,
// for benchmarks and for documentation; of IPv6 everything outside of 2000::/3. Also 168.63.129.16, a public address at
// which a virtual machine of Azure reaches its host. An IPv6 address that represents an IPv4
// address is judged as that address: mapped (::ffff:0:0/96), NAT64 (64:ff9b::/96) and 6to4 (2002::/16). Teredo
// (2001::/32) and NAT64 with a local prefix (64:ff9b:1::/48) are not public. It does not know which public addresses
// belong to the machine or its network, nor a NAT64 prefix that the network has chosen: a guard of your own has to
// reject those. Source: RFC 6890 and the registries iana-ipv4-special-registry and iana-ipv6-special-registry; RFC
// 6052, RFC 3056.
bool public_addresses_only(const Address& address) noexcept;

}  // namespace keel
