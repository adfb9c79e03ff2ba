// keel/http/server/multipart.h — reads multipart/form-data (RFC 7578, RFC 2046 §5.1): the parts of a form, while they
// arrive.
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
// If the whole body is in memory, call request.form<Upload>() (input.h), where Upload is a struct whose files are
// FormParts, or loop over all parts with `for (const FormPart& part : *read_form(request))`.
//
// Rejected with 400:
// - a line that begins with "--boundary" and continues with anything but a line end or "--";
// - a part whose head has a CR or LF alone, another control byte, or a folded line;
// - a part without Content-Disposition: form-data, without a name, or with a second name or file name;
// - filename* without filename (RFC 7578 §4.2 forbids filename*; if filename is present as well, filename* is ignored);
// - a Content-Transfer-Encoding that changes bytes (§4.7);
// - more than 1 KiB of text before the first boundary or after the last one. If a body has more parts than
//   MultipartLimits allows, or a part has a larger head, MultipartReader rejects the body with 413, and read_form()
//   fails with OutOfRange (400). The limit on the body also limits the size of the parts.
//
// Names are returned as sent, except that \" and \\ are unescaped. Browsers write %22, %0D and %0A for a quote and a
// line end (WHATWG HTML §4.10.21.8); these escapes are not decoded. Never use a file name as a path, because the client
// chooses it.
//
// Lifetime: part() is valid until its PartEnd. MultipartStep::data is valid until the next feed(). MultipartStep::data
//           is a view into `received`; if bytes that looked like the beginning of a boundary turned out to be content,
//           data is a view into the reader.
// Cost:     linear in the number of bytes, whatever the bytes are; only the heads of parts are copied; no temporary
//           files.

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

// The limits of a MultipartReader.
struct MultipartLimits {
  std::uint32_t parts_max = 128;
  std::uint32_t part_head_bytes_max = 4 * 1024;  // The largest total size of the lines in the head of one part.
};

// Returns the boundary parameter of a Content-Type, as a view into `content_type`. InvalidArgument when the type is not
// multipart/form-data, or when it has no boundary, more than one boundary, or a boundary that RFC 2046 does not allow
// (1 to 70 bytes of its alphabet).
Result<std::string_view> multipart_boundary(std::string_view content_type);

struct FormPart {
  std::string_view name;
  std::optional<std::string_view> filename;  // The name of the file; empty if no file was chosen; nullopt: not a file.
  // The type that the client sent; "text/plain" if it sent none (RFC 7578 §4.4).
  std::string_view content_type;
  std::string_view body;  // Only read_form() and Request::form() set the body.
};

// Used by request.form<T>() for members of type FormPart (data/text_fields.h).
const char* read_text(const NamedText& in, FormPart& part);

// What next() found.
enum class MultipartState : std::uint8_t {
  Need,     // All bytes were used; finish() says whether the form is complete.
  Part,     // The head of a part is complete; part() returns the part.
  Data,     // `data` is the next piece of the part's content; it is not empty.
  PartEnd,  // The part is complete.
  Refused,  // The form was rejected: respond with `status`, and do not call feed() again.
};

// The result of feed(): what it found, how many bytes it used, and the data in them.
struct MultipartStep {
  MultipartState state = MultipartState::Need;
  Status status = Status::Ok;
  std::size_t consumed = 0;
  std::string_view data;
  const char* reason = "";  // For Refused: the reason, as a string literal for the log and the client
};

// Reads one body; feed() returns its parts step by step.
class MultipartReader {
 public:
  static constexpr std::size_t boundary_bytes_max = 70;
  // The largest size of the text before the first boundary, and of the text after the last one.
  static constexpr std::size_t outside_bytes_max = 1024;

  // `boundary`, which must come from multipart_boundary(), is copied.
  explicit MultipartReader(std::string_view boundary, MultipartLimits limits = {});

  // Uses bytes of `received` up to the next state that feed() reports. `received` may begin and end anywhere in the
  // body.
  MultipartStep feed(std::string_view received);
  // The part that is being read, without its body.
  const FormPart& part() const noexcept { return part_; }
  // Call this function after all bytes were used; InvalidArgument if the last boundary was not read.
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
  std::uint32_t padding_ = 0;  // The number of blanks after a boundary.
  // The number of bytes at the beginning of the delimiter that the last bytes of the input match.
  std::uint8_t matched_ = 0;
  std::uint8_t delimiter_size_ = 0;
  bool pretends_line_ = true;  // The line end that matched was not part of the input.
  At at_ = At::Preamble;
  Status status_ = Status::BadRequest;
  const char* reason_ = "";
  char delimiter_[4 + boundary_bytes_max];  // "\r\n--boundary"
};

// Returns all parts of a request whose body is in memory. OutOfRange when a limit of MultipartLimits is exceeded,
// InvalidArgument for any other malformed body. The views in the parts are valid as long as the request.
Result<std::span<const FormPart>> read_form(Request& request, MultipartLimits limits = {});

}  // namespace keel::http
