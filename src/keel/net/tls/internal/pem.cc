#include "keel/net/tls/internal/pem.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>

namespace keel::tls::internal {
namespace {

constexpr std::size_t file_bytes_max = 4 << 20;  // The system's own bundle has some 220 KB.

// A text and its origin. The text is wiped at the end, because it may be a key.
struct Text {
  Text() = default;
  Text(Text&& other) noexcept : name(std::move(other.name)), bytes(std::exchange(other.bytes, {})) {}
  Text& operator=(Text&&) = delete;
  ~Text() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
  std::string name;
  std::vector<char> bytes;
};

Error wrong(const std::string& name, const std::string& what) {
  return Error::text(Code::InvalidArgument, name + ": " + what);
}

// `kind`: "certificate".
Result<Text> read_text(const char* kind, const std::string& file, const std::string& pem) {
  Text text;
  if (!pem.empty()) {
    text.name = "the text of the " + std::string(kind);
    text.bytes.assign(pem.begin(), pem.end());
    return text;
  }
  if (file.empty())
    return Error::text(Code::InvalidArgument, "there is neither a file nor a text of the " + std::string(kind));
  text.name = "the " + std::string(kind) + " '" + file + '\'';
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Error::from_errno("open", errno).because(text.name);
  text.bytes.resize(file_bytes_max + 1);  // Allocated once, because a growing vector would leave copies.
  std::size_t size = 0;
  ssize_t got = 0;
  do {
    got = ::read(descriptor, text.bytes.data() + size, text.bytes.size() - size);
    if (got > 0) size += static_cast<std::size_t>(got);
  } while ((got > 0 && size < text.bytes.size()) || (got < 0 && errno == EINTR));
  const int failed = got < 0 ? errno : 0;
  ::close(descriptor);
  text.bytes.resize(size);
  if (failed != 0) return Error::from_errno("read", failed).because(text.name);
  if (size > file_bytes_max) return wrong(text.name, "it has more than 4 MiB");
  return text;
}

Result<BioPointer> reader(const Text& text) {
  ERR_clear_error();
  BioPointer bio(BIO_new_mem_buf(text.bytes.data(), static_cast<int>(text.bytes.size())));
  if (bio == nullptr) return fail(Code::ResourceExhausted, "no memory for a certificate");
  return bio;
}

// Whether reading a list of objects has failed only because the text has ended.
bool is_at_end() {
  const unsigned long code = ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
  if (at_end) ERR_clear_error();
  return at_end;
}

Result<std::vector<CertificatePointer>> certificates_in(const Text& text) {
  KEEL_TRY(const BioPointer bio, reader(text));
  std::vector<CertificatePointer> all;
  while (X509* const one = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) all.emplace_back(one);
  if (!is_at_end()) {
    return wrong(text.name,
                 "its certificate number " + std::to_string(all.size() + 1) + " is damaged: " + last_words());
  }
  if (all.empty()) return wrong(text.name, "there is no certificate in it (-----BEGIN CERTIFICATE-----)");
  return all;
}

Result<KeyPointer> key_in(const Text& text) {
  KEEL_TRY(const BioPointer bio, reader(text));
  bool is_encrypted = false;
  const auto no_passphrase = [](char*, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
  };
  KeyPointer key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, &is_encrypted));
  if (key != nullptr) return key;
  if (is_encrypted)
    return wrong(text.name, "it is encrypted; write it without a passphrase, for the service alone to read");
  constexpr std::string_view end_of_head = "PRIVATE KEY-----";
  const std::string_view all(text.bytes.data(), text.bytes.size());
  if (all.find(end_of_head) == std::string_view::npos)
    return wrong(text.name, "there is no private key in it (-----BEGIN PRIVATE KEY-----)");
  return wrong(text.name, "its private key is damaged: " + last_words());
}

bool is_before(const ASN1_TIME* time, std::int64_t now) {
  std::time_t at = now;
  return X509_cmp_time(time, &at) < 0;
}

}  // namespace

Result<std::string> read_whole(const char* kind, const std::string& file, const std::string& bytes) {
  KEEL_TRY(const Text text, read_text(kind, file, bytes));
  return std::string(text.bytes.data(), text.bytes.size());
}

Result<Identity> load_identity(const KeyPair& pair, std::int64_t now) {
  KEEL_TRY(const Text certificate_text, read_text("certificate", pair.certificate_file, pair.certificate_pem));
  const bool is_beside = pair.key_file.empty() && pair.key_pem.empty();
  KEEL_TRY(const Text key_text, read_text("key", is_beside ? pair.certificate_file : pair.key_file,
                                          is_beside ? pair.certificate_pem : pair.key_pem));
  KEEL_TRY(auto certificates, certificates_in(certificate_text));
  KEEL_TRY(KeyPointer key, key_in(key_text));

  if (X509_check_private_key(certificates[0].get(), key.get()) != 1) {
    std::string why = "it does not fit " + certificate_text.name;
    for (std::size_t i = 1; i < certificates.size(); ++i) {
      if (X509_check_private_key(certificates[i].get(), key.get()) != 1) continue;
      why += ", but its certificate number " + std::to_string(i + 1) + ": the own certificate comes first";
    }
    ERR_clear_error();
    return wrong(key_text.name, why);
  }
  const ASN1_TIME* const ends = X509_get0_notAfter(certificates[0].get());
  if (is_before(ends, now)) return wrong(certificate_text.name, "it has expired, on " + date_text(ends));
  const ASN1_TIME* const begins = X509_get0_notBefore(certificates[0].get());
  if (!is_before(begins, now + 1)) return wrong(certificate_text.name, "it is not valid before " + date_text(begins));

  Identity identity;
  identity.certificate = std::move(certificates[0]);
  for (std::size_t i = 1; i < certificates.size(); ++i) identity.chain.push_back(std::move(certificates[i]));
  identity.key = std::move(key);
  identity.name = certificate_text.name;
  if (!pair.ocsp_file.empty() || !pair.ocsp_der.empty()) {
    auto staple = load_staple(pair.ocsp_file, pair.ocsp_der, identity.certificate.get(), identity.chain, now);
    if (!staple) identity.staple_problem = staple.error().describe();
    if (staple) identity.staple = *std::move(staple);
  }
  return identity;
}

Result<Anchors> load_anchors(const Trust& trust) {
  Anchors anchors;
  for (const bool is_file : {true, false}) {
    const std::string& file = is_file ? trust.file : std::string();
    const std::string& pem = is_file ? std::string() : trust.pem;
    if (file.empty() && pem.empty()) continue;
    KEEL_TRY(const Text text, read_text("root certificates", file, pem));
    KEEL_TRY(auto some, certificates_in(text));
    for (CertificatePointer& one : some) anchors.roots.push_back(std::move(one));
  }
  for (const bool is_file : {true, false}) {
    const std::string& file = is_file ? trust.revoked_file : std::string();
    const std::string& pem = is_file ? std::string() : trust.revoked_pem;
    if (file.empty() && pem.empty()) continue;
    KEEL_TRY(const Text text, read_text("revoked certificates", file, pem));
    KEEL_TRY(const BioPointer bio, reader(text));
    const std::size_t before = anchors.revoked.size();
    while (X509_CRL* const one = PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr)) {
      anchors.revoked.emplace_back(one);
    }
    if (!is_at_end()) return wrong(text.name, "a list in it is damaged: " + last_words());
    if (anchors.revoked.size() == before) return wrong(text.name, "there is no list in it (-----BEGIN X509 CRL-----)");
  }
  return anchors;
}

}  // namespace keel::tls::internal
