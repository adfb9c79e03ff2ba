// Whatever a server says in a login, it is an error, or it knows the password: which no input does.

#include <array>
#include <cstdint>
#include <string>

#include "keel/base/check.h"
#include "keel/db/postgres/internal/saslprep.h"
#include "keel/db/postgres/login.h"
#include "keel/db/postgres/scram.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::db::postgres;
  if (size < 2) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  static constexpr std::array<std::byte, 18> nonce{};
  switch (data[0] % 4) {
    case 0: {
      const auto normalised = normalised_password(bytes);
      KEEL_CHECK(normalised.is_err() || normalised->size() <= bytes.size(), "nothing is added to a password");
      break;
    }
    case 1:
    case 2: {
      const std::string offer("\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0", 38);
      auto scram = Scram::begin(
          Authentication::read(offer).value(),
          {.password = "pw", .channel_binding = data[1] % 2 ? "hash" : "", .nonce = nonce, .iterations_max = 3});
      KEEL_CHECK(scram.is_ok(), "a login begins");
      // Past the nonce, which no input guesses.
      const std::string challenge = data[0] % 4 == 1 ? bytes : "r=AAAAAAAAAAAAAAAAAAAAAAAA" + bytes;
      if (scram->challenge(challenge)) KEEL_CHECK(scram->finish(bytes).is_err(), "no input has the signature");
      KEEL_CHECK(!scram->is_finished(), "no input proves anything");
      break;
    }
    default: {
      Login login({.user = "app", .password = "pw", .nonce = nonce, .scram_iterations_max = 3});
      keel::Buffer out;
      Reader reader;
      std::string_view rest = bytes;
      while (true) {
        const auto message = reader.next(rest);
        if (!message || !*message) break;
        const auto ready = login.receive(**message, out);
        if (!ready) {
          KEEL_CHECK(login.receive(**message, out).is_err(), "an error stays");
          break;
        }
        if (*ready) break;
      }
      KEEL_CHECK(out.size() < 4096 + 2 * bytes.size(), "what is answered is bounded");
    }
  }
  return 0;
}
