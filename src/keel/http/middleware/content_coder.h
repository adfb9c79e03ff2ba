// keel/http/middleware/content_coder.h — gzip, br and zstd coders whose state is reused from body to body.
//
// gzip is always available; br and zstd if their libraries were found when Keel was built.
//
//   coder.encode("gzip", content, out);                                       // what is there as a whole
//   coder.begin("gzip") && coder.write(piece, out) && … && coder.end(out);    // what comes in pieces
//
// Threads: one at a time; a worker has one.
// Cost:    the memory of the encoders, which is kept for the next body: up to about 0.3 MB for gzip, 1 MB each for br
//          and zstd; for contents in pieces of at most 64 KiB, up to 2 MB in total.

#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"

namespace keel::http {

// How hard each coding tries; more costs time and memory.
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

  // The codings among "zstd", "br" and "gzip" that this build has.
  static std::span<const std::string_view> codings() noexcept;

  // Appends `content`, encoded with `coding`, to `out`. Returns false and leaves `out` unchanged if the result would
  // not be smaller, or if there is no memory for the coder. `coding` is one of codings().
  bool encode(std::string_view coding, std::string_view content, Buffer& out);

  // To encode a content in pieces, call begin(), write() for each piece, and end(). Each write() flushes: its output
  // decodes to the whole piece. Many small pieces compress worse than few large ones. begin() drops an unfinished
  // content. Each returns false if there is no memory for the coder, and the content ends there.
  bool begin(std::string_view coding);
  bool write(std::string_view piece, Buffer& out);
  bool end(Buffer& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Coders for contents in pieces, a bounded number at a time.
//
// Threads:  lend() may be called, and a lease may end, on any thread.
// Lifetime: outlives the coders that it lends.
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

  // Null: the maximum number is in use.
  Lease lend();

 private:
  void take_back(ContentCoder* coder) noexcept;
  const CoderLevels levels_;
  const std::size_t lent_max_;
  std::mutex mutex_;
  std::size_t lent_ = 0;
  std::vector<std::unique_ptr<ContentCoder>> idle_;  // Only a few are kept, because each keeps its memory.
};

}  // namespace keel::http
