// The operations on files of one simulated engine, carried out on a Disk.

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

  // Takes place after a delay; what begins at the same time does so in any order.
  void submit(io::FileOp& op);
  // It has begun, and is waited for, or it has not.
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
  std::map<std::uint64_t, io::FileOp*> pending_;  // Those that have not begun.
};

}  // namespace keel::sim
