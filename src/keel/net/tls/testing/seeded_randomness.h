// keel/net/tls/testing/seeded_randomness.h — for simulations: what OpenSSL draws at random is the current Host's.
//
//   testing::SeededRandomness randomness;  // before contexts are made; until the end of the test
//
// While one lives, all of OpenSSL's random bits in this process come from Host::current(): in a simulation from its
// seed. Keys, nonces, signatures and tickets are then the same for a seed, byte for byte, and so is all that depends on
// their sizes. One thing may differ: the age that a client says of a session that it resumes is one second more where
// the system's clock strikes a second while the client greets the server.
//
// Threads: all; it is made and destroyed while no other thread uses OpenSSL. At most one.

#pragma once

namespace keel::tls::testing {

class SeededRandomness {
 public:
  SeededRandomness() noexcept;
  SeededRandomness(const SeededRandomness&) = delete;
  SeededRandomness& operator=(const SeededRandomness&) = delete;
  ~SeededRandomness();
};

}  // namespace keel::tls::testing
