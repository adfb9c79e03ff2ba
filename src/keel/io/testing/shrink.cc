#include "keel/io/testing/shrink.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace keel::sim {
namespace {

class Shrinking {
 public:
  Shrinking(const SimOptions& failing, FunctionRef<Trial(const SimOptions&)> run, int runs_max)
      : least_(failing), run_(run), runs_max_(runs_max) {}

  Shrunk result() {
    if (!fails(least_)) return {least_, runs_};
    leave_out_faults();
    SimOptions regular = least_;
    regular.latency_max = regular.latency_min;
    fails(regular);
    regular = least_;
    regular.instant_send = 1;
    fails(regular);
    // After the timing has been made regular, more faults may be unnecessary than before.
    leave_out_faults();
    return {least_, runs_};
  }

 private:
  // Runs with `options`. If the run fails, it becomes the smallest failing run so far, with exactly the faults that
  // occurred in it.
  bool fails(const SimOptions& options) {
    if (runs_ == runs_max_) return false;
    ++runs_;
    Trial trial = run_(options);
    if (!trial.failed) return false;
    struck_ = std::move(trial.struck);
    least_ = options;
    least_.only = struck_;
    return true;
  }

  // Leaves out smaller and smaller parts of the list of faults.
  void leave_out_faults() {
    std::size_t part = struck_.size();
    while (part > 0) {
      bool less = false;
      for (std::size_t begin = 0; begin < struck_.size();) {
        SimOptions tried = least_;
        std::vector<Fault>& left = tried.only.emplace();
        for (std::size_t i = 0; i < struck_.size(); ++i) {
          if (i < begin || i >= begin + part) left.push_back(struck_[i]);
        }
        if (fails(tried)) {
          less = true;
        } else {
          begin += part;
        }
      }
      part = less && part == 1 ? 1 : part / 2;
    }
  }

  SimOptions least_;
  std::vector<Fault> struck_;  // The faults that occurred in the run with the options `least_`.
  FunctionRef<Trial(const SimOptions&)> run_;
  const int runs_max_;
  int runs_ = 0;
};

}  // namespace

Shrunk shrink(const SimOptions& failing, FunctionRef<Trial(const SimOptions&)> run, int runs_max) {
  return Shrinking(failing, run, runs_max).result();
}

}  // namespace keel::sim
