#include "keel/telemetry/log_writer.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/observe/log.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/telemetry/append_file.h"

namespace keel::telemetry {
namespace {

constexpr int patience_ms = 1000;  // The first pause after a pipe or terminal has accepted no bytes.

bool is_same_file(int a, int b) {
  struct stat first{};
  struct stat second{};
  return b >= 0 && fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// Whether the file ends with an incomplete line, which a full disk may have left. If the file cannot be read, the
// result is false.
bool ends_within_a_line(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size == 0) return false;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  char last = '\n';
  if (::pread(descriptor, &last, 1, facts.st_size - 1) != 1) last = '\n';
  ::close(descriptor);
  return last != '\n';
}

}  // namespace

// A sink, the lines that wait for it, and the counts of written and lost lines.
class LogWriter::Output {
 public:
  // Allocates the output's memory now, so that a batch and one more line can be formatted when memory is short.
  Output(LogSink sink, std::size_t batch_bytes) : sink_(std::move(sink)), formatter_(sink_.format, sink_.source_level) {
    pending_.reserve(batch_bytes * 2);
  }
  Output(Output&& other) noexcept
      : sink_(std::move(other.sink_)),
        formatter_(other.formatter_),
        pending_(std::move(other.pending_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        is_file_(other.is_file_),
        is_torn_(other.is_torn_) {}
  ~Output() { close(); }

  // Opens the sink; a File sink may be open already. If the path of a File sink now names a different file, the
  // unwritten end of a line is dropped, because the line began in the former file. Returns the number of lost lines.
  Result<std::uint64_t> open() {
    std::uint64_t lost = 0;
    switch (sink_.to) {
      case LogSink::To::Stderr:
        descriptor_ = STDERR_FILENO;
        break;
      case LogSink::To::Stdout:
        descriptor_ = STDOUT_FILENO;
        break;
      case LogSink::To::Function:
        if (!sink_.write) return fail(Code::InvalidArgument, "a log sink to a function needs a function");
        return lost;
      case LogSink::To::File:
        if (sink_.path.empty()) return fail(Code::InvalidArgument, "a log sink to a file needs a path");
        KEEL_TRY(const int opened, open_append_file(sink_.path).because("log file " + sink_.path));
        if (!is_same_file(opened, descriptor_)) lost = begin_file();
        close();
        descriptor_ = opened;
        break;
    }
    struct stat facts{};
    is_file_ = fstat(descriptor_, &facts) == 0 && S_ISREG(facts.st_mode);
    return lost;
  }
  bool is_path() const noexcept { return sink_.to == LogSink::To::File; }

  // Returns the number of lines lost: earlier lines that the sink did not accept, and this line, if there is no memory
  // for it.
  std::uint64_t append(const log::Record& record) {
    if (record.level() < sink_.level || try_append(record)) return 0;
    const std::uint64_t lost = write_out();
    return try_append(record) ? lost : lost + 1;
  }
  std::size_t waiting_bytes() const noexcept { return pending_.size(); }
  std::uint64_t waiting_lines() const {
    const std::string_view all = pending_.view();
    if (all == "\n") return 0;  // Only the end of a line, which an earlier write began.
    return static_cast<std::uint64_t>(std::count(all.begin(), all.end(), '\n'));
  }

  // Writes all waiting lines; lines that the sink does not accept are dropped. Returns the number of lines lost.
  std::uint64_t write_out() {
    if (pending_.empty()) return 0;
    if (sink_.to == LogSink::To::Function) {
      sink_.write(pending_.view());
      pending_.clear();
      return 0;
    }
    const std::size_t done = write_some();
    if (done == pending_.size()) {
      pending_.clear();
      is_torn_ = false;
      if (!is_failing_) return 0;
      is_failing_ = false;
      append_lost();
      return write_out();
    }
    // The rest of a line whose beginning is in the file is kept, so that the next attempt completes it.
    const std::string_view all = pending_.view();
    is_torn_ = done == 0 ? is_torn_ : all[done - 1] != '\n';
    const std::size_t kept_end = is_torn_ ? all.find('\n', done) + 1 : done;
    const auto lost = std::count(all.begin() + static_cast<std::ptrdiff_t>(kept_end), all.end(), '\n');
    pending_.resize(kept_end);
    pending_.consume(done);
    if (!is_failing_) say_failing();
    lost_ += static_cast<std::uint64_t>(lost);
    return static_cast<std::uint64_t>(lost);
  }

 private:
  // False: there is no memory, and nothing is appended.
  bool try_append(const log::Record& record) {
    const std::size_t before = pending_.size();
    try {
      formatter_.append(pending_, record);
      return true;
    } catch (const std::bad_alloc&) {
      pending_.resize(before);
      return false;
    }
  }
  // Call this function before the first line for another file is added, when `pending_` contains at most the unwritten
  // end of one line. Returns the number of lines lost.
  std::uint64_t begin_file() {
    const std::uint64_t lost = waiting_lines();
    lost_ += lost;
    pending_.clear();
    is_torn_ = ends_within_a_line(sink_.path);
    if (is_torn_) pending_.push_back('\n');
    return lost;
  }
  // Returns how many bytes of pending_ the descriptor took.
  std::size_t write_some() {
    std::size_t done = 0;
    while (done < pending_.size()) {
      std::size_t bytes = pending_.size() - done;
      if (!is_file_) {
        // After POLLOUT, a pipe takes at least PIPE_BUF bytes without blocking; more bytes could block.
        bytes = std::min<std::size_t>(bytes, PIPE_BUF);
        pollfd ready{descriptor_, POLLOUT, 0};
        if (::poll(&ready, 1, is_stuck_ ? 0 : patience_ms) <= 0) {
          is_stuck_ = true;
          error_ = EAGAIN;
          return done;
        }
        is_stuck_ = false;
      }
      const ssize_t n = ::write(descriptor_, pending_.data() + done, bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        error_ = n < 0 ? errno : ENOSPC;
        return done;
      }
      done += static_cast<std::size_t>(n);
    }
    return done;
  }
  // Reports the failure on standard error, where a person may see the line.
  void say_failing() {
    is_failing_ = true;
    lost_ = 0;
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (sink_.to == LogSink::To::Stderr || ::poll(&ready, 1, 0) <= 0) return;
    std::fprintf(stderr, "log %s: %s: lines are lost and counted until it can be written again\n",
                 is_path() ? sink_.path.c_str() : "to standard output", std::strerror(error_));
  }
  // The first line after lost lines says how many were lost. The line about lost lines uses a separate ring, because
  // the other rings may be full, and only this thread empties them.
  void append_lost() {
    if constexpr (log::is_recorded) {
      log::internal::RingBody own({.bytes = 4096});
      log::internal::RingBody* const before = std::exchange(log::internal::current_ring, &own);
      log::Logger("log").warn("log lines were lost because they could not be written",
                              log::field("lines", std::exchange(lost_, 0)),
                              log::field("reason", std::strerror(error_)));
      log::internal::current_ring = before;
      own.drain([this](const log::Record& record) { append(record); });
    }
  }
  void close() noexcept {
    if (is_path() && descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

  LogSink sink_;
  LineFormatter formatter_;
  Buffer pending_;
  int descriptor_ = -1;
  bool is_file_ = false;
  bool is_torn_ = false;  // pending_ begins in the middle of a line.
  bool is_stuck_ = false;
  bool is_failing_ = false;  // True: a write has failed since the last complete write.
  int error_ = 0;            // The errno of the failed write.
  std::uint64_t lost_ = 0;   // Lines lost since the sink began to fail.
};

struct LogWriter::State {
  explicit State(LogWriterOptions from)
      : options(std::move(from)), reader(options.mode == LogWriterOptions::Mode::Background) {}

  // Writes all records made before the call to the sinks. The caller holds `mutex`.
  std::size_t turn() {
    const std::size_t records = reader.drain([this](const log::Record& record) {
      for (Output& output : outputs) {
        lose(output.append(record));
        if (output.waiting_bytes() >= options.batch_bytes) lose(output.write_out());
      }
    });
    for (Output& output : outputs) lose(output.write_out());
    records_taken.fetch_add(records, std::memory_order_relaxed);
    return records;
  }
  void lose(std::uint64_t lines) noexcept {
    if (lines != 0) lines_lost.fetch_add(lines, std::memory_order_relaxed);
  }
  void run() {
    const Duration idle_max = options.flush_interval * 10;
    Duration interval = options.flush_interval;
    thread_id.store(gettid(), std::memory_order_release);
    while (!stopping.load(std::memory_order_acquire)) {
      reader.wait(interval);
      std::lock_guard lock(mutex);
      const auto record = last_record.load(std::memory_order_acquire);
      interval = turn() != 0 ? options.flush_interval : std::min(interval * 2, idle_max);
      if (record == nullptr) continue;
      record();
      turn();
      last_record.store(nullptr, std::memory_order_release);
    }
  }

  LogWriterOptions options;
  std::mutex mutex;  // Guards `outputs` and the calls of reader.drain().
  std::vector<Output> outputs;
  log::Reader reader;
  std::atomic<std::uint64_t> records_taken = 0;
  std::atomic<std::uint64_t> lines_lost = 0;
  std::atomic<bool> stopping = false;
  std::atomic<pid_t> thread_id = 0;  // The writer's thread.
  // The function that the writer's thread calls for flush_from_signal(); null: none.
  std::atomic<void (*)() noexcept> last_record = nullptr;
  std::unique_ptr<Thread> thread;
  std::vector<metrics::GaugeFunction> exposed;
};

LogWriter::LogWriter(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

Result<std::vector<LogWriter::Output>> LogWriter::open_all(std::vector<LogSink> sinks, std::size_t batch_bytes) {
  if (sinks.empty()) sinks.emplace_back();
  std::vector<Output> outputs;
  for (LogSink& sink : sinks) {
    outputs.emplace_back(std::move(sink), batch_bytes);
    KEEL_TRY_VOID(outputs.back().open());
  }
  return outputs;
}

Result<std::unique_ptr<LogWriter>> LogWriter::make(LogWriterOptions options) {
  options.batch_bytes = std::max<std::size_t>(options.batch_bytes, 4096);
  options.flush_interval = std::max(options.flush_interval, Duration::milliseconds(1));
  KEEL_TRY(std::vector<Output> outputs, open_all(std::move(options.sinks), options.batch_bytes));
  const auto mode = options.mode;
  std::unique_ptr<LogWriter> writer(new LogWriter(std::make_unique<State>(std::move(options))));
  State* const state = writer->state_.get();
  state->outputs = std::move(outputs);
  if (mode == LogWriterOptions::Mode::Background) {
    state->thread = Host::current().start_thread("keel-log", [state] { state->run(); });
  } else if (mode == LogWriterOptions::Mode::Direct) {
    log::internal::set_commit_hook({[](void* context) noexcept {
                                      auto* const self = static_cast<State*>(context);
                                      std::lock_guard lock(self->mutex);
                                      self->turn();
                                    },
                                    state});
    writer->flush();  // Writes the records that were made before the hook was set.
  }
  return writer;
}

LogWriter::~LogWriter() {
  state_->exposed.clear();
  if (state_->options.mode == LogWriterOptions::Mode::Direct) log::internal::set_commit_hook({});
  state_->stopping.store(true, std::memory_order_release);
  state_->reader.wake();
  state_->thread.reset();
  flush();
}

void LogWriter::flush() {
  std::lock_guard lock(state_->mutex);
  state_->turn();
}

Result<> LogWriter::set_sinks(std::vector<LogSink> sinks) {
  KEEL_TRY(std::vector<Output> outputs, open_all(std::move(sinks), state_->options.batch_bytes));
  std::lock_guard lock(state_->mutex);
  state_->turn();
  for (const Output& output : state_->outputs) state_->lose(output.waiting_lines());
  state_->outputs = std::move(outputs);
  return {};
}

Result<> LogWriter::reopen() {
  std::lock_guard lock(state_->mutex);
  state_->turn();
  Result<> result;
  for (Output& output : state_->outputs) {
    if (!output.is_path()) continue;
    Result<std::uint64_t> lost = output.open();
    if (lost) {
      state_->lose(*lost);
    } else {
      result = std::move(lost).error();
    }
  }
  return result;
}

bool LogWriter::flush_from_signal(Duration patience, void (*record)() noexcept) noexcept {
  if (state_->options.mode != LogWriterOptions::Mode::Background) return true;
  if (state_->stopping.load(std::memory_order_acquire) || is_writing_thread()) return false;
  state_->last_record.store(record, std::memory_order_release);
  const Instant until = Host::system().now() + patience;
  while (state_->last_record.load(std::memory_order_acquire) != nullptr) {
    if (Host::system().now() >= until) return false;
    state_->reader.wake();
    Host::system().sleep(1_ms);
  }
  return true;
}

pid_t LogWriter::writing_thread() const noexcept { return state_->thread_id.load(std::memory_order_acquire); }

void LogWriter::flush_in_copy() { state_->turn(); }

LogWriter::Counts LogWriter::counts() const noexcept {
  return {state_->records_taken.load(std::memory_order_relaxed), state_->lines_lost.load(std::memory_order_relaxed)};
}

void LogWriter::expose(metrics::Registry& registry) {
  KEEL_CHECK(state_->exposed.empty(), "a log writer can be exposed only once");
  state_->exposed.push_back(registry.counter("log_records_total", "Log records read from the threads' buffers", {},
                                             [this] { return static_cast<double>(counts().records); }));
  for (std::size_t i = 0; i < log::level_count; ++i) {
    const auto level = static_cast<Level>(i);
    state_->exposed.push_back(registry.counter(
        "log_records_dropped_total", "Log records lost because a thread's buffer was full",
        {{"level", log::to_string(level)}}, [level] { return static_cast<double>(log::dropped(level)); }));
  }
  state_->exposed.push_back(registry.counter("log_lines_lost_total",
                                             "Log lines that could not be written to their sink", {},
                                             [this] { return static_cast<double>(counts().lines_lost); }));
}

}  // namespace keel::telemetry
