#include "keel/net/tls/internal/pem.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>

namespace keel::tls::internal {
namespace {

constexpr std::size_t file_bytes_max = 4 << 20;  // The system's own bundle of roots has some 220 KB.

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

// `kind` names the content in messages, such as "certificate".
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
  // Without O_NONBLOCK, opening a FIFO would wait for its writer.
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return Error::from_errno("open", errno).because(text.name);
  if (struct stat facts; ::fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(descriptor);
    return wrong(text.name, "it is not a regular file");
  }
  // The buffer is allocated once, because a growing vector would leave copies of a key in freed memory.
  text.bytes.resize(file_bytes_max + 1);
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

// Whether reading a list of objects failed only because the text ended.
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
    return wrong(text.name, "it is encrypted; store it without a passphrase, readable by the service alone");
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

// Whether `issuer` signed `certificate`, and was allowed to.
bool has_issued(X509* issuer, X509* certificate) {
  const bool has =
      X509_check_issued(issuer, certificate) == X509_V_OK && X509_verify(certificate, X509_get0_pubkey(issuer)) == 1;
  ERR_clear_error();
  return has;
}

// `which` is the subject of the sentence in the message, such as "it" or "its certificate number 2, 'CN = …',".
Result<> check_time(const X509* certificate, const std::string& name, const std::string& which, std::int64_t now) {
  const ASN1_TIME* const ends = X509_get0_notAfter(certificate);
  if (is_before(ends, now)) return wrong(name, which + " expired on " + date_text(ends));
  const ASN1_TIME* const begins = X509_get0_notBefore(certificate);
  if (!is_before(begins, now + 1)) return wrong(name, which + " is not valid before " + date_text(begins));
  return {};
}

std::string which_of(const std::vector<CertificatePointer>& certificates, std::size_t i) {
  return "its certificate number " + std::to_string(i + 1) + ", '" +
         name_text(X509_get_subject_name(certificates[i].get())) + "',";
}

// The certificates that follow the first one in a file, and how clients use them.
class Chain {
 public:
  explicit Chain(const std::vector<CertificatePointer>& certificates)
      : certificates_(certificates), is_issuer_(certificates.size()), is_repeated_(certificates.size()) {
    for (std::size_t i = 1; i < size(); ++i) {
      const auto is_same = [&](std::size_t j) { return X509_cmp(at(i), at(j)) == 0; };
      for (std::size_t j = 0; j < i && !is_repeated_[i]; ++j) is_repeated_[i] = is_same(j);
    }
    std::vector<std::size_t> certified = {0};
    while (!certified.empty()) {
      X509* const below = at(certified.back());
      certified.pop_back();
      for (std::size_t i = 1; i < size(); ++i) {
        if (is_issuer_[i] || is_repeated_[i] || !has_issued(at(i), below)) continue;
        is_issuer_[i] = true;
        certified.push_back(i);
      }
    }
  }

  // Whether clients may use certificate `i` now.
  bool is_used(std::size_t i, std::int64_t now) const { return is_issuer_[i] && is_valid(i, now); }

  // Clients reject a chain whose second certificate did not issue the first (RFC 5246 §7.4.2), and many reject a
  // chain in which a certificate has expired. RFC 8446 §4.4.2 requires that clients accept any order of the other
  // certificates, and extra certificates.
  Result<> check(const std::string& name, std::int64_t now) const {
    std::size_t second = 1;
    while (second < size() && is_repeated_[second]) ++second;
    if (second < size() && !has_issued(at(second), at(0))) {
      std::string why = which_of(certificates_, second) + " did not issue certificate number 1, whose issuer is '" +
                        name_text(X509_get_issuer_name(at(0))) +
                        "': each certificate must be followed by the certificate of its issuer";
      for (std::size_t other = second + 1; other < size(); ++other) {
        if (!has_issued(at(other), at(0))) continue;
        why += "; certificate number " + std::to_string(other + 1) + " did";
        break;
      }
      return wrong(name, why);
    }
    for (std::size_t i = 1; i < size(); ++i) {
      if (is_issuer_[i] && !has_substitute(i, now)) {
        KEEL_TRY_VOID(check_time(at(i), name, which_of(certificates_, i), now));
      }
    }
    return {};
  }

  // The first fault that clients must tolerate; empty: none.
  std::string first_flaw(std::int64_t now) const {
    for (std::size_t i = 1; i < size(); ++i) {
      const std::string which = which_of(certificates_, i);
      if (is_repeated_[i]) return which + " is in the file twice";
      if (!is_issuer_[i]) return which + " did not issue any other certificate of the file: clients do not use it";
      if (!is_valid(i, now)) return which + " is not valid now: clients use another certificate with the same key";
      if (!has_issued_before(i)) return which + " comes before the certificate that it issued";
    }
    return {};
  }

 private:
  std::size_t size() const { return certificates_.size(); }
  X509* at(std::size_t i) const { return certificates_[i].get(); }
  bool is_valid(std::size_t i, std::int64_t now) const { return check_time(at(i), {}, {}, now).is_ok(); }
  bool has_issued_before(std::size_t i) const {
    for (std::size_t j = 0; j < i; ++j) {
      if ((j == 0 || is_issuer_[j]) && has_issued(at(i), at(j))) return true;
    }
    return false;
  }
  // Whether there is a valid certificate with the same name and key, from another issuer or for another period.
  bool has_substitute(std::size_t i, std::int64_t now) const {
    for (std::size_t j = 1; j < size(); ++j) {
      if (j != i && is_issuer_[j] && is_valid(j, now) &&
          X509_NAME_cmp(X509_get_subject_name(at(i)), X509_get_subject_name(at(j))) == 0 &&
          EVP_PKEY_eq(X509_get0_pubkey(at(i)), X509_get0_pubkey(at(j))) == 1) {
        return true;
      }
    }
    return false;
  }

  const std::vector<CertificatePointer>& certificates_;
  // This certificate issued the service's certificate, or the certificate of another issuer.
  std::vector<bool> is_issuer_;
  std::vector<bool> is_repeated_;  // An equal certificate precedes this one.
};

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
    std::string why = "it does not match " + certificate_text.name;
    for (std::size_t i = 1; i < certificates.size(); ++i) {
      if (X509_check_private_key(certificates[i].get(), key.get()) != 1) continue;
      why += ", but its certificate number " + std::to_string(i + 1) +
             ": the file must begin with the service's own certificate";
    }
    ERR_clear_error();
    return wrong(key_text.name, why);
  }
  KEEL_TRY_VOID(check_time(certificates[0].get(), certificate_text.name, "it", now));
  const Chain chain(certificates);
  KEEL_TRY_VOID(chain.check(certificate_text.name, now));

  Identity identity;
  identity.chain_problem = chain.first_flaw(now);
  for (std::size_t i = 1; i < certificates.size(); ++i) {
    if (chain.is_used(i, now)) identity.issuers.push_back(certificates[i].get());
  }
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

Expiry expiry_of(Expiry::Kind kind, const std::string& file, const X509* certificate) {
  return {.kind = kind,
          .file = file,
          .name = name_text(X509_get_subject_name(certificate)),
          .from = seconds_of(X509_get0_notBefore(certificate)),
          .until = seconds_of(X509_get0_notAfter(certificate))};
}

Result<Anchors> load_anchors(const Trust& trust) {
  Anchors anchors;
  for (const bool is_file : {true, false}) {
    const std::string& file = is_file ? trust.file : std::string();
    const std::string& pem = is_file ? std::string() : trust.pem;
    if (file.empty() && pem.empty()) continue;
    KEEL_TRY(const Text text, read_text("root certificates", file, pem));
    KEEL_TRY(auto some, certificates_in(text));
    for (CertificatePointer& one : some) {
      anchors.expiries.push_back(expiry_of(Expiry::Kind::Root, file, one.get()));
      anchors.roots.push_back(std::move(one));
    }
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
      const ASN1_TIME* const until = X509_CRL_get0_nextUpdate(one);
      if (until == nullptr) continue;
      anchors.expiries.push_back({.kind = Expiry::Kind::RevocationList,
                                  .file = file,
                                  .name = name_text(X509_CRL_get_issuer(one)),
                                  .from = seconds_of(X509_CRL_get0_lastUpdate(one)),
                                  .until = seconds_of(until)});
    }
    if (!is_at_end()) return wrong(text.name, "it has a damaged revocation list: " + last_words());
    if (anchors.revoked.size() == before)
      return wrong(text.name, "it has no revocation list (-----BEGIN X509 CRL-----)");
  }
  return anchors;
}

}  // namespace keel::tls::internal
