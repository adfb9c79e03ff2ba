#include "keel/http/message/response_reader.h"

#include <algorithm>
#include <cstring>

#include "keel/base/ascii.h"

namespace keel::http {
namespace {

constexpr std::string_view version_prefix = "HTTP/1.";

}  // namespace

std::size_t HeadCache::find(std::string_view received, bool is_head, ResponseHead& head) const noexcept {
  if (size_ == 0 || received.size() < size_ || is_head != is_head_) return 0;
  if (std::memcmp(received.data(), bytes_.data(), size_) != 0) return 0;
  head = head_;
  return size_;
}

void HeadCache::keep(std::string_view bytes, bool is_head, const ResponseHead& head) noexcept {
  if (bytes.size() > bytes_.size()) return;
  std::memcpy(bytes_.data(), bytes.data(), bytes.size());
  size_ = bytes.size();
  is_head_ = is_head;
  head_ = head;
}

bool next_field(std::string_view& rest, Field& field) noexcept {
  for (;;) {
    const std::size_t end = rest.find("\r\n");
    if (end == std::string_view::npos || end == 0) return false;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) continue;  // The status line.
    field = {line.substr(0, colon), trim_blanks(line.substr(colon + 1))};
    return true;
  }
}

void ResponseReader::begin_head() noexcept {
  at_ = At::Head;
  is_minor_zero_ = false;
  has_length_ = false;
  has_coding_ = false;
  says_close_ = false;
  says_keep_alive_ = false;
  fields_ = 0;
  line_at_ = 0;
  seen_ = 0;
  head_ = {};
}

void ResponseReader::begin(bool is_head) noexcept {
  is_head_ = is_head;
  has_begun_ = false;
  interims_ = 0;
  partial_.release();
  begin_head();
}

ResponseStep ResponseReader::refuse(const char* reason) noexcept {
  at_ = At::Refused;
  partial_.release();
  return {ResponseState::Refused, 0, {}, reason};
}

ResponseStep ResponseReader::done(std::size_t consumed, std::string_view data, std::string_view trailers) noexcept {
  at_ = At::Done;
  return {.state = ResponseState::Done, .consumed = consumed, .data = data, .trailers = trailers};
}

ResponseStep ResponseReader::feed(std::string_view received, HeadCache* cache) {
  if (received.empty() && at_ != At::Done) return {};
  has_begun_ = true;
  if (at_ != At::Head) partial_.release();
  switch (at_) {
    case At::Head:
      if (cache != nullptr && partial_.empty()) {
        if (const std::size_t size = cache->find(received, is_head_, head_)) {
          return begin_body(received, size, received.substr(0, size));
        }
      }
      return feed_head(received, cache);
    case At::Body:
      return feed_body(received, 0);
    case At::Done:
      break;
    case At::Refused:
      return refuse("the response was rejected");
  }
  return {ResponseState::Done, 0, {}};
}

ResponseStep ResponseReader::feed_head(std::string_view received, HeadCache* cache) {
  std::size_t consumed = 0;
  for (;;) {
    const std::string_view rest = received.substr(consumed);
    const char* reason = nullptr;
    std::size_t end = 0;
    if (partial_.empty()) {
      end = read_lines(rest, reason);
      if (end == 0 && reason == nullptr) {
        partial_.append(rest);
        return {ResponseState::Need, received.size(), {}};
      }
    } else {
      const std::size_t before = partial_.size();
      // Appends no more bytes than the longest head may have: it would be useless to copy more.
      const std::size_t more = std::min(rest.size(), head_bytes_max + 1 - before);
      partial_.append(rest.substr(0, more));
      end = read_lines(partial_.view(), reason);
      if (end == 0 && reason == nullptr) return {ResponseState::Need, received.size(), {}};
      if (reason == nullptr) {
        partial_.resize(end);
        end -= before;
      }
    }
    if (reason != nullptr) return refuse(reason);
    const bool was_whole = partial_.empty();
    consumed += end;
    if (head_.status < 200) {
      if (++interims_ > interims_max) return refuse("it has too many interim responses");
      partial_.release();
      begin_head();
      if (consumed == received.size()) return {ResponseState::Need, consumed, {}};
      continue;
    }
    if (const char* problem = end_head()) return refuse(problem);
    const std::string_view head = was_whole ? rest.substr(0, end) : partial_.view();
    if (was_whole && cache != nullptr) cache->keep(head, is_head_, head_);
    return begin_body(received, consumed, head);
  }
}

ResponseStep ResponseReader::begin_body(std::string_view received, std::size_t consumed,
                                        std::string_view head) noexcept {
  left_ = head_.length;
  at_ = At::Body;
  if (head_.body == ResponseHead::Body::Chunked) chunks_ = {};
  ResponseStep step = feed_body(received, consumed);
  if (step.state != ResponseState::Refused) step.head = head;
  return step;
}

std::size_t ResponseReader::read_lines(std::string_view bytes, const char*& reason) noexcept {
  const std::string_view front = bytes.substr(0, version_prefix.size());
  if (line_at_ == 0 && front != version_prefix.substr(0, front.size())) {
    reason = "it does not begin with HTTP/1.";
    return 0;
  }
  for (;;) {
    const std::size_t end = bytes.find('\n', std::max(seen_, line_at_));
    const std::size_t line_end = std::min(end, bytes.size());
    if (line_end - line_at_ > line_bytes_max) {
      reason = "a line of its head is too long";
      return 0;
    }
    if (line_end >= head_bytes_max) {
      reason = "its head is too long";
      return 0;
    }
    if (end == std::string_view::npos) {
      seen_ = bytes.size();
      return 0;
    }
    std::string_view line = bytes.substr(line_at_, end - line_at_);
    if (!line.ends_with('\r')) {
      reason = "a line of its head ends without CR";
      return 0;
    }
    line.remove_suffix(1);
    const bool is_first = line_at_ == 0;
    line_at_ = end + 1;
    if (is_first) {
      reason = read_status_line(line);
    } else if (line.empty()) {
      return line_at_;
    } else {
      reason = read_field(line);
    }
    if (reason != nullptr) return 0;
  }
}

const char* ResponseReader::read_status_line(std::string_view line) noexcept {
  // The line looks like "HTTP/1.1 200 OK"; the blank after the code is required, the reason may be empty (RFC 9112 §4).
  // A higher minor version is treated like HTTP/1.1 (RFC 9110 §2.5).
  if (line.size() < 13 || !line.starts_with(version_prefix) || !ascii::is_digit(line[7]) || line[8] != ' ' ||
      !ascii::is_digit(line[9]) || !ascii::is_digit(line[10]) || !ascii::is_digit(line[11]) || line[12] != ' ') {
    return "its status line is malformed";
  }
  is_minor_zero_ = line[7] == '0';
  head_.status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  if (head_.status < 100 || head_.status > 599) return "its status code is out of range";
  if (head_.status == 101) return "it switches to another protocol";
  if (!is_field_value(line.substr(13))) return "its reason phrase has a control character";
  return nullptr;
}

const char* ResponseReader::read_field(std::string_view line) noexcept {
  if (++fields_ > fields_max) return "it has too many fields";
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return "a field is malformed";
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trim_blanks(line.substr(colon + 1));
  if (!is_field_value(value)) return "a field has a control character";
  if (equals_ignore_case(name, "content-length")) {
    if (has_length_) return "it has more than one Content-Length";
    has_length_ = true;
    if (value.empty() || value.size() > 18 || !std::all_of(value.begin(), value.end(), ascii::is_digit)) {
      return "its Content-Length is not a number";
    }
    for (const char c : value) head_.length = head_.length * 10 + static_cast<std::uint64_t>(c - '0');
  } else if (equals_ignore_case(name, "transfer-encoding")) {
    if (has_coding_ || !equals_ignore_case(value, "chunked")) return "its transfer coding is not chunked";
    has_coding_ = true;
  } else if (equals_ignore_case(name, "connection")) {
    for (std::string_view rest = value, element; next_element(rest, element);) {
      if (equals_ignore_case(element, "close")) says_close_ = true;
      if (equals_ignore_case(element, "keep-alive")) says_keep_alive_ = true;
    }
  }
  return nullptr;
}

// RFC 9112 §6.3.
const char* ResponseReader::end_head() noexcept {
  if (has_coding_ && has_length_) return "it has both a Content-Length and a transfer coding";
  if (has_coding_ && is_minor_zero_) return "it has a transfer coding in HTTP/1.0";
  head_.keep_alive = !says_close_ && (!is_minor_zero_ || says_keep_alive_);
  if (is_head_ || head_.status == 204 || head_.status == 304) {
    head_.body = ResponseHead::Body::None;
    head_.length = 0;
  } else if (has_coding_) {
    head_.body = ResponseHead::Body::Chunked;
  } else if (has_length_) {
    head_.body = head_.length == 0 ? ResponseHead::Body::None : ResponseHead::Body::Length;
  } else {
    head_.body = ResponseHead::Body::UntilClose;
    head_.keep_alive = false;
  }
  return nullptr;
}

// `before` is the number of bytes of `received` before the body.
ResponseStep ResponseReader::feed_body(std::string_view received, std::size_t before) noexcept {
  const std::string_view rest = received.substr(before);
  switch (head_.body) {
    case ResponseHead::Body::None:
      return done(before, {});
    case ResponseHead::Body::Length: {
      const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, rest.size()));
      left_ -= size;
      if (left_ == 0) return done(before + size, rest.substr(0, size));
      return {size == 0 ? ResponseState::Need : ResponseState::Data, before + size, rest.substr(0, size)};
    }
    case ResponseHead::Body::Chunked: {
      const ChunkStep step = chunks_.feed(rest);
      switch (step.state) {
        case ChunkState::Need:
          return {.consumed = before + step.consumed, .trailers = step.trailers};
        case ChunkState::Data:
          return {ResponseState::Data, before + step.consumed, step.data};
        case ChunkState::Done:
          return done(before + step.consumed, {}, step.trailers);
        case ChunkState::Refused:
          return refuse(step.reason);
      }
      break;
    }
    case ResponseHead::Body::UntilClose:
      return {rest.empty() ? ResponseState::Need : ResponseState::Data, received.size(), rest};
  }
  return {};
}

ResponseStep ResponseReader::finish() noexcept {
  if (at_ == At::Body && head_.body == ResponseHead::Body::UntilClose) return done(0, {});
  return refuse(at_ == At::Body ? "the connection was closed before the body of the response was complete"
                                : "the connection was closed before the head of the response was complete");
}

}  // namespace keel::http
