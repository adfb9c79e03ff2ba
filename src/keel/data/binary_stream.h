// keel/data/binary_stream.h — reads CBOR or MessagePack piece by piece and reports events: for documents that do not
// fit into memory.
//
//   cbor::Stream in;
//   while (const std::size_t size = read(file, piece)) {
//     in.feed({piece, size});
//     while (const cbor::Stream::Event* event = in.next()) {
//       if (event->type == cbor::Stream::Type::Key) column = event->text;
//       …
//     }
//     if (in.failed()) break;
//   }
//   KEEL_TRY_VOID(in.finish());
//
// For documents that fit into memory, use cbor::parse or a Reader (cbor.h, binary_reader.h); these are faster and
// report more about an error.
//
// Events:   the beginning and the end of each object and list, each key, each value. A text or byte string that arrives
//           or is encoded in several pieces gives one event for each piece; `is_last` is true in the event of the last
//           piece. A CBOR tag is reported before its value, and a MessagePack extension is reported before its bytes.
// Errors:   after the first error, next() returns null, failed() is true, and error() says what is wrong and where.
//           Besides malformed bytes, the following are errors: a text whose joined pieces are not UTF-8, a key that is
//           not a text or is longer than key_bytes_max, and nesting deeper than 64. finish() reports an error if the
//           input ended before the declared number of items or bytes was complete. A key that occurs twice is not an
//           error; it is reported twice. If is_sequence is set, the input is any number of values, one after the other
//           (RFC 8742); otherwise it is exactly one value.
// Lifetime: the bytes that were fed must stay valid until next() has returned null. An event and its text are valid
//           until the next call of next().
// Threads:  one thread at a time.
// Cost:     O(bytes); a Stream uses no heap memory, and takes about 1 KB, whatever the size of the document.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/result.h"
#include "keel/data/binary_reader.h"

namespace keel::binary {

// Reads a document piece by piece as its bytes arrive, and reports its parts as events.
template <class Format>
class Stream {
 public:
  enum class Type : std::uint8_t {
    BeginObject,  // `number` members follow; with unknown_count, members follow until EndObject.
    EndObject,
    BeginArray,
    EndArray,
    Key,
    String,
    Bytes,
    Unsigned,  // The value is `number`.
    Negative,  // The value is -1 - `number`.
    Real,
    Boolean,
    Null,
    Tag,        // The tag is `number`.
    Extension,  // An extension of MessagePack; its type is `number` as a signed integer.
    Simple,     // Any other simple value of CBOR.
  };
  struct Event {
    Type type = Type::Null;
    bool is_last = true;       // For String and Bytes: whether this is the last piece.
    std::uint64_t number = 0;  // For Boolean: 1 for true, 0 for false.
    double real = 0;
    std::string_view text;  // For Key, String and Bytes: the content, or a piece of it.
  };
  static constexpr std::uint64_t unknown_count = ~std::uint64_t{0};
  static constexpr std::size_t key_bytes_max = 255;

  explicit Stream(bool is_sequence = false) noexcept : is_sequence_(is_sequence) {}

  // Feeds the next bytes of the input; next() must have consumed all earlier bytes, otherwise feed() throws a Bug
  // (base/bug.h).
  void feed(std::string_view bytes);
  // Returns the next event; null when more bytes are needed, and after a problem.
  const Event* next();
  // Call finish() after the last bytes; it reports whether the document is complete.
  Result<> finish();

  bool failed() const noexcept { return message_ != nullptr; }
  int depth() const noexcept { return depth_; }              // The number of open containers.
  std::uint64_t offset() const noexcept { return offset_; }  // The number of bytes consumed.
  // Must be called only after failed() has returned true. Code::InvalidArgument: "nested too deeply at byte 70".
  Error error() const;

 private:
  static constexpr int depth_max = 64;
  static constexpr std::size_t head_bytes_max = 10;

  bool take_head(internal::Head& head);
  bool is_key_due() const noexcept;
  const Event* take_value();
  const Event* take_piece();
  const Event* end_container();
  bool check_text(std::string_view piece, bool is_last);
  void complete() noexcept;
  const Event* refuse(const char* message) noexcept {
    if (message_ == nullptr) message_ = message;
    return nullptr;
  }
  const Event* give(Type type, std::uint64_t number = 0) noexcept {
    event_ = Event{type, true, number, 0, {}};
    return &event_;
  }

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t offset_ = 0;
  const char* message_ = nullptr;
  Event event_;
  // For each open container, the number of keys and values that are still to come; unknown_count if the container ends
  // with a stop code ("break").
  std::uint64_t left_[depth_max];
  std::uint64_t is_map_ = 0;  // One bit for each open container: whether it is a map.
  // One bit for each open container of unknown length: in a map, whether the next item is the value of a key.
  std::uint64_t is_odd_ = 0;
  std::uint64_t in_text_ = 0;  // The number of bytes that are still to come in the current text or byte string.
  int depth_ = 0;
  bool is_sequence_;
  bool has_value_ = false;     // Whether a whole value has been read.
  bool is_tagged_ = false;     // Whether a value must follow a tag.
  bool is_in_text_ = false;    // True while a text or byte string is being read, even before its first piece.
  bool is_in_pieces_ = false;  // Whether the string comes in pieces, after which a stop code ("break") follows.
  bool is_text_ = false;       // Whether the string is a text, as opposed to bytes.
  bool is_key_ = false;
  std::uint8_t held_ = 0;  // The number of bytes of an incomplete head or character that are kept in hold_.
  std::uint8_t key_size_ = 0;
  char hold_[head_bytes_max];
  char key_[key_bytes_max];
};

extern template class Stream<Cbor>;
extern template class Stream<MessagePack>;

}  // namespace keel::binary

namespace keel::cbor {
// For CBOR.
using Stream = binary::Stream<binary::Cbor>;
}  // namespace keel::cbor
namespace keel::message_pack {
// For MessagePack.
using Stream = binary::Stream<binary::MessagePack>;
}  // namespace keel::message_pack
