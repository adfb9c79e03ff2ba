// openapi/testing.h — for tests: documents whose files are in memory, and what is said about them.

#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "openapi/diff.h"
#include "openapi/document.h"
#include "openapi/lint.h"

namespace keel::openapi::testing {

using Files = std::map<std::string, std::string>;

inline ReadFile reader_of(const Files& files) {
  return [&files](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return fail(Code::NotFound, "there is no such file");
    return found->second;
  };
}

inline std::vector<std::string> described(const Problems& problems) {
  std::vector<std::string> lines;
  for (const Problem& problem : problems.sorted()) lines.push_back(problem.describe());
  return lines;
}

// What lint() says about "api.yaml", a line each.
inline std::vector<std::string> lint_of(const Files& files) {
  Problems problems;
  const auto document = Document::load("api.yaml", reader_of(files), problems);
  if (document != nullptr) lint(*document, problems);
  return described(problems);
}
inline std::vector<std::string> lint_of(const std::string& text) { return lint_of(Files{{"api.yaml", text}}); }

// What diff() says, a line each; or what is wrong with the documents.
inline std::vector<std::string> diff_of(const std::string& before, const std::string& after) {
  const Files files = {{"old.yaml", before}, {"new.yaml", after}};
  Problems problems;
  const auto old_document = Document::load("old.yaml", reader_of(files), problems);
  const auto new_document = Document::load("new.yaml", reader_of(files), problems);
  if (old_document == nullptr || new_document == nullptr || problems.errors() != 0) return described(problems);
  std::vector<std::string> lines;
  for (const Change& change : diff(*old_document, *new_document)) lines.push_back(change.describe());
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace keel::openapi::testing
