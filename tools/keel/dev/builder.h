// dev/builder.h — runs the commands of a build one after the other in the background, and logs their output.
//
//   Builder builder("/src/shop", "build/dev/keel-dev.log");
//   KEEL_TRY_VOID(builder.start({{"build", {"cmake", "--build", "build/dev"}}}, now));
//   …SIGCHLD…
//   if (const auto built = builder.ended(now)) …
//
// Errors:  start(): the log cannot be written, or a command cannot be started. Built tells how a build ended.
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
  std::string step;  // The last step that ran.
  int code = 0;
  Duration took;
  BuildError error = {};  // The first error of a build that has failed.
};

class Builder {
 public:
  // Commands run in `folder`; the log is relative to it.
  Builder(std::string folder, std::string log) : folder_(std::move(folder)), log_(std::move(log)) {}
  ~Builder() { cancel(); }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Ends a running build, waits for its end, and begins with an empty log.
  Result<> start(std::vector<BuildStep> steps, Instant now);
  bool is_running() const noexcept { return child_.has_value(); }
  // Returns how the build has ended, once; else continues with the next step.
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
