// keel/app/watchdog.h — the supervisor's watchdog is fed as long as every worker's loop turns.
//
//   app::Watchdog watchdog(notify, runtime);
//   while (running) {
//     wait(watchdog.interval());
//     KEEL_TRY_VOID(watchdog.tick());
//   }
//
// A job goes to each loop, and the next beat is sent when all of them have run. One worker that is stuck, or the
// thread that calls tick(), stops the beats, and the supervisor ends and restarts the process when its time is over.
//
// Errors:   those of Notify::beat().
// Threads:  one.  Lifetime: from after the workers' start until after their end; notify outlives it.
// Cost:     one wake-up of each worker in a third of the supervisor's time.

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

  // How often to call tick(): a third of what the supervisor wants; forever when it does not count.
  Duration interval() const noexcept;
  // Sends a beat when one is due and every loop has turned since the last. May be called more often.
  Result<> tick();

 private:
  struct Turn;
  Notify& notify_;
  std::vector<std::unique_ptr<Turn>> turns_;
  Instant next_;
};

}  // namespace keel::app
