// A service as its first user would write it: is tested without sockets, answers one request that it sends itself, and
// stops.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "keel/http/server/server.h"
#include "keel/http/testing/test_server.h"
#include "keel/io/runtime.h"

using namespace keel;

namespace {

std::string ask(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string request = "GET /hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 &&
      write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
    char part[1024];
    for (ssize_t size; (size = read(fd, part, sizeof part)) > 0;) answer.append(part, static_cast<std::size_t>(size));
  }
  close(fd);
  return answer;
}

}  // namespace

int main() {
  http::Router router;
  router.get("/hello", [](http::Request&) { return http::Response::text(http::Status::Ok, "hello"); });
  if (http::TestServer(router).get("/hello").body() != "hello") return 1;
  auto runtime = io::Runtime::make({.workers = 1});
  if (!runtime || !(*runtime)->start()) return 1;
  http::Server server(router, {.address = *Address::parse("127.0.0.1:0")});
  if (!server.start(**runtime)) return 1;

  const std::string answer = ask(server.address().port());

  std::printf("%s\n", answer.c_str());
  return answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello") ? 0 : 1;
}
