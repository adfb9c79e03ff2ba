#include "keel/app/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "keel/base/host.h"

namespace keel::app {
namespace {

TEST(Process, tells_plausible_facts) {
  EXPECT_GT(process_resident_bytes(), 100e3);
  EXPECT_GT(process_virtual_bytes(), process_resident_bytes());
  EXPECT_GE(process_descriptors_max(), process_open_descriptors());
  const double now = static_cast<double>(Host::system().wall_ns()) * 1e-9;
  EXPECT_LT(process_start_seconds(), now + 2);
  EXPECT_GT(process_start_seconds(), now - 3600);
}

TEST(Process, counts_descriptors_exactly) {
  const double before = process_open_descriptors();
  const int one = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(process_open_descriptors(), before + 1);
  ::close(one);
  EXPECT_EQ(process_open_descriptors(), before);
}

TEST(Process, cpu_time_grows_with_work) {
  const double before = process_cpu_seconds();
  while (process_cpu_seconds() < before + 0.02) {
  }
  SUCCEED();
}

TEST(ProcessMetrics, registers_the_agreed_names) {
  metrics::Registry registry;
  ProcessMetrics process(registry);
  metrics::Reading reading;
  registry.read(reading, [](std::span<const metrics::Family> families) {
    ASSERT_EQ(families.size(), 6u);
    EXPECT_EQ(families[0].name, "process_cpu_seconds_total");
    for (const metrics::Family& family : families) EXPECT_GT(family.series[0].function_value, 0) << family.name;
  });
}

}  // namespace
}  // namespace keel::app
