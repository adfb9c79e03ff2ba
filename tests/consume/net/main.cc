// An echo server and its client, in a program that has sockets and nothing above them.

#include <cstdio>
#include <string>

#include "keel/net/listener.h"
#include "keel/net/run.h"
#include "keel/net/stream.h"
#include "keel/task/scope.h"

using namespace keel;

namespace {

Task<> echo(Stream stream) {
  while (true) {
    const Chunk chunk = co_await stream.receive();
    if (chunk.empty()) co_return;
    co_await stream.write(chunk);
  }
}

Task<> serve(Listener& listener) { co_await echo(co_await listener.accept()); }

Task<> say(std::string text) {
  Listener listener = co_await Listener::bind(*Address::parse("127.0.0.1:0"));
  Scope server;
  server.spawn(serve(listener));
  Stream stream = co_await Stream::connect(listener.address());
  co_await stream.write(text);
  const Chunk heard = co_await stream.read_until("\n", 100);
  std::printf("%.*s", static_cast<int>(heard.size()), heard.data());
  if (heard != text) co_await fail(Code::Internal, "another text came back");
  stream.shutdown_write();
  co_await server.join();
}

}  // namespace

int main() {
  const Result<> said = run(say("hello\n"));
  if (!said) std::printf("%s\n", said.error().describe().c_str());
  return said ? 0 : 1;
}
