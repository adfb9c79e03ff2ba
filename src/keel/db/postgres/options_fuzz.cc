// What is read has a server and a user; an error never shows the password.

#include <cstdint>
#include <string>

#include "keel/base/check.h"
#include "keel/db/postgres/options.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::db::postgres;
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto environment = [&](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "PGUSER" && data[0] % 2 == 0) return "env";
    if (std::string_view(name) == "PGHOST" && data[0] % 3 == 0) return text;
    return std::nullopt;
  };
  for (const char* front : {"", "postgres://", "user=a password=hunter22 ", "postgres://a:hunter22@b?"}) {
    const auto options = ConnectOptions::parse(front + text, environment);
    if (!options) {
      KEEL_CHECK(text.find("hunter22") != std::string::npos ||
                     options.error().message().find("hunter22") == std::string_view::npos,
                 "the password is not shown");
      continue;
    }
    KEEL_CHECK(!options->servers.empty() && !options->user.empty() && !options->database.empty(), "all is there");
    for (const ServerAddress& server : options->servers) {
      KEEL_CHECK(!server.host.empty() && server.port != 0, "a server has its place");
      (void)options->password_for(server, text);
    }
    (void)options->describe();
  }
  return 0;
}
