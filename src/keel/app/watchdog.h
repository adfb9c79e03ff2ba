// keel/app/watchdog.h — notifies the supervisor's watchdog as long as the event loop of every worker runs.
//
//   app::Watchdog watchdog(notify, runtime);
//   while (running) {
//     wait(watchdog.interval());
//     KEEL_TRY_VOID(watchdog.tick());
//   }
//
// A job is posted to each loop, and the next beat is sent when all of these jobs have run. If a worker, or the thread
// that calls tick(), is stuck, no more beats are sent, and the supervisor restarts the process when the supervisor's
// time limit is exceeded.
//
// Errors:   those of Notify::beat().
// Threads:  one.
// Lifetime: construct the Watchdog after the workers have started, and destroy it after the workers have ended;
//           `notify` must outlive the Watchdog.
// Cost:     each worker is woken once in each third of the supervisor's time limit.

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

  // The time between two calls of tick(): a third of the supervisor's interval; forever() if there is no watchdog.
  Duration interval() const noexcept;
  // Sends a beat when one is due and every loop has run since the last beat. Calling tick() more often than beats are
  // due does no harm.
  Result<> tick();

 private:
  struct Turn;
  Notify& notify_;
  std::vector<std::unique_ptr<Turn>> turns_;
  Instant next_;
};

}  // namespace keel::app
