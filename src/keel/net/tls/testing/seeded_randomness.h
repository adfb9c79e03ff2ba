// keel/net/tls/testing/seeded_randomness.h — for simulations: OpenSSL's random numbers come from the current Host.
//
//   testing::SeededRandomness randomness;  // before contexts are made; until the end of the test
//
// While an object of this class exists, all random bits of OpenSSL in this process come from Host::current(), which in
// a simulation takes them from the seed. With the same seed, keys, nonces, signatures and tickets are the same, byte
// for byte, and so is everything that depends on their sizes. One value may differ even with the same seed: when a
// client resumes a session, the age that it states for the session is one second larger if the system's clock reaches a
// new second during the client's hello.
//
// Threads: affects all threads; make and destroy it while no other thread uses OpenSSL. Only one object of this class
//          may exist at a time.

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
