#include "keel/http/message/parser.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "keel/base/ascii.h"
#include "keel/base/check.h"
#include "keel/base/scan.h"

namespace keel::http {
namespace {

constexpr std::size_t method_bytes_max = 32;

using ascii::is_blank;

struct Authority {
  std::string_view host;
  std::string_view port;
};

bool is_ipv6(std::string_view text) noexcept {
  char copy[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof copy) return false;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  unsigned char address[16];
  return std::memchr(copy, 0, text.size()) == nullptr && inet_pton(AF_INET6, copy, address) == 1;
}

// Sets bit 7 of each byte of `word` that is not a digit.
constexpr std::uint64_t not_digits(std::uint64_t word) noexcept {
  const std::uint64_t digits = word ^ 0x3030303030303030;
  return (digits | (digits + 0x7676767676767676)) & 0x8080808080808080;
}

bool is_port(std::string_view text) noexcept {
  unsigned number = 0;
  for (char c : text) {
    if (!ascii::is_digit(c)) return false;
    number = number * 10 + static_cast<unsigned>(c - '0');
  }
  return number <= 65'535;
}

// Parses host [ ":" port ], without user information. Deliberately stricter than RFC 3986: '%' is rejected, because
// another reader may decode it into a different host, and ',' is rejected, because a reader of lists would see two
// hosts.
bool read_authority(const char* from, const char* to, Authority& out) noexcept {
  const char* p = from;
  out.port = {};
  if (p != to && *p == '[') {
    const char* const close = std::find(from, to, ']');
    if (close == to || !is_ipv6({from + 1, static_cast<std::size_t>(close - from - 1)})) return false;
    p = close + 1;
  } else {
    while (p != to && byte_class::is(byte_class::host, *p)) ++p;
  }
  out.host = {from, static_cast<std::size_t>(p - from)};
  if (p == from) return false;
  if (p == to) return true;
  if (*p != ':' || to - p > 6) return false;
  out.port = {p + 1, static_cast<std::size_t>(to - p - 1)};
  return is_port(out.port);
}

unsigned port_number(std::string_view port, unsigned otherwise) noexcept {
  if (port.empty()) return otherwise;
  unsigned number = 0;
  for (char c : port) number = number * 10 + static_cast<unsigned>(c - '0');
  return number;
}

}  // namespace

// Parses the bytes in one pass. A member function that returns bool returns false to end the pass; `result_` then says
// why.
class HeadReader {
 public:
  enum Coding : std::uint8_t { Chunked, Unknown, Malformed };

  HeadReader(std::string_view received, const HeadLimits& limits, RequestHead& head, HeadResult& result) noexcept
      : result_(result),
        limits_(limits),
        head_(head),
        facts_(head.facts_),
        begin_(received.data()),
        at_(begin_),
        end_(begin_ + std::min<std::size_t>(received.size(), limits.head_bytes_max)) {
    KEEL_CHECK(limits.fields_max <= RequestHead::fields_capacity,
               "fields_max must not exceed the room for fields in a head");
    facts_.base = begin_;
  }

  // Makes the next pass begin with the request line.
  static void forget(RequestHead& head) noexcept { head.facts_.resume_at = 0; }

  [[gnu::always_inline]] inline void run() noexcept {
    if (facts_.resume_at != 0) [[unlikely]] {
      at_ = begin_ + facts_.resume_at;
      KEEL_CHECK(at_ <= end_, "resume_head() needs the bytes of the previous call and at least one more");
    } else {
      facts_.content_length = 0;
      facts_.present = 0;
      facts_.field_count = 0;
      facts_.body = BodyKind::None;
      facts_.coding = Chunked;
      facts_.target_is_https = false;
      facts_.expect_continue = false;
      facts_.says_close = false;
      facts_.says_keep_alive = false;
      facts_.expects_other = false;
      if (!read_request_line()) return;
    }
    read_fields();
  }

 private:
  using Part = RequestHead::Part;

  Part part(const char* from, const char* to) const noexcept {
    return {static_cast<std::uint32_t>(from - begin_), static_cast<std::uint32_t>(to - from)};
  }
  Part part(std::string_view text) const noexcept {
    return text.data() == nullptr ? Part{0, 0} : part(text.data(), text.data() + text.size());
  }

  [[gnu::cold, gnu::noinline]] bool refuse(Status status, const char* reason) noexcept {
    result_ = {HeadState::Refused, status, 0, reason};
    return false;
  }
  [[gnu::cold, gnu::noinline]] bool refuse(const char* reason) noexcept { return refuse(Status::BadRequest, reason); }

  // The received bytes end within the line: wait for more, unless the line or the head already has its maximum length.
  [[gnu::cold, gnu::noinline]] bool need_more(const char* line, std::size_t line_max, Status too_long) noexcept {
    if (static_cast<std::size_t>(end_ - line) >= line_max) {
      return refuse(too_long, too_long == Status::UriTooLong ? "request line is too long" : "field line is too long");
    }
    if (static_cast<std::size_t>(end_ - begin_) >= limits_.head_bytes_max) {
      return refuse(Status::RequestHeaderFieldsTooLarge, "head is too large");
    }
    result_.state = HeadState::Incomplete;
    return false;
  }

  [[gnu::cold, gnu::noinline]] bool more_of_request_line(const char* line) noexcept {
    return need_more(line, limits_.request_line_bytes_max, Status::UriTooLong);
  }

  // resume_head() continues at the beginning of this line.
  [[gnu::cold, gnu::noinline]] void more_of_field(const char* line, std::uint32_t count) noexcept {
    facts_.resume_at = static_cast<std::uint32_t>(line - begin_);
    facts_.field_count = count;
    need_more(line, limits_.field_line_bytes_max, Status::RequestHeaderFieldsTooLarge);
  }

  const char* line_end(const char* line, std::size_t line_max) const noexcept {
    return static_cast<std::size_t>(end_ - line) > line_max ? line + line_max : end_;
  }

  // Syntax: method SP request-target SP HTTP-version CRLF, where each SP is exactly one blank (RFC 9112 §3).
  [[gnu::always_inline]] inline bool read_request_line() noexcept {
    const char* const begin = begin_;
    const char* line = at_;
    if (line != end_ && *line == '\r') [[unlikely]] {
      if (end_ - line < 2) return more_of_request_line(line);
      if (line[1] != '\n') return refuse("CR without LF");
      line += 2;
    }
    const char* const stop = line_end(line, limits_.request_line_bytes_max);

    const char* p = line;
    if (stop - p >= 4 && scan::load32(p) == scan::load32("GET ")) {
      facts_.method = Method::Get;
      p += 3;
    } else {
      const char* const method_stop = std::min(stop, p + std::min<std::ptrdiff_t>(stop - p, method_bytes_max + 1));
      while (p != method_stop && is_token_byte(*p)) ++p;
      if (p - line > std::ptrdiff_t{method_bytes_max}) return refuse(Status::NotImplemented, "method is too long");
      if (p == stop) return more_of_request_line(line);
      if (*p != ' ' || p == line) return refuse("method is not a token");
      facts_.method = parse_method({line, static_cast<std::size_t>(p - line)});
    }
    facts_.method_text = part(line, p);

    const char* const target = ++p;
    const char* path_end = nullptr;
    for (;;) {
      p = scan::find_path_stop(begin, p, stop);
      if (p == stop) [[unlikely]]
        return more_of_request_line(line);
      if (*p == ' ') {
        path_end = p;
        break;
      }
      if (*p == '%') {
        int value = 0;
        for (int i = 1; i <= 2; ++i) {
          if (p + i == stop) return more_of_request_line(line);
          const int digit = ascii::hex_value(p[i]);
          if (digit < 0) return refuse("percent-escape in the path without two hexadecimal digits");
          value = value * 16 + digit;
        }
        if (value == 0) return refuse("%00 in the path");
        p += 3;
        continue;
      }
      if (*p == '?') {
        path_end = p;
        break;
      }
      if (!byte_class::is(byte_class::target, *p)) return refuse(wrong_in_target(*p));
      ++p;
    }
    while (*p != ' ') {
      p = scan::find_query_stop(begin, p + 1, stop);
      if (p == stop) [[unlikely]]
        return more_of_request_line(line);
      if (*p != ' ' && !byte_class::is(byte_class::target, *p)) return refuse(wrong_in_target(*p));
    }
    const char* const target_end = p;
    if (target == target_end) return refuse("request target is empty");
    facts_.target = part(target, target_end);
    facts_.has_query = path_end != target_end;
    facts_.query = facts_.has_query ? part(path_end + 1, target_end) : Part{0, 0};

    ++p;
    if (stop - p >= 10 && scan::load64(p) == scan::load64("HTTP/1.1") && scan::load16(p + 8) == scan::load16("\r\n"))
        [[likely]] {
      facts_.version_minor = 1;
    } else {
      constexpr std::string_view form = "HTTP/0.0\r\n";
      for (std::size_t i = 0; i < form.size(); ++i) {
        if (p + i == stop) return more_of_request_line(line);
        const bool fits = form[i] == '0' ? ascii::is_digit(p[i]) : p[i] == form[i];
        if (!fits) return refuse("HTTP version is malformed");
      }
      if (p[5] != '1') return refuse(Status::HttpVersionNotSupported, "HTTP version is not 1.0 or 1.1");
      // RFC 9110 §2.5: a request with a higher minor version is processed as one with the highest known minor version.
      facts_.version_minor = p[7] == '0' ? 0 : 1;
    }
    at_ = p + 10;
    facts_.resume_at = static_cast<std::uint32_t>(at_ - begin_);

    if (facts_.method != Method::Connect && *target == '/') [[likely]] {
      facts_.form = TargetForm::Origin;
      facts_.path = part(target, path_end);
      facts_.authority = facts_.host = {0, 0};
      return true;
    }
    return read_other_target(target, path_end, target_end);
  }

  static const char* wrong_in_target(char c) noexcept {
    if (c == '#') return "the request target contains a fragment";
    if (c == '\r' || c == '\n') return "request line has no version";
    return "byte that is not allowed in the request target";
  }

  [[gnu::noinline]] bool read_other_target(const char* target, const char* path_end, const char* target_end) noexcept {
    Authority authority;
    const std::string_view all(target, static_cast<std::size_t>(target_end - target));
    if (facts_.method == Method::Connect) {
      if (!read_authority(target, target_end, authority) || authority.port.empty())
        return refuse("CONNECT wants host:port");
      facts_.form = TargetForm::Authority;
      facts_.path = {0, 0};
      facts_.authority = facts_.target;
      facts_.host = part(authority.host);
      return true;
    }
    if (all == "*") {
      if (facts_.method != Method::Options) return refuse("the target * is allowed only with OPTIONS");
      facts_.form = TargetForm::Asterisk;
      facts_.path = facts_.target;
      facts_.authority = facts_.host = {0, 0};
      return true;
    }
    std::size_t scheme = 0;
    if (all.size() > 7 && equals_ignore_case(all.substr(0, 7), "http://")) scheme = 7;
    if (all.size() > 8 && equals_ignore_case(all.substr(0, 8), "https://")) scheme = 8;
    if (scheme == 0) return refuse("request target has none of the four forms");
    const char* const from = target + scheme;
    const char* const slash = std::find(from, path_end, '/');
    if (!read_authority(from, slash, authority)) {
      return refuse("authority of the request target is malformed");
    }
    facts_.form = TargetForm::Absolute;
    facts_.target_is_https = scheme == 8;
    facts_.path = part(slash, path_end);
    facts_.authority = part(from, slash);
    facts_.host = part(authority.host);
    return true;
  }

  // Syntax: *( field-name ":" OWS field-value OWS CRLF ) CRLF
  [[gnu::always_inline]] inline void read_fields() noexcept {
    const char* const begin = begin_;
    const char* const end = end_;
    const std::uint32_t line_max = limits_.field_line_bytes_max;
    const std::uint32_t count_max = limits_.fields_max;
    const char* p = at_;
    const bool may_be_long = end - p > std::ptrdiff_t{line_max};
    std::uint32_t count = facts_.field_count;
    // Host is nearly always the first field.
    if (count == 0 && count_max != 0 && !may_be_long) [[likely]] {
      if (const char* const value_end = read_usual_host(p, end)) [[likely]] {
        count = 1;
        p = value_end + 2;
      }
    }
    for (;;) {
      const char* const line = p;
      const char* const stop = may_be_long && end - line > std::ptrdiff_t{line_max} ? line + line_max : end;
      if (stop - p >= 2 && scan::load16(p) == scan::load16("\r\n")) {
        at_ = p + 2;
        break;
      }
      p = scan::find_not_letter_or_dash(begin, p, stop);
      if (p == stop) [[unlikely]]
        return more_of_field(line, count);
      if (*p != ':') {
        if (*p == '\r' && p == line)
          return p + 1 == stop ? more_of_field(line, count) : static_cast<void>(refuse("CR without LF"));
        while (p != stop && is_token_byte(*p)) ++p;
        if (p == stop) return more_of_field(line, count);
        if (*p != ':') return static_cast<void>(refuse(wrong_in_name(p, line)));
      }
      if (p == line) [[unlikely]]
        return static_cast<void>(refuse("field has no name"));
      if (count == count_max) [[unlikely]] {
        return static_cast<void>(refuse(Status::RequestHeaderFieldsTooLarge, "too many fields"));
      }
      const char* const name_end = p;
      ++p;
      // Before a value there is nearly always exactly one space; the code below finds a control byte in this place.
      if (stop - p >= 2 && p[0] == ' ' && static_cast<unsigned char>(p[1]) > ' ') [[likely]] {
        ++p;
      } else {
        while (p != stop && is_blank(*p)) ++p;
      }
      const char* const value = p;
      p = scan::find_control(begin, p, stop);
      if (p == stop) [[unlikely]]
        return more_of_field(line, count);
      if (*p != '\r') [[unlikely]] {
        return static_cast<void>(refuse(*p == '\n' ? "LF without CR" : "control byte in a field value"));
      }
      if (p + 1 == stop) [[unlikely]]
        return more_of_field(line, count);
      if (p[1] != '\n') [[unlikely]]
        return static_cast<void>(refuse("CR without LF"));
      const char* value_end = p;
      // Reading value_end[-1] is safe, because at least the colon comes before each value.
      if (static_cast<unsigned char>(value_end[-1]) <= ' ') [[unlikely]] {
        while (value_end != value && is_blank(value_end[-1])) --value_end;
      }
      p += 2;

      RequestHead::FieldParts& field = head_.fields_[count];
      field.name = part(line, name_end);
      field.value = part(value, value_end);
      if (!notice(line, static_cast<std::size_t>(name_end - line), value, value_end, count)) return;
      ++count;
    }
    facts_.field_count = count;
    finish();
  }

  static const char* wrong_in_name(const char* p, const char* line) noexcept {
    if (is_blank(*p)) return p == line ? "folded field line" : "blank in a field name or before its colon";
    if (*p == '\r') return "field line has no colon";
    if (*p == '\n') return "LF without CR";
    return "byte that is not allowed in a field name";
  }

  // If the name of the field is in Known, stores the index of the field. Also reads the fields that determine the
  // framing.
  [[gnu::always_inline]] inline bool notice(const char* name, std::size_t name_size, const char* value,
                                            const char* value_end, std::uint32_t index) noexcept {
    const auto is = [&](const auto& word) { return scan::same_word(name, word); };
    switch (name_size) {
      case 4:
        if (is("host")) return read_host(value, value_end, index);
        return true;
      case 5:
        if (is("range")) keep(Known::Range, index);
        return true;
      case 6:
        if (is("accept")) return keep(Known::Accept, index);
        if (is("cookie")) return keep(Known::Cookie, index);
        if (is("origin")) return keep_only(Known::Origin, index, "more than one Origin");
        if (is("expect")) {
          keep(Known::Expect, index);
          if (!equals_ignore_case(text(value, value_end), "100-continue")) facts_.expects_other = true;
        }
        return true;
      case 7:
        if (is("upgrade")) keep(Known::Upgrade, index);
        return true;
      case 10:
        if (is("connection")) {
          keep(Known::Connection, index);
          // The usual value. The value is known to have no control bytes; same_word() would take some control bytes for
          // letters.
          if (value_end - value == 10 && scan::same_word(value, "keep-alive")) {
            facts_.says_keep_alive = true;
          } else {
            read_connection(text(value, value_end));
          }
          return true;
        }
        if (is("user-agent")) keep(Known::UserAgent, index);
        return true;
      case 12:
        if (is("content-type")) return keep_only(Known::ContentType, index, "more than one Content-Type");
        return true;
      case 13:
        if (is("authorization")) return keep_only(Known::Authorization, index, "more than one Authorization");
        if (is("if-none-match")) keep(Known::IfNoneMatch, index);
        return true;
      case 14:
        if (is("content-length")) return read_content_length(text(value, value_end), index);
        if (equals_ignore_case(text(name, name + 14), "content_length")) {
          return refuse("framing field spelled with an underscore");
        }
        return true;
      case 15:
        if (is("accept-encoding")) keep(Known::AcceptEncoding, index);
        return true;
      case 17:
        if (is("transfer-encoding")) return read_transfer_encoding(value, value_end, index);
        if (is("if-modified-since")) return keep(Known::IfModifiedSince, index);
        // A CGI gateway behind this server may treat '_' like '-', and would then take this field for the framing
        // field.
        if (equals_ignore_case(text(name, name + 17), "transfer_encoding")) {
          return refuse("framing field spelled with an underscore");
        }
        return true;
      default:
        return true;
    }
  }

  static std::string_view text(const char* from, const char* to) noexcept {
    return {from, static_cast<std::size_t>(to - from)};
  }

  void keep_first(Known name, std::uint32_t index) noexcept {
    facts_.present |= 1u << static_cast<unsigned>(name);
    facts_.known[static_cast<unsigned>(name)] = static_cast<std::uint8_t>(index);
  }
  bool keep(Known name, std::uint32_t index) noexcept {
    if (!head_.has(name)) keep_first(name, index);
    return true;
  }
  // Stores a field that influences access and that a request may have only once. If a request contained such a field
  // twice, one reader could use the first value and another reader the last.
  bool keep_only(Known name, std::uint32_t index, const char* reason) noexcept {
    if (head_.has(name)) [[unlikely]]
      return refuse(reason);
    keep_first(name, index);
    return true;
  }

  [[gnu::noinline]] bool read_host(const char* value, const char* value_end, std::uint32_t index) noexcept {
    if (head_.has(Known::Host)) return refuse("more than one Host");
    keep_first(Known::Host, index);
    Authority authority;
    if (!read_authority(value, value_end, authority)) return refuse("Host is malformed");
    if (facts_.form == TargetForm::Absolute) [[unlikely]] {
      // According to RFC 9112 §3.2.2, the host of the target takes precedence over Host; this parser is stricter and
      // rejects a request in which they differ.
      return agrees_with_target(authority);
    } else if (facts_.form != TargetForm::Authority) {
      facts_.authority = part(value, value_end);
      facts_.host = part(authority.host);
    }
    return true;
  }

  // A fast path for the first field: if the field is a Host of letters, digits, '-' and '.', with or without a port,
  // this function reads it and returns the end of its value, which is followed by CRLF. For any other field, this
  // function returns null, and read_fields() reads the field. For the word "host", same_word() never takes a control
  // byte for a letter.
  [[gnu::always_inline]] inline const char* read_usual_host(const char* line, const char* stop) noexcept {
    constexpr std::size_t name_size = 4;
    if (stop - line < 6 || !scan::same_word(line, "host") || scan::load16(line + name_size) != scan::load16(": ") ||
        facts_.form != TargetForm::Origin) [[unlikely]]
      return nullptr;
    const char* const value = line + name_size + 2;
    const char* const host_end = scan::find_not_host_byte(begin_, value, stop);
    const char* p = host_end;
    if (stop - p >= 9 && *p == ':') {
      const std::uint64_t word = scan::load64(p + 1);
      const auto digits = static_cast<unsigned>(__builtin_ctzll(not_digits(word) | 1ull << 63)) / 8;
      // Texts of five digits compare in the same order as the numbers that they represent.
      if (digits - 1 > 4 || (digits == 5 && __builtin_bswap64(word) >> 24 > 0x3635353335)) return nullptr;  // "65535"
      p += 1 + digits;
    }
    if (host_end == value || stop - p < 2 || scan::load16(p) != scan::load16("\r\n")) return nullptr;
    keep_first(Known::Host, 0);
    facts_.authority = part(value, p);
    facts_.host = part(value, host_end);
    head_.fields_[0] = {part(line, line + name_size), facts_.authority};
    return p;
  }

  [[gnu::noinline]] bool agrees_with_target(const Authority& authority) noexcept {
    const std::string_view of_target = head_.authority();
    const std::string_view host = head_.host();
    const std::string_view port =
        host.size() == of_target.size() ? host.substr(0, 0) : of_target.substr(host.size() + 1);
    const unsigned otherwise = facts_.target_is_https ? 443 : 80;
    if (!equals_ignore_case(host, authority.host) ||
        port_number(port, otherwise) != port_number(authority.port, otherwise)) {
      return refuse("request target and Host differ");
    }
    // RFC 9110 §4.2.3, RFC 9112 §3.2.4: OPTIONS with an absolute target without path and query means "*"; the last
    // proxy should have replaced the target.
    if (facts_.path.size == 0 && !facts_.has_query && facts_.method == Method::Options) {
      facts_.form = TargetForm::Asterisk;
    }
    return true;
  }

  [[gnu::noinline]] bool read_content_length(std::string_view value, std::uint32_t index) noexcept {
    if (head_.has(Known::ContentLength)) return refuse("more than one Content-Length");
    keep(Known::ContentLength, index);
    if (value.empty()) return refuse("Content-Length is empty");
    std::uint64_t length = 0;
    for (char c : value) {
      if (!ascii::is_digit(c)) return refuse("Content-Length is not a number");
      if (__builtin_mul_overflow(length, std::uint64_t{10}, &length) ||
          __builtin_add_overflow(length, static_cast<std::uint64_t>(c - '0'), &length)) {
        return refuse("Content-Length is too large");
      }
    }
    facts_.content_length = length;
    return true;
  }

  // `value` has no blanks around it. The check for tabs begins at the colon, because a tab before the value hides the
  // field from readers that skip only spaces.
  [[gnu::noinline]] bool read_transfer_encoding(const char* value, const char* value_end,
                                                std::uint32_t index) noexcept {
    if (head_.has(Known::TransferEncoding)) return refuse("more than one Transfer-Encoding");
    keep(Known::TransferEncoding, index);
    const char* from = value;
    while (from[-1] != ':') --from;
    const char* to = value_end;
    while (*to != '\r') ++to;
    if (std::find(from, to, '\t') != to) return refuse("tab in Transfer-Encoding");
    facts_.coding = Chunked;
    bool chunked = false;
    for (std::string_view rest(value, static_cast<std::size_t>(value_end - value)), coding;
         next_element(rest, coding);) {
      // No coding may follow chunked, not even a second chunked.
      if (!is_token(coding) || chunked) facts_.coding = Malformed;
      if (facts_.coding == Malformed) break;
      chunked = equals_ignore_case(coding, "chunked");
      if (!chunked) facts_.coding = Unknown;
    }
    return true;
  }

  [[gnu::noinline]] void read_connection(std::string_view value) noexcept {
    for (std::string_view option; next_element(value, option);) {
      if (equals_ignore_case(option, "close")) facts_.says_close = true;
      if (equals_ignore_case(option, "keep-alive")) facts_.says_keep_alive = true;
    }
  }

  // Checks what can be known only from the whole head; the checks of the framing come first.
  [[gnu::always_inline]] inline void finish() noexcept {
    if (head_.has(Known::TransferEncoding)) {
      if (head_.has(Known::ContentLength)) return static_cast<void>(refuse("Content-Length beside Transfer-Encoding"));
      if (facts_.version_minor == 0) return static_cast<void>(refuse("Transfer-Encoding in HTTP/1.0"));
      if (facts_.coding == Malformed) return static_cast<void>(refuse("Transfer-Encoding is malformed"));
      if (facts_.coding == Unknown) {
        return static_cast<void>(refuse(Status::NotImplemented, "transfer coding is not chunked"));
      }
      facts_.body = BodyKind::Chunked;
    } else if (facts_.content_length != 0) {
      facts_.body = BodyKind::Length;
    }
    if (facts_.version_minor == 1) {
      if (!head_.has(Known::Host)) return static_cast<void>(refuse("HTTP/1.1 without Host"));
      facts_.keep_alive = !facts_.says_close;
    } else {
      facts_.keep_alive = facts_.says_keep_alive && !facts_.says_close;
    }
    if (head_.has(Known::Expect)) {
      if (facts_.expects_other) {
        return static_cast<void>(refuse(Status::ExpectationFailed, "expectation is not 100-continue"));
      }
      facts_.expect_continue = facts_.version_minor == 1 && facts_.body != BodyKind::None;
    }
    result_.state = HeadState::Complete;
    result_.consumed = static_cast<std::uint32_t>(at_ - begin_);
  }

  HeadResult& result_;
  const HeadLimits& limits_;
  RequestHead& head_;
  RequestHead::Facts& facts_;
  const char* const begin_;
  const char* at_;
  // The end of the received bytes, or of the first head_bytes_max of them, whichever comes first.
  const char* const end_;
};

HeadResult parse_head(std::string_view received, const HeadLimits& limits, RequestHead& head) noexcept {
  HeadReader::forget(head);
  return resume_head(received, limits, head);
}

HeadResult resume_head(std::string_view received, const HeadLimits& limits, RequestHead& head) noexcept {
  HeadResult result;
  HeadReader(received, limits, head, result).run();
  return result;
}

RequestHead& RequestHead::operator=(const RequestHead& other) noexcept {
  facts_ = other.facts_;
  if (this != &other) std::copy_n(other.fields_, other.facts_.field_count, fields_);
  return *this;
}

std::optional<std::string_view> RequestHead::find(std::string_view name) const noexcept {
  for (unsigned i = 0; i < facts_.field_count; ++i) {
    if (fields_[i].name.size == name.size() && equals_ignore_case(view(fields_[i].name), name)) {
      return view(fields_[i].value);
    }
  }
  return std::nullopt;
}

}  // namespace keel::http
