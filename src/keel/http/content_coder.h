// keel/http/content_coder.h — gzip, br and zstd, with state that is used again from body to body.
//
// gzip is always there; br and zstd where the libraries were found when Keel was built.
//
// Threads: one at a time; a worker has one.
// Cost:    what the codings ask for, kept from body to body: up to about 0.3 MB for gzip, 1 MB for br and zstd each.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

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

  // "zstd", "br", "gzip": those that this build has.
  static std::span<const std::string_view> codings() noexcept;

  // Appends `content` in that coding to `out`. False, and `out` as it was: it would not be smaller, or there was no
  // memory for the coder. `coding` is one of codings().
  bool encode(std::string_view coding, std::string_view content, Buffer& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::http
