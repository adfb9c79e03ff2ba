// Checks that every header compiles alone, describes itself in its first line, and stays within budget.txt.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "tree.h"

namespace {

using namespace tidy;

const std::string budget_file = "tools/tidy/budget.txt";
const std::string update_command = "make budget";

struct Output {
  int status;
  std::string text;
};

Output run(const std::string& command) {
  Output output{-1, {}};
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  char part[4096];
  while (const std::size_t size = std::fread(part, 1, sizeof part, pipe)) output.text.append(part, size);
  output.status = pclose(pipe);
  return output;
}

bool is_public(const std::string& path) {
  return path.find("/internal/") == std::string::npos && !path.ends_with("/testing.h");
}

struct Header {
  std::string path;
  long cost = 0;         // Lines after preprocessing.
  std::string problems;  // The compiler's output.
  std::string base;      // The first of `shared_headers` that the header includes; empty if it includes none.
};

// Headers that many other headers include, the most expensive header first. Precompiling the headers of this list
// halves the time of the tests. A header is compiled with a header of this list as its base only if the header includes
// the base anyway; otherwise the base could declare something that the header forgot to include.
constexpr std::array<const char*, 4> shared_headers = {"src/keel/io/testing/loop_test.h", "src/keel/io/engine.h",
                                                       "src/keel/data/internal/json_fields.h", "src/keel/base/error.h"};

std::string base_of(const std::string& header) {
  for (const char* shared : shared_headers) {
    if (all_included(header).contains(shared)) return shared;
  }
  return {};
}

// The beginning of a command that compiles a file with only an #include of the header; further options may follow.
std::string compile(const std::string& header) {
  return "echo '#include \"" + header.substr(4) + "\"' | " KEEL_CXX " -std=c++23 -Wall -Wextra -Werror -I" +
         absolute("src") + ' ';
}

// Calls `work` once with each number below `count`, on threads for all processors.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads(std::max(1u, std::thread::hardware_concurrency()));
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Whether the build shows that the header compiles alone, because the header's own source includes it first. The
// header's test does not prove that the header compiles alone, because the test includes the precompiled header first.
bool is_first_include_of_its_own(const std::string& header) {
  const std::string source = stem(header) + ".cc";
  if (!exists(source)) return false;
  const std::vector<Include> all = includes(source);
  return !all.empty() && all.front().path == header.substr(4);
}

// Headers of benchmarks need Google Benchmark, which only a build with benchmarks has.
bool can_be_compiled(const std::string& header) { return KEEL_TIDY_BENCHMARKS || !header.ends_with("_bench.h"); }

// Compiles each header of the library as the only include of a file. Public headers are also preprocessed. A header
// that is the first include of its own source is not compiled again. All tests of this file share the results.
const std::vector<Header>& headers() {
  static const std::vector<Header> compiled = [] {
    std::vector<Header> all;
    for (const std::string& file : files()) {
      if (!file.starts_with("src/keel/") || !file.ends_with(".h")) continue;
      if (can_be_compiled(file)) all.push_back({file, 0, {}, base_of(file)});
    }
    const std::string scratch = testing::TempDir() + "keel_tidy_" + std::to_string(getpid()) + "_";
    // For each shared header, the compiler options that put the shared header before another header.
    std::map<std::string, std::string> bases;
    for (const char* shared : shared_headers) {
      const std::string file = scratch + std::to_string(bases.size()) + ".h";
      std::ofstream(file) << "#include \"" << std::string_view(shared).substr(4) << "\"\n";
      bases[shared] = "-include " + file + ' ';
    }
    // If the header cannot be precompiled, the compiler includes the header as text, and reports the mistake.
    in_parallel(shared_headers.size(), [&](std::size_t i) {
      const std::string file = scratch + std::to_string(i) + ".h";
      run(KEEL_CXX " -std=c++23 -Wall -Wextra -Werror -I" + absolute("src") + " -x c++-header " + file + " -o " + file +
          ".gch");
    });
    in_parallel(all.size(), [&](std::size_t i) {
      Header& header = all[i];
      Output output{0, {}};
      if (is_public(header.path)) {
        const std::string preprocessed = scratch + std::to_string(i) + ".ii";
        output = run(compile(header.path) + "-E -P -o " + preprocessed + " -x c++ -");
        std::ifstream text(preprocessed);
        header.cost = std::count(std::istreambuf_iterator<char>(text), {}, '\n');
        std::remove(preprocessed.c_str());
      }
      // The header itself is compiled, not the preprocessed text, because the preprocessed text would give warnings
      // about the standard library.
      if (output.status == 0 && !is_first_include_of_its_own(header.path)) {
        const auto base = bases.find(header.base);
        output = run(compile(header.path) + (base == bases.end() ? "" : base->second) + "-fsyntax-only -x c++ -");
      }
      if (output.status != 0) header.problems = output.text.empty() ? "no compiler: " KEEL_CXX : output.text;
    });
    for (std::size_t i = 0; i < shared_headers.size(); ++i) {
      std::remove((scratch + std::to_string(i) + ".h").c_str());
      std::remove((scratch + std::to_string(i) + ".h.gch").c_str());
    }
    return all;
  }();
  return compiled;
}

TEST(Headers, every_header_compiles_alone) {
  for (const Header& header : headers()) {
    EXPECT_TRUE(header.problems.empty()) << header.path << ":\n" << header.problems;
  }
}

TEST(Headers, those_of_a_source_are_compiled_alone_by_it) {
  EXPECT_TRUE(is_first_include_of_its_own("src/keel/base/arena.h"));
  EXPECT_TRUE(is_first_include_of_its_own("src/keel/app/app.h"));
  EXPECT_FALSE(is_first_include_of_its_own("src/keel/io/op.h")) << "has no source of its own";
  EXPECT_FALSE(is_first_include_of_its_own("src/keel/base/list.h")) << "only its test includes it first";
}

TEST(Headers, only_what_a_header_includes_is_precompiled_for_it) {
  EXPECT_EQ(base_of("src/keel/base/ascii.h"), "");
  EXPECT_EQ(base_of("src/keel/base/result.h"), "src/keel/base/error.h");
  EXPECT_EQ(base_of("src/keel/base/error.h"), "") << "it does not include itself";
  for (const char* shared : shared_headers) EXPECT_TRUE(exists(shared)) << shared;
}

// If two headers gave the same name to different things, no program could use both.
TEST(Headers, all_public_headers_compile_together) {
  const std::string source = testing::TempDir() + "keel_tidy_all_" + std::to_string(getpid()) + ".cc";
  {
    std::ofstream text(source);
    for (const std::string& file : files()) {
      if (file.starts_with("src/keel/") && file.ends_with(".h") && is_public(file)) {
        text << "#include \"" << file.substr(4) << "\"\n";
      }
    }
  }
  const Output output =
      run(KEEL_CXX " -std=c++23 -Wall -Wextra -Werror -fsyntax-only -I" + absolute("src") + ' ' + source);
  std::remove(source.c_str());
  EXPECT_EQ(output.status, 0) << output.text;
}

TEST(Headers, every_public_header_begins_with_its_purpose) {
  for (const Header& header : headers()) {
    const std::string name = header.path.substr(4);
    const std::string text = read(header.path);
    EXPECT_NE(text.find("\n#pragma once\n"), std::string::npos) << header.path;
    if (!is_public(header.path)) continue;
    EXPECT_TRUE(text.starts_with("// " + name + " — "))
        << header.path << ": the first line must be: // " << name << " — PURPOSE";
  }
}

// The numbers of budget.txt are those of the oldest supported compiler and its library.
TEST(Headers, every_public_header_costs_what_its_budget_says) {
  const std::string version = run(KEEL_CXX " -dumpfullversion").text;
  const std::string name = run(KEEL_CXX " --version").text;
  if (!version.starts_with("12.") || name.find("clang") != std::string::npos) {
    GTEST_SKIP() << "the budget holds only for GCC 12 and its library; this compiler is "
                 << name.substr(0, name.find('\n'));
  }
  std::map<std::string, long> costs;
  for (const Header& header : headers()) {
    if (is_public(header.path) && header.problems.empty()) costs[header.path] = header.cost;
  }
  std::map<std::string, long> budget;
  for (const Entry& entry : entries(budget_file)) budget[entry.path] = std::atol(entry.text.c_str());

  if (std::getenv("KEEL_TIDY_UPDATE") != nullptr) {
    std::string text;
    for (const std::string& line : lines(budget_file)) {
      if (line.starts_with('#')) text += line + '\n';
    }
    for (const auto& [path, cost] : costs) {
      const auto old = budget.find(path);
      const bool is_within = old != budget.end() && cost * 10 <= old->second * 11 && cost * 10 >= old->second * 9;
      text += path + ' ' + std::to_string(is_within ? old->second : cost) + '\n';
    }
    std::ofstream(absolute(budget_file)) << text;
    return;
  }

  for (const auto& [path, cost] : costs) {
    const auto allowed = budget.find(path);
    if (allowed == budget.end()) {
      ADD_FAILURE() << path << " (" << cost << " lines after preprocessing) has no budget. If the cost is right, run `"
                    << update_command << "` and commit " << budget_file;
      continue;
    }
    EXPECT_LE(cost * 10, allowed->second * 11)
        << path << " costs " << cost << " lines after preprocessing, but its budget is " << allowed->second
        << ". Include less, or accept the cost: run `" << update_command << "` and commit " << budget_file;
    EXPECT_GE(cost * 10, allowed->second * 9)
        << path << " costs only " << cost << " lines after preprocessing, but its budget is " << allowed->second
        << ". Lower the budget, to keep the gain: run `" << update_command << "` and commit " << budget_file;
  }
  for (const auto& [path, lines] : budget) {
    EXPECT_TRUE(costs.contains(path) || exists(path))
        << budget_file << " names " << path << ", which does not exist: run `" << update_command << "`";
  }
}

}  // namespace
