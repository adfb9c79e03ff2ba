// keel/app/crash.h — writes a report when the process crashes.
//
//   KEEL_TRY(auto crash, app::CrashHandler::install({.name = "accounts"}));
//   …
//   crash->set_logs(logs.get());
//
// On SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS and SIGABRT (KEEL_CHECK, std::terminate) the crashed thread, on its signal
// stack, first stops all other threads except the log's writer, and waits at most 200 ms until they have stopped.
// A thread that kept running could respond to a request from damaged memory, or change the state that the report
// describes. Then the crashed thread writes to standard error and to `file`
//   1. the signal, the address and what is known about it, thread, build id, time, the last words (base/check.h: the
//      sentence of a failed KEEL_CHECK, or the uncaught exception), and the request that the thread was handling;
//   2. its stack as addresses in modules; this step reads nothing of the process but that stack;
//   3. the last requests of each worker (observe/flight_recorder.h);
//   4. the stack with names, which a copy of the process writes within some seconds: a damaged heap can stop only the
//      copy.
// Between steps 2 and 3, for at most a second, the log's writer writes the waiting lines and a line "crashed" with the
// key facts (signal, place, build, thread, worker, request, trace, reason). After the report, the signal has its
// default effect, so the exit status is the same as without this handler. A core dump does not contain the memory of
// the process, unless CrashOptions::core_memory is set. If a step of the report crashes, the report continues with the
// next step. Other threads that crash during the report wait. Text from an exception or a request is escaped
// (base/printable.h).
//
// A signal that already has a handler keeps that handler: AddressSanitizer and ThreadSanitizer report faults
// themselves; in a program built with one of them, only SIGABRT is handled here.
//
// Errors:   install() fails when the file cannot be opened.
// Threads:  make and destroy the CrashHandler on the main thread; it handles the crashes of every thread that
//           Host::system() starts. Only one CrashHandler may exist at a time.
// Lifetime: the log writer must outlive the CrashHandler, or set_logs(nullptr) must be called before the log writer is
//           destroyed.
// Cost:     none before a crash.

#pragma once

#include <signal.h>

#include <memory>
#include <string>

#include "keel/base/result.h"
#include "keel/base/signal_stack.h"

namespace keel::telemetry {
class LogWriter;
}

namespace keel::app {

struct CrashOptions {
  std::string name = {};  // The name of the service, as the report states it.
  // Reports are also appended to this file, which install() opens with telemetry::open_append_file(), mode 0640. Empty:
  // the report goes only to standard error.
  std::string file = {};
  // Whether a core dump contains the memory of the process, and with it the data of clients and of the application.
  // When this option is false, a core dump has only the registers of each thread; the stacks are in the report. The
  // option takes effect through /proc/self/coredump_filter, which child processes inherit; if that file does not exist,
  // the option has no effect.
  bool core_memory = false;
};

// Installs handlers for the signals that end a process when it crashes; only one CrashHandler may exist at a time. The
// destructor removes the handlers.
class CrashHandler {
 public:
  static Result<std::unique_ptr<CrashHandler>> install(const CrashOptions& options);
  ~CrashHandler();  // Restores the previous handlers.
  CrashHandler(const CrashHandler&) = delete;
  CrashHandler& operator=(const CrashHandler&) = delete;

  // Sets the log that is flushed in a crash; null: no log is flushed.
  void set_logs(telemetry::LogWriter* logs) noexcept;

  // The GNU build id of this program, in hexadecimal digits; empty when the program was linked without a build id.
  static std::string build_id();

 private:
  CrashHandler() = default;
  SignalStack stack_;  // The main thread's.
};

}  // namespace keel::app
