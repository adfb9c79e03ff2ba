// For tests: as long as it lives, the process can start no thread, as if the system had reached its limit of tasks.

#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace keel::app {

class NoThreads {
 public:
  NoThreads() {
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t huge;
    EXPECT_EQ(pthread_attr_init(&huge), 0);
    // A stack that does not fit into the address space.
    EXPECT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 48), 0);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
  }
  NoThreads(const NoThreads&) = delete;
  ~NoThreads() {
    EXPECT_EQ(pthread_setattr_default_np(&before_), 0);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_;
};

}  // namespace keel::app
