// Invariants of the head parser over arbitrary bytes. parser_test.cc runs the same function over its vectors.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "keel/base/check.h"
#include "keel/http/message/parser.h"

namespace keel::http {
namespace {

// A copy in memory of exactly that size, so that a sanitizer sees a read past the end.
struct Exact {
  explicit Exact(std::string_view bytes) : copy(new char[bytes.size()]), size(bytes.size()) {
    if (size != 0) std::memcpy(copy.get(), bytes.data(), size);
  }
  std::string_view view() const { return {copy.get(), size}; }
  std::unique_ptr<char[]> copy;
  std::size_t size;
};

void check_inside(std::string_view part, std::string_view received, std::size_t consumed) {
  if (part.empty()) return;
  KEEL_CHECK(part.data() >= received.data() && part.data() + part.size() <= received.data() + consumed,
             "views lie inside the head");
}

void check_complete(const RequestHead& head, std::string_view received, std::size_t consumed,
                    const HeadLimits& limits) {
  KEEL_CHECK(consumed <= received.size() && consumed <= limits.head_bytes_max, "a head ends inside what was received");
  KEEL_CHECK(received.substr(0, consumed).ends_with("\r\n\r\n"), "a head ends with a blank line");
  KEEL_CHECK(received.substr(0, consumed).find('\0') == std::string_view::npos, "no NUL in a head");
  KEEL_CHECK(is_token(head.method_text()), "a method is a token");
  KEEL_CHECK(head.method() == parse_method(head.method_text()), "the method is what the text says");
  check_inside(head.method_text(), received, consumed);
  check_inside(head.target(), received, consumed);
  if (head.path() != "/") check_inside(head.path(), received, consumed);
  check_inside(head.query(), received, consumed);
  check_inside(head.authority(), received, consumed);
  check_inside(head.host(), received, consumed);
  KEEL_CHECK(head.authority().starts_with(head.host()), "the authority begins with the host");
  KEEL_CHECK(head.version_minor() == 0 || !head.host().empty(), "HTTP/1.1 has a host");
  KEEL_CHECK(head.field_count() <= limits.fields_max, "no more fields than allowed");
  unsigned lengths = 0;
  unsigned codings = 0;
  unsigned hosts = 0;
  for (unsigned i = 0; i < head.field_count(); ++i) {
    const Field field = head.field(i);
    KEEL_CHECK(is_token(field.name), "a field name is a token");
    KEEL_CHECK(is_field_value(field.value), "a field value has no control bytes");
    KEEL_CHECK(trim_blanks(field.value) == field.value, "a field value has no blanks around it");
    KEEL_CHECK(head.find(field.name).has_value(), "a field is found by its name");
    check_inside(field.name, received, consumed);
    check_inside(field.value, received, consumed);
    lengths += equals_ignore_case(field.name, "Content-Length");
    codings += equals_ignore_case(field.name, "Transfer-Encoding");
    hosts += equals_ignore_case(field.name, "Host");
  }
  KEEL_CHECK(lengths + codings <= 1 && hosts <= 1, "framing is said once");
  KEEL_CHECK((head.body() == BodyKind::Chunked) == (codings == 1), "chunked comes from Transfer-Encoding");
  KEEL_CHECK((head.body() == BodyKind::Length) == (head.content_length() != 0), "a length comes with a body");
  constexpr std::string_view names[known_count] = {"host",
                                                   "connection",
                                                   "content-length",
                                                   "transfer-encoding",
                                                   "expect",
                                                   "content-type",
                                                   "accept",
                                                   "accept-encoding",
                                                   "authorization",
                                                   "cookie",
                                                   "if-modified-since",
                                                   "if-none-match",
                                                   "origin",
                                                   "range",
                                                   "upgrade",
                                                   "user-agent"};
  for (unsigned i = 0; i < known_count; ++i) {
    KEEL_CHECK(head.find(static_cast<Known>(i)) == head.find(names[i]), "the index and the search agree");
  }
}

void check_same(const HeadResult& a, const HeadResult& b) {
  KEEL_CHECK(
      a.state == b.state && a.status == b.status && a.consumed == b.consumed && std::string_view(a.reason) == b.reason,
      "the answer does not depend on how the bytes are cut");
}

void check_limits(std::string_view bytes, const HeadLimits& limits) {
  static RequestHead head;
  const Exact whole(bytes);
  const HeadResult full = parse_head(whole.view(), limits, head);
  if (full.state == HeadState::Complete) check_complete(head, whole.view(), full.consumed, limits);
  if (full.state == HeadState::Refused)
    KEEL_CHECK(number(full.status) >= 400 && *full.reason != 0, "a refusal says why");

  // Every prefix of short input, sixteen of long input: complete exactly from its end on, never rejected for another
  // reason.
  const std::size_t step = std::max<std::size_t>(1, bytes.size() / (bytes.size() < 200 ? 200 : 16));
  static RequestHead resumed;
  bool is_first = true;
  bool is_over = false;
  for (std::size_t size = 0; size < bytes.size(); size += step) {
    const Exact prefix(bytes.substr(0, size));
    static RequestHead other;
    const HeadResult cut = parse_head(prefix.view(), limits, other);
    if (cut.state == HeadState::Incomplete) {
      KEEL_CHECK(full.state != HeadState::Complete || size < full.consumed, "a whole head is not waited for");
    } else {
      check_same(cut, full);
    }
    if (!is_over) {
      const HeadResult again =
          is_first ? parse_head(prefix.view(), limits, resumed) : resume_head(prefix.view(), limits, resumed);
      check_same(again, cut);
      is_first = false;
      is_over = again.state != HeadState::Incomplete;
    }
  }
  if (!is_over && !is_first) {
    const HeadResult last = resume_head(whole.view(), limits, resumed);
    check_same(last, full);
    if (last.state == HeadState::Complete) check_complete(resumed, whole.view(), last.consumed, limits);
  }
}

}  // namespace
}  // namespace keel::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel::http;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_limits(bytes, HeadLimits{});
  check_limits(
      bytes,
      HeadLimits{.request_line_bytes_max = 40, .field_line_bytes_max = 32, .head_bytes_max = 120, .fields_max = 4});
  return 0;
}
