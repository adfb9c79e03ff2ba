#include "keel/telemetry/log_writer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>

#include "keel/base/host.h"
#include "keel/observe/log.h"

namespace keel::telemetry::log_writer_test {
namespace {

using log::field;
using Mode = LogWriterOptions::Mode;

#define SKIP_WITHOUT_LOGS() \
  if (!log::is_recorded) GTEST_SKIP() << "compiled out"

LogWriterOptions options(Mode mode, LogSink sink) {
  LogWriterOptions made;
  made.mode = mode;
  made.sinks.push_back(std::move(sink));
  return made;
}

LogSink to_string_sink(std::string& out) {
  LogSink sink;
  sink.to = LogSink::To::Function;
  sink.format = LineFormat::Text;
  sink.source_level = Level::Fatal;
  sink.write = [&out](std::string_view lines) { out.append(lines); };
  return sink;
}

class TemporaryFile {
 public:
  TemporaryFile() : path_(::testing::TempDir() + "keel_log_XXXXXX") { ::close(mkstemp(path_.data())); }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }
  LogSink sink() const {
    LogSink made;
    made.to = LogSink::To::File;
    made.path = path_;
    return made;
  }
  static std::string content(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  std::string content() const { return content(path_); }

 private:
  std::string path_;
};

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(LogWriter, flush_waits_for_everything_recorded_before) {
  SKIP_WITHOUT_LOGS();
  TemporaryFile file;
  auto writer = LogWriter::make(options(Mode::Background, file.sink())).value();
  log::Logger log("writer.flush");
  for (int round = 0; round < 5; ++round) {
    std::thread worker([] {
      log::Ring ring;
      log::Logger mine("writer.flush");
      for (int i = 0; i < 100; ++i) mine.info("worker", field("i", i));
    });
    worker.join();
    log.info("main");
    writer->flush();
    EXPECT_EQ(count(file.content(), "\n"), static_cast<std::size_t>(101 * (round + 1)));
  }
  EXPECT_EQ(writer->counts().records, 505u);
  EXPECT_EQ(writer->counts().lines_lost, 0u);
}

TEST(LogWriter, writes_without_being_asked_and_at_its_end) {
  SKIP_WITHOUT_LOGS();
  TemporaryFile file;
  {
    auto writer = LogWriter::make(options(Mode::Background, file.sink())).value();
    log::Logger log("writer.alone");
    log.info("first");
    for (int i = 0; i < 1000 && file.content().empty(); ++i) ::usleep(5000);
    EXPECT_EQ(count(file.content(), "\"first\""), 1u);
    log.info("last");
  }
  EXPECT_EQ(count(file.content(), "\"last\""), 1u);
}

TEST(LogWriter, writes_what_was_recorded_before_it) {
  SKIP_WITHOUT_LOGS();
  std::string out;
  log::Logger("writer.early").info("early");
  auto writer = LogWriter::make(options(Mode::Manual, to_string_sink(out))).value();
  EXPECT_TRUE(out.empty());
  writer->flush();
  EXPECT_EQ(count(out, "writer.early: early\n"), 1u);
}

TEST(LogWriter, direct_lines_are_written_before_the_call_returns) {
  SKIP_WITHOUT_LOGS();
  std::string out;
  auto writer = LogWriter::make(options(Mode::Direct, to_string_sink(out))).value();
  std::thread([&out] {
    log::Ring ring;
    log::Logger("writer.direct").info("from a worker");
    EXPECT_EQ(count(out, "from a worker\n"), 1u);
  }).join();
  log::Logger("writer.direct").info("from here");
  EXPECT_EQ(count(out, "from here\n"), 1u);
}

// Workers and the writer start side by side.
TEST(LogWriter, direct_lines_of_a_ring_that_is_older_than_the_writer_are_written_before_the_call_returns) {
  SKIP_WITHOUT_LOGS();
  std::string out;
  log::Ring ring;
  log::Logger log("writer.direct");
  log.info("before");
  auto writer = LogWriter::make(options(Mode::Direct, to_string_sink(out))).value();
  EXPECT_EQ(count(out, "before\n"), 1u);
  log.info("after");
  EXPECT_EQ(count(out, "after\n"), 1u);
}

TEST(LogWriter, direct_lines_of_many_workers_are_all_written) {
  SKIP_WITHOUT_LOGS();
  std::string out;
  auto writer = LogWriter::make(options(Mode::Direct, to_string_sink(out))).value();
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([] {
      log::Ring ring({.bytes = 4096});
      for (int line = 0; line < 500; ++line) log::Logger("writer.direct").info("line");
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(count(out, ": line\n"), 2000u);
}

TEST(LogWriter, each_sink_has_its_level_and_format) {
  SKIP_WITHOUT_LOGS();
  std::string all;
  std::string warnings;
  LogWriterOptions two = options(Mode::Manual, to_string_sink(all));
  two.sinks.push_back(to_string_sink(warnings));
  two.sinks[1].level = Level::Warn;
  two.sinks[1].format = LineFormat::Json;
  auto writer = LogWriter::make(std::move(two)).value();
  log::Logger log("writer.two");
  log.info("fine");
  log.warn("not fine");
  writer->flush();

  EXPECT_EQ(count(all, "\n"), 2u);
  EXPECT_EQ(count(warnings, "\n"), 1u);
  EXPECT_EQ(count(warnings, "\"message\":\"not fine\""), 1u);
}

TEST(LogWriter, batches_its_writes) {
  SKIP_WITHOUT_LOGS();
  std::size_t calls = 0;
  std::size_t bytes = 0;
  LogSink sink;
  sink.to = LogSink::To::Function;
  sink.write = [&](std::string_view lines) {
    ++calls;
    bytes += lines.size();
    EXPECT_EQ(lines.back(), '\n');
  };
  auto writer = LogWriter::make(options(Mode::Manual, std::move(sink))).value();
  log::Logger log("writer.batch");
  for (int i = 0; i < 2000; ++i) log.info("line", field("i", i));
  writer->flush();
  EXPECT_EQ(calls, bytes / (32 * 1024) + 1);
}

TEST(LogWriter, a_slow_sink_holds_up_neither_new_workers_nor_the_counts) {
  SKIP_WITHOUT_LOGS();
  int workers = 0;
  LogSink sink;
  sink.to = LogSink::To::Function;
  sink.write = [&workers](std::string_view) {
    if (workers == 3) return;
    // As if all this happened while the disk takes its time.
    std::uint64_t dropped = ~std::uint64_t{0};
    std::thread([&dropped] {
      log::Ring ring;
      log::Logger("writer.slow").info("new worker");
      dropped = log::dropped();
    }).join();
    EXPECT_EQ(dropped, log::dropped());
    ++workers;
  };
  auto writer = LogWriter::make(options(Mode::Manual, std::move(sink))).value();
  const std::string text(1000, 'x');
  for (int i = 0; i < 200; ++i) log::Logger("writer.slow").info("line", field("text", text));
  writer->flush();  // Writes several times while it drains.
  writer->flush();
  EXPECT_EQ(workers, 3);
  EXPECT_EQ(writer->counts().records, 203u);
}

TEST(LogWriter, reopens_its_file_after_a_rename) {
  SKIP_WITHOUT_LOGS();
  TemporaryFile file;
  const std::string old = file.path() + ".1";
  auto writer = LogWriter::make(options(Mode::Background, file.sink())).value();
  log::Logger log("writer.reopen");
  log.info("before");
  ASSERT_EQ(::rename(file.path().c_str(), old.c_str()), 0);
  log.info("still before");
  ASSERT_TRUE(writer->reopen());
  log.info("after");
  writer->flush();

  EXPECT_EQ(count(TemporaryFile::content(old), "\n"), 2u);
  EXPECT_EQ(count(file.content(), "\"after\""), 1u);
  ::unlink(old.c_str());
}

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

TEST(LogWriter, keeps_one_descriptor_however_often_it_reopens_its_file) {
  SKIP_WITHOUT_LOGS();
  TemporaryFile file;
  auto writer = LogWriter::make(options(Mode::Background, file.sink())).value();
  const std::ptrdiff_t before = open_descriptors();

  for (int i = 0; i < 20; ++i) ASSERT_TRUE(writer->reopen());

  EXPECT_EQ(open_descriptors(), before);
}

TEST(LogWriter, goes_on_with_other_sinks) {
  SKIP_WITHOUT_LOGS();
  TemporaryFile first;
  TemporaryFile second;
  auto writer = LogWriter::make(options(Mode::Background, first.sink())).value();
  log::Logger log("writer.sinks");
  log.info("before");
  std::vector<LogSink> sinks;
  sinks.push_back(second.sink());
  sinks.back().level = Level::Warn;
  ASSERT_TRUE(writer->set_sinks(std::move(sinks)));
  log.info("after");
  log.warn("after");
  writer->flush();

  EXPECT_EQ(count(first.content(), "\n"), 1u);
  EXPECT_EQ(count(first.content(), "\"before\""), 1u);
  EXPECT_EQ(count(second.content(), "\n"), 1u);
  EXPECT_EQ(count(second.content(), "\"level\":\"warn\""), 1u);
}

TEST(LogWriter, keeps_its_sinks_when_one_of_the_new_ones_does_not_open) {
  SKIP_WITHOUT_LOGS();
  TemporaryFile first;
  TemporaryFile second;
  auto writer = LogWriter::make(options(Mode::Background, first.sink())).value();
  log::Logger log("writer.sinks");
  std::vector<LogSink> sinks;
  sinks.push_back(second.sink());
  sinks.push_back(first.sink());
  sinks.back().path = "/nonexistent/directory/log";

  const auto changed = writer->set_sinks(std::move(sinks));

  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code(), Code::NotFound);
  log.info("after");
  writer->flush();
  EXPECT_EQ(count(first.content(), "\"after\""), 1u);
  EXPECT_EQ(second.content(), "");
}

TEST(LogWriter, refuses_what_it_cannot_open) {
  LogSink sink;
  sink.to = LogSink::To::File;
  sink.path = "/nonexistent/directory/log";
  auto missing = LogWriter::make(options(Mode::Manual, std::move(sink)));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::NotFound);
  EXPECT_NE(missing.error().describe().find("/nonexistent/directory/log"), std::string::npos);
  LogSink nameless;
  nameless.to = LogSink::To::File;
  EXPECT_EQ(LogWriter::make(options(Mode::Manual, std::move(nameless))).error().code(), Code::InvalidArgument);
  LogSink hollow;
  hollow.to = LogSink::To::Function;
  EXPECT_EQ(LogWriter::make(options(Mode::Manual, std::move(hollow))).error().code(), Code::InvalidArgument);
}

TEST(LogWriter, a_full_disk_loses_lines_and_counts_them) {
  SKIP_WITHOUT_LOGS();
  LogSink full;
  full.to = LogSink::To::File;
  full.path = "/dev/full";
  auto writer = LogWriter::make(options(Mode::Background, std::move(full))).value();
  log::Logger log("writer.full");
  for (int i = 0; i < 10; ++i) log.info("lost");
  writer->flush();
  EXPECT_EQ(writer->counts().lines_lost, 10u);
  EXPECT_EQ(writer->counts().records, 10u);
}

TEST(LogWriter, nobody_waits_for_a_full_disk_with_rings_that_block_neither) {
  SKIP_WITHOUT_LOGS();
  log::set_ring_options({.bytes = 4096, .overflow = log::Overflow::Block});
  LogSink full;
  full.to = LogSink::To::File;
  full.path = "/dev/full";
  const std::uint64_t dropped = log::dropped();
  ::testing::internal::CaptureStderr();
  {
    auto writer = LogWriter::make(options(Mode::Background, std::move(full))).value();
    std::thread([] {
      log::Ring ring;
      log::Logger log("writer.full");
      for (int i = 0; i < 5000; ++i) log.info("lost", field("i", i));
    }).join();
    writer->flush();
    EXPECT_EQ(writer->counts().lines_lost, 5000u);
  }
  log::set_ring_options({});
  EXPECT_EQ(log::dropped(), dropped);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "log /dev/full: No space left on device: lines are lost and counted until it can be written again\n");
}

// No file may grow beyond so many bytes meanwhile.
class FullDisk {
 public:
  explicit FullDisk(std::size_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit tight = before_;
    tight.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &tight);
  }
  ~FullDisk() { end(); }
  void end() const { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST(LogWriter, says_on_standard_error_that_a_disk_is_full_and_in_the_log_what_was_lost) {
  SKIP_WITHOUT_LOGS();
  TemporaryFile file;
  auto writer = LogWriter::make(options(Mode::Manual, file.sink())).value();
  log::Logger log("writer.gap");
  log.info("long", field("text", std::string(2000, 'x')));
  writer->flush();
  ::testing::internal::CaptureStderr();  // Into a file as well: it stays shorter than the log.
  for (int gap = 0; gap < 2; ++gap) {
    const FullDisk disk(file.content().size());
    for (int i = 0; i < 3; ++i) {
      log.info("line", field("i", i));
      writer->flush();
    }
    disk.end();
    log.info("again");
    writer->flush();
  }

  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(count(said, "\n"), 2u) << "once for each time it begins: " << said;
  EXPECT_EQ(count(said, "log " + file.path() + ": File too large: lines are lost"), 2u) << said;
  EXPECT_EQ(count(file.content(), R"("message":"log lines were lost because they could not be written","lines":)"), 2u)
      << file.content();
  EXPECT_EQ(count(file.content(), R"("lines":3,"reason":"File too large")"), 2u) << file.content();
  EXPECT_EQ(count(file.content(), "\"again\""), 2u);
}

TEST(LogWriter, recovers_and_completes_the_line_that_was_cut) {
  SKIP_WITHOUT_LOGS();
  TemporaryFile file;
  auto writer = LogWriter::make(options(Mode::Manual, file.sink())).value();
  log::Logger log("writer.cut");
  // The write in between is cut somewhere in a line.
  const FullDisk disk(1000);
  for (int i = 0; i < 20; ++i) log.info("line", field("i", i));
  writer->flush();
  EXPECT_EQ(file.content().size(), 1000u);
  log.info("lost too");
  writer->flush();
  disk.end();
  log.info("again");
  writer->flush();

  std::istringstream lines(file.content());
  std::string line;
  std::string last;
  std::string before_last;
  std::size_t whole = 0;
  while (std::getline(lines, line)) {
    EXPECT_TRUE(line.starts_with("{\"time\":") && line.ends_with("}")) << line;
    ++whole;
    before_last = std::exchange(last, line);
  }
  EXPECT_NE(before_last.find("again"), std::string::npos);
  EXPECT_NE(last.find("lines were lost"), std::string::npos);
  EXPECT_EQ(whole + writer->counts().lines_lost, 22u + 1);
}

// The disk is full, the file is renamed and opened again: the rest of the line that was cut is no line of the new one.
TEST(LogWriter, a_line_that_was_cut_does_not_go_on_in_another_file) {
  SKIP_WITHOUT_LOGS();
  TemporaryFile file;
  const std::string old = file.path() + ".1";
  auto writer = LogWriter::make(options(Mode::Manual, file.sink())).value();
  log::Logger log("writer.cut");
  const FullDisk disk(1000);
  for (int i = 0; i < 20; ++i) log.info("line", field("i", i));
  writer->flush();
  ASSERT_FALSE(file.content().ends_with('\n'));
  ASSERT_EQ(::rename(file.path().c_str(), old.c_str()), 0);
  ASSERT_TRUE(writer->reopen());
  disk.end();
  log.info("again");
  writer->flush();

  const std::string content = file.content();
  EXPECT_TRUE(content.starts_with("{\"time\":")) << content;
  EXPECT_EQ(count(content, "\n"), 2u) << "and one that says how many were lost: " << content;
  EXPECT_EQ(count(TemporaryFile::content(old), "\n") + writer->counts().lines_lost, 20u);
  EXPECT_EQ(count(content, "\"lines\":" + std::to_string(writer->counts().lines_lost) + ","), 1u) << content;
  ::unlink(old.c_str());
}

TEST(LogWriter, what_somebody_else_has_cut_is_ended_before_the_first_line) {
  SKIP_WITHOUT_LOGS();
  TemporaryFile file;
  std::ofstream(file.path()) << "{\"time\":\"2026";
  auto writer = LogWriter::make(options(Mode::Manual, file.sink())).value();
  log::Logger("writer.cut").info("ours");
  writer->flush();
  EXPECT_TRUE(file.content().starts_with("{\"time\":\"2026\n{\"time\":")) << file.content();

  // As by other sinks while the disk is full.
  std::ofstream(file.path(), std::ios::app) << "cut";
  std::vector<LogSink> sinks(1);
  sinks[0] = file.sink();
  ASSERT_TRUE(writer->set_sinks(std::move(sinks)));
  log::Logger("writer.cut").info("ours too");
  writer->flush();
  EXPECT_EQ(count(file.content(), "cut\n{"), 1u) << file.content();
  EXPECT_EQ(count(file.content(), "\n"), 4u);
  EXPECT_EQ(writer->counts().lines_lost, 0u);
}

TEST(LogWriter, a_stuck_pipe_does_not_stop_anything) {
  SKIP_WITHOUT_LOGS();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  LogSink sink;
  sink.to = LogSink::To::File;
  sink.path = "/proc/self/fd/" + std::to_string(ends[1]);
  auto writer = LogWriter::make(options(Mode::Background, std::move(sink))).value();
  log::Logger log("writer.stuck");
  const std::string text(1000, 'x');
  for (int i = 0; i < 200; ++i) log.info("line", field("text", text));
  writer->flush();
  EXPECT_GT(writer->counts().lines_lost, 0u);

  // Read what is there: the next line arrives, and no line was cut.
  std::string got(1 << 20, '\0');
  const ssize_t first = ::read(ends[0], got.data(), got.size());
  ASSERT_GT(first, 0);
  log.info("again");
  writer->flush();
  const ssize_t second = ::read(ends[0], got.data() + first, got.size() - static_cast<std::size_t>(first));
  ASSERT_GT(second, 0);
  got.resize(static_cast<std::size_t>(first + second));
  EXPECT_TRUE(got.ends_with("}\n"));
  EXPECT_EQ(count(got, "\"again\""), 1u);
  EXPECT_EQ(count(got, "\n") + writer->counts().lines_lost, 201u + 1) << "and one that says how many were lost";
  writer.reset();
  ::close(ends[0]);
  ::close(ends[1]);
}

// Runs under the thread sanitizer.
TEST(LogWriter, takes_all_lines_of_many_threads) {
  SKIP_WITHOUT_LOGS();
  log::set_ring_options({.bytes = 8192, .overflow = log::Overflow::Block});
  TemporaryFile file;
  const std::uint64_t dropped = log::dropped();
  {
    auto writer = LogWriter::make(options(Mode::Background, file.sink())).value();
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([t] {
        log::Ring ring;
        log::Logger log("writer.many");
        for (int i = 0; i < 2000; ++i) log.info("line", field("thread", t), field("i", i));
      });
    }
    writer->flush();
    for (auto& thread : threads) thread.join();
  }
  log::set_ring_options({});
  EXPECT_EQ(log::dropped(), dropped);
  EXPECT_EQ(count(file.content(), "\n"), 6000u);
}

TEST(LogWriter, exposes_what_was_lost) {
  metrics::Registry registry;
  std::string out;
  auto writer = LogWriter::make(options(Mode::Manual, to_string_sink(out))).value();
  writer->expose(registry);
  metrics::Reading reading;
  registry.read(reading, [](std::span<const metrics::Family> families) {
    ASSERT_EQ(families.size(), 3u);
    EXPECT_EQ(families[1].name, "log_records_dropped_total");
    ASSERT_EQ(families[1].series.size(), log::level_count);
    EXPECT_EQ(families[1].series[0].function_value, static_cast<double>(log::dropped(Level::Trace)));
  });
  writer.reset();
}

}  // namespace
}  // namespace keel::telemetry::log_writer_test
