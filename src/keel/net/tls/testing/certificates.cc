#include "keel/net/tls/testing/certificates.h"

#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/host.h"

namespace keel::tls::testing {
namespace {

void check(bool is_done) { KEEL_CHECK(is_done, "OpenSSL must create the objects of a test"); }

template <auto free>
struct Freeing {
  template <class T>
  void operator()(T* object) const noexcept {
    free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freeing<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freeing<X509_free>>;

Key make_key(KeyKind kind) {
  Key key(kind == KeyKind::P256 ? EVP_EC_gen("P-256") : EVP_RSA_gen(kind == KeyKind::Rsa2048 ? 2048u : 1024u));
  check(key != nullptr);
  return key;
}

template <class Write>
std::string pem_text(Write write) {
  const std::unique_ptr<BIO, Freeing<BIO_free>> text(BIO_new(BIO_s_mem()));
  check(text != nullptr && write(text.get()) == 1);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  return pem_text([&](BIO* text) { return PEM_write_bio_X509(text, certificate); });
}
std::string pem_of(EVP_PKEY* key) {
  return pem_text(
      [&](BIO* text) { return PEM_write_bio_PrivateKey(text, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

Certificate certificate_of(const std::string& pem) {
  const std::unique_ptr<BIO, Freeing<BIO_free>> text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Certificate certificate(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  check(certificate != nullptr);
  return certificate;
}

std::time_t in(Duration from_now) { return (Host::current().wall_ns() + from_now.count_ns()) / 1'000'000'000; }

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Freeing<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  check(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1);
}

void name(X509_NAME* subject, const std::string& common_name) {
  check(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(common_name.data()),
                                   static_cast<int>(common_name.size()), -1, 0) == 1);
}

// Null issuer: the certificate is self-signed.
Certificate make(const CertificateOptions& options, std::int64_t serial, EVP_PKEY* key, X509* issuer,
                 EVP_PKEY* issuer_key, bool is_authority) {
  Certificate made(X509_new());
  X509* const certificate = made.get();
  check(certificate != nullptr && X509_set_version(certificate, X509_VERSION_3) == 1);
  ASN1_INTEGER_set_int64(X509_get_serialNumber(certificate), serial);
  ASN1_TIME_set(X509_getm_notBefore(certificate), in(options.valid_from));
  ASN1_TIME_set(X509_getm_notAfter(certificate), in(options.valid_until));
  if (!options.common_name.empty()) name(X509_get_subject_name(certificate), options.common_name);
  X509* const by = issuer != nullptr ? issuer : certificate;
  check(X509_set_issuer_name(certificate, X509_get_subject_name(by)) == 1 && X509_set_pubkey(certificate, key) == 1);
  std::string names;
  const auto add = [&](const char* kind, const std::vector<std::string>& some) {
    for (const std::string& one : some) names += (names.empty() ? "" : ",") + std::string(kind) + one;
  };
  add("DNS:", options.names);
  add("IP:", options.addresses);
  add("URI:", options.uris);
  extend(certificate, by, NID_basic_constraints, is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (is_authority) extend(certificate, by, NID_key_usage, "critical,keyCertSign,cRLSign");
  extend(certificate, by, NID_subject_key_identifier, "hash");
  if (issuer != nullptr) extend(certificate, by, NID_authority_key_identifier, "keyid");
  if (!names.empty()) extend(certificate, by, NID_subject_alt_name, names);
  check(X509_sign(certificate, issuer_key != nullptr ? issuer_key : key, EVP_sha256()) > 0);
  return made;
}

}  // namespace

struct Authority::State {
  explicit State(const std::string& n) : name(n) {}
  const std::string name;
  Key key = make_key(KeyKind::P256);
  Certificate certificate;
  std::string above;  // The certificates of this authority and of its issuers, without the root.
  std::int64_t serial = 1;
};

Authority::Authority(const std::string& name) : state_(new State(name)) {
  state_->certificate = make({.common_name = name}, 1, state_->key.get(), nullptr, nullptr, true);
}

Authority::Authority(const std::string& name, const Authority& issuer, const CertificateOptions& options)
    : state_(new State(name)) {
  state_->certificate = make(
      {.common_name = name, .valid_from = options.valid_from, .valid_until = options.valid_until},
      ++issuer.state_->serial, state_->key.get(), issuer.state_->certificate.get(), issuer.state_->key.get(), true);
  state_->above = pem_of(state_->certificate.get()) + issuer.state_->above;
}

Authority::Authority(Authority&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
Authority::~Authority() { delete state_; }

KeyPair Authority::issue(const CertificateOptions& options) {
  const Key key = make_key(options.key);
  const Certificate certificate =
      make(options, ++state_->serial, key.get(), state_->certificate.get(), state_->key.get(), false);
  return {.certificate_pem = pem_of(certificate.get()) + state_->above, .key_pem = pem_of(key.get())};
}

std::string Authority::revoke(const std::vector<KeyPair>& pairs, Duration valid_until) {
  const std::unique_ptr<X509_CRL, Freeing<X509_CRL_free>> list(X509_CRL_new());
  check(list != nullptr && X509_CRL_set_version(list.get(), X509_CRL_VERSION_2) == 1);
  check(X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(state_->certificate.get())) == 1);
  const std::unique_ptr<ASN1_TIME, Freeing<ASN1_TIME_free>> from(
      ASN1_TIME_set(nullptr, in(std::min(valid_until, Duration()) - Duration::hours(1))));
  const std::unique_ptr<ASN1_TIME, Freeing<ASN1_TIME_free>> until(ASN1_TIME_set(nullptr, in(valid_until)));
  X509_CRL_set1_lastUpdate(list.get(), from.get());
  X509_CRL_set1_nextUpdate(list.get(), until.get());
  for (const KeyPair& pair : pairs) {
    const Certificate certificate = certificate_of(pair.certificate_pem);
    std::unique_ptr<X509_REVOKED, Freeing<X509_REVOKED_free>> one(X509_REVOKED_new());
    X509_REVOKED_set_serialNumber(one.get(), X509_get_serialNumber(certificate.get()));
    X509_REVOKED_set_revocationDate(one.get(), from.get());
    check(X509_CRL_add0_revoked(list.get(), one.release()) == 1);
  }
  check(X509_CRL_sign(list.get(), state_->key.get(), EVP_sha256()) > 0);
  return pem_text([&](BIO* text) { return PEM_write_bio_X509_CRL(text, list.get()); });
}

std::string Authority::ocsp_response(const KeyPair& pair, const OcspOptions& options) {
  const std::unique_ptr<OCSP_BASICRESP, Freeing<OCSP_BASICRESP_free>> basic(OCSP_BASICRESP_new());
  const Certificate certificate = certificate_of(pair.certificate_pem);
  const std::unique_ptr<OCSP_CERTID, Freeing<OCSP_CERTID_free>> id(
      OCSP_cert_to_id(EVP_sha1(), certificate.get(), state_->certificate.get()));
  check(basic != nullptr && id != nullptr);
  const auto time = [](Duration from_now) {
    return std::unique_ptr<ASN1_TIME, Freeing<ASN1_TIME_free>>(ASN1_GENERALIZEDTIME_set(nullptr, in(from_now)));
  };
  const auto from = time(options.valid_from);
  const auto until = time(options.valid_until);
  const bool is_revoked = options.status == OcspStatus::Revoked;
  const int status = is_revoked                              ? V_OCSP_CERTSTATUS_REVOKED
                     : options.status == OcspStatus::Unknown ? V_OCSP_CERTSTATUS_UNKNOWN
                                                             : V_OCSP_CERTSTATUS_GOOD;
  check(OCSP_basic_add1_status(basic.get(), id.get(), status, 0, is_revoked ? from.get() : nullptr, from.get(),
                               options.says_until ? until.get() : nullptr) != nullptr);
  check(OCSP_basic_sign(basic.get(), state_->certificate.get(), state_->key.get(), EVP_sha256(), nullptr, 0) == 1);
  const std::unique_ptr<OCSP_RESPONSE, Freeing<OCSP_RESPONSE_free>> response(
      OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic.get()));
  unsigned char* bytes = nullptr;
  const int size = i2d_OCSP_RESPONSE(response.get(), &bytes);
  check(size > 0);
  std::string der(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

std::string Authority::pem() const { return pem_of(state_->certificate.get()); }

std::string Authority::pem_from(const Authority& issuer, const CertificateOptions& options) const {
  const Certificate certificate = make(
      {.common_name = state_->name, .valid_from = options.valid_from, .valid_until = options.valid_until},
      ++issuer.state_->serial, state_->key.get(), issuer.state_->certificate.get(), issuer.state_->key.get(), true);
  return pem_of(certificate.get());
}

KeyPair self_signed(const CertificateOptions& options) {
  const Key key = make_key(options.key);
  const Certificate certificate = make(options, 1, key.get(), nullptr, nullptr, false);
  return {.certificate_pem = pem_of(certificate.get()), .key_pem = pem_of(key.get())};
}

KeyPair encrypted(const KeyPair& pair, const std::string& passphrase) {
  const std::unique_ptr<BIO, Freeing<BIO_free>> text(
      BIO_new_mem_buf(pair.key_pem.data(), static_cast<int>(pair.key_pem.size())));
  const Key key(PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, nullptr));
  KeyPair other = pair;
  other.key_pem = pem_text([&](BIO* out) {
    return PEM_write_bio_PKCS8PrivateKey(out, key.get(), EVP_aes_128_cbc(), passphrase.data(),
                                         static_cast<int>(passphrase.size()), nullptr, nullptr);
  });
  return other;
}

}  // namespace keel::tls::testing
