// What the experiment blocking-echo measures: every connection gets back what it sends, from a thread of its own.

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "keel/net/blocking/listener.h"

using namespace keel;

namespace {

void echo(blocking::Stream stream) {
  while (true) {
    const Result<blocking::Chunk> chunk = stream.receive();
    if (!chunk || chunk->empty() || !stream.write(*chunk)) return;
  }
}

Result<> serve(std::uint16_t port) {
  KEEL_TRY(Address address, Address::ip("127.0.0.1", port));
  KEEL_TRY(blocking::Listener listener, blocking::Listener::bind(address));
  while (true) {
    KEEL_TRY(blocking::Stream peer, listener.accept());
    std::thread(echo, std::move(peer)).detach();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view argument = argc == 2 ? argv[1] : "";
  const int port = argument.starts_with("--port=") ? std::atoi(argv[1] + 7) : 0;
  if (port <= 0 || port > 65535) {
    std::fprintf(stderr, "usage: %s --port=N\n", argv[0]);
    return 2;
  }
  const Result<> served = serve(static_cast<std::uint16_t>(port));
  std::fprintf(stderr, "%s\n", served.error().describe().c_str());
  return 1;
}
