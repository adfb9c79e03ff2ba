// Writes several values into a Buffer one after the other, and updates the size of the Buffer only once.

#pragma once

#include <cstddef>

#include "keel/base/buffer.h"

namespace keel::binary::internal {

// A position in a Buffer at which values are written one after the other; there is always space for the next head. The
// size of the Buffer is updated only by finish() and reserve().
class Run {
 public:
  explicit Run(Buffer& out, std::size_t bytes)
      : out_(out), at_(out.reserve(bytes)), end_(out.data() + out.capacity()) {}
  void finish() noexcept { out_.resize(static_cast<std::size_t>(at_ - out_.data())); }
  // Call this function to continue after other code has written to the Buffer.
  void go_on(std::size_t bytes) {
    at_ = out_.reserve(bytes);
    end_ = out_.data() + out_.capacity();
  }
  void reserve(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) >= bytes) [[likely]]
      return;
    finish();
    go_on(bytes);
  }
  char*& at() noexcept { return at_; }

 private:
  Buffer& out_;
  char* at_;
  char* end_;
};

}  // namespace keel::binary::internal
