// What the experiment framed-peers measures: every request of Keel's messages is answered with its payload, from one
// loop.

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "keel/io/loop.h"
#include "keel/net/listener.h"
#include "keel/net/messages/handlers.h"
#include "keel/net/messages/server.h"
#include "keel/task/event.h"

using namespace keel;

namespace {

Task<> serve(messages::Server& server, std::uint16_t port) {
  Listener listener = co_await Listener::bind(co_await Address::ip("127.0.0.1", port));
  Event never;
  co_await server.serve(listener, never);
}

int usage(const char* program) {
  std::fprintf(stderr, "usage: %s --port=N --engine=uring|epoll\n", program);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  int port = 0;
  auto engine = io::EngineKind::Auto;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--port=")) {
      port = std::atoi(argv[i] + 7);
    } else if (argument == "--engine=uring") {
      engine = io::EngineKind::Uring;
    } else if (argument == "--engine=epoll") {
      engine = io::EngineKind::Epoll;
    } else {
      return usage(argv[0]);
    }
  }
  if (port <= 0 || port > 65535 || engine == io::EngineKind::Auto) return usage(argv[0]);
  auto made = io::make_engine(engine);
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().describe().c_str());
    return 3;
  }
  io::Loop loop(*std::move(made), Host::system());
  const io::Loop::Entered entered(loop);
  messages::Handlers handlers;
  handlers.on_raw(1, [](messages::Peer&, std::string_view bytes) {
    Buffer reply;
    reply.append(bytes);
    return reply;
  });
  messages::Server server(handlers);
  Start<void> serving;
  if (serving.begin(serve(server, static_cast<std::uint16_t>(port)), [](StartCore&) noexcept { std::abort(); })) {
    std::fprintf(stderr, "%s\n", serving.take().error().describe().c_str());
    return 1;
  }
  loop.run();
}
