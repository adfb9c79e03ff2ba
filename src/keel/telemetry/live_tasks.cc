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

constexpr Duration answer_patience = 1_s;

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

struct LiveTasks::Answer {
  int worker = 0;
  bool has_come = false;
  Instant at;  // The time on the worker's clock.
  std::size_t live = 0;
  std::vector<LiveTask> tasks;  // Only the first tasks are shown, up to a limit.
};

// Outlives a call that no longer waits for its result; until the result has arrived, the worker is not asked again.
struct LiveTasks::Question : Job {
  explicit Question(io::Loop& on)
      : Job([](Job& job) noexcept {
          auto& self = static_cast<Question&>(job);
          self.answer();
          self.is_answered.store(true, std::memory_order_release);
        }),
        loop(on) {}

  void answer() noexcept {
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
  std::atomic<bool> is_answered = true;
};

LiveTasks::LiveTasks(io::Runtime& runtime, bool have_threads) : have_threads_(have_threads) {
  for (int i = 0; i < runtime.workers(); ++i) questions_.push_back(std::make_unique<Question>(runtime.loop(i)));
}

LiveTasks::~LiveTasks() = default;

std::vector<LiveTasks::Answer> LiveTasks::ask() {
  const std::lock_guard lock(mutex_);
  for (const auto& question : questions_) {
    if (!question->is_answered.exchange(false, std::memory_order_acquire)) continue;
    if (have_threads_) {
      question->loop.post(*question);
    } else {
      question->run(*question);
    }
  }
  std::vector<Answer> answers(questions_.size());
  const Instant until = Host::system().now() + answer_patience;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Question& question = *questions_[i];
    Answer& answer = answers[i];
    answer.worker = question.loop.index();
    while (!(answer.has_come = question.is_answered.load(std::memory_order_acquire)) && Host::system().now() < until) {
      Host::system().sleep(100_us);
    }
    if (!answer.has_come) continue;
    answer.at = question.at;
    answer.live = question.live;
    answer.tasks = std::exchange(question.tasks, {});
  }
  return answers;
}

void LiveTasks::write_text(Buffer& out) {
  for (const Answer& answer : ask()) {
    if (!answer.has_come) {
      out.append(fmt::format("worker {}: does not answer\n", answer.worker));
      continue;
    }
    out.append(fmt::format("worker {}: {} task{}\n", answer.worker, answer.live, answer.live == 1 ? "" : "s"));
    for (const LiveTask& task : answer.tasks) out.append("  " + to_string(task, answer.at) + "\n");
    if (answer.live > answer.tasks.size()) {
      out.append(fmt::format("  … and {} more\n", answer.live - answer.tasks.size()));
    }
  }
}

void LiveTasks::write_json(Buffer& out) {
  json::Writer json(out);
  json.begin_object().key("workers").begin_array();
  for (const Answer& answer : ask()) {
    json.begin_object().key("worker").integer(answer.worker).key("answers").boolean(answer.has_come);
    if (answer.has_come) {
      json.key("live").unsigned_integer(answer.live).key("tasks").begin_array();
      for (const LiveTask& task : answer.tasks) {
        json.begin_object().key("depth").integer(task.depth).key("task").string(task.chain());
        json.key("state").string(name_of(task.state));
        if (task.state == LiveTask::State::Waits) {
          json.key("operation").string(task.waits_for());
          json.key("seconds").number((answer.at - task.since).count_seconds());
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
  for (const Answer& answer : ask()) {
    log.info("tasks", log::field("worker", answer.worker), log::field("answers", answer.has_come),
             log::field("live", answer.live));
    const std::size_t shown = std::min(answer.tasks.size(), logged_max);
    for (std::size_t i = 0; i < shown; ++i) {
      log.info("task", log::field("worker", answer.worker), log::field("task", to_string(answer.tasks[i], answer.at)));
    }
  }
}

}  // namespace keel::telemetry
