// Owning pointers to OpenSSL's objects, and OpenSSL's error texts.

#pragma once

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <memory>
#include <string>

namespace keel::tls::internal {

template <auto free>
struct Free {
  template <class T>
  void operator()(T* object) const noexcept {
    free(object);
  }
};
template <class T, auto free>
using Owner = std::unique_ptr<T, Free<free>>;

using SslPointer = Owner<SSL, SSL_free>;
using SslContextPointer = Owner<SSL_CTX, SSL_CTX_free>;
using SessionPointer = Owner<SSL_SESSION, SSL_SESSION_free>;
using CertificatePointer = Owner<X509, X509_free>;
using KeyPointer = Owner<EVP_PKEY, EVP_PKEY_free>;
using BioPointer = Owner<BIO, BIO_free>;

// OpenSSL's text for the last failure; clears OpenSSL's error queue.
std::string last_words();

// The date in UTC, such as "2026-11-27".
std::string date_text(const ASN1_TIME* time);

// The seconds since 1970.
std::int64_t seconds_of(const ASN1_TIME* time);

// The name as text, such as "CN = Keel's test authority, O = Keel".
std::string name_text(const X509_NAME* name);

// The names that the certificate is for: DNS names and addresses, at most `count_max` of them, separated by commas.
std::string names_of(X509* certificate, int count_max);

// The name by which a peer with this certificate is known: its first URI, DNS name or mail address, in this order;
// without any of them, its common name.
std::string identity_of(X509* certificate);

}  // namespace keel::tls::internal
