#include "openapi/problems.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace keel::openapi {

std::string Problem::describe() const {
  std::string out = file;
  if (line != 0) out += ':' + std::to_string(line) + ':' + std::to_string(column);
  out += severity == Severity::Error ? ": error: " : ": warning: ";
  out += text;
  if (!pointer.empty()) out += " (" + pointer + ')';
  return out;
}

void Problems::add(Problem problem) {
  if (all_.size() < count_max && !known_.insert(problem.describe()).second) return;
  ++(problem.severity == Problem::Severity::Error ? errors_ : warnings_);
  if (std::find(files_.begin(), files_.end(), problem.file) == files_.end()) files_.push_back(problem.file);
  if (all_.size() < count_max) all_.push_back(std::move(problem));
}

void Problems::add_all(const Problems& others) {
  const std::size_t kept_errors =
      static_cast<std::size_t>(std::ranges::count(others.all_, Problem::Severity::Error, &Problem::severity));
  for (const std::string& file : others.files_) {
    if (std::ranges::find(files_, file) == files_.end()) files_.push_back(file);
  }
  for (const Problem& one : others.all_) add(one);
  errors_ += others.errors_ - kept_errors;
  warnings_ += others.warnings_ - (others.all_.size() - kept_errors);
}

void Problems::add(const Node& node, Problem::Severity severity, std::string text) {
  if (all_.size() == count_max) {  // From here on, problems are only counted.
    ++(severity == Problem::Severity::Error ? errors_ : warnings_);
    return;
  }
  add({.file = *node.file,
       .line = node.line,
       .column = node.column,
       .severity = severity,
       .text = std::move(text),
       .pointer = pointer_of(node)});
}

std::vector<Problem> Problems::sorted() const {
  std::vector<Problem> out = all_;
  const auto rank = [&](const Problem& problem) {
    return std::find(files_.begin(), files_.end(), problem.file) - files_.begin();
  };
  const auto key = [&](const Problem& problem) {
    return std::tuple(rank(problem), problem.line, problem.column, std::string_view(problem.pointer), problem.severity,
                      std::string_view(problem.text));
  };
  std::sort(out.begin(), out.end(), [&](const Problem& a, const Problem& b) { return key(a) < key(b); });
  return out;
}

std::string quoted(std::string_view text) { return '\'' + std::string(text) + '\''; }

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t bytes_max = 64;
  std::string_view best;
  if (name.size() > bytes_max || candidates.size() > candidates_max) return best;
  std::size_t least = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t more = std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
    if (candidate.size() > bytes_max || more >= least) continue;
    // Two exchanged neighboring letters count as one change.
    std::vector<std::size_t> before_last;
    std::vector<std::size_t> last;
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < name.size(); ++i) {
      before_last = std::exchange(last, row);
      row[0] = i + 1;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        row[j + 1] = std::min({last[j] + (name[i] != candidate[j]), row[j] + 1, last[j + 1] + 1});
        if (i > 0 && j > 0 && name[i] == candidate[j - 1] && name[i - 1] == candidate[j]) {
          row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
        }
      }
    }
    if (row.back() < least) {
      least = row.back();
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view found = nearest(name, candidates);
  return found.empty() ? "" : "; did you mean '" + std::string(found) + "'?";
}

}  // namespace keel::openapi
