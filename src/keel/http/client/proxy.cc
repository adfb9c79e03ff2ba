#include "keel/http/client/proxy.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "keel/base/ascii.h"
#include "keel/data/base64.h"
#include "keel/data/uri.h"
#include "keel/http/message/fields.h"
#include "keel/io/address.h"

namespace keel::http {
namespace {

constexpr std::string_view proxy_form =
    "a proxy must be http://[user:password@]host[:port], with special characters in the user and the password escaped";

Result<std::string> unescaped(std::string_view text) {
  std::string decoded(text);
  const Result<std::size_t> size = uri::percent_decode_in_place(decoded.data(), decoded.size());
  if (!size) return Error::text(Code::InvalidArgument, std::string(proxy_form));
  decoded.resize(*size);
  return decoded;
}

// RFC 7617 §2: user and password must not contain control characters, and the user must not contain ':'.
Result<std::string> authorization_of(std::string_view user_info) {
  const std::size_t colon = std::min(user_info.find(':'), user_info.size());
  KEEL_TRY(const std::string user, unescaped(user_info.substr(0, colon)));
  KEEL_TRY(const std::string password, unescaped(user_info.substr(std::min(colon + 1, user_info.size()))));
  if (!is_field_value(user) || !is_field_value(password) || user.find(':') != std::string::npos) {
    return fail(Code::InvalidArgument,
                "the user and password of a proxy must have no control characters, and the user must have no ':'");
  }
  return "Proxy-Authorization: Basic " +
         base64::encode(std::string_view(user + ':' + password), base64::Form::Standard) + "\r\n";
}

std::string_view variable(const char* lower, const char* upper) noexcept {
  for (const char* const name : {lower, upper}) {
    if (name == nullptr) continue;
    const char* const value = ::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

bool is_same_or_below(std::string_view host, std::string_view name) noexcept {
  if (!host.ends_with(name)) return false;
  return host.size() == name.size() || host[host.size() - name.size() - 1] == '.';
}

// The address, if the host of the target is an IP address and not a name.
std::optional<Address> address_of(const Url& target) noexcept {
  const Result<Address> address = Address::ip(target.host(), target.port());
  if (!address) return std::nullopt;
  return *address;
}

}  // namespace

Result<Proxy> Proxy::parse(std::string_view url) {
  constexpr std::string_view scheme = "http://";
  const std::size_t scheme_end = url.find("://");
  if (scheme_end != std::string_view::npos) {
    const std::string_view name = url.substr(0, scheme_end);
    if (!std::ranges::all_of(name, ascii::is_alphanumeric)) {
      return Error::text(Code::InvalidArgument, std::string(proxy_form));
    }
    if (!equals_ignore_case(name, "http")) {
      return Error::text(Code::Unsupported, "the client must connect to the proxy with http, not with " +
                                                std::string(name) + ": " + std::string(proxy_form));
    }
    url.remove_prefix(scheme_end + 3);
  }
  if (url.ends_with('/')) url.remove_suffix(1);
  Proxy proxy;
  const std::size_t at = url.rfind('@');
  if (at != std::string_view::npos) {
    KEEL_TRY(proxy.authorization_, authorization_of(url.substr(0, at)));
    url.remove_prefix(at + 1);
  }
  // The message does not quote the invalid part, because it may contain a part of a password.
  if (url.find_first_of("/?#") != std::string_view::npos) {
    return Error::text(Code::InvalidArgument, std::string(proxy_form));
  }
  const Result<Url> parsed = Url::parse(std::string(scheme) + std::string(url));
  if (!parsed) return Error::text(Code::InvalidArgument, std::string(proxy_form));
  proxy.name_ = parsed->origin();
  proxy.host_ = parsed->host();
  proxy.port_ = parsed->port();
  return proxy;
}

Result<ProxyRules::Exception> ProxyRules::Exception::parse(std::string_view text) {
  Exception exception;
  if (text == "*") return exception;
  const auto refuse = [&] {
    return Error::text(Code::InvalidArgument,
                       "no_proxy '" + std::string(text) +
                           "': expected a name, an address or a network, each with or without a port, or *");
  };
  std::string_view host = text;
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return refuse();
    port = host.substr(end + 1);
    host = host.substr(1, end - 1);
    if (!port.empty() && !port.starts_with(':')) return refuse();
  } else if (const std::size_t colon = host.find(':'); colon != std::string_view::npos && colon == host.rfind(':')) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (!port.empty()) {
    // The port must be one that is valid in a URL.
    const Result<Url> url = Url::parse("http://port" + std::string(port));
    if (port.size() == 1 || !url) return refuse();
    exception.port = url->port();
  }
  const Result<Network> network = Network::parse(host);
  if (network && host != "unix") {
    exception.kind = Kind::Addresses;
    exception.network = *network;
    return exception;
  }
  if (host.starts_with("*.")) host.remove_prefix(1);
  if (host.starts_with('.')) host.remove_prefix(1);
  if (host.ends_with('.')) host.remove_suffix(1);
  // The name must be one that is valid as the host of a URL.
  if (host.find_first_of("/?#@[]:") != std::string_view::npos) return refuse();
  const Result<Url> url = Url::parse("http://" + std::string(host));
  if (!url) return refuse();
  exception.kind = url->host() == "localhost" ? Kind::Loopback : Kind::Name;
  exception.name = url->host();
  return exception;
}

bool ProxyRules::Exception::has(const Url& target) const noexcept {
  if (port != 0 && port != target.port()) return false;
  std::string_view host = target.host();
  if (host.ends_with('.')) host.remove_suffix(1);
  switch (kind) {
    case Kind::Everything:
      return true;
    case Kind::Name:
      return is_same_or_below(host, name);
    case Kind::Loopback: {
      if (is_same_or_below(host, name)) return true;
      static const Network loopbacks[] = {Network::parse("127.0.0.0/8").value(), Network::parse("::1").value()};
      const std::optional<Address> address = address_of(target);
      return address && (loopbacks[0].contains(*address) || loopbacks[1].contains(*address));
    }
    case Kind::Addresses: {
      const std::optional<Address> address = address_of(target);
      return address && network.contains(*address);
    }
  }
  return false;
}

Result<> ProxyRules::read_environment() {
  const auto read = [](std::string_view url, const char* name, std::optional<Proxy>& proxy) -> Result<> {
    if (url.empty()) return {};
    Result<Proxy> parsed = Proxy::parse(url);
    if (!parsed) return std::move(parsed).error().because(name);
    proxy = *std::move(parsed);
    return {};
  };
  KEEL_TRY_VOID(read(variable("http_proxy", nullptr), "http_proxy in the environment", http_));
  KEEL_TRY_VOID(read(variable("https_proxy", "HTTPS_PROXY"), "HTTPS_PROXY in the environment", https_));
  std::string_view rest = variable("no_proxy", "NO_PROXY");
  for (std::string_view element; next_element(rest, element);) {
    if (element.empty()) continue;
    Result<Exception> exception = Exception::parse(element);
    if (!exception) return std::move(exception).error().because("NO_PROXY in the environment");
    exceptions_.push_back(*std::move(exception));
  }
  return {};
}

Result<ProxyRules> ProxyRules::make(std::string_view proxy, std::span<const std::string> no_proxy) {
  ProxyRules rules;
  for (const std::string& text : no_proxy) {
    KEEL_TRY(Exception exception, Exception::parse(text));
    rules.exceptions_.push_back(std::move(exception));
  }
  if (proxy == "environment") {
    KEEL_TRY_VOID(rules.read_environment());
  } else if (!proxy.empty()) {
    KEEL_TRY(rules.http_, Proxy::parse(proxy));
    rules.https_ = rules.http_;
  }
  return rules;
}

const Proxy* ProxyRules::of(const Url& target) const noexcept {
  const std::optional<Proxy>& proxy = target.is_secure() ? https_ : http_;
  if (!proxy || std::ranges::any_of(exceptions_, [&](const Exception& each) { return each.has(target); })) {
    return nullptr;
  }
  return &*proxy;
}

}  // namespace keel::http
