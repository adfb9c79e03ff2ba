// keel/db/testing/own_loop.h — for tests: an event loop on the calling thread, which runs tasks.

#pragma once

#include <utility>

#include "keel/base/host.h"
#include "keel/io/loop.h"
#include "keel/task/start.h"

namespace keel::db::testing {

// A real event loop (epoll), which is the current loop of the thread that made it.
class OwnLoop {
 public:
  // Runs the task until it has ended.
  template <class T>
  Result<T> run(Task<T>&& task) {
    Start<T> start;
    if (!start.begin(std::move(task), [](StartCore&) noexcept { io::Loop::current()->stop(); })) loop.run();
    return start.take();
  }
  // Runs one iteration, which waits for at most 100 ms.
  void turn() { loop.turn(Host::system().now() + 100_ms); }

  io::Loop loop{io::make_engine(io::EngineKind::Epoll).value(), Host::system()};

 private:
  io::Loop::Entered entered_{loop};
};

}  // namespace keel::db::testing
