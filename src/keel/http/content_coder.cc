#include "keel/http/content_coder.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "keel/base/check.h"

#if KEEL_BROTLI
#include <brotli/encode.h>
#endif
#if KEEL_ZSTD
#include <zstd.h>
#endif

namespace keel::http {
namespace {

constexpr std::string_view all_codings[] = {
#if KEEL_ZSTD
    "zstd",
#endif
#if KEEL_BROTLI
    "br",
#endif
    "gzip",
};

#if KEEL_BROTLI
// Brotli's encoder cannot be used twice: what it allocates is kept for the next one, which asks for the same sizes.
class Blocks {
 public:
  Blocks() = default;
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() {
    for (Head* head : free_) std::free(head);
  }
  static void* allocate(void* self, std::size_t size) {
    std::vector<Head*>& list = static_cast<Blocks*>(self)->free_;
    const auto known = std::find_if(list.begin(), list.end(), [size](const Head* head) { return head->size == size; });
    Head* head = nullptr;
    if (known != list.end()) {
      head = *known;
      list.erase(known);
    } else {
      head = static_cast<Head*>(std::malloc(sizeof(Head) + size));
      if (head == nullptr) return nullptr;
      head->size = size;
    }
    return head + 1;
  }
  static void give_back(void* self, void* block) {
    if (block == nullptr) return;
    std::vector<Head*>& list = static_cast<Blocks*>(self)->free_;
    if (list.size() == blocks_max) {
      std::free(list.front());
      list.erase(list.begin());
    }
    list.push_back(static_cast<Head*>(block) - 1);
  }

 private:
  static constexpr std::size_t blocks_max = 32;
  struct alignas(16) Head {
    std::size_t size;
  };
  std::vector<Head*> free_;
};
#endif

}  // namespace

struct ContentCoder::State {
  explicit State(const CoderLevels& given) : levels(given) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (has_gzip) ::deflateEnd(&gzip);
#if KEEL_ZSTD
    ::ZSTD_freeCCtx(zstd);
#endif
  }

  // Each writes to `room`, which is smaller than the content: nullopt when that is not enough.
  std::optional<std::size_t> encode_gzip(std::string_view content, std::span<char> room) {
    constexpr int gzip_window = 15 + 16;
    if (!has_gzip) {
      gzip = {};
      if (::deflateInit2(&gzip, levels.gzip, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return std::nullopt;
      has_gzip = true;
    } else {
      ::deflateReset(&gzip);
    }
    gzip.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    gzip.avail_in = static_cast<uInt>(content.size());
    gzip.next_out = reinterpret_cast<Bytef*>(room.data());
    gzip.avail_out = static_cast<uInt>(room.size());
    if (::deflate(&gzip, Z_FINISH) != Z_STREAM_END) return std::nullopt;
    return room.size() - gzip.avail_out;
  }

#if KEEL_BROTLI
  std::optional<std::size_t> encode_brotli(std::string_view content, std::span<char> room) {
    BrotliEncoderState* encoder = ::BrotliEncoderCreateInstance(&Blocks::allocate, &Blocks::give_back, &blocks);
    if (encoder == nullptr) return std::nullopt;
    const int window = std::clamp(static_cast<int>(std::bit_width(content.size())), BROTLI_MIN_WINDOW_BITS, 18);
    ::BrotliEncoderSetParameter(encoder, BROTLI_PARAM_QUALITY, static_cast<std::uint32_t>(levels.brotli));
    ::BrotliEncoderSetParameter(encoder, BROTLI_PARAM_LGWIN, static_cast<std::uint32_t>(window));
    ::BrotliEncoderSetParameter(encoder, BROTLI_PARAM_SIZE_HINT, static_cast<std::uint32_t>(content.size()));
    std::size_t left_in = content.size();
    std::size_t left_out = room.size();
    const auto* in = reinterpret_cast<const std::uint8_t*>(content.data());
    auto* out = reinterpret_cast<std::uint8_t*>(room.data());
    const bool went_on = ::BrotliEncoderCompressStream(encoder, BROTLI_OPERATION_FINISH, &left_in, &in, &left_out, &out,
                                                       nullptr) != BROTLI_FALSE;
    const bool done = went_on && ::BrotliEncoderIsFinished(encoder) != BROTLI_FALSE;
    ::BrotliEncoderDestroyInstance(encoder);
    if (!done) return std::nullopt;
    return room.size() - left_out;
  }
  Blocks blocks;
#endif

#if KEEL_ZSTD
  std::optional<std::size_t> encode_zstd(std::string_view content, std::span<char> room) {
    if (zstd == nullptr) zstd = ::ZSTD_createCCtx();
    if (zstd == nullptr) return std::nullopt;
    const std::size_t size =
        ::ZSTD_compressCCtx(zstd, room.data(), room.size(), content.data(), content.size(), levels.zstd);
    if (::ZSTD_isError(size) != 0) return std::nullopt;
    return size;
  }
  ZSTD_CCtx* zstd = nullptr;
#endif

  const CoderLevels levels;
  z_stream gzip;
  bool has_gzip = false;
};

ContentCoder::ContentCoder(const CoderLevels& levels) : state_(new State(levels)) {
  KEEL_CHECK(levels.gzip >= 1 && levels.gzip <= 9, "a gzip level is 1 to 9");
  KEEL_CHECK(levels.brotli >= 0 && levels.brotli <= 11, "a brotli level is 0 to 11");
  KEEL_CHECK(levels.zstd >= 1 && levels.zstd <= 19, "a zstd level is 1 to 19");
}

ContentCoder::ContentCoder(ContentCoder&&) noexcept = default;
ContentCoder::~ContentCoder() = default;

std::span<const std::string_view> ContentCoder::codings() noexcept { return all_codings; }

bool ContentCoder::encode(std::string_view coding, std::string_view content, Buffer& out) {
  constexpr std::size_t content_max = 1u << 30;  // The libraries count in 32 bits.
  if (content.size() < 2 || content.size() > content_max) return false;
  const std::span<char> room(out.reserve(content.size() - 1), content.size() - 1);
  std::optional<std::size_t> size;
#if KEEL_ZSTD
  if (coding == "zstd") size = state_->encode_zstd(content, room);
#endif
#if KEEL_BROTLI
  if (coding == "br") size = state_->encode_brotli(content, room);
#endif
  if (coding == "gzip") size = state_->encode_gzip(content, room);
  if (!size) return false;
  out.commit(*size);
  return true;
}

}  // namespace keel::http
