// keel/telemetry/log_writer.h — formats log records as lines and writes them to the console, a file, or a function.
//
//   KEEL_TRY(std::unique_ptr<telemetry::LogWriter> writer, telemetry::LogWriter::make({.sinks = std::move(sinks)}));
//   …                                       // log::Logger anywhere, before and after
//   writer->flush();                        // everything recorded before this is handed to the system
//
// Make the LogWriter before the workers start; there can be only one in a process. Lines that were recorded earlier are
// written too. Lines of one thread are in order; lines of different threads may be some milliseconds out of order, and
// each line has its time.
//
// Errors:   a sink that cannot write (full disk, broken or stuck pipe) never stops the program: its lines are lost and
//           counted, and the writer tries again with later lines. A line that was half written is completed first, in
//           the file in which it began. A file that ends within a line when it is opened gets a line feed first. When
//           lines begin to be lost, a line on standard error says so; when lines are no longer lost, a line of the log
//           says how many were lost. Lost lines free their space in the rings, so a full disk makes no thread wait, not
//           even with log::Overflow::Block. A file that cannot be opened is an error of make(), set_sinks() and
//           reopen(); so is a symbolic link of another user (append_file.h).
// Threads:  flush(), set_sinks(), reopen(), expose() and counts() on any thread. SIGPIPE must be ignored or blocked.
// Lifetime: recording threads may outlive the LogWriter; its destructor writes the remaining lines and stops the
//           writing.
// Memory:   two batches for each sink, allocated at the start, so that lines which fit into the batches are not lost
//           when memory runs out.
// Cost:     in the mode Background, the LogWriter costs recording threads nothing. The writer writes in batches. The
//           writer checks the rings every flush_interval while there are records, and ten times less often while there
//           are no records.
// Limits:   no rotation; instead, rename the file and call reopen().

#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/base/time.h"
#include "keel/observe/metric.h"
#include "keel/telemetry/log_line.h"

namespace keel::telemetry {

// A destination of log lines: the console, a file or a function, with a level and a form.
struct LogSink {
  enum class To : std::uint8_t { Stderr, Stdout, File, Function };
  To to = To::Stderr;
  // The path of a File sink. Lines are appended to the file, which is created with mode 0640 (append_file.h).
  std::string path;
  // The function of a Function sink: it gets whole lines, on the thread that writes, and must not record.
  Function<void(std::string_view)> write;
  Level level = Level::Trace;        // Lines below this level are not written to this sink.
  Level source_level = Level::Warn;  // Lines of this level and above name the place in the source.
  LineFormat format = LineFormat::Json;
};

// Sinks and buffer of a LogWriter.
struct LogWriterOptions {
  enum class Mode : std::uint8_t {
    Background,  // A separate thread writes the lines.
    Direct,      // For tests and debugging: the recording thread writes the line under a lock, before it continues.
    Manual,      // For simulations: only flush() writes the lines.
  };
  std::vector<LogSink> sinks;  // Empty: JSON to standard error.
  Mode mode = Mode::Background;
  // The longest time that a line may wait. A shorter time causes more wake-ups.
  Duration flush_interval = Duration::milliseconds(10);
  // Lines are written when this many bytes are ready; the value is at least 4 KiB.
  std::size_t batch_bytes = 32 * 1024;
};

class LogWriter {
 public:
  // InvalidArgument for a File without a path or a Function without a function; the system's error if a file cannot be
  // opened.
  static Result<std::unique_ptr<LogWriter>> make(LogWriterOptions options);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;

  // Returns when every line that was recorded before the call has been passed to the sinks or counted as lost.
  void flush();
  // Lines that are recorded from now on go to `sinks`; lines that were recorded before go to the former sinks. An empty
  // list stands for JSON to standard error. Errors are those of make(); after an error, the former sinks remain in use.
  Result<> set_sinks(std::vector<LogSink> sinks);
  // Opens every File again by its path (after a rename). If a file cannot be opened, its old descriptor is kept.
  Result<> reopen();

  // Used by a crash handler; async-signal-safe. Makes the writer's thread write everything recorded so far, call
  // `record`, and write the lines that `record` records. Waits at most `patience`. Returns false if the writing was not
  // complete after `patience`, for example because the caller is the writer's thread. Without a separate thread no
  // lines wait, and `record` is not called.
  bool flush_from_signal(Duration patience, void (*record)() noexcept) noexcept;
  bool is_writing_thread() const noexcept { return writing_thread() == gettid(); }
  pid_t writing_thread() const noexcept;  // The gettid() of the writer's thread; 0: there is none.
  // Writes the waiting lines without locks; call it only in a copy of this process (fork) in which the writer's thread
  // is the only thread.
  void flush_in_copy();

  struct Counts {
    std::uint64_t records = 0;     // Records read from the rings.
    std::uint64_t lines_lost = 0;  // Lines that could not be written to a sink.
  };
  Counts counts() const noexcept;
  // Adds the metrics log_records_total, log_records_dropped_total{level} (by full rings) and log_lines_lost_total (by
  // sinks). The registry outlives the LogWriter. Call it once.
  void expose(metrics::Registry& registry);

 private:
  class Output;
  struct State;
  static Result<std::vector<Output>> open_all(std::vector<LogSink> sinks, std::size_t batch_bytes);
  explicit LogWriter(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace keel::telemetry
