#include "keel/net/tls/internal/openssl.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdio>
#include <ctime>
#include <string_view>

namespace keel::tls::internal {
namespace {

using NamesPointer = Owner<GENERAL_NAMES, GENERAL_NAMES_free>;

NamesPointer alternative_names(X509* certificate) {
  return NamesPointer(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
}

// Returns an empty text for a name with a zero byte, because other readers might take that byte for the end of the
// name.
std::string text_of(const ASN1_STRING* string) {
  const std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
                         static_cast<std::size_t>(ASN1_STRING_length(string)));
  return text.find('\0') == std::string::npos ? text : std::string();
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  const int size = ASN1_STRING_length(address);
  char text[INET6_ADDRSTRLEN] = "";
  if (size == 4 || size == 16) {
    ::inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(address), text, sizeof text);
  }
  return text;
}

std::string common_name(X509* certificate) {
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  return text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

}  // namespace

std::string last_words() {
  const unsigned long code = ERR_peek_last_error();
  const char* const reason = ERR_reason_error_string(code);
  ERR_clear_error();
  return reason != nullptr ? reason : "OpenSSL gives no reason";
}

std::string date_text(const ASN1_TIME* time) {
  std::tm date{};
  if (ASN1_TIME_to_tm(time, &date) != 1) return "an unknown day";
  char text[48];
  std::snprintf(text, sizeof text, "%04d-%02d-%02d", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
  return text;
}

std::int64_t seconds_of(const ASN1_TIME* time) {
  std::tm date{};
  return ASN1_TIME_to_tm(time, &date) == 1 ? static_cast<std::int64_t>(::timegm(&date)) : 0;
}

std::string name_text(const X509_NAME* name) {
  const BioPointer text(BIO_new(BIO_s_mem()));
  if (text == nullptr || X509_NAME_print_ex(text.get(), name, 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB) < 0)
    return {};
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

std::string names_of(X509* certificate, int count_max) {
  std::string all;
  const NamesPointer names = alternative_names(certificate);
  int count = 0;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    std::string text;
    if (name->type == GEN_DNS) text = text_of(name->d.dNSName);
    if (name->type == GEN_IPADD) text = address_text(name->d.iPAddress);
    if (text.empty()) continue;
    if (count++ == count_max) return all + ", …";
    all += (all.empty() ? "" : ", ") + text;
  }
  return all.empty() ? common_name(certificate) : all;
}

std::string identity_of(X509* certificate) {
  const NamesPointer names = alternative_names(certificate);
  for (const int kind : {GEN_URI, GEN_DNS, GEN_EMAIL}) {
    for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
      const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
      if (name->type != kind) continue;
      std::string text = text_of(name->d.ia5);  // All three kinds of names are in the member ia5.
      if (!text.empty()) return text;
    }
  }
  return common_name(certificate);
}

}  // namespace keel::tls::internal
