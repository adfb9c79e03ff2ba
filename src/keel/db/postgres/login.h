// keel/db/postgres/login.h — from the first byte of a session to its first ReadyForQuery: bytes in, bytes out.
//
//   Login login({.user = "app", .database = "shop", .password = password, .nonce = nonce});
//   KEEL_TRY_VOID(login.begin(out));                           // after TLS, where there is TLS
//   send(out) …
//   KEEL_TRY(const bool is_ready, login.receive(*message, out));   // for each message; send what `out` has after each
//
// The caller looks at ParameterStatus and NoticeResponse itself, if it wants them.
//
// Errors:    those of scram.h; of the server (error.h: 28P01 is Unauthenticated, 53300 ResourceExhausted, 57P03
//            Unavailable); all from_environment(). Unauthenticated: the server asks for the password in cleartext or as
//            md5, which are not allowed unless the options say so; it asks for a password and there is none; it lets us
//            in without a proof where channel binding is required. Unsupported: GSSAPI, SSPI, Kerberos. Protocol: a
//            message that may not come now, as a server that is content before it has proven that it knows the
//            password; a version of the protocol below 3.0.
// Ownership: the options' views outlive the login; nothing of a message is kept.
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

// User, password and what of the login is required.
struct LoginOptions {
  std::string_view user;
  std::string_view database = {};  // Empty: the server takes one that is called as the user is.
  std::optional<std::string_view> password = std::nullopt;
  std::span<const StartupParameter> parameters = {};  // "application_name", …
  ChannelBinding channel_binding = ChannelBinding::Prefer;
  // As of ScramOptions; empty: the connection has no TLS.
  std::string_view channel_binding_data = {};
  std::span<const std::byte> nonce = {};
  std::uint32_t scram_iterations_max = ScramOptions().iterations_max;
  // What tells the password to whoever listens, or to a server that is not the right one.
  bool allows_cleartext_password = false;
  bool allows_md5_password = false;
};

class Login {
 public:
  explicit Login(const LoginOptions& options) noexcept : options_(options) {}

  // Appends the startup message.
  Result<> begin(Buffer& out);
  // True: the session is ready. Appends the answers of authentication.
  Result<bool> receive(const Message& message, Buffer& out);

  // Once it is ready. Zeros: the server gave no key (some poolers), and statements cannot be cancelled.
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
