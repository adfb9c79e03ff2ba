#include "keel/db/postgres/login.h"

#include <openssl/evp.h>

#include <new>
#include <string>
#include <vector>

#include "keel/base/hex.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/internal/wire.h"

namespace keel::db::postgres {
namespace {

// The response is "md5", followed by md5(md5(password + user) + salt).
std::string md5_password(std::string_view password, std::string_view user, std::string_view salt) {
  const auto digest = [](const std::string& text) {
    unsigned char bytes[16];
    unsigned size = 0;
    // The digest fails if OpenSSL was built or configured without MD5 (FIPS).
    if (EVP_Digest(text.data(), text.size(), bytes, &size, EVP_md5(), nullptr) != 1) return std::string();
    std::string hex(32, '0');
    for (std::size_t half = 0; half < 2; ++half) {
      write_hex(hex.data() + 16 * half, wire::load<std::uint64_t>(reinterpret_cast<const char*>(bytes) + 8 * half));
    }
    return hex;
  };
  const std::string inner = digest(std::string(password) + std::string(user));
  const std::string outer = inner.empty() ? inner : digest(inner + std::string(salt));
  return outer.empty() ? outer : "md5" + outer;
}

Error login_denied(const char* text) { return Error(Code::Unauthenticated, text).from_environment(); }

}  // namespace

Result<> Login::begin(Buffer& out) {
  std::vector<StartupParameter> parameters;
  parameters.reserve(options_.parameters.size() + 2);
  parameters.push_back({"user", options_.user});
  if (!options_.database.empty()) parameters.push_back({"database", options_.database});
  parameters.insert(parameters.end(), options_.parameters.begin(), options_.parameters.end());
  return Encoder(out).startup(parameters);
}

Result<bool> Login::receive(const Message& message, Buffer& out) {
  if (state_ == State::Failed || state_ == State::Ready) {
    return wire::broken("the login to the database has already ended");
  }
  Result<bool> result = step(message, out);
  if (!result) state_ = State::Failed;
  return result;
}

Result<bool> Login::step(const Message& message, Buffer& out) {
  switch (message.type) {
    case MessageType::ErrorResponse: {
      KEEL_TRY(const ErrorResponse response, ErrorResponse::read(message.body));
      return error_of(response).because("login to the database");
    }
    case MessageType::NoticeResponse:
      return false;
    case MessageType::NegotiateProtocolVersion: {
      // The client requests version 3.0 and no options, so any option that the server names here is one that the client
      // did not request.
      KEEL_TRY(const NegotiateProtocolVersion version, NegotiateProtocolVersion::read(message.body));
      if (version.options == 0) return false;
      return Error::text(Code::Unsupported, "the database server does not know the option " +
                                                std::string(version.first_option) + " of the protocol")
          .from_environment();
    }
    case MessageType::Authentication: {
      KEEL_TRY(const Authentication request, Authentication::read(message.body));
      KEEL_TRY_VOID(authenticate(request, out));
      return false;
    }
    case MessageType::ParameterStatus:
      if (state_ != State::Authenticated) break;
      return false;
    case MessageType::BackendKeyData: {
      if (state_ != State::Authenticated) break;
      KEEL_TRY(key_, BackendKeyData::read(message.body));
      return false;
    }
    case MessageType::ReadyForQuery: {
      if (state_ != State::Authenticated) break;
      KEEL_TRY_VOID(ReadyForQuery::read(message.body));
      state_ = State::Ready;
      return true;
    }
    default:
      break;
  }
  return wire::broken("the database server sent " + std::string(to_string(message.type)) + " during the login" +
                      (state_ != State::Authenticated ? ", before authentication was complete" : ""));
}

Result<> Login::authenticate(const Authentication& request, Buffer& out) {
  using Kind = Authentication::Kind;
  const auto wants = [&](State state) { return state_ == state; };
  const auto out_of_turn = [] { return wire::broken("the database server sent an unexpected authentication request"); };
  switch (request.kind) {
    case Kind::Ok:
      if (wants(State::Sasl) || wants(State::SaslFinal)) {
        return login_denied(
            "the database server accepted the login before it proved that it knows the password: it may be an "
            "impostor");
      }
      if (!wants(State::Begun) && !wants(State::AwaitsOk)) return out_of_turn();
      if (options_.channel_binding == ChannelBinding::Require && !(scram_ && scram_->is_finished())) {
        return login_denied(
            "channel binding is required, but the database server accepted the login without it: set a password with "
            "scram-sha-256 for this user, and set that method in pg_hba.conf");
      }
      state_ = State::Authenticated;
      return {};
    case Kind::Sasl: {
      if (!wants(State::Begun)) return out_of_turn();
      const ScramOptions options{.password = options_.password.value_or(std::string_view()),
                                 .channel_binding = options_.channel_binding_data,
                                 .is_binding_required = options_.channel_binding == ChannelBinding::Require,
                                 .is_binding_disabled = options_.channel_binding == ChannelBinding::Disable,
                                 .nonce = options_.nonce,
                                 .iterations_max = options_.scram_iterations_max};
      KEEL_TRY(scram_, Scram::begin(request, options));
      KEEL_TRY_VOID(Encoder(out).sasl_initial_response(scram_->mechanism(), scram_->message()));
      state_ = State::Sasl;
      return {};
    }
    case Kind::SaslContinue:
      if (!wants(State::Sasl)) return out_of_turn();
      KEEL_TRY_VOID(scram_->challenge(request.data));
      KEEL_TRY_VOID(Encoder(out).sasl_response(scram_->message()));
      state_ = State::SaslFinal;
      return {};
    case Kind::SaslFinal:
      if (!wants(State::SaslFinal)) return out_of_turn();
      KEEL_TRY_VOID(scram_->finish(request.data));
      state_ = State::AwaitsOk;
      return {};
    case Kind::CleartextPassword:
    case Kind::Md5Password: {
      if (!wants(State::Begun)) return out_of_turn();
      const bool is_md5 = request.kind == Kind::Md5Password;
      if (options_.channel_binding == ChannelBinding::Require) {
        return login_denied("channel binding is required, but the database server requests the password without it");
      }
      if (!is_md5 && !options_.allows_cleartext_password) {
        return login_denied(
            "the database server asks for the password in cleartext, which is not allowed: set scram-sha-256 in "
            "pg_hba.conf, or set require_auth=password where the connection is trusted");
      }
      if (is_md5 && !options_.allows_md5_password) {
        return login_denied(
            "the database server asks for the password as md5, which is not allowed: set password_encryption = "
            "'scram-sha-256' and then set the password again, or set require_auth=md5 where the connection is trusted");
      }
      if (!options_.password || options_.password->empty()) {
        return login_denied("the database server requests a password, but none is configured");
      }
      if (is_md5) {
        const std::string md5 = md5_password(*options_.password, options_.user, request.data);
        if (md5.empty()) {
          return Error(Code::Unsupported,
                       "the database server asks for the password as md5, which this OpenSSL does not support")
              .from_environment();
        }
        KEEL_TRY_VOID(Encoder(out).password(md5));
      } else {
        KEEL_TRY_VOID(Encoder(out).password(*options_.password));
      }
      state_ = State::AwaitsOk;
      return {};
    }
    case Kind::KerberosV5:
    case Kind::Gss:
    case Kind::GssContinue:
    case Kind::Sspi:
      return Error(Code::Unsupported,
                   "the database server asks for GSSAPI, SSPI or Kerberos, which are not supported: set scram-sha-256 "
                   "for this user in pg_hba.conf")
          .from_environment();
  }
  return out_of_turn();
}

}  // namespace keel::db::postgres
