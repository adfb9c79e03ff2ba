// What `keel api diff` says of the changes in diff/mutations.txt, compared with what oasdiff has said of them.
// suites.py asks oasdiff whether that still holds.

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "openapi/testing.h"

namespace keel::contract_diff_test {
namespace {

using openapi::Change;
using openapi::Document;
using openapi::Problems;
using openapi::testing::Files;

std::string read(const char* name) {
  std::ifstream file(std::string(KEEL_CONTRACT_DIFF) + '/' + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> split(std::string_view text, std::string_view at) {
  std::vector<std::string> parts;
  for (std::size_t end = text.find(at); end != text.npos; end = text.find(at)) {
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + at.size());
  }
  parts.emplace_back(text);
  return parts;
}

struct Verdict {
  bool is_breaking = false;       // Of oasdiff.
  bool is_breaking_here = false;  // Of `keel api diff`.
};

struct Mutation {
  std::string name;
  Verdict forward;
  Verdict back;
  std::string document;
};

// "forward breaking", or "forward breaking; keel compatible: " and the reason.
Verdict verdict_of(std::string line, std::string_view way) {
  const auto is_breaking = [&](std::string_view word) {
    if (!line.starts_with(word)) throw std::runtime_error("expected '" + std::string(word) + "' in: " + line);
    line.erase(0, word.size());
    const bool breaks = line.starts_with("breaking");
    if (!breaks && !line.starts_with("compatible")) throw std::runtime_error("no verdict: " + line);
    line.erase(0, std::string_view(breaks ? "breaking" : "compatible").size());
    return breaks;
  };
  Verdict verdict;
  verdict.is_breaking_here = verdict.is_breaking = is_breaking(std::string(way) + ' ');
  if (!line.empty()) {
    verdict.is_breaking_here = is_breaking("; keel ");
    if (!line.starts_with(": ")) throw std::runtime_error("a difference without its reason: " + line);
  }
  return verdict;
}

std::vector<Mutation> read_mutations(const std::string& before) {
  std::vector<Mutation> mutations;
  for (const std::string& block : split('\n' + read("mutations.txt"), "\n== ")) {
    if (mutations.empty() && block.find("\nforward ") == block.npos) continue;  // What stands above the first.
    const std::vector<std::string> lines = split(block, "\n");
    if (lines.size() < 4) throw std::runtime_error("a mutation without lines: " + block);
    Mutation mutation{.name = lines[0],
                      .forward = verdict_of(lines[1], "forward"),
                      .back = verdict_of(lines[2], "back"),
                      .document = '\n' + before};
    std::string old_lines = "\n";
    std::string new_lines = "\n";
    const auto change = [&] {
      const std::size_t at = mutation.document.find(old_lines);
      if (at == mutation.document.npos || mutation.document.find(old_lines, at + 1) != mutation.document.npos)
        throw std::runtime_error("'" + mutation.name + "': its lines are not once in the document");
      mutation.document.replace(at, old_lines.size(), new_lines);
      old_lines = new_lines = "\n";
    };
    for (auto line = lines.begin() + 3; line != lines.end() && !line->empty(); ++line) {
      if (*line == "@@") {
        change();
        continue;
      }
      if ((*line)[0] != '+') old_lines += line->substr(1) + '\n';
      if ((*line)[0] != '-') new_lines += line->substr(1) + '\n';
    }
    change();
    mutation.document.erase(0, 1);
    mutations.push_back(std::move(mutation));
  }
  return mutations;
}

std::unique_ptr<Document> load(const std::string& text) {
  const Files files = {{"shop.yaml", text}};
  Problems problems;
  auto document = Document::load("shop.yaml", openapi::testing::reader_of(files), problems);
  if (document == nullptr || problems.errors() != 0)
    throw std::runtime_error(openapi::testing::described(problems).front());
  return document;
}

TEST(Verdicts, of_diff_are_those_of_oasdiff_unless_a_reason_is_given) {
  const std::string before = read("shop.yaml");
  const std::vector<Mutation> mutations = read_mutations(before);
  ASSERT_GE(mutations.size(), 188);

  const auto old_document = load(before);
  std::size_t equal = 0;
  for (const Mutation& mutation : mutations) {
    const auto new_document = load(mutation.document);
    const auto judge = [&](const Verdict& verdict, Document& from, Document& to, const char* way) {
      bool is_breaking = false;
      std::string lines;
      for (const Change& change : openapi::diff(from, to)) {
        is_breaking |= change.severity == Change::Severity::Breaking;
        lines += change.describe() + '\n';
      }
      EXPECT_EQ(is_breaking, verdict.is_breaking_here) << mutation.name << ", " << way << '\n' << lines;
      equal += is_breaking == verdict.is_breaking;
    };
    judge(mutation.forward, *old_document, *new_document, "forward");
    judge(mutation.back, *new_document, *old_document, "back");
  }
  std::printf("%zu of %zu verdicts are equal\n", equal, 2 * mutations.size());
  EXPECT_GE(equal * 40, 38 * 2 * mutations.size());
}

}  // namespace
}  // namespace keel::contract_diff_test
