// What Url accepts can be sent: its parts put together are the same URL again, and our own parser takes the request
// that is made of them. A reference that names its server leads there, whatever its path looks like. url_test.cc runs
// the same function over its vectors.

#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/check.h"
#include "keel/http/client/url.h"
#include "keel/http/message/parser.h"

namespace keel::http {
namespace {

void check(const Url& url) {
  const Result<Url> again = Url::parse(url.text());
  KEEL_CHECK(again && again->text() == url.text() && again->port() == url.port() && again->host() == url.host(),
             "what was accepted is accepted again and means the same");
  const std::string request =
      "GET " + std::string(url.target()) + " HTTP/1.1\r\nHost: " + std::string(url.authority()) + "\r\n\r\n";
  RequestHead head;
  const HeadResult result = parse_head(request, HeadLimits{.request_line_bytes_max = 16 * 1024}, head);
  KEEL_CHECK(result.state == HeadState::Complete && result.consumed == request.size(),
             "a request to an accepted URL is one that our server takes");
  KEEL_CHECK(head.path() == url.path(), "the path is the path");
}

}  // namespace
}  // namespace keel::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using keel::http::Url;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const keel::Result<Url> url = Url::parse(text);
  if (url) keel::http::check(*url);
  const keel::Result<Url> beside = Url::parse("http://base.example:81/a/b/c?d=e")->resolve(text);
  if (beside) keel::http::check(*beside);
  if (url && beside) KEEL_CHECK(beside->origin() == url->origin(), "an absolute reference keeps its host");
  return 0;
}
