#include "keel/net/messages/frame.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "keel/net/crc32c.h"
#include "keel/net/messages/internal/frame_bytes.h"

namespace keel::messages {

using namespace internal::frame_bytes;

namespace {

template <class N>
void put(Buffer& out, N number) {
  store(out.reserve(sizeof number), number);
  out.commit(sizeof number);
}

constexpr std::string_view magic = "KMSG";
constexpr std::size_t hello_bytes = 4 + 2 + 1 + 2 + 2 + 4 + 4 + 4;

// The index of a code is its number on the wire, so the order must never change.
constexpr Code codes[] = {
    Code::InvalidArgument, Code::OutOfRange,  Code::Unauthenticated,    Code::PermissionDenied,  Code::NotFound,
    Code::AlreadyExists,   Code::Conflict,    Code::FailedPrecondition, Code::ResourceExhausted, Code::DeadlineExceeded,
    Code::Cancelled,       Code::Unavailable, Code::Protocol,           Code::Upstream,          Code::Unsupported,
    Code::DataLoss,        Code::Internal};
static_assert(sizeof codes / sizeof *codes == code_count);

std::uint8_t number_of(Code code) noexcept {
  std::uint8_t i = 0;
  while (codes[i] != code) ++i;
  return i;
}

// The application's errors are sent with their code; for all other errors, the sent code says only whether a retry may
// help.
Code code_to_send(const Error& error) noexcept {
  if (error.is_bug()) return Code::Internal;
  if (!error.is_from_environment()) return error.code();
  switch (error.code()) {
    case Code::ResourceExhausted:
    case Code::DeadlineExceeded:
    case Code::Cancelled:
    case Code::Unavailable:
    case Code::Upstream:
      return error.code();
    default:
      return Code::Internal;
  }
}

constexpr std::size_t message_bytes_max = 1024;  // The maximum size of an error's message.

}  // namespace

bool FrameReader::fail_with(Code code, const char* problem) noexcept {
  code_ = code;
  problem_ = problem;
  return false;
}

bool FrameReader::check_size(std::size_t size) noexcept {
  if (size < Frame::head_bytes - length_bytes) return fail_with(Code::Protocol, "a frame is shorter than its head");
  if (size > bytes_max_ - length_bytes) return fail_with(Code::OutOfRange, "a frame is longer than frame_bytes_max");
  return true;
}

[[gnu::always_inline]] inline bool FrameReader::parse(std::string_view whole, Frame& frame) noexcept {
  const auto kind = static_cast<std::uint8_t>(whole[4]);
  const auto flags = static_cast<std::uint8_t>(whole[5]);
  if (kind == 0 || kind > frame_kind_max) return fail_with(Code::Protocol, "a frame is of an unknown kind");
  if ((flags & ~flags_known) != 0) return fail_with(Code::Protocol, "a frame has an unknown flag");
  if (has_checksums_ && (flags & has_checksum_flag) == 0) [[unlikely]]
    return fail_with(Code::DataLoss, "a frame has no checksum, although an earlier frame had one");
  frame.kind = static_cast<FrameKind>(kind);
  frame.from_opener = (flags & from_opener_flag) != 0;
  frame.type = load<std::uint16_t>(whole.data() + 6);
  frame.id = load<std::uint32_t>(whole.data() + 8);
  frame.time_left.reset();
  frame.trace = {};
  std::string_view rest = whole.substr(Frame::head_bytes);
  if ((flags & (has_deadline | has_trace | has_checksum_flag)) != 0) [[unlikely]] {
    if ((flags & has_checksum_flag) != 0) {
      if (rest.size() < 4) return fail_with(Code::Protocol, "a frame ends before its checksum field is complete");
      const std::string_view covered = whole.substr(0, whole.size() - 4);
      if (crc32c(covered) != load<std::uint32_t>(covered.data() + covered.size())) {
        return fail_with(Code::DataLoss, "the checksum of a frame is wrong");
      }
      has_checksums_ = true;
      rest.remove_suffix(4);
    }
    if ((flags & has_deadline) != 0) {
      if (rest.size() < 4) return fail_with(Code::Protocol, "a frame ends before its deadline field is complete");
      frame.time_left = Duration::milliseconds(load<std::uint32_t>(rest.data()));
      rest.remove_prefix(4);
    }
    if ((flags & has_trace) != 0) {
      if (rest.size() < 16) return fail_with(Code::Protocol, "a frame ends before its trace field is complete");
      frame.trace = {load<std::uint64_t>(rest.data()), load<std::uint64_t>(rest.data() + 8)};
      rest.remove_prefix(16);
    }
  }
  frame.payload = rest;
  return true;
}

bool FrameReader::next(Frame& frame) {
  if (problem_ != nullptr) return false;
  if (is_given_) {
    is_given_ = false;
    kept_.release();
  }
  if (kept_.empty()) [[likely]] {
    if (rest_.size() >= length_bytes) {
      const std::size_t size = load<std::uint32_t>(rest_.data());
      if (!check_size(size)) return false;
      if (rest_.size() - length_bytes >= size) {
        const std::string_view whole = rest_.substr(0, length_bytes + size);
        rest_.remove_prefix(whole.size());
        return parse(whole, frame);
      }
    }
    kept_.append(rest_);
    rest_ = {};
    return false;
  }
  const auto take = [this](std::size_t until) {
    const std::size_t bytes = std::min(until - kept_.size(), rest_.size());
    kept_.append(rest_.substr(0, bytes));
    rest_.remove_prefix(bytes);
    return kept_.size() == until;
  };
  if (kept_.size() < length_bytes && !take(length_bytes)) return false;
  const std::size_t size = load<std::uint32_t>(kept_.data());
  if (!check_size(size) || !take(length_bytes + size)) return false;
  is_given_ = true;
  return parse(kept_.view(), frame);
}

FrameHead::FrameHead(const Frame& frame, bool has_checksum) noexcept : size_(put_head(bytes_, frame, has_checksum)) {
  if (!has_checksum) return;
  tail_size_ = 4;
  store(tail_, crc32c(frame.payload, crc32c(bytes())));
}

void put_frame(Buffer& out, const Frame& frame, bool has_checksum) {
  char* const at = out.reserve(Frame::overhead_bytes_max + frame.payload.size());
  std::size_t size = put_head(at, frame, has_checksum);
  if (!frame.payload.empty()) copy_short(at + size, frame.payload.data(), frame.payload.size());
  size += frame.payload.size();
  if (has_checksum) {
    store(at + size, crc32c({at, size}));
    size += 4;
  }
  out.commit(size);
}

void put_hello(Buffer& out, const Hello& hello) {
  out.append(magic);
  put(out, hello.version_min);
  put(out, hello.version_max);
  put(out, static_cast<std::uint8_t>(hello.wants_checksums ? 1 : 0));
  put(out, hello.requests_max);
  put(out, hello.streams_max);
  put(out, hello.frame_bytes_max);
  put(out, hello.stream_bytes);
  put(out, hello.heartbeat_ms);
}

Result<Hello> parse_hello(std::string_view payload) {
  if (payload.size() < hello_bytes || !payload.starts_with(magic)) {
    return fail(Code::Protocol, "the first frame is not a hello of Keel messages");
  }
  Hello hello;
  const char* const at = payload.data();
  hello.version_min = static_cast<std::uint8_t>(at[4]);
  hello.version_max = static_cast<std::uint8_t>(at[5]);
  hello.wants_checksums = (at[6] & 1) != 0;
  hello.requests_max = load<std::uint16_t>(at + 7);
  hello.streams_max = load<std::uint16_t>(at + 9);
  hello.frame_bytes_max = load<std::uint32_t>(at + 11);
  hello.stream_bytes = load<std::uint32_t>(at + 15);
  hello.heartbeat_ms = load<std::uint32_t>(at + 19);
  if (hello.version_min == 0 || hello.version_min > hello.version_max) {
    return fail(Code::Protocol, "the hello has an invalid range of versions");
  }
  if (hello.frame_bytes_max < 256) return fail(Code::Protocol, "the hello has a frame_bytes_max below 256");
  return hello;
}

Result<std::uint8_t> common_version(const Hello& ours, const Hello& theirs) {
  const std::uint8_t version = std::min(ours.version_max, theirs.version_max);
  if (version >= std::max(ours.version_min, theirs.version_min)) return version;
  const auto range = [](const Hello& hello) {
    return std::to_string(hello.version_min) + " to " + std::to_string(hello.version_max);
  };
  return Error::text(Code::Unsupported, "there is no common version of Keel messages: this side speaks " + range(ours) +
                                            ", the peer " + range(theirs));
}

void put_error(Buffer& out, const Error& error) {
  put(out, number_of(code_to_send(error)));
  if (error.is_from_environment() || error.is_bug()) return;
  std::string_view text = error.message().substr(0, message_bytes_max);
  // The text must not be truncated inside a UTF-8 character.
  if (text.size() == message_bytes_max && error.message().size() > message_bytes_max) {
    while (!text.empty() && (error.message()[text.size()] & 0xc0) == 0x80) text.remove_suffix(1);
  }
  out.append(text);
}

Error parse_error(std::string_view payload) {
  const std::size_t number = payload.empty() ? code_count : static_cast<unsigned char>(payload.front());
  const Code code = number < code_count ? codes[number] : Code::Internal;
  const std::string_view text =
      payload.size() > 1 ? payload.substr(1, message_bytes_max) : "the peer failed to handle the request";
  return Error::text(code, text).from_environment();
}

}  // namespace keel::messages
