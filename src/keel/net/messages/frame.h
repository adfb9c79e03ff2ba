// keel/net/messages/frame.h — the frames that two programs exchange, without I/O: converts bytes to frames and back.
//
//   FrameReader reader(1 << 20);
//   reader.feed(bytes);                                  // the received bytes, in pieces divided anywhere
//   Frame frame;
//   while (reader.next(frame)) handle(frame);            // its payload is a view, until the next call
//   if (reader.problem() != nullptr) …                   // no frame of this protocol: nothing more can be read
//
//   put_frame(out, {.kind = FrameKind::Request, .type = 7, .id = 3, .payload = bytes});
//
// A frame, with numbers in network byte order:
//
//   0   u32   how many bytes follow these four
//   4   u8    kind
//   5   u8    flags: 1 a deadline, 2 a trace, 4 a checksum, 8 sent by the side that opened the stream
//   6   u16   type of the message
//   8   u32   id of the request or of the stream
//   12  u32   deadline: milliseconds that are left     where flag 1 is set
//       16 B  id of the trace                          where flag 2 is set
//             payload
//       u32   CRC32C of all bytes before it            where flag 4 is set
//
// Errors:    problem() is a string literal. code() is DataLoss for a wrong checksum and for a frame without a checksum
//            after a frame that had one, OutOfRange for a frame that is too large, and Protocol for every other
//            problem.
// Ownership: a payload is a view of the bytes that were passed to feed() or, if the frame arrived in pieces, of the
//            reader's own memory.
// Threads:   one at a time.
// Cost:      a frame that arrives whole is not copied. For a frame that arrives in pieces, the reader keeps only the
//            received bytes, whatever length the frame declares; an idle reader has no buffer.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/error.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/observe/span.h"

namespace keel::messages {

// The purpose of a frame.
enum class FrameKind : std::uint8_t {
  Hello = 1,     // The first frame that each side sends: Hello below.
  Message = 2,   // Needs no response.
  Request = 3,   // A request; it gets one Response or one Failure with the same id.
  Response = 4,  // The payload is the reply.
  Failure = 5,   // The payload is an error (put_error).
  Cancel = 6,    // The response to request `id` is no longer needed; the peer sends a response nevertheless.
  // Opens the stream `id`: the lower half of the id is the stream's index; the upper half may be any number.
  Open = 7,
  Data = 8,    // One message of a stream.
  Credit = 9,  // The payload is a u32: how many more bytes may be sent in the stream.
  End = 10,    // The sender's direction of the stream has ended; a payload, if any, is the error that ended it.
  // Tells the peer to end its direction of the stream, because the sender of this frame accepts nothing more.
  Abandon = 11,
  Ping = 12,
  Pong = 13,
  Drain = 14,    // The sender accepts no new requests or streams.
  Close = 15,    // The last frame; the payload is the error.
  Session = 16,  // A frame of a session (FrameSink in peer.h); the session defines the payload.
};
// The largest FrameKind.
inline constexpr std::uint8_t frame_kind_max = 16;

struct Frame {
  static constexpr std::size_t head_bytes = 12;  // The size of a head without the parts that flags add.
  static constexpr std::size_t overhead_bytes_max = head_bytes + 4 + 16 + 4;

  FrameKind kind = FrameKind::Message;
  bool from_opener = false;
  std::uint16_t type = 0;
  std::uint32_t id = 0;
  std::optional<Duration> time_left = {};  // The remaining time in whole milliseconds, rounded up, at most 2^32 - 1.
  log::TraceId trace = {};                 // Zero: none.
  std::string_view payload = {};
};

// Finds the frames in bytes as they arrive, without copying frames that arrived whole.
class FrameReader {
 public:
  // `bytes_max`: the maximum size of a whole frame.
  explicit FrameReader(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  // Adds the next bytes; call feed() after next() has returned false. Only next() may throw std::bad_alloc.
  void feed(std::string_view bytes) noexcept { rest_ = bytes; }
  // The next frame. False: there is no complete frame, and the incomplete part was kept; or there is a problem, which
  // is then permanent.
  bool next(Frame& frame);
  // Tells the reader that the bytes that it has not taken yet have moved to the end of `bytes`.
  void moved(std::string_view bytes) noexcept { rest_ = bytes.substr(bytes.size() - rest_.size()); }

  const char* problem() const noexcept { return problem_; }
  Code code() const noexcept { return code_; }
  std::size_t unread_bytes() const noexcept { return rest_.size(); }
  // The number of bytes of an incomplete frame that the reader holds now.
  std::size_t kept_bytes() const noexcept { return is_given_ ? 0 : kept_.size(); }

 private:
  bool parse(std::string_view whole, Frame& frame) noexcept;
  bool check_size(std::size_t size) noexcept;
  bool fail_with(Code code, const char* problem) noexcept;

  const std::size_t bytes_max_;
  std::string_view rest_;
  Buffer kept_;
  bool is_given_ = false;       // Whether the frame in kept_ was returned.
  bool has_checksums_ = false;  // A frame had a checksum, so all later frames must have one.
  Code code_ = Code::Protocol;
  const char* problem_ = nullptr;
};

// The bytes before and after the payload of a frame to be sent.
class FrameHead {
 public:
  explicit FrameHead(const Frame& frame, bool has_checksum = false) noexcept;
  std::string_view bytes() const noexcept { return {bytes_, size_}; }
  // The bytes after the payload: the checksum, or nothing.
  std::string_view tail() const noexcept { return {tail_, tail_size_}; }

 private:
  char bytes_[Frame::overhead_bytes_max - 4];
  char tail_[4];
  std::uint8_t size_;
  std::uint8_t tail_size_ = 0;
};
// Appends the whole frame to `out`.
void put_frame(Buffer& out, const Frame& frame, bool has_checksum = false);

// The first frame of each side: the versions that it speaks and its limits. The lower of the two maximum versions is
// used.
struct Hello {
  static constexpr std::uint8_t version = 1;

  std::uint8_t version_min = version;
  std::uint8_t version_max = version;
  bool wants_checksums = false;       // Requests checksums: both sides send checksums if either side requests them.
  std::uint16_t requests_max = 0;     // The maximum number of concurrent requests.
  std::uint16_t streams_max = 0;      // The maximum number of streams that the peer may have open.
  std::uint32_t frame_bytes_max = 0;  // The maximum size of a whole frame.
  std::uint32_t stream_bytes = 0;     // The credit with which a stream begins.
  std::uint32_t heartbeat_ms = 0;     // This side sends a ping when no frame has arrived for this time; 0: never.
};
// Appends the payload of a Hello.
void put_hello(Buffer& out, const Hello& hello);
// Protocol: `payload` is not a Hello. Fields that a later version appends are ignored.
Result<Hello> parse_hello(std::string_view payload);
// The version that both sides use. Unsupported: there is no common version.
Result<std::uint8_t> common_version(const Hello& ours, const Hello& theirs);

// An error as the payload of a Failure, an End or a Close: its code, and its message if the application wrote it. A bug
// is sent as Internal, without its message. An error from the environment is sent without its message, too; its code is
// sent if the code says that a retry may help; otherwise, Internal is sent.
void put_error(Buffer& out, const Error& error);
// Returns the error, which counts as an error from the environment; its message is "the peer failed to handle the
// request" if no message was sent. The error has the code Internal if the payload has an unknown code.
Error parse_error(std::string_view payload);

}  // namespace keel::messages
