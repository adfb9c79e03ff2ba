// keel/http/middleware/content_coder.h — compresses with gzip, br and zstd; a coder is reused for many bodies.
//
// gzip is always available; br and zstd are available if their libraries were found when Keel was built.
//
//   coder.encode("gzip", content, out);                                       // what is there as a whole
//   coder.begin("gzip") && coder.write(piece, out) && … && coder.end(out);    // what comes in pieces
//
// Threads: one thread at a time; each worker has its own coder.
// Cost:    the encoders keep their memory for the next body. The encoders take up to about 0.3 MB for gzip, and 1 MB
//          each for br and zstd; for contents in pieces of at most 64 KiB, they take up to 2 MB in total.

#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"

namespace keel::http {

// The compression levels. A higher level compresses better, but costs more time and memory.
struct CoderLevels {
  int gzip = 5;    // 1 to 9.
  int brotli = 4;  // 0 to 11.
  int zstd = 3;    // 1 to 19.
};

class ContentCoder {
 public:
  explicit ContentCoder(const CoderLevels& levels = {});
  ContentCoder(ContentCoder&&) noexcept;
  ~ContentCoder();

  // The codings among "zstd", "br" and "gzip" that this build supports.
  static std::span<const std::string_view> codings() noexcept;

  // Appends `content`, encoded with `coding`, to `out`. Returns false and leaves `out` unchanged if the compressed
  // content would not be smaller, or if there is no memory for the coder. `coding` must be one of codings().
  bool encode(std::string_view coding, std::string_view content, Buffer& out);

  // To encode a content in pieces, call begin(), write() for each piece, and end(). Each write() flushes, so that a
  // decoder can decode the whole piece from the output so far. Many small pieces compress less well than a few large
  // pieces. begin() discards a content for which end() was not called. Each of the three functions returns false if
  // there is no memory for the coder; the content then cannot be continued.
  bool begin(std::string_view coding);
  bool write(std::string_view piece, Buffer& out);
  bool end(Buffer& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Lends coders for contents that are encoded in pieces; the number of lent coders is bounded.
//
// Threads:  lend() may be called, and a lease may end, on any thread.
// Lifetime: the pool outlives the coders that it lends.
class ContentCoders {
 public:
  struct GiveBack {
    ContentCoders* to = nullptr;
    void operator()(ContentCoder* coder) const noexcept { to->take_back(coder); }
  };
  using Lease = std::unique_ptr<ContentCoder, GiveBack>;

  ContentCoders(const CoderLevels& levels, std::size_t lent_max);
  ContentCoders(const ContentCoders&) = delete;
  ContentCoders& operator=(const ContentCoders&) = delete;

  // Returns null if the maximum number of coders is lent.
  Lease lend();

 private:
  void take_back(ContentCoder* coder) noexcept;
  const CoderLevels levels_;
  const std::size_t lent_max_;
  std::mutex mutex_;
  std::size_t lent_ = 0;
  // Only a few idle coders are kept, because each of them keeps its memory.
  std::vector<std::unique_ptr<ContentCoder>> idle_;
};

}  // namespace keel::http
