// Every order in which the executor of a submitted job, its handle and who listens can come.
#include "keel/exec/internal/submission_inl.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <new>
#include <string>

#include "keel/base/testing/interleaving.h"

namespace keel::internal::submission_test {
namespace {

using interleaving::require;
using interleaving::Watched;
using Model = BasicSubmission<interleaving::Atomics>;

// Its atomics, in the order in which they are made.
constexpr int listener = 0, owners = 2;

struct Nowhere final : Executor {
  void post(Job&) noexcept override {}
};

// One job, submitted; the steps of its executor and those of its handle, which a thread each takes.
struct Submitting {
  struct Parts {
    int begun = 0, dropped = 0, freed = 0, told = 0;
  };
  struct Made : Model {
    Made(Executor& executor, Parts& p) : Model(executor, &take_step), parts(p) {}
    static Instant take_step(Model& model, Step step) noexcept {
      auto& self = static_cast<Made&>(model);
      if (step == Step::Due) return {};
      if (step == Step::Free) {
        ++self.parts.freed;
        self.~Made();
        return {};
      }
      if (step == Step::Run) {
        ++self.parts.begun;
        self.value = 1;
        self.set_value();
      }
      self.callable = 0;
      ++self.parts.dropped;
      return {};
    }
    Watched<int> value = 0;
    Watched<int> callable = 1;
    Parts& parts;
  };
  struct Telling : Model::Listener {
    Telling(Made& m, Parts& p)
        : Listener{[](Listener& to) noexcept {
            auto& self = static_cast<Telling&>(to);
            self.is_told = 1;
            ++self.parts.told;
            require(self.made.is_done(), "who listens is told of a job that is done");
          }},
          made(m),
          parts(p) {}
    Made& made;
    Parts& parts;
    Watched<int> is_told = 0;
  };

  Submitting() { Executor::set_current(&executor); }  // Both threads are its own: one of them may help.
  ~Submitting() { Executor::set_current(nullptr); }

  Nowhere executor;
  Parts parts;
  alignas(Made) std::byte memory[sizeof(Made)];
  Made& made = *::new (memory) Made(executor, parts);
  std::unique_ptr<Telling> telling;
  bool was_cancelled = false, was_told = false;

  void run() { made.run(made); }

  // What a handle does when it ends.
  void cancel_and_release() {
    was_cancelled = made.cancel();
    if (was_cancelled) require(made.is_done() && !made.has_value(), "what was cancelled is done and has no value");
    release();
  }
  void take_and_release() {
    if (made.is_done()) take();
    release();
  }
  void help_and_release() {
    if (made.help()) take();
    release();
  }
  // As a thread does that waits, and gives up immediately.
  void listen_forget_and_release() {
    telling = std::make_unique<Telling>(made, parts);
    if (!made.listen(*telling)) {
      take();
    } else if (made.forget(*telling)) {
      telling.reset();  // That nobody touches it any more is what forget() says.
    } else {
      was_told = true;
    }
    release();
  }
  // As a task does that waits, and is stopped.
  void listen_cancel_and_release() {
    telling = std::make_unique<Telling>(made, parts);
    was_told = made.listen(*telling);
    if (!was_told) take();
    was_cancelled = made.cancel();
    release();
  }
  // As the handle of one that the executor does not take.
  void refuse_and_release() {
    made.refuse(executor_refused());
    require(made.is_done() && !made.has_value(), "what was refused is done and has no value");
    was_cancelled = true;
    release();
  }

  void check() {
    require(parts.begun == (was_cancelled ? 0 : 1), "a job runs or is cancelled");
    require(parts.dropped == 1, "the callable is destroyed once");
    require(parts.freed == 1, "a job is freed once");
    require(parts.told == (was_told ? 1 : 0), "who listens is told once, unless forget() or listen() said otherwise");
  }

 private:
  void take() { require(made.has_value() && made.value == 1, "a job that has run has its value"); }
  void release() { made.release(); }
};

using HandleStep = void (Submitting::*)();
interleaving::Verdict explored(HandleStep handle, const interleaving::Options& options = {.stale_loads = 2}) {
  return interleaving::explore<Submitting>({&Submitting::run, handle}, options);
}

constexpr HandleStep handle_steps[] = {&Submitting::cancel_and_release, &Submitting::take_and_release,
                                       &Submitting::help_and_release, &Submitting::listen_forget_and_release,
                                       &Submitting::listen_cancel_and_release};

TEST(Submission, runs_or_is_cancelled_is_told_and_freed_once_in_every_order_of_operations) {
  for (const HandleStep handle : handle_steps) {
    const auto verdict = explored(handle);
    EXPECT_EQ(verdict.failure, "");
    EXPECT_GT(verdict.schedules, 3u);
  }
}

TEST(Submission, that_is_refused_is_done_and_freed_once) {
  EXPECT_EQ(interleaving::explore<Submitting>({&Submitting::refuse_and_release}).failure, "");
}

TEST(Submission, needs_the_orders_of_its_operations) {
  const auto fails = [](HandleStep handle, const interleaving::Options& options) {
    return !explored(handle, options).failure.empty();
  };
  // The end of the job is what hands over its value; the last owner frees what the other one has used.
  EXPECT_TRUE(fails(&Submitting::take_and_release, {.weak_loads_of = listener}));
  EXPECT_TRUE(fails(&Submitting::take_and_release, {.weak_stores_of = listener}));
  EXPECT_TRUE(fails(&Submitting::listen_cancel_and_release, {.weak_loads_of = listener}));
  EXPECT_TRUE(fails(&Submitting::listen_cancel_and_release, {.weak_stores_of = listener}));
  EXPECT_TRUE(fails(&Submitting::take_and_release, {.weak_loads_of = owners}));
  EXPECT_TRUE(fails(&Submitting::take_and_release, {.weak_stores_of = owners}));
}

}  // namespace
}  // namespace keel::internal::submission_test
