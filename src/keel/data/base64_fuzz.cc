// What decodes in a form encodes to the very same text; every sequence of bytes encodes and decodes to itself.

#include <cstdlib>
#include <string>

#include "keel/data/base64.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto form :
       {base64::Form::Standard, base64::Form::StandardUnpadded, base64::Form::Url, base64::Form::UrlPadded}) {
    const Result<std::string> bytes = base64::decode(text, form);
    if (bytes && base64::encode(*bytes, form) != text) std::abort();
    Buffer out;
    const Result<std::size_t> written = base64::decode(text, out, form);
    if (written.is_ok() != bytes.is_ok() || (written && out.view() != *bytes)) std::abort();
    const std::string encoded = base64::encode(text, form);
    if (encoded.size() != base64::encoded_size(size, form)) std::abort();
    if (base64::decode(encoded, form).value() != text) std::abort();
  }
  return 0;
}
