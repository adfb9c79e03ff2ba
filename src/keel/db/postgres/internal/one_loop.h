// keel/db/postgres/internal/one_loop.h — a loop that runs tasks one after the other, for a program that has no other
// loops yet.
//
// Threads: only the thread that constructed the OneLoop; this thread must not run another loop.

#pragma once

#include <memory>
#include <utility>

#include "keel/base/host.h"
#include "keel/base/result.h"
#include "keel/io/loop.h"
#include "keel/task/start.h"
#include "keel/task/task.h"

namespace keel::db::postgres::internal {

class OneLoop {
 public:
  static Result<std::unique_ptr<OneLoop>> make() {
    KEEL_TRY(std::unique_ptr<io::Engine> engine, io::make_engine(io::EngineKind::Auto));
    return std::unique_ptr<OneLoop>(new OneLoop(std::move(engine)));
  }
  ~OneLoop() { loop_.finish(); }

  template <class T>
  Result<T> run(Task<T>&& task) {
    Start<T> start;
    if (!start.begin(std::move(task), [](StartCore&) noexcept { io::Loop::current()->stop(); })) loop_.run();
    return start.take();
  }
  template <class F>
  void turn_until(F done) {
    while (!done()) loop_.turn(Host::system().now() + 10_ms);
  }
  io::Loop& loop() noexcept { return loop_; }

 private:
  explicit OneLoop(std::unique_ptr<io::Engine> engine) : loop_(std::move(engine), Host::system()), entered_(loop_) {}
  io::Loop loop_;
  io::Loop::Entered entered_;
};

}  // namespace keel::db::postgres::internal
