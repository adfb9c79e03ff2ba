#include "keel/http/message/method.h"

namespace keel::http {
namespace {

constexpr std::string_view names[method_count] = {"GET",     "HEAD",  "POST",    "PUT",   "DELETE", "PATCH",
                                                  "OPTIONS", "TRACE", "CONNECT", "QUERY", ""};

Method if_same(std::string_view text, Method method) noexcept {
  return text == names[static_cast<int>(method)] ? method : Method::Other;
}

}  // namespace

Method parse_method(std::string_view text) noexcept {
  switch (text.size()) {
    case 3:
      return if_same(text, text[0] == 'G' ? Method::Get : Method::Put);
    case 4:
      return if_same(text, text[0] == 'P' ? Method::Post : Method::Head);
    case 5:
      return if_same(text, text[0] == 'P' ? Method::Patch : text[0] == 'T' ? Method::Trace : Method::Query);
    case 6:
      return if_same(text, Method::Delete);
    case 7:
      return if_same(text, text[0] == 'O' ? Method::Options : Method::Connect);
    default:
      return Method::Other;
  }
}

std::string_view to_string(Method method) noexcept { return names[static_cast<int>(method)]; }

}  // namespace keel::http
