// The command line of the small examples: --listen=127.0.0.1:7000 --engine=auto|uring|epoll, and, for some examples,
// --to=ADDRESS or --workers=N.

#pragma once

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "keel/net/listener.h"
#include "keel/net/run.h"

struct Flags {
  keel::Address listen = *keel::Address::parse("127.0.0.1:7000");
  keel::Address to = *keel::Address::parse("127.0.0.1:80");
  keel::RunOptions run;

  Flags(int argc, char** argv, int workers_max) {
    for (int i = 1; i < argc; ++i) {
      if (!set(argv[i], workers_max)) {
        std::fprintf(stderr, "%s: not a flag: %s\n", argv[0], argv[i]);
        std::exit(2);
      }
    }
  }

 private:
  bool set(std::string_view flag, int workers_max) {
    if (flag.starts_with("--listen=")) return set(listen, flag.substr(9));
    if (flag.starts_with("--to=")) return set(to, flag.substr(5));
    if (flag.starts_with("--workers=")) return set(run.workers, flag.substr(10), workers_max);
    if (flag == "--engine=uring") return set(keel::io::EngineKind::Uring);
    if (flag == "--engine=epoll") return set(keel::io::EngineKind::Epoll);
    return flag == "--engine=auto" && set(keel::io::EngineKind::Auto);
  }
  bool set(keel::io::EngineKind kind) {
    run.engine = kind;
    return true;
  }
  static bool set(keel::Address& address, std::string_view text) {
    const auto parsed = keel::Address::parse(text);
    if (parsed) address = *parsed;
    return parsed.has_value();
  }
  static bool set(int& number, std::string_view text, int most) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    return read.ptr == text.data() + text.size() && read.ec == std::errc() && number >= 1 && number <= most;
  }
};

using Serve = keel::Task<> (*)(keel::Listener& listener, const Flags& flags);

inline keel::Task<> listen_and_serve(keel::Worker& worker, const Flags& flags, Serve serve) {
  keel::Listener listener = co_await worker.listen(flags.listen);
  if (worker.index() == 0) {
    std::printf("listening on %s\n", listener.address().to_string().c_str());
    std::fflush(stdout);
  }
  co_await serve(listener, flags);
}

// Runs until SIGINT or SIGTERM; returns the exit code. Uses at most `workers_max` workers; uses one worker if the flag
// --workers is not given.
inline int run_server(int argc, char** argv, Serve serve, int workers_max = 1) {
  const Flags flags(argc, argv, workers_max);
  const keel::Result<> result =
      keel::run(flags.run, [&](keel::Worker& worker) { return listen_and_serve(worker, flags, serve); });
  if (!result) std::fprintf(stderr, "%s\n", result.error().describe().c_str());
  return result ? 0 : 1;
}
