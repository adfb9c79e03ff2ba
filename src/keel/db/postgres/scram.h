// keel/db/postgres/scram.h — the client's side of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677): client and
// server prove to each other that they know the password, without sending it.
//
//   const ScramOptions options{.password = password, .channel_binding = binding, .nonce = nonce};
//   KEEL_TRY(Scram scram, Scram::begin(authentication, options));
//   encoder.sasl_initial_response(scram.mechanism(), scram.message());
//   KEEL_TRY_VOID(scram.challenge(continued.data));        // SaslContinue
//   encoder.sasl_response(scram.message());
//   KEEL_TRY_VOID(scram.finish(final.data));               // SaslFinal: the server's signature
//
// PLUS binds the proof to the TLS connection, so that a man in the middle cannot forward it. PLUS is used whenever the
// TLS connection provides a binding and the server offers PLUS. If TLS provides a binding but the server does not offer
// PLUS, the client states in the signed part of its message that it would support PLUS. If the client states that it
// would support PLUS, a server that did offer PLUS rejects the login, because a man in the middle must have removed the
// offer.
//
// Errors:    all from_environment(). Unauthenticated: the server's signature is wrong, so it does not know the
//            password; the server does not offer PLUS although channel binding is required; no password is configured.
//            Protocol: a message that RFC 5802 does not allow, a nonce that does not extend the client's, an iteration
//            count of 0 or above iterations_max. Unsupported: neither mechanism is offered; the server requires an
//            extension; the password has characters whose normal form this client does not know (see below).
// Password:  normalized by SASLprep (RFC 4013). Non-ASCII spaces become a space, and characters that SASLprep maps to
//            nothing are removed. A password that is not UTF-8, or contains a character that SASLprep prohibits (such
//            as an emoji), is used unchanged, as in PostgreSQL. Letters, digits and signs that are their own normal
//            form (NFKC) are used unchanged: ASCII, Latin, Greek, Cyrillic, Kana, Hangul and Han letters. Combining
//            marks and compatibility characters (ligatures, full-width letters, Roman numerals) are Unsupported.
// Ownership: a Scram copies the data that it needs; it wipes the password after challenge().
// Threads:   one.
// Cost:      begin() takes some microseconds. challenge() computes two hashes for each iteration, on the calling
//            thread: 1 to 2 ms for the server's default of 4,096 iterations. All functions may allocate, because a
//            login is not steady state.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "keel/base/result.h"
#include "keel/db/postgres/message.h"

namespace keel::db::postgres {

// The user, the password and the channel binding of a login by SCRAM-SHA-256.
struct ScramOptions {
  std::string_view password = {};
  // The user's name in the messages: PostgreSQL ignores this name, and uses the user in the startup message.
  std::string_view user = {};
  // The data of tls-server-end-point (RFC 5929): the hash of the server's certificate. Empty if the connection provides
  // no channel binding.
  std::string_view channel_binding = {};
  // If set, the login fails unless the proof is bound to the TLS connection.
  bool is_binding_required = false;
  // Never use PLUS.
  bool is_binding_disabled = false;
  // `nonce` must have at least nonce_bytes_min bytes, which must come from Host::secret().
  std::span<const std::byte> nonce = {};
  // Limits the CPU time that a server can make the client spend: 250,000 iterations take about 0.1 s.
  std::uint32_t iterations_max = 250'000;
};

class Scram {
 public:
  static constexpr std::size_t nonce_bytes_min = 15;
  static constexpr std::string_view name = "SCRAM-SHA-256";
  static constexpr std::string_view name_plus = "SCRAM-SHA-256-PLUS";

  // Call it when an Authentication of Kind::Sasl has arrived. A nonce that is too short is a Bug.
  static Result<Scram> begin(const Authentication& offered, const ScramOptions& options);
  Scram(Scram&&) noexcept = default;
  Scram& operator=(Scram&&) noexcept = default;
  ~Scram();

  std::string_view mechanism() const noexcept { return is_plus_ ? name_plus : name; }
  // The message to send next: after begin() the client-first-message, after challenge() the client-final-message.
  std::string_view message() const noexcept { return message_; }
  // The server-first-message.
  Result<> challenge(std::string_view server_first);
  // The server-final-message. If the call succeeds, the server has proved that it knows the password.
  Result<> finish(std::string_view server_final);
  bool is_finished() const noexcept { return state_ == State::Finished; }

 private:
  enum class State : std::uint8_t { Begun, Challenged, Finished, Failed };
  Scram() = default;

  bool is_plus_ = false;
  State state_ = State::Begun;
  std::uint32_t iterations_max_ = 0;
  std::string password_;
  std::string binding_;     // The gs2 header, and after it the data of the channel binding.
  std::string first_bare_;  // client-first-message-bare.
  std::string nonce_;       // The client's nonce, as text.
  std::string message_;
  std::array<std::byte, 32> server_signature_{};
};

// What a server stores about a password (RFC 5802 §3).
struct ScramKeys {
  std::array<std::byte, 32> client;
  std::array<std::byte, 32> stored;
  std::array<std::byte, 32> server;
};
// Derives the keys from `password`, which must already be normalized.
ScramKeys scram_keys(std::string_view password, std::string_view salt, std::uint32_t iterations);
// HMAC-SHA-256.
std::array<std::byte, 32> hmac_sha256(std::span<const std::byte> key, std::string_view text);

}  // namespace keel::db::postgres
