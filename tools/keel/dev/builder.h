// dev/builder.h — runs the commands of a build one after the other in the background, and logs their output.
//
//   Builder builder("/src/shop", "build/dev/keel-dev.log");
//   KEEL_TRY_VOID(builder.start({{"build", {"cmake", "--build", "build/dev"}}}, now));
//   …SIGCHLD…
//   if (const auto built = builder.ended(now)) …
//
// Errors:  start() fails if the log cannot be written, or if a command cannot be started. `Built` says how a build
//          ended.
// Threads: one.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dev/build_log.h"
#include "dev/child.h"
#include "keel/base/result.h"
#include "keel/base/time.h"

namespace keel::dev {

struct BuildStep {
  std::string name;  // "configure"
  std::vector<std::string> words;
  std::vector<std::string> environment = {};
};

struct Built {
  bool is_good = false;
  std::string step;  // The name of the last step that ran.
  int code = 0;
  Duration took;
  BuildError error = {};  // The first error of the build, if the build failed.
};

class Builder {
 public:
  // Commands run in `folder`; the path of the log is relative to `folder`.
  Builder(std::string folder, std::string log) : folder_(std::move(folder)), log_(std::move(log)) {}
  ~Builder() { cancel(); }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Ends a running build, waits for its end, empties the log, and starts the first step.
  Result<> start(std::vector<BuildStep> steps, Instant now);
  bool is_running() const noexcept { return child_.has_value(); }
  // When the build has ended, returns its result once. While the build runs, starts the next step when the current step
  // has ended, and returns nothing.
  Result<std::optional<Built>> ended(Instant now);
  void cancel();
  const std::string& log() const noexcept { return log_; }

 private:
  Result<> start_step();
  Built built(int code, Instant now);

  const std::string folder_;
  const std::string log_;
  std::vector<BuildStep> steps_;
  std::size_t step_ = 0;
  std::optional<Child> child_;
  Instant began_;
};

}  // namespace keel::dev
