// The file operations of one simulated engine, executed on a Disk.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "keel/io/testing/disk.h"
#include "keel/io/testing/internal/network.h"

namespace keel::sim {

class Files {
 public:
  Files(World& world, Network& network, Disk& disk, Completer& by, std::size_t worker)
      : world_(world), network_(network), disk_(disk), by_(by), worker_(worker) {}

  // The operation takes place after a delay; operations that are pending at the same time may take place in any order.
  void submit(io::FileOp& op);
  // Cancels the operation if it has not begun; an operation that has begun completes.
  void cancel(io::FileOp& op);

 private:
  void complete(io::FileOp& op, int result);
  Socket* file_of(int fd);
  int carry_out(io::FileOp& op);
  int open(io::Open& op);

  World& world_;
  Network& network_;
  Disk& disk_;
  Completer& by_;
  const std::size_t worker_;
  std::map<std::uint64_t, io::FileOp*> pending_;  // Operations that have not begun.
};

}  // namespace keel::sim
