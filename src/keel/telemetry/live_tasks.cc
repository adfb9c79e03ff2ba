#include "keel/telemetry/live_tasks.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string>
#include <utility>

#include "keel/base/host.h"
#include "keel/data/json.h"
#include "keel/observe/log.h"

namespace keel::telemetry {
namespace {

constexpr Duration response_timeout = 1_s;

std::string_view name_of(LiveTask::State state) {
  switch (state) {
    case LiveTask::State::Waits:
      return "waits";
    case LiveTask::State::Runs:
      return "runs";
    default:
      return "away";
  }
}

}  // namespace

struct LiveTasks::Report {
  int worker = 0;
  bool has_come = false;
  Instant at;  // The time of the report, on the worker's clock.
  std::size_t live = 0;
  std::vector<LiveTask> tasks;  // Only the first tasks are shown, up to a limit.
};

// A Question may outlive the call that made it, if that call stops waiting. Until the result has arrived, the worker
// gets no further Question.
struct LiveTasks::Question : Job {
  explicit Question(io::Loop& on)
      : Job([](Job& job) noexcept {
          auto& self = static_cast<Question&>(job);
          self.report();
          self.is_reported.store(true, std::memory_order_release);
        }),
        loop(on) {}

  void report() noexcept {
    tasks.clear();
    live = 0;
    at = loop.now();
    each_live_task(loop, [this](const LiveTask& task) {
      if (++live <= shown_max) tasks.push_back(task);
    });
  }

  io::Loop& loop;
  std::vector<LiveTask> tasks;
  std::size_t live = 0;
  Instant at;
  std::atomic<bool> is_reported = true;
};

LiveTasks::LiveTasks(io::Runtime& runtime, bool have_threads) : have_threads_(have_threads) {
  for (int i = 0; i < runtime.workers(); ++i) questions_.push_back(std::make_unique<Question>(runtime.loop(i)));
}

LiveTasks::~LiveTasks() = default;

std::vector<LiveTasks::Report> LiveTasks::ask() {
  const std::lock_guard lock(mutex_);
  for (const auto& question : questions_) {
    if (!question->is_reported.exchange(false, std::memory_order_acquire)) continue;
    if (have_threads_) {
      question->loop.post(*question);
    } else {
      question->run(*question);
    }
  }
  std::vector<Report> reports(questions_.size());
  const Instant until = Host::system().now() + response_timeout;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    Question& question = *questions_[i];
    Report& report = reports[i];
    report.worker = question.loop.index();
    while (!(report.has_come = question.is_reported.load(std::memory_order_acquire)) && Host::system().now() < until) {
      Host::system().sleep(100_us);
    }
    if (!report.has_come) continue;
    report.at = question.at;
    report.live = question.live;
    report.tasks = std::exchange(question.tasks, {});
  }
  return reports;
}

void LiveTasks::write_text(Buffer& out) {
  for (const Report& report : ask()) {
    if (!report.has_come) {
      out.append(fmt::format("worker {}: does not respond\n", report.worker));
      continue;
    }
    out.append(fmt::format("worker {}: {} task{}\n", report.worker, report.live, report.live == 1 ? "" : "s"));
    for (const LiveTask& task : report.tasks) out.append("  " + to_string(task, report.at) + "\n");
    if (report.live > report.tasks.size()) {
      out.append(fmt::format("  … and {} more\n", report.live - report.tasks.size()));
    }
  }
}

void LiveTasks::write_json(Buffer& out) {
  json::Writer json(out);
  json.begin_object().key("workers").begin_array();
  for (const Report& report : ask()) {
    json.begin_object().key("worker").integer(report.worker).key("responds").boolean(report.has_come);
    if (report.has_come) {
      json.key("live").unsigned_integer(report.live).key("tasks").begin_array();
      for (const LiveTask& task : report.tasks) {
        json.begin_object().key("depth").integer(task.depth).key("task").string(task.chain());
        json.key("state").string(name_of(task.state));
        if (task.state == LiveTask::State::Waits) {
          json.key("operation").string(task.waits_for());
          json.key("seconds").number((report.at - task.since).count_seconds());
        }
        json.key("stopped").boolean(task.is_stopped).end_object();
      }
      json.end_array();
    }
    json.end_object();
  }
  json.end_array().end_object();
}

void LiveTasks::log() {
  static const log::Logger log("app.tasks");
  for (const Report& report : ask()) {
    log.info("tasks", log::field("worker", report.worker), log::field("responds", report.has_come),
             log::field("live", report.live));
    const std::size_t shown = std::min(report.tasks.size(), logged_max);
    for (std::size_t i = 0; i < shown; ++i) {
      log.info("task", log::field("worker", report.worker), log::field("task", to_string(report.tasks[i], report.at)));
    }
  }
}

}  // namespace keel::telemetry
