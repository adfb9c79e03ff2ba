#include "keel/net/tls/internal/ocsp.h"

#include <openssl/ocsp.h>

#include <string_view>

#include "keel/net/tls/internal/pem.h"

namespace keel::tls::internal {
namespace {

using ResponsePointer = Owner<OCSP_RESPONSE, OCSP_RESPONSE_free>;
using BasicPointer = Owner<OCSP_BASICRESP, OCSP_BASICRESP_free>;
using StorePointer = Owner<X509_STORE, X509_STORE_free>;
using Issuers = Owner<STACK_OF(X509), [](STACK_OF(X509) * stack) noexcept { sk_X509_free(stack); }>;

// Most responses have some 500 bytes, or 2 KB with the responder's certificate; a response is sent in each handshake in
// which the client requests it.
constexpr std::size_t staple_bytes_max = 16 * 1024;
// Allows for a difference between the clocks of the responder and the server.
constexpr std::int64_t clock_seconds = 300;

// RFC 6960 §4.1.1: a certificate is identified by the hash of its issuer's name and its serial number.
bool is_of(const OCSP_SINGLERESP* single, X509* certificate) {
  ASN1_OCTET_STRING* name = nullptr;
  ASN1_OBJECT* hash = nullptr;
  ASN1_INTEGER* serial = nullptr;
  auto* const id = const_cast<OCSP_CERTID*>(OCSP_SINGLERESP_get0_id(single));
  if (OCSP_id_get0_info(&name, &hash, nullptr, &serial, id) != 1) return false;
  const EVP_MD* const digest = EVP_get_digestbyobj(hash);
  unsigned char hashed[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (digest == nullptr || X509_NAME_digest(X509_get_issuer_name(certificate), digest, hashed, &size) != 1)
    return false;
  return ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(certificate)) == 0 &&
         std::string_view(reinterpret_cast<const char*>(hashed), size) ==
             std::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name)),
                              static_cast<std::size_t>(ASN1_STRING_length(name)));
}

// Whether the response is signed by the certificate's issuer, or by a responder that the issuer has certified.
bool is_signed_by(OCSP_BASICRESP* basic, X509* issuer, std::int64_t now) {
  const StorePointer store(X509_STORE_new());
  const Issuers issuers(sk_X509_new_null());
  if (store == nullptr || issuers == nullptr || sk_X509_push(issuers.get(), issuer) == 0 ||
      X509_STORE_add_cert(store.get(), issuer) != 1) {
    return false;
  }
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store.get()), now);
  return OCSP_basic_verify(basic, issuers.get(), store.get(), 0) == 1;
}

const char* words_of(int status) {
  return status == V_OCSP_CERTSTATUS_REVOKED ? "it says that the certificate is revoked"
                                             : "its responder does not know the certificate";
}

}  // namespace

Result<Staple> load_staple(const std::string& file, const std::string& der, X509* certificate,
                           const std::vector<CertificatePointer>& chain, std::int64_t now) {
  const std::string name = der.empty() ? "the OCSP response '" + file + '\'' : std::string("the OCSP response");
  const auto wrong = [&](const std::string& what) {
    ERR_clear_error();
    return Error::text(Code::InvalidArgument, name + ": " + what);
  };
  Staple staple;
  KEEL_TRY(staple.der, read_whole("OCSP response", file, der));
  if (staple.der.size() > staple_bytes_max) return wrong("it has more than 16 KiB");

  ERR_clear_error();
  const auto* at = reinterpret_cast<const unsigned char*>(staple.der.data());
  const unsigned char* const end = at + staple.der.size();
  const ResponsePointer response(d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(staple.der.size())));
  if (response == nullptr || at != end) return wrong("it is not an OCSP response in DER");
  if (const int status = OCSP_response_status(response.get()); status != OCSP_RESPONSE_STATUS_SUCCESSFUL) {
    return wrong(std::string("it reports an error of the responder: ") + OCSP_response_status_str(status));
  }
  const BasicPointer basic(OCSP_response_get1_basic(response.get()));
  if (basic == nullptr) return wrong("it is of an unknown kind");

  OCSP_SINGLERESP* single = nullptr;
  for (int i = 0; i < OCSP_resp_count(basic.get()) && single == nullptr; ++i) {
    OCSP_SINGLERESP* const one = OCSP_resp_get0(basic.get(), i);
    if (is_of(one, certificate)) single = one;
  }
  if (single == nullptr) return wrong("it is for another certificate");
  for (const CertificatePointer& issuer : chain) {
    if (X509_check_issued(issuer.get(), certificate) != X509_V_OK) continue;
    if (!is_signed_by(basic.get(), issuer.get(), now)) return wrong("it is not signed by the certificate's issuer");
    break;
  }

  ASN1_GENERALIZEDTIME* from = nullptr;
  ASN1_GENERALIZEDTIME* until = nullptr;
  const int status = OCSP_single_get0_status(single, nullptr, nullptr, &from, &until);
  if (status != V_OCSP_CERTSTATUS_GOOD) return wrong(words_of(status));
  if (until == nullptr) return wrong("it does not say how long it is valid (nextUpdate)");
  staple.until = seconds_of(until);
  if (staple.until <= now) return wrong("it was valid until " + date_text(until));
  if (from != nullptr && seconds_of(from) > now + clock_seconds) {
    return wrong("it is not valid before " + date_text(from));
  }
  ERR_clear_error();
  return staple;
}

}  // namespace keel::tls::internal
