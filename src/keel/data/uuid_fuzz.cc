// What is read is written as the same text but for the case of its letters; 16 bytes of any kind are read back.

#include <cstdlib>
#include <cstring>

#include "keel/base/ascii.h"
#include "keel/data/uuid.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const Result<Uuid> id = Uuid::parse(text)) {
    const Uuid::Text written = id->text();
    if (written.size() != size) std::abort();
    for (std::size_t i = 0; i < size; ++i) {
      if (written.view()[i] != ascii::to_lower(text[i])) std::abort();
    }
  }
  if (size < 16) return 0;
  std::array<std::byte, 16> bytes;
  std::memcpy(bytes.data(), data, bytes.size());
  if (Uuid::parse(Uuid(bytes).text()).value() != Uuid(bytes)) std::abort();
  return 0;
}
