// What the main() of every simulation reads, and how a failing seed is named.
//
//   --seed=7          that seed alone, with the end of its trace
//   --seeds=50000     so many, from 1 on
//   --only=FAULTS     with --seed: of its faults only these ("reset:3:0,stall:1:44"; what shrinking has left)

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/testing/allocation_count.h"
#include "keel/io/testing/simulation.h"

namespace keel {

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t count = 0;
  std::uint64_t usual = 0;  // Without an argument.
  std::optional<std::vector<sim::Fault>> only = {};
  std::string program = {};

  bool is_one() const { return count == 1; }
  // So few that not everything need happen in them.
  bool is_less() const { return count < usual; }
  std::string replay(std::uint64_t seed) const {
    return "seed " + std::to_string(seed) + ", to see it again: " + program + " --seed=" + std::to_string(seed);
  }
};
inline Seeds seeds;

// With sanitizers a tenth of them; with Clang's, whose build optimizes no test, a fortieth.
inline int run_seeds(int argc, char** argv, std::uint64_t usual) {
  testing::InitGoogleTest(&argc, argv);
  seeds.usual = seeds.count = KEEL_SANITIZED ? usual / 10 : usual;
#ifdef __clang__
  if (KEEL_SANITIZED) seeds.count = usual / 40;
#endif
  const std::string_view path = argv[0];
  seeds.program = path.substr(path.rfind('/') + 1);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--seed=")) {
      seeds.first = std::strtoull(argv[i] + 7, nullptr, 10);
      seeds.count = 1;
    } else if (argument.starts_with("--seeds=")) {
      seeds.count = std::strtoull(argv[i] + 8, nullptr, 10);
    } else if (auto only = sim::parse_faults(argument.substr(argument.find('=') + 1));
               argument.starts_with("--only=") && only) {
      seeds.only = *std::move(only);
    } else {
      std::fprintf(stderr, "unknown argument %s\n", argv[i]);
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}

}  // namespace keel
