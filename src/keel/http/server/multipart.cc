#include "keel/http/server/multipart.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "keel/base/ascii.h"
#include "keel/base/bug.h"
#include "keel/http/message/fields.h"

namespace keel::http {
namespace {

constexpr std::uint32_t padding_bytes_max = 64;

// Whether `text` consists of bchars (RFC 2046 §5.1.1); its last byte must not be a blank.
bool is_boundary(std::string_view text) noexcept {
  if (text.empty() || text.size() > MultipartReader::boundary_bytes_max || text.back() == ' ') return false;
  for (const char c : text) {
    if (!ascii::is_alphanumeric(c) && std::string_view("'()+_,-./:=? ").find(c) == std::string_view::npos) return false;
  }
  return true;
}

struct Parameter {
  std::string_view name;
  // The value as written; if it is quoted, the text between the quotes, in which escapes are not decoded.
  std::string_view value;
  bool quoted = false;
};

// Removes `; name=value` from the front. A parameter may be missing between two semicolons and after the last one (RFC
// 9110 §5.6.6). Returns false if no parameter is left; also returns false, and sets `malformed`, if the text is
// malformed.
bool next_parameter(std::string_view& rest, Parameter& parameter, bool& malformed) noexcept {
  do {
    rest = trim_blanks(rest);
    malformed = !rest.empty() && rest.front() != ';';
    if (rest.empty() || malformed) return false;
    rest = trim_blanks(rest.substr(1));
  } while (rest.empty() || rest.front() == ';');
  malformed = true;
  const std::size_t equals = rest.find('=');
  if (equals == std::string_view::npos || !is_token(rest.substr(0, equals))) return false;
  parameter.name = rest.substr(0, equals);
  rest = rest.substr(equals + 1);
  parameter.quoted = rest.starts_with('"');
  if (parameter.quoted) {
    std::size_t end = 1;
    while (end < rest.size() && rest[end] != '"') {
      // Only \" and \\ are escapes, because browsers write a single backslash in a file name unchanged.
      const bool escapes =
          rest[end] == '\\' && end + 1 < rest.size() && (rest[end + 1] == '"' || rest[end + 1] == '\\');
      end += escapes ? 2 : 1;
    }
    if (end >= rest.size()) return false;
    parameter.value = rest.substr(1, end - 1);
    rest = rest.substr(end + 1);
  } else {
    std::size_t end = 0;
    while (end < rest.size() && is_token_byte(rest[end])) ++end;
    if (end == 0) return false;
    parameter.value = rest.substr(0, end);
    rest = rest.substr(end);
  }
  malformed = false;
  return true;
}

// Removes the escapes in place: `text` is in the reader's own copy of the head, so the change is safe.
std::string_view unescape(char* text, std::size_t size) noexcept {
  std::size_t to = 0;
  for (std::size_t from = 0; from < size; ++from) {
    const bool escapes = text[from] == '\\' && from + 1 < size && (text[from + 1] == '"' || text[from + 1] == '\\');
    if (escapes) ++from;
    text[to++] = text[from];
  }
  return {text, to};
}

}  // namespace

Result<std::string_view> multipart_boundary(std::string_view content_type) {
  constexpr std::string_view wanted = "multipart/form-data";
  const std::size_t end = content_type.find(';');
  if (!equals_ignore_case(trim_blanks(content_type.substr(0, end)), wanted)) {
    return fail(Code::InvalidArgument, "the body is not multipart/form-data");
  }
  std::string_view rest = end == std::string_view::npos ? std::string_view() : content_type.substr(end);
  std::string_view boundary;
  bool malformed = false;
  for (Parameter parameter; next_parameter(rest, parameter, malformed);) {
    if (!equals_ignore_case(parameter.name, "boundary")) continue;
    if (boundary.data() != nullptr) return fail(Code::InvalidArgument, "Content-Type: more than one boundary");
    boundary = parameter.value;
  }
  if (malformed) return fail(Code::InvalidArgument, "Content-Type: its parameters are malformed");
  if (!is_boundary(boundary)) {
    return fail(Code::InvalidArgument, "Content-Type: multipart needs a boundary of 1 to 70 bytes (RFC 2046 §5.1.1)");
  }
  return boundary;
}

MultipartReader::MultipartReader(std::string_view boundary, MultipartLimits limits) : limits_(limits) {
  KEEL_EXPECT(is_boundary(boundary), "a MultipartReader must be given a boundary that multipart_boundary() accepts");
  std::memcpy(delimiter_, "\r\n--", 4);
  std::memcpy(delimiter_ + 4, boundary.data(), boundary.size());
  delimiter_size_ = static_cast<std::uint8_t>(4 + boundary.size());
  // The body may begin with the first boundary, so the reader pretends that a line end came before it (pretends_line_).
  matched_ = 2;
}

MultipartStep MultipartReader::refuse(Status status, const char* reason) noexcept {
  at_ = At::Refused;
  status_ = status;
  reason_ = reason;
  return {MultipartState::Refused, status, 0, {}, reason};
}

MultipartStep MultipartReader::feed(std::string_view received) {
  std::size_t consumed = 0;
  for (;;) {
    MultipartStep step;
    switch (at_) {
      case At::Preamble:
      case At::Content:
        step = search(received);
        break;
      case At::Delimiter:
      case At::DelimiterDash:
      case At::DelimiterLf:
        step = read_delimiter(received);
        break;
      case At::Head:
        step = read_head(received);
        break;
      case At::Epilogue:
        step.consumed = received.size();
        if (received.size() > outside_bytes_max - outside_) {
          return refuse(Status::BadRequest, "multipart: text after the last boundary");
        }
        outside_ += static_cast<std::uint32_t>(received.size());
        break;
      case At::Refused:
        return refuse(status_, reason_);
    }
    if (step.state == MultipartState::Refused) return step;
    consumed += step.consumed;
    received.remove_prefix(step.consumed);
    // If a state ends without a result to report, the loop continues with the next state.
    if (step.state != MultipartState::Need || received.empty()) {
      step.consumed = consumed;
      return step;
    }
  }
}

// Searches for the delimiter. The delimiter has a CR only at its beginning. Therefore, after a mismatch, the bytes that
// had matched cannot contain the beginning of another delimiter: they are content, and the search continues after them.
MultipartStep MultipartReader::search(std::string_view received) {
  MultipartStep step;
  const bool outside = at_ == At::Preamble;
  const std::string_view wanted = delimiter();
  std::string_view content;
  std::size_t at = 0;
  if (matched_ != 0) {
    const std::size_t more = std::min<std::size_t>(wanted.size() - matched_, received.size());
    while (at < more && received[at] == wanted[matched_ + at]) ++at;
    if (at == more) {
      matched_ = static_cast<std::uint8_t>(matched_ + at);
      step.consumed = at;
    } else {
      // The matched bytes belong to the content; they arrived in an earlier call of feed().
      content = wanted.substr(0, matched_);
      if (std::exchange(pretends_line_, false)) content.remove_prefix(2);
      matched_ = 0;
      at = 0;
    }
  }
  if (matched_ == 0 && content.empty()) {
    const std::size_t found = received.find(wanted);
    if (found != std::string_view::npos) {
      content = received.substr(0, found);
      step.consumed = found + wanted.size();
      matched_ = static_cast<std::uint8_t>(wanted.size());
    } else {
      // The last bytes of the input may be the beginning of a delimiter.
      std::size_t kept = received.substr(received.size() - std::min(received.size(), wanted.size() - 1)).rfind('\r');
      if (kept != std::string_view::npos) {
        kept += received.size() - std::min(received.size(), wanted.size() - 1);
        if (!wanted.starts_with(received.substr(kept))) kept = std::string_view::npos;
      }
      content = received.substr(0, kept);
      matched_ = static_cast<std::uint8_t>(received.size() - content.size());
      step.consumed = received.size();
    }
  }
  if (outside) {
    outside_ += static_cast<std::uint32_t>(std::min<std::size_t>(content.size(), outside_bytes_max + 1));
    if (outside_ > outside_bytes_max) return refuse(Status::BadRequest, "multipart: text before the first boundary");
    content = {};
  }
  const bool over = matched_ == wanted.size();
  if (!content.empty()) {
    // The content is returned first. The next feed(), which may have no further bytes, reads the delimiter again and
    // returns it.
    if (over) {
      step.consumed -= wanted.size();
      matched_ = 0;
    }
    step.state = MultipartState::Data;
    step.data = content;
    return step;
  }
  if (!over) return step;
  matched_ = 0;
  pretends_line_ = false;
  at_ = At::Delimiter;
  padding_ = 0;
  if (!outside) step.state = MultipartState::PartEnd;
  return step;
}

// Reads the bytes after "--boundary", which must be a line end or "--".
MultipartStep MultipartReader::read_delimiter(std::string_view received) {
  MultipartStep step;
  for (const char c : received) {
    ++step.consumed;
    if (at_ == At::DelimiterDash) {
      if (c != '-') return refuse(Status::BadRequest, "multipart: a boundary is followed by a single dash");
      at_ = At::Epilogue;
      outside_ = 0;
      return step;
    }
    if (at_ == At::DelimiterLf) {
      if (c != '\n') return refuse(Status::BadRequest, "multipart: CR without LF after a boundary");
      if (++parts_ > limits_.parts_max) return refuse(Status::ContentTooLarge, "multipart: too many parts");
      at_ = At::Head;
      head_.clear();
      return step;
    }
    if (c == '-' && padding_ == 0) {
      at_ = At::DelimiterDash;
    } else if (c == '\r') {
      at_ = At::DelimiterLf;
    } else if ((c == ' ' || c == '\t') && padding_ < padding_bytes_max) {
      ++padding_;
    } else {
      return refuse(Status::BadRequest,
                    "multipart: a boundary is followed by something other than a line end or \"--\"");
    }
  }
  return step;
}

// Collects the head of a part, up to its empty line.
MultipartStep MultipartReader::read_head(std::string_view received) {
  MultipartStep step;
  constexpr std::string_view empty_line = "\r\n\r\n";
  const std::size_t had = head_.size();
  const std::size_t room = limits_.part_head_bytes_max - had;
  head_.append(received.substr(0, room));
  // The empty line may begin in bytes of an earlier call, or it may be the first line.
  const std::size_t from = had < 3 ? 0 : had - 3;
  std::size_t end = head_.view().find(empty_line, from);
  if (head_.view().starts_with("\r\n")) end = 0;
  if (end == std::string_view::npos) {
    if (received.size() >= room) return refuse(Status::ContentTooLarge, "multipart: the head of a part is too large");
    step.consumed = received.size();
    return step;
  }
  const std::size_t size = end == 0 ? 2 : end + empty_line.size();
  step.consumed = size - had;
  head_.resize(end == 0 ? 0 : end + 2);
  if (const char* const wrong = read_part()) return refuse(Status::BadRequest, wrong);
  at_ = At::Content;
  step.state = MultipartState::Part;
  return step;
}

// Returns null, or the reason why the head is rejected.
const char* MultipartReader::read_part() {
  part_ = {{}, std::nullopt, "text/plain", {}};
  bool has_disposition = false;
  bool has_type = false;
  std::string_view rest = head_.view();
  while (!rest.empty()) {
    const std::size_t end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return "multipart: a malformed field";
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim_blanks(line.substr(colon + 1));
    if (!is_field_value(value)) return "multipart: a field contains a control byte";
    if (equals_ignore_case(name, "content-disposition")) {
      if (std::exchange(has_disposition, true)) return "multipart: a part has more than one Content-Disposition";
      if (const char* const wrong = read_disposition(value)) return wrong;
    } else if (equals_ignore_case(name, "content-type")) {
      if (std::exchange(has_type, true)) return "multipart: a part has more than one Content-Type";
      part_.content_type = value;
    } else if (equals_ignore_case(name, "content-transfer-encoding")) {
      const bool is_plain =
          equals_ignore_case(value, "7bit") || equals_ignore_case(value, "8bit") || equals_ignore_case(value, "binary");
      if (!is_plain) return "multipart: a part has a Content-Transfer-Encoding that changes bytes";
    }
  }
  return has_disposition ? nullptr : "multipart: a part has no Content-Disposition";
}

const char* MultipartReader::read_disposition(std::string_view value) {
  std::size_t end = 0;
  while (end < value.size() && is_token_byte(value[end])) ++end;
  if (!equals_ignore_case(value.substr(0, end), "form-data"))
    return "multipart: the Content-Disposition of a part is not form-data";
  std::string_view rest = value.substr(end);
  bool has_name = false;
  bool has_extended = false;
  bool malformed = false;
  const auto own = [&](const Parameter& parameter) {
    char* const text = head_.data() + (parameter.value.data() - head_.data());
    return parameter.quoted ? unescape(text, parameter.value.size()) : parameter.value;
  };
  for (Parameter parameter; next_parameter(rest, parameter, malformed);) {
    if (equals_ignore_case(parameter.name, "name")) {
      if (std::exchange(has_name, true)) return "multipart: a part has more than one name";
      part_.name = own(parameter);
    } else if (equals_ignore_case(parameter.name, "filename")) {
      if (part_.filename) return "multipart: a part has more than one file name";
      part_.filename = own(parameter);
    } else if (equals_ignore_case(parameter.name, "filename*")) {
      if (std::exchange(has_extended, true)) return "multipart: a part has more than one file name";
    } else if (equals_ignore_case(parameter.name, "name*")) {
      return "multipart: name* is not allowed in forms (RFC 7578 §4.2)";
    }
  }
  if (malformed) return "multipart: a malformed Content-Disposition";
  // .NET sends both filename and filename*, with the same value.
  if (has_extended && !part_.filename)
    return "multipart: filename* without filename is not allowed in forms (RFC 7578 §4.2)";
  return has_name ? nullptr : "multipart: a part has no name";
}

Result<> MultipartReader::finish() const noexcept {
  if (at_ == At::Refused) return fail(Code::InvalidArgument, reason_);
  if (at_ != At::Epilogue) return fail(Code::InvalidArgument, "multipart: the body ends before its last boundary");
  return {};
}

Result<std::span<const FormPart>> read_form(Request& request, MultipartLimits limits) {
  KEEL_TRY(const std::string_view boundary,
           multipart_boundary(request.header(Known::ContentType).value_or(std::string_view())));
  MultipartReader reader(boundary, limits);
  Arena& arena = request.arena();
  FormPart* parts = nullptr;
  std::size_t count = 0;
  std::size_t room = 0;
  for (std::string_view rest = request.body();;) {
    const MultipartStep step = reader.feed(rest);
    rest.remove_prefix(step.consumed);
    switch (step.state) {
      case MultipartState::Part: {
        if (count == room) {
          const std::size_t more = std::max<std::size_t>(8, room * 2);
          const std::span<FormPart> grown = arena.array<FormPart>(more);
          std::copy_n(parts, count, grown.begin());
          parts = grown.data();
          room = more;
        }
        FormPart part = reader.part();
        part.name = arena.copy(part.name);
        if (part.filename) part.filename = arena.copy(*part.filename);
        part.content_type = arena.copy(part.content_type);
        parts[count++] = part;
        break;
      }
      case MultipartState::Data: {
        // The body is contiguous in memory, so the pieces of a part's content are contiguous too.
        std::string_view& body = parts[count - 1].body;
        body = body.empty() ? step.data : std::string_view(body.data(), body.size() + step.data.size());
        break;
      }
      case MultipartState::PartEnd:
        break;
      case MultipartState::Refused:
        return fail(step.status == Status::ContentTooLarge ? Code::OutOfRange : Code::InvalidArgument, step.reason);
      case MultipartState::Need:
        KEEL_TRY_VOID(reader.finish());
        return std::span<const FormPart>(parts, count);
    }
  }
}

}  // namespace keel::http
