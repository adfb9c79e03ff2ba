// What is taken for a proxy has a host and a port that a URL may have, and its line of credentials is one line; nothing
// of a URL that is rejected is repeated. What no_proxy names, it names again in upper case. proxy_test.cc runs the same
// function over its vectors.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/ascii.h"
#include "keel/base/check.h"
#include "keel/http/client/proxy.h"
#include "keel/http/message/fields.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::http;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const keel::Result<Proxy> proxy = Proxy::parse(text);
  if (proxy) {
    const keel::Result<Url> url = Url::parse(proxy->name());
    KEEL_CHECK(url && url->host() == proxy->host() && url->port() == proxy->port() && url->target() == "/",
               "the name of a proxy is a URL of its host and port");
    std::string_view line = proxy->authorization();
    KEEL_CHECK(line.empty() || (line.ends_with("\r\n") && is_field_value(line.substr(0, line.size() - 2))),
               "credentials are one line");
  } else if (text.find("://") == std::string_view::npos) {
    const std::string marked = std::string(text) + "hidden-part";  // `text` may be what a message says anyway.
    const keel::Result<Proxy> other = Proxy::parse(marked);
    KEEL_CHECK(other || other.error().message().find("hidden-part") == std::string_view::npos,
               "what is refused is not repeated");
  }

  const std::string list[] = {std::string(text)};
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](char c) { return keel::ascii::is_letter(c) ? char(c & ~0x20) : c; });
  const std::string upper_list[] = {upper};
  const keel::Result<ProxyRules> rules = ProxyRules::make("proxy.example", list);
  const keel::Result<ProxyRules> upper_rules = ProxyRules::make("proxy.example", upper_list);
  KEEL_CHECK(rules.has_value() == upper_rules.has_value(), "names have no case");
  if (!rules) return 0;
  for (const char* target :
       {"http://shop.example/", "https://127.0.0.1:8443/", "http://[fd00::1]/", "http://localhost/"}) {
    const Url url = Url::parse(target).value();
    KEEL_CHECK((rules->of(url) == nullptr) == (upper_rules->of(url) == nullptr), "names have no case");
  }
  return 0;
}
