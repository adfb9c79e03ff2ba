// What the small examples are told: --listen=127.0.0.1:7000 --engine=auto|uring|epoll, and --to=ADDRESS for some.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "keel/net/listener.h"
#include "keel/net/run.h"

struct Flags {
  keel::Address listen = *keel::Address::parse("127.0.0.1:7000");
  keel::Address to = *keel::Address::parse("127.0.0.1:80");
  keel::io::EngineKind engine = keel::io::EngineKind::Auto;

  Flags(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      if (!set(argv[i])) {
        std::fprintf(stderr, "%s: not a flag: %s\n", argv[0], argv[i]);
        std::exit(2);
      }
    }
  }

 private:
  bool set(std::string_view flag) {
    if (flag.starts_with("--listen=")) return set(listen, flag.substr(9));
    if (flag.starts_with("--to=")) return set(to, flag.substr(5));
    if (flag == "--engine=uring") return set(keel::io::EngineKind::Uring);
    if (flag == "--engine=epoll") return set(keel::io::EngineKind::Epoll);
    return flag == "--engine=auto" && set(keel::io::EngineKind::Auto);
  }
  bool set(keel::io::EngineKind kind) {
    engine = kind;
    return true;
  }
  static bool set(keel::Address& address, std::string_view text) {
    const auto parsed = keel::Address::parse(text);
    if (parsed) address = *parsed;
    return parsed.has_value();
  }
};

using Serve = keel::Task<> (*)(keel::Listener& listener, const Flags& flags);

inline keel::Task<> listen_and_serve(const Flags& flags, Serve serve) {
  keel::Listener listener = co_await keel::Listener::bind(flags.listen);
  std::printf("listening on %s\n", listener.address().to_string().c_str());
  std::fflush(stdout);
  co_await serve(listener, flags);
}

// Until SIGINT or SIGTERM; the exit code.
inline int run_server(int argc, char** argv, Serve serve) {
  const Flags flags(argc, argv);
  const keel::Result<> result = keel::run(listen_and_serve(flags, serve), flags.engine);
  if (!result) std::fprintf(stderr, "%s\n", result.error().describe().c_str());
  return result ? 0 : 1;
}
