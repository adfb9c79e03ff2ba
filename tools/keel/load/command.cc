#include "load/command.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "keel/net/tls/context.h"
#include "keel/net/tls/layer.h"
#include "load/options.h"
#include "load/report.h"
#include "load/run.h"

namespace keel::load {
namespace {

constexpr int succeeded = 0;
constexpr int had_errors = 1;
constexpr int was_wrong = 2;
constexpr int was_interrupted = 130;

int refuse(const Error& error, int code) {
  std::fprintf(stderr, "keel load: %s\n", error.describe().c_str());
  return code;
}

class Command {
 public:
  explicit Command(Options&& options) : options_(std::move(options)) {}

  int run() {
    std::optional<Csv> csv;
    if (!options_.csv.empty()) {
      auto read = Csv::read(options_.csv);
      if (!read) return refuse(read.error(), was_wrong);
      csv = *std::move(read);
    }
    const auto mix = Mix::compile(options_.requests, options_.url.authority, csv ? &*csv : nullptr);
    if (!mix) return refuse(mix.error(), was_wrong);
    const auto address = reach(options_.url, options_.plan.timeout);
    if (!address) return refuse(address.error(), had_errors);
    options_.plan.address = *address;
    if (options_.url.is_secure) {
      const tls::ClientOptions secure = {.trust = {.file = options_.roots},
                                         .protocols = {"http/1.1"},
                                         .sessions_max = static_cast<std::size_t>(options_.sessions)};
      auto context = tls::ClientContext::make(secure);
      if (!context) return refuse(context.error(), was_wrong);
      options_.plan.layers = &layers_.emplace(*std::move(context));
      options_.plan.host = options_.url.host;
    }

    // The file is opened before the run, because otherwise a file that cannot be created would be noticed only at the
    // end. An existing file keeps its text until there is a report to write.
    if (!options_.json.empty() && !is_quiet()) {
      json_.reset(std::fopen(options_.json.c_str(), "ae"));
      if (json_ == nullptr) {
        return refuse(Error::from_errno("open", errno).because("--json " + options_.json), was_wrong);
      }
    }
    Interrupts interrupts;
    const auto ran = options_.steps.empty() ? once(*mix, interrupts) : steps(*mix, interrupts);
    if (!ran) {
      // The report covers the measurements that were complete before the error.
      const bool has_run = !report_.parts.empty();
      if (has_run && !options_.json.empty() && !write_json()) return was_wrong;
      return refuse(ran.error(), has_run || ran.error().code() == Code::Unavailable ? had_errors : was_wrong);
    }
    if (!options_.json.empty() && !write_json()) return was_wrong;
    if (report_.parts.back().measurement.is_interrupted) return was_interrupted;
    return has_errors(report_) ? had_errors : succeeded;
  }

 private:
  bool is_quiet() const noexcept { return options_.json == "-"; }
  void say(const std::string& text) const {
    if (is_quiet()) return;
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  // Returns false if the run was interrupted.
  Result<bool> add(const Mix& mix, const Plan& plan, std::optional<double> step, Interrupts& interrupts) {
    const Setting setting{options_.engine, options_.cores, options_.server_pid, options_.server_cores,
                          options_.busy_poll};
    const bool is_live = isatty(STDERR_FILENO) != 0;
    const auto show = [&](const View& view) {
      if (!is_live) return;
      std::fputs(live_line(view).c_str(), stderr);
      std::fflush(stderr);
    };
    say(heading(options_, plan));
    KEEL_TRY(Measurement measurement, measure(mix, plan, setting, interrupts, show));
    if (is_live) std::fputs("\r\x1b[K", stderr);
    say(text(measurement));
    const bool goes_on = !measurement.is_interrupted;
    report_.parts.push_back({step, std::move(measurement)});
    return goes_on;
  }

  Result<> once(const Mix& mix, Interrupts& interrupts) {
    KEEL_TRY_VOID(add(mix, options_.plan, std::nullopt, interrupts));
    return {};
  }

  Result<> steps(const Mix& mix, Interrupts& interrupts) {
    double capacity = options_.capacity;
    if (capacity == 0) {
      Plan closed = options_.plan;
      closed.open.reset();
      KEEL_TRY(const bool goes_on, add(mix, closed, std::nullopt, interrupts));
      if (!goes_on) return {};
      capacity = report_.parts.back().measurement.achieved;
      if (capacity <= 0)
        return fail(Code::Unavailable, "the capacity could not be measured: no request got a response");
    }
    report_.capacity = capacity;
    for (const double step : options_.steps) {
      Plan plan = options_.plan;
      plan.open->rate = {.from = step * capacity, .to = step * capacity};
      KEEL_TRY(const bool goes_on, add(mix, plan, step, interrupts));
      if (!goes_on) break;
    }
    say(table(report_));
    return {};
  }

  bool write_json() const {
    const std::string written = json(options_, report_);
    std::FILE* const file = is_quiet() ? stdout : json_.get();
    // ftruncate() gives EINVAL for a pipe or a device, which need not be emptied.
    const bool is_empty = is_quiet() || ::ftruncate(::fileno(file), 0) == 0 || errno == EINVAL;
    const bool is_written = is_empty && std::fwrite(written.data(), 1, written.size(), file) == written.size();
    if (std::fflush(file) == 0 && is_written) return true;
    std::fprintf(stderr, "keel load: --json %s: %s\n", options_.json.c_str(), std::strerror(errno));
    return false;
  }

  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  Options options_;
  std::optional<tls::Layers> layers_;
  std::unique_ptr<std::FILE, Close> json_;  // The file of --json; null if that is standard output.
  Report report_;
};

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument != "--help" && argument != "-h") continue;
    std::fputs(std::string(help()).c_str(), stdout);
    return succeeded;
  }
  auto options = parse_options(arguments);
  if (!options) return refuse(options.error(), was_wrong);
  return Command(*std::move(options)).run();
}

}  // namespace keel::load
