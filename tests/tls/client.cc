// tls_client [--roots FILE] [--revoked FILE] URL...: asks each with http::Client, and prints a line for it: the status
// and the body's size, or the error.

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "keel/exec/thread_pool.h"
#include "keel/http/client/client.h"
#include "keel/net/resolver.h"
#include "keel/net/run.h"
#include "keel/net/tls/context.h"
#include "keel/net/tls/layer.h"

namespace keel {
namespace {

Task<> ask(tls::ClientContext context, std::vector<std::string> urls) {
  ThreadPool lookups({.name = "resolver", .threads = 1});
  Resolver resolver(lookups);
  tls::Layers https(std::move(context));
  http::Client client(resolver, {.timeout = 10_s, .pool = {.https = &https}});
  for (const std::string& url : urls) {
    const Result<http::ClientResponse> got = co_await attempt(client.get(url));
    const std::string said =
        got ? std::to_string(static_cast<int>(got->status())) + " " + std::to_string(got->body().size())
            : got.error().describe();
    std::printf("%s\n", said.c_str());
  }
}

int ask_all(const std::vector<std::string_view>& arguments) {
  tls::ClientOptions options;
  std::vector<std::string> urls;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--roots" && i + 1 < arguments.size()) {
      options.trust.file = arguments[++i];
    } else if (arguments[i] == "--revoked" && i + 1 < arguments.size()) {
      options.trust.revoked_file = arguments[++i];
    } else {
      urls.emplace_back(arguments[i]);
    }
  }
  Result<tls::ClientContext> context = tls::ClientContext::make(options);
  const Result<> done = context ? run(ask(*std::move(context), std::move(urls))) : Result<>(std::move(context).error());
  if (!done) std::fprintf(stderr, "%s\n", done.error().describe().c_str());
  return done ? 0 : 1;
}

}  // namespace
}  // namespace keel

int main(int argc, char** argv) { return keel::ask_all({argv + 1, argv + argc}); }
