// Invariants of the cookies of arbitrary Cookie fields, and agreement with a reader that copies everything.
// cookie_test.cc runs the same function over its own table.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/http/message/fields.h"
#include "keel/http/server/cookie.h"

namespace keel::http {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs read_slowly(const RequestHead& head) {
  Pairs pairs;
  for (unsigned i = 0; i < head.field_count(); ++i) {
    if (!equals_ignore_case(head.field(i).name, "cookie")) continue;
    std::string piece;
    for (const char c : std::string(head.field(i).value) + ";") {
      if (c != ';') {
        piece += c;
        continue;
      }
      const std::string text = std::exchange(piece, "");
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos) continue;
      const std::string name(trim_blanks(std::string_view(text).substr(0, equals)));
      if (is_token(name)) pairs.emplace_back(name, trim_blanks(std::string_view(text).substr(equals + 1)));
    }
  }
  return pairs;
}

}  // namespace
}  // namespace keel::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::http;
  const std::string wire =
      "GET / HTTP/1.1\r\nHost: a\r\nCookie: " + std::string(reinterpret_cast<const char*>(data), size) + "\r\n\r\n";
  static RequestHead head;
  if (parse_head(wire, HeadLimits(), head).state != HeadState::Complete) return 0;

  Pairs pairs;
  Cookies cookies(head, 1 << 20);
  while (const auto cookie = cookies.next()) {
    KEEL_CHECK(cookie->name.data() >= wire.data() && cookie->value.data() <= wire.data() + wire.size(),
               "cookies lie inside the head");
    pairs.emplace_back(cookie->name, cookie->value);
  }
  KEEL_CHECK(cookies.finish().has_value(), "a head has fewer pairs than bytes");
  KEEL_CHECK(pairs == read_slowly(head), "both readers find the same cookies");

  constexpr int few = 3;
  Cookies bounded(head, few);
  Pairs first;
  while (const auto cookie = bounded.next()) first.emplace_back(cookie->name, cookie->value);
  KEEL_CHECK(first.size() <= few && std::equal(first.begin(), first.end(), pairs.begin()),
             "a bound only cuts off the end");
  KEEL_CHECK(bounded.finish().has_value() || !bounded.next(), "an end by the bound sticks");
  return 0;
}
