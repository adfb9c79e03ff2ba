// keel/http/testing/internal/decode_testing.h — decodes content codings in tests as a client does.

#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#if KEEL_BROTLI
#include <brotli/decode.h>
#endif
#if KEEL_ZSTD
#include <zstd.h>
#endif

namespace keel::http::internal {

// Decodes `coded`; returns the content, which may have at most 4 MiB, or "broken".
inline std::string decode(std::string_view coding, std::string_view coded) {
  std::string content(4 * 1024 * 1024, '\0');
  if (coding == "gzip") {
    z_stream stream = {};
    if (::inflateInit2(&stream, 15 + 16) != Z_OK) return "broken";
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(coded.data()));
    stream.avail_in = static_cast<uInt>(coded.size());
    stream.next_out = reinterpret_cast<Bytef*>(content.data());
    stream.avail_out = static_cast<uInt>(content.size());
    const bool whole = ::inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0;
    const std::size_t size = content.size() - stream.avail_out;
    ::inflateEnd(&stream);
    return whole ? content.substr(0, size) : "broken";
  }
#if KEEL_BROTLI
  if (coding == "br") {
    std::size_t size = content.size();
    if (::BrotliDecoderDecompress(coded.size(), reinterpret_cast<const std::uint8_t*>(coded.data()), &size,
                                  reinterpret_cast<std::uint8_t*>(content.data())) != BROTLI_DECODER_RESULT_SUCCESS) {
      return "broken";
    }
    return content.substr(0, size);
  }
#endif
#if KEEL_ZSTD
  if (coding == "zstd") {
    const std::size_t size = ::ZSTD_decompress(content.data(), content.size(), coded.data(), coded.size());
    if (::ZSTD_isError(size) != 0) return "broken";
    return content.substr(0, size);
  }
#endif
  return "broken";
}

// Decodes `coded`, whose end may be missing: returns as much of the content as a reader could decode, or "broken". The
// content may have at most 4 MiB.
inline std::string decode_begun(std::string_view coding, std::string_view coded) {
  std::string content(4 * 1024 * 1024, '\0');
  if (coding == "gzip") {
    z_stream stream = {};
    if (::inflateInit2(&stream, 15 + 16) != Z_OK) return "broken";
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(coded.data()));
    stream.avail_in = static_cast<uInt>(coded.size());
    stream.next_out = reinterpret_cast<Bytef*>(content.data());
    stream.avail_out = static_cast<uInt>(content.size());
    const int code = ::inflate(&stream, Z_SYNC_FLUSH);
    const std::size_t size = content.size() - stream.avail_out;
    ::inflateEnd(&stream);
    return code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR ? content.substr(0, size) : "broken";
  }
#if KEEL_BROTLI
  if (coding == "br") {
    BrotliDecoderState* const decoder = ::BrotliDecoderCreateInstance(nullptr, nullptr, nullptr);
    std::size_t left_in = coded.size();
    std::size_t left_out = content.size();
    const auto* in = reinterpret_cast<const std::uint8_t*>(coded.data());
    auto* out = reinterpret_cast<std::uint8_t*>(content.data());
    const auto code = ::BrotliDecoderDecompressStream(decoder, &left_in, &in, &left_out, &out, nullptr);
    ::BrotliDecoderDestroyInstance(decoder);
    return code != BROTLI_DECODER_RESULT_ERROR ? content.substr(0, content.size() - left_out) : "broken";
  }
#endif
#if KEEL_ZSTD
  if (coding == "zstd") {
    ZSTD_DStream* const decoder = ::ZSTD_createDStream();
    ZSTD_inBuffer in{coded.data(), coded.size(), 0};
    ZSTD_outBuffer out{content.data(), content.size(), 0};
    const std::size_t code = ::ZSTD_decompressStream(decoder, &out, &in);
    ::ZSTD_freeDStream(decoder);
    return ::ZSTD_isError(code) == 0 ? content.substr(0, out.pos) : "broken";
  }
#endif
  return "broken";
}

}  // namespace keel::http::internal
