#include "keel/db/postgres/scram.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>

#include "keel/base/bug.h"
#include "keel/base/constant_time.h"
#include "keel/data/base64.h"
#include "keel/db/postgres/internal/saslprep.h"
#include "keel/db/postgres/internal/wire.h"

namespace keel::db::postgres {
namespace {

using Digest = std::array<std::byte, 32>;

Error unauthenticated(const char* text) { return Error(Code::Unauthenticated, text).from_environment(); }

Digest sha256_of(std::span<const std::byte> bytes) {
  Digest digest;
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()), &size, EVP_sha256(),
                 nullptr) != 1) {
    throw std::bad_alloc();
  }
  return digest;
}

std::string text_of(std::span<const std::byte> bytes) { return base64::encode(bytes, base64::Form::Standard); }

// Takes the attribute at the front ("r=…") and the comma after it; sets `value`. Returns false if the message begins
// with another attribute.
bool take_attribute(std::string_view& message, char name, std::string_view& value) {
  if (message.size() < 2 || message[0] != name || message[1] != '=') return false;
  const std::size_t end = std::min(message.find(','), message.size());
  value = message.substr(2, end - 2);
  message.remove_prefix(std::min(end + 1, message.size()));
  return true;
}

// RFC 5802 §5.1: a comma would end the attribute, so it is escaped, and so is the escape character.
std::string escaped_name(std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (c == ',' || c == '=') {
      escaped.append(c == ',' ? "=2C" : "=3D");
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

void wipe(std::string& secret) {
  OPENSSL_cleanse(secret.data(), secret.size());
  secret.clear();
}

}  // namespace

std::array<std::byte, 32> hmac_sha256(std::span<const std::byte> key, std::string_view text) {
  Digest digest;
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
           text.size(), reinterpret_cast<unsigned char*>(digest.data()), &size) == nullptr) {
    throw std::bad_alloc();
  }
  return digest;
}

ScramKeys scram_keys(std::string_view password, std::string_view salt, std::uint32_t iterations) {
  Digest salted;
  if (PKCS5_PBKDF2_HMAC(password.data() != nullptr ? password.data() : "", static_cast<int>(password.size()),
                        reinterpret_cast<const unsigned char*>(salt.data()), static_cast<int>(salt.size()),
                        static_cast<int>(iterations), EVP_sha256(), static_cast<int>(salted.size()),
                        reinterpret_cast<unsigned char*>(salted.data())) != 1) {
    throw std::bad_alloc();
  }
  ScramKeys keys;
  keys.client = hmac_sha256(salted, "Client Key");
  keys.stored = sha256_of(keys.client);
  keys.server = hmac_sha256(salted, "Server Key");
  OPENSSL_cleanse(salted.data(), salted.size());
  return keys;
}

Scram::~Scram() { wipe(password_); }

Result<Scram> Scram::begin(const Authentication& offered, const ScramOptions& options) {
  KEEL_EXPECT(options.nonce.size() >= nonce_bytes_min, "a SCRAM nonce must have at least 15 random bytes");
  const bool can_bind = !options.channel_binding.empty() && !options.is_binding_disabled;
  const bool offers_plus = offered.offers(name_plus);
  if (options.is_binding_required && !can_bind) {
    return unauthenticated(
        "channel binding is required, but the connection to the database has no TLS: set sslmode=require or higher");
  }
  if (options.is_binding_required && !offers_plus) {
    return unauthenticated(
        "channel binding is required, but the database server does not offer SCRAM-SHA-256-PLUS: a proxy in front of "
        "the server ends TLS, or an attacker on the network has removed the offer");
  }
  Scram scram;
  scram.is_plus_ = can_bind && offers_plus;
  if (!scram.is_plus_ && !offered.offers(name)) {
    return Error(Code::Unsupported,
                 "the database server offers neither SCRAM-SHA-256 nor a SCRAM-SHA-256-PLUS that can be used on this "
                 "connection")
        .from_environment();
  }
  if (options.password.empty())
    return unauthenticated("the database server requests a password, but none is configured");
  KEEL_TRY(scram.password_, normalised_password(options.password));
  scram.iterations_max_ = options.iterations_max;
  scram.nonce_ = text_of(options.nonce);
  // "y" says that the client supports channel binding, and believes that the server does not. After a "y", a server
  // that does support channel binding rejects the login, because somebody must have removed the server's offer.
  const std::string header = scram.is_plus_ ? "p=tls-server-end-point,," : can_bind ? "y,," : "n,,";
  scram.binding_ = header;
  if (scram.is_plus_) scram.binding_.append(options.channel_binding);
  scram.first_bare_ = "n=" + escaped_name(options.user) + ",r=" + scram.nonce_;
  scram.message_ = header + scram.first_bare_;
  return scram;
}

Result<> Scram::challenge(std::string_view server_first) {
  if (state_ != State::Begun) return wire::broken("the database server sent an unexpected SCRAM challenge");
  state_ = State::Failed;
  std::string_view rest = server_first;
  std::string_view nonce;
  std::string_view salt_text;
  std::string_view iterations_text;
  if (rest.starts_with("m=")) {
    return Error(Code::Unsupported, "the database server requires an extension of SCRAM that is not supported")
        .from_environment();
  }
  if (!take_attribute(rest, 'r', nonce) || !take_attribute(rest, 's', salt_text) ||
      !take_attribute(rest, 'i', iterations_text)) {
    return wire::broken("the SCRAM challenge of the database server is malformed");
  }
  if (!nonce.starts_with(nonce_) || nonce.size() <= nonce_.size()) {
    return wire::broken("the SCRAM challenge of the database server does not extend the client's nonce");
  }
  for (const char c : nonce) {
    if (c < 0x21 || c > 0x7e) return wire::broken("the SCRAM nonce of the database server is malformed");
  }
  const Result<std::string> salt = base64::decode(salt_text, base64::Form::Standard);
  if (!salt || salt->empty()) return wire::broken("the SCRAM salt of the database server is malformed");
  std::uint32_t iterations = 0;
  const char* const end = iterations_text.data() + iterations_text.size();
  const auto [read, error] = std::from_chars(iterations_text.data(), end, iterations);
  if (error != std::errc() || read != end || iterations == 0) {
    return wire::broken("the SCRAM iteration count of the database server is malformed");
  }
  if (iterations > iterations_max_) {
    return wire::broken("the database server asks for " + std::to_string(iterations) +
                        " iterations of SCRAM, but at most " + std::to_string(iterations_max_) + " are allowed");
  }

  ScramKeys keys = scram_keys(password_, *salt, iterations);
  wipe(password_);
  const std::string without_proof =
      "c=" + base64::encode(std::string_view(binding_), base64::Form::Standard) + ",r=" + std::string(nonce);
  const std::string signed_text = first_bare_ + "," + std::string(server_first) + "," + without_proof;
  Digest proof = hmac_sha256(keys.stored, signed_text);
  for (std::size_t i = 0; i < proof.size(); ++i) proof[i] ^= keys.client[i];
  server_signature_ = hmac_sha256(keys.server, signed_text);
  OPENSSL_cleanse(&keys, sizeof keys);
  message_ = without_proof + ",p=" + text_of(proof);
  state_ = State::Challenged;
  return {};
}

Result<> Scram::finish(std::string_view server_final) {
  if (state_ != State::Challenged) return wire::broken("the database server ended SCRAM too early or twice");
  state_ = State::Failed;
  std::string_view rest = server_final;
  std::string_view value;
  if (take_attribute(rest, 'e', value)) {
    return Error::text(Code::Unauthenticated, "the database server rejects the SCRAM proof: " + std::string(value))
        .from_environment();
  }
  if (!take_attribute(rest, 'v', value))
    return wire::broken("the final SCRAM message of the database server is malformed");
  const Result<std::string> signature = base64::decode(value, base64::Form::Standard);
  if (!signature || !constant_time_equal(std::as_bytes(std::span(*signature)), server_signature_)) {
    return unauthenticated(
        "the database server does not know the password: its SCRAM signature is wrong. The server is an impostor, or "
        "the password was changed during the login");
  }
  state_ = State::Finished;
  return {};
}

}  // namespace keel::db::postgres
