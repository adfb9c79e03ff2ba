#include "keel/http/middleware/content_coder.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "keel/base/check.h"
#include "keel/http/message/content_decoder.h"

#if KEEL_BROTLI
#include <brotli/encode.h>
#endif
#if KEEL_ZSTD
#include <zstd.h>
#endif

namespace keel::http {
namespace {

constexpr std::size_t content_max = 1u << 30;  // The sizes in the libraries' interfaces have 32 bits.
constexpr std::size_t idle_max = 4;
#if KEEL_BROTLI
constexpr int stream_window_bits = 17;

// A brotli encoder cannot be reused. Therefore the memory blocks of a brotli encoder are kept for the next encoder,
// which needs blocks of the same sizes.
class Blocks {
 public:
  Blocks() = default;
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() { clear(); }
  void clear() noexcept {
    for (Head* head : free_) std::free(head);
    free_.clear();
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
  ~State() { drop_all_but(""); }
  // Frees the memory of all codings except `kept`.
  void drop_all_but(std::string_view kept) noexcept {
    if (kept != "gzip" && std::exchange(has_gzip, false)) ::deflateEnd(&gzip);
#if KEEL_BROTLI
    if (kept != "br") {
      drop_brotli();
      blocks.clear();
    }
#endif
#if KEEL_ZSTD
    if (kept != "zstd") ::ZSTD_freeCCtx(std::exchange(zstd, nullptr));
#endif
  }

  // Each of these functions writes to `room`, which is smaller than the content, and returns nullopt when the
  // compressed content does not fit.
  std::optional<std::size_t> encode_gzip(std::string_view content, std::span<char> room) {
    if (!begin_gzip()) return std::nullopt;
    gzip.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    gzip.avail_in = static_cast<uInt>(content.size());
    gzip.next_out = reinterpret_cast<Bytef*>(room.data());
    gzip.avail_out = static_cast<uInt>(room.size());
    if (::deflate(&gzip, Z_FINISH) != Z_STREAM_END) return std::nullopt;
    return room.size() - gzip.avail_out;
  }
  bool begin_gzip() {
    constexpr int gzip_window = 15 + 16;
    if (has_gzip) return ::deflateReset(&gzip) == Z_OK;
    gzip = {};
    has_gzip = ::deflateInit2(&gzip, levels.gzip, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    return has_gzip;
  }
  bool go_on_gzip(std::string_view piece, bool ends, Buffer& out) {
    gzip.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    gzip.avail_in = static_cast<uInt>(piece.size());
    do {
      gzip.next_out = reinterpret_cast<Bytef*>(out.reserve(room_bytes));
      gzip.avail_out = static_cast<uInt>(room_bytes);
      const int code = ::deflate(&gzip, ends ? Z_FINISH : Z_SYNC_FLUSH);
      // Z_BUF_ERROR is not a failure: it means that all input was used.
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return false;
      out.commit(room_bytes - gzip.avail_out);
      if (code == Z_STREAM_END) break;
    } while (gzip.avail_out == 0);
    return true;
  }

#if KEEL_BROTLI
  std::optional<std::size_t> encode_brotli(std::string_view content, std::span<char> room) {
    if (!begin_brotli(std::bit_width(content.size()))) return std::nullopt;
    ::BrotliEncoderSetParameter(brotli, BROTLI_PARAM_SIZE_HINT, static_cast<std::uint32_t>(content.size()));
    std::size_t left_in = content.size();
    std::size_t left_out = room.size();
    const auto* in = reinterpret_cast<const std::uint8_t*>(content.data());
    auto* out = reinterpret_cast<std::uint8_t*>(room.data());
    const bool went_on = ::BrotliEncoderCompressStream(brotli, BROTLI_OPERATION_FINISH, &left_in, &in, &left_out, &out,
                                                       nullptr) != BROTLI_FALSE;
    const bool done = went_on && ::BrotliEncoderIsFinished(brotli) != BROTLI_FALSE;
    drop_brotli();
    if (!done) return std::nullopt;
    return room.size() - left_out;
  }
  bool begin_brotli(int window_bits) {
    drop_brotli();
    brotli = ::BrotliEncoderCreateInstance(&Blocks::allocate, &Blocks::give_back, &blocks);
    if (brotli == nullptr) return false;
    const int window = std::clamp(window_bits, BROTLI_MIN_WINDOW_BITS, 18);
    ::BrotliEncoderSetParameter(brotli, BROTLI_PARAM_QUALITY, static_cast<std::uint32_t>(levels.brotli));
    ::BrotliEncoderSetParameter(brotli, BROTLI_PARAM_LGWIN, static_cast<std::uint32_t>(window));
    return true;
  }
  bool go_on_brotli(std::string_view piece, bool ends, Buffer& out) {
    const auto* in = reinterpret_cast<const std::uint8_t*>(piece.data());
    std::size_t left_in = piece.size();
    do {
      auto* at = reinterpret_cast<std::uint8_t*>(out.reserve(room_bytes));
      std::size_t left_out = room_bytes;
      if (::BrotliEncoderCompressStream(brotli, ends ? BROTLI_OPERATION_FINISH : BROTLI_OPERATION_FLUSH, &left_in, &in,
                                        &left_out, &at, nullptr) == BROTLI_FALSE) {
        return false;
      }
      out.commit(room_bytes - left_out);
    } while (left_in != 0 || ::BrotliEncoderHasMoreOutput(brotli) != BROTLI_FALSE);
    if (ends) drop_brotli();
    return true;
  }
  void drop_brotli() noexcept {
    if (brotli != nullptr) ::BrotliEncoderDestroyInstance(std::exchange(brotli, nullptr));
  }
  Blocks blocks;
  BrotliEncoderState* brotli = nullptr;
#endif

#if KEEL_ZSTD
  std::optional<std::size_t> encode_zstd(std::string_view content, std::span<char> room) {
    if (!has_zstd()) return std::nullopt;
    const std::size_t size =
        ::ZSTD_compressCCtx(zstd, room.data(), room.size(), content.data(), content.size(), levels.zstd);
    if (::ZSTD_isError(size) != 0) return std::nullopt;
    return size;
  }
  bool has_zstd() {
    if (zstd == nullptr) zstd = ::ZSTD_createCCtx();
    return zstd != nullptr;
  }
  // The window is the part of the content that both the encoder and the decoder have to keep in memory.
  bool begin_zstd() {
    constexpr int window_bits = 17;
    return has_zstd() && ::ZSTD_isError(::ZSTD_CCtx_reset(zstd, ZSTD_reset_session_and_parameters)) == 0 &&
           ::ZSTD_isError(::ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, levels.zstd)) == 0 &&
           ::ZSTD_isError(::ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, window_bits)) == 0;
  }
  bool go_on_zstd(std::string_view piece, bool ends, Buffer& out) {
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    for (std::size_t left = 1; left != 0;) {
      ZSTD_outBuffer to{out.reserve(room_bytes), room_bytes, 0};
      left = ::ZSTD_compressStream2(zstd, &to, &in, ends ? ZSTD_e_end : ZSTD_e_flush);
      if (::ZSTD_isError(left) != 0) return false;
      out.commit(to.pos);
    }
    return true;
  }
  ZSTD_CCtx* zstd = nullptr;
#endif

  // Continues with the coding that was passed to begin().
  bool go_on(std::string_view piece, bool ends, Buffer& out) {
#if KEEL_ZSTD
    if (coding == "zstd") return go_on_zstd(piece, ends, out);
#endif
#if KEEL_BROTLI
    if (coding == "br") return go_on_brotli(piece, ends, out);
#endif
    return go_on_gzip(piece, ends, out);
  }

  static constexpr std::size_t room_bytes = 4096;  // The number of output bytes that are requested at a time.
  const CoderLevels levels;
  std::string_view coding;  // Empty: no content has begun.
  z_stream gzip;
  bool has_gzip = false;
};

ContentCoder::ContentCoder(const CoderLevels& levels) : state_(new State(levels)) {
  KEEL_CHECK(levels.gzip >= 1 && levels.gzip <= 9, "a gzip level must be from 1 to 9");
  KEEL_CHECK(levels.brotli >= 0 && levels.brotli <= 11, "a brotli level must be from 0 to 11");
  KEEL_CHECK(levels.zstd >= 1 && levels.zstd <= 19, "a zstd level must be from 1 to 19");
}

ContentCoder::ContentCoder(ContentCoder&&) noexcept = default;
ContentCoder::~ContentCoder() = default;

std::span<const std::string_view> ContentCoder::codings() noexcept { return ContentDecoder::codings(); }

bool ContentCoder::encode(std::string_view coding, std::string_view content, Buffer& out) {
  KEEL_CHECK(state_->coding.empty(), "end() must be called before encode()");
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

bool ContentCoder::begin(std::string_view coding) {
  const auto known = std::ranges::find(codings(), coding);
  KEEL_CHECK(known != codings().end(), "the content coding must be one that this build supports");
  state_->coding = *known;
  state_->drop_all_but(coding);
#if KEEL_ZSTD
  if (coding == "zstd") return state_->begin_zstd();
#endif
#if KEEL_BROTLI
  if (coding == "br") return state_->begin_brotli(stream_window_bits);
#endif
  return state_->begin_gzip();
}

bool ContentCoder::write(std::string_view piece, Buffer& out) {
  KEEL_CHECK(!state_->coding.empty(), "begin() must be called before write()");
  for (; piece.size() > content_max; piece.remove_prefix(content_max)) {
    if (!state_->go_on(piece.substr(0, content_max), false, out)) return false;
  }
  return state_->go_on(piece, false, out);
}

bool ContentCoder::end(Buffer& out) {
  KEEL_CHECK(!state_->coding.empty(), "begin() must be called before end()");
  const bool went_on = state_->go_on({}, true, out);
  state_->coding = {};
  return went_on;
}

ContentCoders::ContentCoders(const CoderLevels& levels, std::size_t lent_max) : levels_(levels), lent_max_(lent_max) {
  idle_.reserve(idle_max);
}

ContentCoders::Lease ContentCoders::lend() {
  Lease lease(nullptr, GiveBack{this});
  const std::lock_guard lock(mutex_);
  if (lent_ == lent_max_) return lease;
  if (idle_.empty()) {
    lease.reset(new ContentCoder(levels_));
  } else {
    lease.reset(idle_.back().release());
    idle_.pop_back();
  }
  ++lent_;
  return lease;
}

void ContentCoders::take_back(ContentCoder* coder) noexcept {
  std::unique_ptr<ContentCoder> owned(coder);
  const std::lock_guard lock(mutex_);
  --lent_;
  if (idle_.size() < idle_max) idle_.push_back(std::move(owned));
}

}  // namespace keel::http
