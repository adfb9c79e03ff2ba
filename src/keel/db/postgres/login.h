// keel/db/postgres/login.h — the login, from the first byte of a session to its first ReadyForQuery. Login does no I/O:
// it takes bytes from the server, and returns bytes for the server.
//
//   Login login({.user = "app", .database = "shop", .password = password, .nonce = nonce});
//   KEEL_TRY_VOID(login.begin(out));                           // after TLS, where there is TLS
//   send(out) …
//   KEEL_TRY(const bool is_ready, login.receive(*message, out));   // for each message; send what `out` has after each
//
// ParameterStatus and NoticeResponse are ignored here; a caller that needs these messages must read them itself.
//
// Errors:    those of scram.h; those of the server (error.h: 28P01 is Unauthenticated, 53300 is ResourceExhausted, and
//            57P03 is Unavailable); all from_environment(). Unauthenticated: the server requests the password in
//            cleartext or as md5, which the options do not allow; the server requests a password and none is
//            configured; the server accepts the login without SCRAM although channel binding is required. Unsupported:
//            GSSAPI, SSPI, Kerberos.
//            Protocol: the server sends a message that is not allowed at this point, such as a success before the
//                      server has proved that it knows the password; or the server sends a protocol version below 3.0.
// Ownership: the texts to which the options refer must outlive the Login; messages are not kept.
// Threads:   one.
// Cost:      that of scram.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/db/postgres/encoder.h"
#include "keel/db/postgres/message.h"
#include "keel/db/postgres/reader.h"
#include "keel/db/postgres/scram.h"

namespace keel::db::postgres {

// Whether SCRAM binds the login to the TLS connection.
enum class ChannelBinding : std::uint8_t { Disable, Prefer, Require };

// The user, the password, and the requirements of a login.
struct LoginOptions {
  std::string_view user;
  std::string_view database = {};  // The name of the database; if empty, the user's name is used.
  std::optional<std::string_view> password = std::nullopt;
  std::span<const StartupParameter> parameters = {};  // "application_name", …
  ChannelBinding channel_binding = ChannelBinding::Prefer;
  // See ScramOptions::channel_binding. Empty if the connection has no TLS.
  std::string_view channel_binding_data = {};
  std::span<const std::byte> nonce = {};
  std::uint32_t scram_iterations_max = ScramOptions().iterations_max;
  // Allows a method that reveals the password to an eavesdropper, or to an impostor of the server.
  bool allows_cleartext_password = false;
  bool allows_md5_password = false;
};

class Login {
 public:
  explicit Login(const LoginOptions& options) noexcept : options_(options) {}

  // Appends the startup message.
  Result<> begin(Buffer& out);
  // Returns true when the session is ready. Appends the responses to authentication requests to `out`.
  Result<bool> receive(const Message& message, Buffer& out);

  // Valid once the session is ready. The key is zero if the server, such as a pooler, sent no key; in that case
  // statements cannot be cancelled.
  const BackendKeyData& key() const noexcept { return key_; }

 private:
  enum class State : std::uint8_t { Begun, AwaitsOk, Sasl, SaslFinal, Authenticated, Ready, Failed };
  Result<bool> step(const Message& message, Buffer& out);
  Result<> authenticate(const Authentication& request, Buffer& out);

  LoginOptions options_;
  State state_ = State::Begun;
  std::optional<Scram> scram_;
  BackendKeyData key_;
};

}  // namespace keel::db::postgres
