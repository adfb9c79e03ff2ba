#include "keel/net/tls/testing/seeded_randomness.h"

#include <gtest/gtest.h>

#include <string>

#include "keel/io/loop.h"
#include "keel/io/testing/simulation.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::tls::testing::seeded_randomness_test {
namespace {

std::string key_with(std::uint64_t seed) {
  sim::SimOptions options;
  options.seed = seed;
  sim::Simulation simulation(options);
  io::Loop::Entered entered(simulation.add_loop());
  Authority authority("Root");
  return authority.issue({.names = {"server.test"}}).key_pem;
}

TEST(SeededRandomness, gives_the_same_keys_for_a_seed_while_it_lives) {
  {
    const SeededRandomness randomness;
    EXPECT_EQ(key_with(1), key_with(1));
    EXPECT_NE(key_with(1), key_with(2));
  }
  EXPECT_NE(key_with(1), key_with(1));
}

}  // namespace
}  // namespace keel::tls::testing::seeded_randomness_test
