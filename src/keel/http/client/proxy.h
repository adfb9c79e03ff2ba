// keel/http/client/proxy.h — the rules by which a Client chooses an HTTP proxy for a URL.
//
//   Proxy proxy = Proxy::parse("http://user:password@proxy.internal:3128").value();
//   ProxyRules rules = ProxyRules::make("http://proxy.internal:3128", {{"internal", "10.0.0.0/8"}}).value();
//   const Proxy* through = rules.of(url);                     // null: directly
//
// A proxy is http://[user[:password]@]host[:port]; "http://" may be left out, and the default port is 80.
// Special characters in the user and the password must be escaped (%40 for '@'). User and password are sent as
// Proxy-Authorization: Basic (RFC 7617).
//
// If the proxy is "environment", make() reads the environment variables that curl and other tools read: HTTPS_PROXY or
// https_proxy for targets with https, http_proxy for targets with http, and NO_PROXY or no_proxy, a comma-separated
// list that is added to the argument no_proxy. If a variable is set in lowercase and in uppercase, the lowercase
// variable is used and the uppercase one is ignored. HTTP_PROXY is never read: in a CGI program, this variable contains
// the request's field Proxy, so a client could choose where the program sends its own requests ("httpoxy",
// CVE-2016-5385). A variable that is empty is treated as unset.
//
// Servers in `no_proxy` are called directly:
//   example.com        the name and those below it; .example.com and *.example.com are the same
//   192.0.2.7, ::1     an address, if the URL has it as an address: no name is looked up for this
//   10.0.0.0/8         the addresses of a network, likewise
//   localhost          the name, those below it, 127.0.0.0/8 and ::1
//   *                  everything
// Each form except * may end with a port (example.com:8080, [::1]:8080), and then applies to that port only.
//
// Errors:   InvalidArgument if the proxy does not have the form above, or an element of no_proxy has none of the forms
//           above.
//           Unsupported: a proxy to which the client would have to speak TLS or SOCKS. The message names the variable
//           if the value is from the environment. The message never contains the URL, because the URL may contain a
//           password.
// Threads:  values. With "environment", make() reads the environment, which no thread may change during the call.
// Cost:     of(): a comparison for each element of no_proxy.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/result.h"
#include "keel/http/client/url.h"
#include "keel/net/network.h"

namespace keel::http {

class Proxy {
 public:
  static Result<Proxy> parse(std::string_view url);

  // The name by which messages refer to the proxy, without user and password, such as "http://proxy.internal:3128".
  const std::string& name() const noexcept { return name_; }
  // The host; an IPv6 address has no brackets.
  const std::string& host() const noexcept { return host_; }
  std::uint16_t port() const noexcept { return port_; }
  // The line "Proxy-Authorization: …\r\n"; empty if the URL has no user. A secret.
  const std::string& authorization() const noexcept { return authorization_; }

 private:
  std::string name_;
  std::string host_;
  std::string authorization_;
  std::uint16_t port_ = 0;
};

// Decides for each URL whether it is requested through a proxy, and through which one.
class ProxyRules {
 public:
  // No proxy.
  ProxyRules() = default;
  // `proxy` is a URL, "environment" or empty.
  static Result<ProxyRules> make(std::string_view proxy, std::span<const std::string> no_proxy);

  // The pointer is valid while the rules exist. Null: `target` is called directly.
  const Proxy* of(const Url& target) const noexcept;
  const std::optional<Proxy>& http() const noexcept { return http_; }
  const std::optional<Proxy>& https() const noexcept { return https_; }

 private:
  struct Exception {
    enum class Kind : std::uint8_t { Everything, Name, Loopback, Addresses };
    Kind kind = Kind::Everything;
    std::uint16_t port = 0;  // 0: any.
    std::string name;
    Network network;
    static Result<Exception> parse(std::string_view text);
    bool has(const Url& target) const noexcept;
  };
  Result<> read_environment();

  std::optional<Proxy> http_;
  std::optional<Proxy> https_;
  std::vector<Exception> exceptions_;
};

}  // namespace keel::http
