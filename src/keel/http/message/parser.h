// keel/http/message/parser.h — parses the head of a request (RFC 9110, RFC 9112).
//
// Strict: a head that two readers could understand differently is rejected, because such a difference lets an attacker
//         smuggle a request past one of them. After a rejection, the bytes that follow must not be parsed: respond with
//         the given status and close the connection.
//
//   RequestHead head;
//   HeadResult result = parse_head(received, limits, head);
//   while (result.state == HeadState::Incomplete) {
//     received = …;                                   // the same bytes and more; they may have moved
//     result = resume_head(received, limits, head);
//   }
//
// Rejected with 400: a Content-Length together with Transfer-Encoding; two Content-Lengths, Transfer-Encodings or
// Hosts; a length that is too large or contains a character that is not a digit; a Transfer-Encoding whose last coding
// is not chunked, or any Transfer-Encoding in HTTP/1.0; a blank before the colon, folded lines, CR or LF alone, other
// control bytes; a host that is missing (HTTP/1.1) or empty, or that contains a user, a path, a comma or a blank; an
// absolute target whose host differs from Host; control characters, blanks, bytes from 0x80 and "#<>\^`{|} in the
// target; a malformed percent-escape or %00 in the path. A request line that is too long is rejected with 414. An
// unknown expectation is rejected with 417. A head is rejected with 431 if the head or one of its field lines is too
// long, or if the head has too many fields. An unknown coding or a very long method is rejected with 501. A major
// version other than 1 is rejected with 505. The caller handles Method::Other (501), CONNECT and TRACE, the size of the
// body (413), dot segments in the path, and the decoding of the path.
//
// The result never depends on how the bytes are divided: invalid bytes are rejected as soon as they arrive, and each
// prefix of a head is either Incomplete or rejected for the same reason as the whole head.
//
// Lifetime: all views of a head point into `received`. When the received bytes move, rebase() makes the views follow
//           them.
// Cost:     one pass. A call of parse_head() after each read would parse the same bytes again and again; resume_head()
//           parses only the incomplete line again. Parsing allocates nothing, and does not clear the head first.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/http/message/fields.h"
#include "keel/http/message/method.h"
#include "keel/http/message/status.h"

namespace keel::http {

// With a higher limit on heads, the buffer of each connection that is sending a head may grow to that limit. The length
// of a line includes its CRLF.
struct HeadLimits {
  std::uint32_t request_line_bytes_max = 8 * 1024;  // above: 414
  std::uint32_t field_line_bytes_max = 16 * 1024;   // above: 431
  std::uint32_t head_bytes_max = 64 * 1024;         // the largest size of a head; a larger head is rejected with 431
  // a head with more fields is rejected with 431; the value must be at most RequestHead::fields_capacity
  std::uint32_t fields_max = 100;
};

// What the parser has found.
enum class HeadState : std::uint8_t { Complete, Incomplete, Refused };

// The result of parsing: what was found, and for a rejection its status and reason.
struct HeadResult {
  HeadState state = HeadState::Incomplete;
  Status status = Status::Ok;  // for Refused: the status of the response that rejects the request
  // for Complete: the size of the head, including the blank line; the body begins after these bytes
  std::uint32_t consumed = 0;
  // for Refused: the reason as a string literal for the log; it contains no byte of the request
  const char* reason = "";
};

// The fields whose place in the head is stored by the parser, so that find(Known) does not search for them.
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
// The number of enumerators of Known.
inline constexpr unsigned known_count = 16;

// The four forms of a request target (RFC 9112 §3.2).
enum class TargetForm : std::uint8_t {
  Origin,    // /path?query
  Absolute,  // http://host/path?query
  // "*", which is allowed only with OPTIONS; also the absolute target of an OPTIONS request if it has no path and no
  // query, because a proxy may turn such a target into "*"
  Asterisk,
  Authority,  // host:port with CONNECT; path() and query() are empty
};

// How the body of a message is framed.
enum class BodyKind : std::uint8_t {
  None,     // no body, or Content-Length: 0
  Length,   // content_length() bytes
  Chunked,  // http/message/chunk.h reads it
};

// The parsed head of a request: views into the bytes that were given to the parser.
class RequestHead {
 public:
  static constexpr unsigned fields_capacity = 128;

  // For speed, the constructor leaves nearly all members unset, because a head is made for each request. Read the
  // members of a head only after Complete.
  RequestHead() noexcept {
    facts_.resume_at = 0;
    facts_.present = 0;
    facts_.field_count = 0;
  }
  // Copies only the fields that exist, not the unused capacity. The views of the copy point to the same bytes as those
  // of the original.
  RequestHead(const RequestHead& other) noexcept { *this = other; }
  RequestHead& operator=(const RequestHead& other) noexcept;

  Method method() const noexcept { return facts_.method; }
  std::string_view method_text() const noexcept { return view(facts_.method_text); }
  // As sent.
  std::string_view target() const noexcept { return view(facts_.target); }
  TargetForm form() const noexcept { return facts_.form; }
  // True when the target is in absolute form with the scheme https. A server must reject a request with the scheme
  // https unless the request arrived over a secure connection (RFC 9110 §7.4).
  bool target_is_https() const noexcept { return facts_.target_is_https; }
  // The path as sent, not decoded; its escapes are valid. "/" for an absolute target without a path, "*" for the
  // asterisk form.
  std::string_view path() const noexcept {
    if (facts_.path.size != 0 || facts_.form == TargetForm::Authority) return view(facts_.path);
    return facts_.form == TargetForm::Asterisk ? "*" : "/";
  }
  // The part of the target after the '?', not decoded; its escapes are not checked.
  std::string_view query() const noexcept { return view(facts_.query); }
  // Whether the target contains a '?'; true also for "/a?", whose query is empty.
  bool has_query() const noexcept { return facts_.has_query; }
  // Host and port as sent, from the target, or from Host if the target has none: "example.com:8080". Empty for HTTP/1.0
  // without Host.
  std::string_view authority() const noexcept { return view(facts_.authority); }
  // The host without the port; an IPv6 address keeps its brackets.
  std::string_view host() const noexcept { return view(facts_.host); }
  // 1 for HTTP/1.1 and higher minor versions (RFC 9110 §2.5), 0 for HTTP/1.0.
  int version_minor() const noexcept { return facts_.version_minor; }

  BodyKind body() const noexcept { return facts_.body; }
  // 0 when the body is not BodyKind::Length.
  std::uint64_t content_length() const noexcept { return facts_.content_length; }
  // Whether the client wants a persistent connection: this is the default in HTTP/1.1; in HTTP/1.0, the client has to
  // request it.
  bool keep_alive() const noexcept { return facts_.keep_alive; }
  // Whether the client waits for a 100 (Continue) before it sends the body. False for HTTP/1.0, and when there is no
  // body.
  bool expect_continue() const noexcept { return facts_.expect_continue; }

  unsigned field_count() const noexcept { return facts_.field_count; }
  // The fields in the order of their arrival; `index` must be less than field_count().
  Field field(unsigned index) const noexcept { return {view(fields_[index].name), view(fields_[index].value)}; }
  // The first field with that name.
  std::optional<std::string_view> find(Known name) const noexcept {
    if (!has(name)) return std::nullopt;
    return view(fields_[facts_.known[static_cast<unsigned>(name)]].value);
  }
  // The first field with that name (letter case is ignored); searches all fields.
  std::optional<std::string_view> find(std::string_view name) const noexcept;
  bool has(Known name) const noexcept { return (facts_.present >> static_cast<unsigned>(name) & 1) != 0; }

  // Tells the head that the received bytes are now at `base`, because they were copied or their buffer moved.
  void rebase(const char* base) noexcept { facts_.base = base; }

 private:
  friend class HeadReader;

  // A part of the received bytes. Offsets are half the size of pointers, and stay valid when the bytes move.
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
    // The offset of the first line that has not been read yet; 0: the request line has not been read yet.
    std::uint32_t resume_at;
    std::uint32_t present;  // bit per Known
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
    // the index of each field in fields_, valid if the field's bit in `present` is set
    std::uint8_t known[known_count];
  };

  std::string_view view(Part part) const noexcept { return {facts_.base + part.at, part.size}; }

  Facts facts_;
  FieldParts fields_[fields_capacity];
};

// Parses a head from its first byte. One CRLF before the request line is skipped (RFC 9112 §2.2).
HeadResult parse_head(std::string_view received, const HeadLimits& limits, RequestHead& head) noexcept;

// Continues after Incomplete: `received` contains the bytes of the previous call, which may have moved, and further
// bytes after them; `head` is the same object as in that call.
HeadResult resume_head(std::string_view received, const HeadLimits& limits, RequestHead& head) noexcept;

}  // namespace keel::http
