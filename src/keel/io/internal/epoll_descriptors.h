// The state of each descriptor in the epoll engine, indexed by its number.
//
// Threads: the engine's.
// Cost:    a bounds check and an index; 24 bytes for every descriptor number up to the largest.

#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "keel/io/op.h"

namespace keel::io {

class EpollDescriptors {
 public:
  struct Descriptor {
    Op* in = nullptr;              // The pending Receive or Accept.
    Op* out = nullptr;             // The pending Send, SendFile or Connect.
    std::uint32_t generation = 0;  // Distinguishes this descriptor from earlier descriptors with the same number.
    std::uint8_t family = 0;       // 0: not known yet.
    bool registered : 1 = false;
    bool out_wanted : 1 = false;
    bool readable : 1 = false;  // There may be unread bytes.
    // The end of the stream or an urgent byte was reported, so there may be more bytes even after a short read.
    bool reads_on : 1 = false;
    bool listens : 1 = false;
    bool shared : 1 = false;  // See Accept::shared.
  };

  // Creates the entry if there is none. The reference is valid until another entry is created.
  Descriptor& at(int fd) {
    const auto index = static_cast<std::size_t>(fd);
    if (index >= all_.size()) [[unlikely]]
      make_room(index);
    return all_[index];
  }
  // The entry must exist.
  Descriptor& known(int fd) noexcept { return all_[static_cast<std::size_t>(fd)]; }
  // False: there is no memory for the entry. Before you use an accepted descriptor, call has_room_for() for it.
  bool has_room_for(int fd) noexcept {
    try {
      at(fd);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

 private:
  [[gnu::noinline]] void make_room(std::size_t index) {
    // Grows by a quarter: the table may be large, and doubling it would leave most of the new part unused.
    if (index >= all_.capacity()) all_.reserve(index + index / 4 + 16);
    all_.resize(index + 1);
  }

  std::vector<Descriptor> all_;
};

}  // namespace keel::io
