// keel/app/watchdog.h — notifies the supervisor's watchdog as long as every worker's loop runs.
//
//   app::Watchdog watchdog(notify, runtime);
//   while (running) {
//     wait(watchdog.interval());
//     KEEL_TRY_VOID(watchdog.tick());
//   }
//
// A job is posted to each loop, and the next beat is sent when all of them have run. If one worker, or the thread that
// calls tick(), is stuck, the beats stop, and the supervisor restarts the process when its time limit is over.
//
// Errors:   those of Notify::beat().
// Threads:  one.
// Lifetime: construct it after the workers have started, and destroy it after they have ended; `notify` must outlive
//           it.
// Cost:     one wake-up of each worker in each third of the supervisor's time limit.

#pragma once

#include <memory>
#include <vector>

#include "keel/app/notify.h"
#include "keel/io/runtime.h"

namespace keel::app {

class Watchdog {
 public:
  Watchdog(Notify& notify, io::Runtime& runtime);
  ~Watchdog();

  // How often to call tick(): a third of the supervisor's interval; forever if there is no watchdog.
  Duration interval() const noexcept;
  // Sends a beat when one is due and every loop has run since the last one. tick() may be called more often than beats
  // are due.
  Result<> tick();

 private:
  struct Turn;
  Notify& notify_;
  std::vector<std::unique_ptr<Turn>> turns_;
  Instant next_;
};

}  // namespace keel::app
