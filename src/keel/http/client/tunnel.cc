#include "keel/http/client/tunnel.h"

#include <string>
#include <utility>

#include "keel/http/message/response_reader.h"
#include "keel/http/message/status.h"

namespace keel::http {

Error refused_by(const Proxy& proxy, int code) {
  const auto status = static_cast<Status>(code);
  std::string text = "it responded with " + std::to_string(code);
  if (const std::string_view phrase = reason(status); !phrase.empty()) text += ' ' + std::string(phrase);
  if (status == Status::ProxyAuthenticationRequired) {
    text += proxy.authorization().empty() ? ": the proxy requires a user and a password"
                                          : ": the proxy rejects this user and password";
  }
  return Error::text(code >= 500 ? Code::Unavailable : Code::Upstream, text);
}

namespace {

Task<> ask_for_tunnel(Stream& plain, const Proxy& proxy, std::string_view place) {
  std::string request = "CONNECT ";
  request.append(place).append(" HTTP/1.1\r\nHost: ").append(place).append("\r\n");
  request.append(proxy.authorization()).append("\r\n");
  co_await plain.write(request);
  ResponseReader reader;
  // A successful response to CONNECT has no body, whatever its fields say; the body of any other response is not read.
  reader.begin(true);
  while (true) {
    Chunk rest = co_await plain.receive();
    if (rest.empty()) co_await fail(Code::Unavailable, "it closed the connection before it sent a response");
    while (!rest.empty()) {
      const ResponseStep step = reader.feed(rest);
      rest.remove_prefix(step.consumed);
      if (step.state == ResponseState::Refused) {
        co_await Error::text(Code::Upstream, "its response is malformed: " + std::string(step.reason));
      }
      if (step.head.empty()) continue;
      const int status = reader.head().status;
      if (status / 100 != 2) co_await refused_by(proxy, status);
      // The server sends nothing before the client does, so bytes after the proxy's response cannot come from the
      // server.
      if (!rest.empty()) co_await fail(Code::Upstream, "it sent further bytes after its response");
      co_return;
    }
  }
}

}  // namespace

Task<Stream> open_tunnel(Stream plain, const Proxy& proxy, const Url& target) {
  const bool is_v6 = target.host().find(':') != std::string_view::npos;
  std::string place = is_v6 ? '[' + std::string(target.host()) + ']' : std::string(target.host());
  place += ':' + std::to_string(target.port());
  Result<> opened = co_await attempt(ask_for_tunnel(plain, proxy, place));
  if (opened) {
    opened = co_await attempt(plain.end_reading());
    if (!opened && opened.error().code() == Code::Protocol) {
      opened = fail(Code::Upstream, "it sent further bytes after its response");
    }
  }
  if (!opened) {
    co_return std::move(opened).error().because("CONNECT " + place + " through the proxy " + proxy.name());
  }
  co_return std::move(plain);
}

}  // namespace keel::http
