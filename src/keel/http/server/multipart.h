// keel/http/server/multipart.h — multipart/form-data: the parts of a form, as they arrive (RFC 7578, RFC 2046 §5.1).
//
//   KEEL_TRY(std::string_view boundary, http::multipart_boundary(content_type));
//   http::MultipartReader reader(boundary);
//   for (std::string_view rest = received; …;) {
//     http::MultipartStep step = reader.feed(rest);
//     rest.remove_prefix(step.consumed);
//     switch (step.state) … Part: reader.part() is the next one; Data: step.data is more of it; PartEnd; Need: receive
//   }
//   KEEL_TRY_VOID(reader.finish());                                   // the body was whole
//
// To read a body that is in memory as a whole: use request.form<Upload>() (input.h) for a struct whose files are
// FormParts, or loop over all parts with `for (const FormPart& part : *read_form(request))`.
//
// Rejected with 400:
// - a line "--boundary" that continues with anything but a line end or "--";
// - a part whose head has CR or LF alone, a folded line, or another control byte;
// - a part without Content-Disposition: form-data or without a name, or with one of the parameters twice;
// - filename* without filename (RFC 7578 §4.2 forbids it; together with filename it is ignored);
// - a Content-Transfer-Encoding that changes bytes (§4.7);
// - text above 1 KiB before the first boundary or after the last.
// More parts, or a larger head of a part, than MultipartLimits allow are rejected by MultipartReader with 413, and by
// read_form() with OutOfRange (400). The limit on the body also limits the size of the parts.
//
// Names are returned as sent, except that \" and \\ are unescaped: browsers write %22, %0D and %0A for a quote and a
// line end (WHATWG HTML §4.10.21.8), and these are not decoded. A file name is chosen by the client: never use it as a
// path.
//
// Lifetime: part() is valid until its PartEnd. Data is valid until the next feed: it points into `received`, or into
//           the reader if bytes that looked like the beginning of a boundary were none.
// Cost:     linear, whatever the bytes are; the head of a part is copied, data is not; no temporary files.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/http/message/status.h"
#include "keel/http/server/request.h"

namespace keel {
struct NamedText;
}

namespace keel::http {

struct MultipartLimits {
  std::uint32_t parts_max = 128;
  std::uint32_t part_head_bytes_max = 4 * 1024;  // The size of all lines in the head of one part.
};

// The boundary parameter of a Content-Type, a view into it. InvalidArgument when the type is not multipart/form-data,
// or when there is no boundary, more than one, or one that RFC 2046 does not allow (1 to 70 bytes of its alphabet).
Result<std::string_view> multipart_boundary(std::string_view content_type);

struct FormPart {
  std::string_view name;
  std::optional<std::string_view> filename;  // It has a value even if that is empty because no file was chosen.
  // The type that the client sent; "text/plain" if it sent none (RFC 7578 §4.4).
  std::string_view content_type;
  std::string_view body;  // Only read_form() and Request::form() set the body.
};

// Used by request.form<T>(), where a FormPart is a field (data/text_fields.h).
const char* read_text(const NamedText& in, FormPart& part);

// What next() found.
enum class MultipartState : std::uint8_t {
  Need,     // All bytes are used; finish() says whether the form is complete.
  Part,     // The head of a part is complete.
  Data,     // `data` is the next piece of the part's content, not empty.
  PartEnd,  // The part is complete.
  Refused,  // Respond with `status` and feed nothing more.
};

// The result of next(): what it found, how many bytes it used, and the data in them.
struct MultipartStep {
  MultipartState state = MultipartState::Need;
  Status status = Status::Ok;
  std::size_t consumed = 0;
  std::string_view data;
  const char* reason = "";  // Rejected: a literal for the log and the client
};

class MultipartReader {
 public:
  static constexpr std::size_t boundary_bytes_max = 70;
  static constexpr std::size_t outside_bytes_max = 1024;  // Text before the first boundary, and after the last.

  // The boundary, as multipart_boundary() returns it, is copied.
  explicit MultipartReader(std::string_view boundary, MultipartLimits limits = {});

  // Uses bytes up to the next step to report. The bytes may be divided anywhere.
  MultipartStep feed(std::string_view received);
  // The part that is being read, without its body.
  const FormPart& part() const noexcept { return part_; }
  // After all bytes: InvalidArgument unless the last boundary has been read.
  Result<> finish() const noexcept;

 private:
  enum class At : std::uint8_t { Preamble, Delimiter, DelimiterDash, DelimiterLf, Head, Content, Epilogue, Refused };
  MultipartStep refuse(Status status, const char* reason) noexcept;
  MultipartStep search(std::string_view received);
  MultipartStep read_delimiter(std::string_view received);
  MultipartStep read_head(std::string_view received);
  const char* read_part();
  const char* read_disposition(std::string_view value);
  std::string_view delimiter() const noexcept { return {delimiter_, delimiter_size_}; }

  Buffer head_;
  FormPart part_;
  MultipartLimits limits_;
  std::uint32_t parts_ = 0;
  std::uint32_t outside_ = 0;  // Bytes of the preamble, or of the epilogue.
  std::uint32_t padding_ = 0;  // Blanks after a boundary.
  std::uint8_t matched_ = 0;   // Bytes of the delimiter that match the end of the input so far.
  std::uint8_t delimiter_size_ = 0;
  bool pretends_line_ = true;  // The matched line end was not part of the input.
  At at_ = At::Preamble;
  Status status_ = Status::BadRequest;
  const char* reason_ = "";
  char delimiter_[4 + boundary_bytes_max];  // "\r\n--boundary"
};

// All parts of a request whose body is in memory. InvalidArgument for input that is rejected with 400, OutOfRange above
// a limit. The views are valid as long as the request.
Result<std::span<const FormPart>> read_form(Request& request, MultipartLimits limits = {});

}  // namespace keel::http
