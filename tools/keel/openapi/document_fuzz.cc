// Any bytes are a document, and behind a zero byte a file that it refers to as "b.yaml": reading, linting and comparing
// them end, and each problem and change has a place.

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "openapi/diff.h"
#include "openapi/document.h"
#include "openapi/lint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace keel;
  using namespace keel::openapi;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = text.find('\0');
  const std::map<std::string, std::string> files = {{"a.yaml", text.substr(0, zero)},
                                                    {"b.yaml", zero == text.npos ? "" : text.substr(zero + 1)}};
  const ReadFile read = [&](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found == files.end()) return fail(Code::NotFound, "there is no such file");
    return found->second;
  };
  Problems problems;
  const auto first = Document::load("a.yaml", read, problems);
  const std::size_t errors_of_loading = problems.errors();
  if (first == nullptr && errors_of_loading == 0) std::abort();
  if (first != nullptr) lint(*first, problems);
  for (const Problem& problem : problems.sorted()) {
    if (problem.file.empty() || problem.text.empty() || (problem.line == 0) != (problem.column == 0)) std::abort();
  }
  if (first == nullptr || errors_of_loading != 0) return 0;

  Problems others;
  const auto same = Document::load("a.yaml", read, others);
  const auto second = Document::load("b.yaml", read, others);
  if (same == nullptr || !diff(*first, *same).empty()) std::abort();
  if (second == nullptr || others.errors() != 0) return 0;
  for (const Change& change : diff(*first, *second)) {
    if (change.describe().empty()) std::abort();
  }
  return 0;
}
