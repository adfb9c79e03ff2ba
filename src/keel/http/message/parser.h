// keel/http/message/parser.h — the head of a request: bytes in, values out (RFC 9110, RFC 9112).
//
// Strict: a text that two readers could understand differently is rejected, because requests are smuggled when readers
//         guess differently. After Rejected nothing that follows may be parsed: respond with the given status and
//         close.
//
//   RequestHead head;
//   HeadResult result = parse_head(received, limits, head);
//   while (result.state == HeadState::Incomplete) {
//     received = …;                                   // the same bytes and more; they may have moved
//     result = resume_head(received, limits, head);
//   }
//
// Rejected with 400: Content-Length together with Transfer-Encoding; either of them or Host twice; a length that is not
// digits or too large; codings where chunked is not last, or in HTTP/1.0; a blank before the colon, folded lines, CR or
// LF alone, other control bytes; a host that is missing (HTTP/1.1), empty, or has user, path, comma or blank; an
// absolute target that names another host than Host; controls, blanks, bytes from 0x80 and "#<>\^`{|} in the target; a
// wrong percent-escape or %00 in the path. 414 request line too long. 417 an unknown expectation. 431 a field line, all
// fields, or their number too large. 501 an unknown coding or a very long method. 505 another major version. The caller
// handles: Method::Other (501), CONNECT and TRACE, the size of the body (413), dot segments, decoding.
//
// The result never depends on how the bytes are divided: wrong bytes are rejected as soon as they arrive, and every
// prefix of a head is Incomplete or rejected for the same reason.
//
// Lifetime: views point into `received`. When those bytes move, rebase() makes the views follow.
// Cost:     one pass. Calling parse_head() on each read would parse the same bytes again; resume_head looks again only
//           at the line that was cut. No allocation; nothing is cleared beforehand.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/http/message/fields.h"
#include "keel/http/message/method.h"
#include "keel/http/message/status.h"

namespace keel::http {

// Raising a bound costs that much buffer per connection that is sending a head. Lines count with their CRLF.
struct HeadLimits {
  std::uint32_t request_line_bytes_max = 8 * 1024;  // above: 414
  std::uint32_t field_line_bytes_max = 16 * 1024;   // above: 431
  std::uint32_t head_bytes_max = 64 * 1024;         // the whole head; above: 431
  std::uint32_t fields_max = 100;                   // above: 431; at most RequestHead::fields_capacity
};

// The kind of what the parser has found.
enum class HeadState : std::uint8_t { Complete, Incomplete, Refused };

// The result of a call of the parser: what it found, and the status and reason of a rejection.
struct HeadResult {
  HeadState state = HeadState::Incomplete;
  Status status = Status::Ok;  // why it was rejected
  std::uint32_t consumed = 0;  // Complete: bytes of the head, including the blank line; the body begins there
  const char* reason = "";     // Rejected: a literal for the log, without any byte of the request
};

// The fields that have their own index: find(Known) does not search.
enum class Known : std::uint8_t {
  Host,
  Connection,
  ContentLength,
  TransferEncoding,
  Expect,
  ContentType,
  Accept,
  AcceptEncoding,
  Authorization,
  Cookie,
  IfModifiedSince,
  IfNoneMatch,
  Origin,
  Range,
  Upgrade,
  UserAgent,
};
// The number of fields that the parser finds while it reads a head.
inline constexpr unsigned known_count = 16;

// The four forms of a request target (RFC 9112 §3.2).
enum class TargetForm : std::uint8_t {
  Origin,     // /path?query
  Absolute,   // http://host/path?query
  Asterisk,   // * with OPTIONS, or the absolute target without path and query into which a proxy may turn it
  Authority,  // host:port with CONNECT; path() and query() are empty
};

// How the body of a message is framed.
enum class BodyKind : std::uint8_t {
  None,     // no content, also for Content-Length: 0
  Length,   // content_length() bytes
  Chunked,  // http/message/chunk.h reads it
};

// The parsed head of a request: views into the bytes that were given to the parser.
class RequestHead {
 public:
  static constexpr unsigned fields_capacity = 128;

  // Leaves nearly everything unset for speed, because a head is made for each request. Read a head only after Complete.
  RequestHead() noexcept {
    facts_.resume_at = 0;
    facts_.present = 0;
    facts_.field_count = 0;
  }
  // Copies only the fields that exist, not the unused capacity. The views of both heads point to the same bytes.
  RequestHead(const RequestHead& other) noexcept { *this = other; }
  RequestHead& operator=(const RequestHead& other) noexcept;

  Method method() const noexcept { return facts_.method; }
  std::string_view method_text() const noexcept { return view(facts_.method_text); }
  // As sent.
  std::string_view target() const noexcept { return view(facts_.target); }
  TargetForm form() const noexcept { return facts_.form; }
  // True when the target is in absolute form with the scheme https. A server must reject such a request unless it
  // arrived over a secure connection (RFC 9110 §7.4).
  bool target_is_https() const noexcept { return facts_.target_is_https; }
  // The path, not decoded, with valid escapes; "/" for an absolute target without a path, "*" for the asterisk form.
  std::string_view path() const noexcept {
    if (facts_.path.size != 0 || facts_.form == TargetForm::Authority) return view(facts_.path);
    return facts_.form == TargetForm::Asterisk ? "*" : "/";
  }
  // The part after the '?', not decoded, and with unchecked escapes.
  std::string_view query() const noexcept { return view(facts_.query); }
  // True also for "/a?", whose query is empty.
  bool has_query() const noexcept { return facts_.has_query; }
  // Host and port as sent, from the target or else from Host: "example.com:8080". Empty for HTTP/1.0 without Host.
  std::string_view authority() const noexcept { return view(facts_.authority); }
  // The host without the port; an IPv6 address keeps its brackets.
  std::string_view host() const noexcept { return view(facts_.host); }
  // 1 for HTTP/1.1 and higher minor versions (RFC 9110 §2.5), 0 for HTTP/1.0.
  int version_minor() const noexcept { return facts_.version_minor; }

  BodyKind body() const noexcept { return facts_.body; }
  // 0 when the body is not BodyKind::Length.
  std::uint64_t content_length() const noexcept { return facts_.content_length; }
  // Whether the client wants a persistent connection: the default in HTTP/1.1, opt-in in HTTP/1.0.
  bool keep_alive() const noexcept { return facts_.keep_alive; }
  // The client waits for 100 (Continue) before it sends the body. False for HTTP/1.0 and when there is no body.
  bool expect_continue() const noexcept { return facts_.expect_continue; }

  unsigned field_count() const noexcept { return facts_.field_count; }
  // Fields in the order of arrival; index < field_count().
  Field field(unsigned index) const noexcept { return {view(fields_[index].name), view(fields_[index].value)}; }
  // The first field of that name.
  std::optional<std::string_view> find(Known name) const noexcept {
    if (!has(name)) return std::nullopt;
    return view(fields_[facts_.known[static_cast<unsigned>(name)]].value);
  }
  // The first field of that name, without regard to case; searches the fields.
  std::optional<std::string_view> find(std::string_view name) const noexcept;
  bool has(Known name) const noexcept { return (facts_.present >> static_cast<unsigned>(name) & 1) != 0; }

  // The received bytes are now at `base`, because they were copied or the buffer moved.
  void rebase(const char* base) noexcept { facts_.base = base; }

 private:
  friend class HeadReader;

  // Offsets instead of pointers, which are half the size and allow the bytes to move.
  struct Part {
    std::uint32_t at;
    std::uint32_t size;
  };
  struct FieldParts {
    Part name;
    Part value;
  };
  struct Facts {
    const char* base;
    std::uint64_t content_length;
    Part method_text;
    Part target;
    Part path;
    Part query;
    Part authority;
    Part host;
    std::uint32_t resume_at;  // The offset of the first line that is not read yet; 0: the request line.
    std::uint32_t present;    // bit per Known
    std::uint32_t field_count;
    Method method;
    TargetForm form;
    BodyKind body;
    std::uint8_t version_minor;
    std::uint8_t coding;  // HeadReader::Coding
    bool target_is_https;
    bool has_query;
    bool keep_alive;
    bool expect_continue;
    bool says_close;
    bool says_keep_alive;
    bool expects_other;
    std::uint8_t known[known_count];  // index of the field, valid if its bit is set
  };

  std::string_view view(Part part) const noexcept { return {facts_.base + part.at, part.size}; }

  Facts facts_;
  FieldParts fields_[fields_capacity];
};

// Reads a head from its first byte. One CRLF in front is skipped (RFC 9112 §2.2).
HeadResult parse_head(std::string_view received, const HeadLimits& limits, RequestHead& head) noexcept;

// Continues after Incomplete: `received` begins with the bytes of the previous call, which may have moved, and `head`
// is the one that was passed to that call.
HeadResult resume_head(std::string_view received, const HeadLimits& limits, RequestHead& head) noexcept;

}  // namespace keel::http
