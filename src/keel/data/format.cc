#include "keel/data/format.h"

#include "keel/base/arena.h"
#include "keel/data/binary_reader.h"
#include "keel/data/json_reader.h"

namespace keel::data {
namespace {

// Whether the bytes are exactly one value, and of which kind the value is.
template <class Reader, class Kind>
bool is_whole(std::string_view bytes, Kind& kind) {
  Arena arena;
  Reader in(bytes, arena);
  kind = in.peek();
  in.skip();
  if (in.failed()) return false;
  return in.finish().is_ok();
}

bool is_container(binary::Kind kind) noexcept { return kind == binary::Kind::Object || kind == binary::Kind::Array; }

}  // namespace

Format detect(std::string_view bytes) {
  if (bytes.empty()) return Format::Unknown;
  auto kind = json::Kind::None;
  // In CBOR, the first byte of a JSON text would begin a small negative integer or a text of up to 29 bytes; in
  // MessagePack, it would begin a small integer.
  const auto first = static_cast<unsigned char>(bytes.front());
  if (first < 0x80 && is_whole<json::Reader>(bytes, kind)) return Format::Json;
  auto cbor = binary::Kind::None;
  auto packed = binary::Kind::None;
  const bool is_cbor = is_whole<binary::Reader<binary::Cbor>>(bytes, cbor);
  const bool is_packed = is_whole<binary::Reader<binary::MessagePack>>(bytes, packed);
  if (is_cbor && is_packed) return is_container(packed) && !is_container(cbor) ? Format::MessagePack : Format::Cbor;
  return is_cbor ? Format::Cbor : is_packed ? Format::MessagePack : Format::Unknown;
}

}  // namespace keel::data
