#include "keel/http/message/content_decoder.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/pool.h"
#include "keel/http/message/fields.h"

#if KEEL_BROTLI
#include <brotli/decode.h>
#endif
#if KEEL_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

namespace keel::http {
namespace {

constexpr std::string_view codings_built_in[] = {
#if KEEL_ZSTD
    "zstd",
#endif
#if KEEL_BROTLI
    "br",
#endif
    "gzip",
};

constexpr std::size_t idle_decoders_max = 8;
// The sizes in zlib's interface have 32 bits.
constexpr std::size_t step_bytes_max = std::numeric_limits<std::uint32_t>::max();

Error no_memory() { return Error(Code::ResourceExhausted, "out of memory while decoding content"); }

#if KEEL_BROTLI
// A brotli decoder cannot be reused, but its memory can. The small blocks of a brotli decoder come from the pool. The
// two large blocks of a brotli decoder, the windows, are kept for the next decoder, which needs blocks of the same
// sizes if the next content was encoded with the same settings.
class KeptWindows {
 public:
  KeptWindows() = default;
  KeptWindows(const KeptWindows&) = delete;
  KeptWindows& operator=(const KeptWindows&) = delete;
  ~KeptWindows() {
    for (Head* const head : kept_) std::free(head);
  }
  static void* allocate(void* self, std::size_t size) {
    if (size > std::numeric_limits<std::size_t>::max() - sizeof(Head)) return nullptr;
    const std::size_t whole = sizeof(Head) + size;
    Head* head = nullptr;
    if (whole <= pool_block_max) {
      try {
        head = static_cast<Head*>(pool_allocate(whole));
      } catch (const std::bad_alloc&) {
        return nullptr;
      }
    } else {
      head = static_cast<KeptWindows*>(self)->take(whole);
      if (head == nullptr) head = static_cast<Head*>(std::malloc(whole));
      if (head == nullptr) return nullptr;
    }
    head->size = whole;
    return head + 1;
  }
  static void give_back(void* self, void* block) {
    if (block == nullptr) return;
    Head* const head = static_cast<Head*>(block) - 1;
    if (head->size <= pool_block_max) return pool_free(head, head->size);
    static_cast<KeptWindows*>(self)->keep(head);
  }

 private:
  // Enough for a window of 512 KiB and the data around the window.
  static constexpr std::size_t kept_bytes_max = 512 * 1024 + 4096;
  struct alignas(16) Head {
    std::size_t size;
  };
  Head* take(std::size_t size) noexcept {
    for (Head*& head : kept_) {
      if (head != nullptr && head->size == size) return std::exchange(head, nullptr);
    }
    return nullptr;
  }
  void keep(Head* head) noexcept {
    if (head->size <= kept_bytes_max) std::swap(head, kept_[next_++ % std::size(kept_)]);
    std::free(head);
  }
  Head* kept_[2] = {};
  unsigned next_ = 0;
};
#endif

}  // namespace

struct ContentDecoder::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (has_gzip) ::inflateEnd(&gzip);
    drop_brotli();
#if KEEL_ZSTD
    ::ZSTD_freeDCtx(zstd);
#endif
  }

  Error broken(const char* what) const {
    return Error::text(Code::InvalidArgument, "the " + std::string(coding) + " content " + what);
  }

  bool begin_gzip() noexcept {
    constexpr int gzip_window = 15 + 16;
    if (has_gzip) return ::inflateReset(&gzip) == Z_OK;
    gzip = {};
    has_gzip = ::inflateInit2(&gzip, gzip_window) == Z_OK;
    return has_gzip;
  }
  Result<std::size_t> decode_gzip(std::string_view& coded, std::span<char> room) {
    std::size_t left_out = room.size();
    while (left_out != 0 && (!coded.empty() || has_output)) {
      // RFC 1952 §2.2: after the end of a gzip member, another member may follow.
      if (std::exchange(is_whole, false) && ::inflateReset(&gzip) != Z_OK) return broken("is broken");
      const auto size = static_cast<uInt>(std::min(coded.size(), step_bytes_max));
      gzip.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(coded.data()));
      gzip.avail_in = size;
      gzip.next_out = reinterpret_cast<Bytef*>(room.data() + (room.size() - left_out));
      gzip.avail_out = static_cast<uInt>(std::min(left_out, step_bytes_max));
      const uInt offered = gzip.avail_out;
      const int code = ::inflate(&gzip, Z_NO_FLUSH);
      coded.remove_prefix(size - gzip.avail_in);
      left_out -= offered - gzip.avail_out;
      if (code == Z_MEM_ERROR) return no_memory();
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return broken("is broken");
      is_whole = code == Z_STREAM_END;
      has_output = !is_whole && gzip.avail_out == 0;
      if (code == Z_BUF_ERROR) break;  // The decoder needs more input.
    }
    return room.size() - left_out;
  }

#if KEEL_BROTLI
  bool begin_brotli() noexcept {
    drop_brotli();
    brotli = ::BrotliDecoderCreateInstance(&KeptWindows::allocate, &KeptWindows::give_back, &windows);
    return brotli != nullptr;
  }
  Result<std::size_t> decode_brotli(std::string_view& coded, std::span<char> room) {
    if (is_whole && !coded.empty()) return broken("is followed by other bytes");
    if (coded.empty() && !has_output) return 0u;
    std::size_t left_in = coded.size();
    std::size_t left_out = room.size();
    const auto* in = reinterpret_cast<const std::uint8_t*>(coded.data());
    auto* out = reinterpret_cast<std::uint8_t*>(room.data());
    const BrotliDecoderResult result = ::BrotliDecoderDecompressStream(brotli, &left_in, &in, &left_out, &out, nullptr);
    coded.remove_prefix(coded.size() - left_in);
    if (result == BROTLI_DECODER_RESULT_ERROR) {
      const BrotliDecoderErrorCode code = ::BrotliDecoderGetErrorCode(brotli);
      const bool is_memory =
          code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES && code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES;
      return is_memory ? no_memory() : broken("is broken");
    }
    is_whole = result == BROTLI_DECODER_RESULT_SUCCESS;
    has_output = result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT;
    if (is_whole && !coded.empty()) return broken("is followed by other bytes");
    return room.size() - left_out;
  }
  KeptWindows windows;
  BrotliDecoderState* brotli = nullptr;
#endif
  void drop_brotli() noexcept {
#if KEEL_BROTLI
    if (brotli != nullptr) ::BrotliDecoderDestroyInstance(std::exchange(brotli, nullptr));
#endif
  }

#if KEEL_ZSTD
  bool begin_zstd() noexcept {
    constexpr int window_bits_max = 23;  // RFC 9659.
    if (zstd == nullptr) zstd = ::ZSTD_createDCtx();
    return zstd != nullptr && ::ZSTD_isError(::ZSTD_DCtx_reset(zstd, ZSTD_reset_session_only)) == 0 &&
           ::ZSTD_isError(::ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, window_bits_max)) == 0;
  }
  Result<std::size_t> decode_zstd(std::string_view& coded, std::span<char> room) {
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    while (out.pos != out.size && (!coded.empty() || has_output)) {
      ZSTD_inBuffer in{coded.data(), coded.size(), 0};
      const std::size_t before = out.pos;
      const std::size_t left = ::ZSTD_decompressStream(zstd, &out, &in);
      if (::ZSTD_isError(left) != 0) {
        const ZSTD_ErrorCode code = ::ZSTD_getErrorCode(left);
        if (code == ZSTD_error_memory_allocation) return no_memory();
        if (code == ZSTD_error_frameParameter_windowTooLarge) return broken("asks for a window above 8 MiB");
        return broken("is broken");
      }
      coded.remove_prefix(in.pos);
      is_whole = left == 0;
      has_output = !is_whole && out.pos == out.size;
      if (in.pos == 0 && out.pos == before) break;  // The decoder needs more input.
    }
    return out.pos;
  }
  ZSTD_DCtx* zstd = nullptr;
#endif

  std::string_view coding;  // Empty: no content has begun.
  bool has_bytes = false;   // Whether a byte of the content has arrived.
  bool has_output = false;  // Whether the decoder has decoded bytes for which the room was too small.
  bool is_whole = false;    // Whether the content is complete if no further byte arrives.
  z_stream gzip = {};
  bool has_gzip = false;
};

ContentDecoder::ContentDecoder() : state_(new State()) {}
ContentDecoder::~ContentDecoder() = default;

std::span<const std::string_view> ContentDecoder::codings() noexcept { return codings_built_in; }

std::string_view ContentDecoder::accepted() noexcept {
#if KEEL_BROTLI && KEEL_ZSTD
  return "br, zstd, gzip";
#elif KEEL_BROTLI
  return "br, gzip";
#elif KEEL_ZSTD
  return "zstd, gzip";
#else
  return "gzip";
#endif
}

std::string_view ContentDecoder::coding_of(std::string_view name) noexcept {
  if (equals_ignore_case(name, "x-gzip")) return "gzip";
  for (const std::string_view coding : codings_built_in) {
    if (equals_ignore_case(name, coding)) return coding;
  }
  return {};
}

Result<> ContentDecoder::begin(std::string_view coding) {
  State& state = *state_;
  state.coding = coding_of(coding);
  KEEL_CHECK(!state.coding.empty(), "the content coding must be one that this build supports");
  state.has_bytes = state.has_output = state.is_whole = false;
  bool has_memory = false;
#if KEEL_ZSTD
  if (state.coding == "zstd") has_memory = state.begin_zstd();
#endif
#if KEEL_BROTLI
  if (state.coding == "br") has_memory = state.begin_brotli();
#endif
  if (state.coding == "gzip") has_memory = state.begin_gzip();
  if (has_memory) return {};
  return no_memory();
}

Result<std::size_t> ContentDecoder::decode(std::string_view& coded, std::span<char> room) {
  State& state = *state_;
  KEEL_CHECK(!state.coding.empty() && !room.empty(),
             "begin() must be called before decode(), and the room for decoded bytes must not be empty");
  if (!coded.empty()) state.has_bytes = true;
#if KEEL_ZSTD
  if (state.coding == "zstd") return state.decode_zstd(coded, room);
#endif
#if KEEL_BROTLI
  if (state.coding == "br") return state.decode_brotli(coded, room);
#endif
  return state.decode_gzip(coded, room);
}

Result<> ContentDecoder::end() {
  State& state = *state_;
  KEEL_CHECK(!state.coding.empty(), "begin() must be called before end()");
  Result<> result;
  if (state.has_bytes && !state.is_whole) result = state.broken("ends too early");
  state.coding = {};
  return result;
}

void ContentDecoder::release() noexcept {
  State& state = *state_;
  state.coding = {};
  state.drop_brotli();
#if KEEL_ZSTD
  constexpr std::size_t kept_bytes_max = 1 << 20;
  if (::ZSTD_sizeof_DCtx(state.zstd) > kept_bytes_max) ::ZSTD_freeDCtx(std::exchange(state.zstd, nullptr));
#endif
}

ContentDecoders::ContentDecoders() { idle_.reserve(idle_decoders_max); }

ContentDecoders::~ContentDecoders() {
  KEEL_CHECK(lent_ == 0, "a ContentDecoders must outlive the decoders that it lends");
}

ContentDecoders::Lease ContentDecoders::lend() {
  Lease lease(nullptr, GiveBack{this});
  if (idle_.empty()) {
    lease.reset(new ContentDecoder());
  } else {
    lease.reset(idle_.back().release());
    idle_.pop_back();
  }
  ++lent_;
  return lease;
}

void ContentDecoders::take_back(ContentDecoder* decoder) noexcept {
  std::unique_ptr<ContentDecoder> owned(decoder);
  --lent_;
  if (idle_.size() == idle_decoders_max) return;
  owned->release();
  idle_.push_back(std::move(owned));
}

}  // namespace keel::http
