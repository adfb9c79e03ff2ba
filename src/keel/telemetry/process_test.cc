#include "keel/telemetry/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "keel/base/host.h"

namespace keel::telemetry::process_test {
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

TEST(Process, the_soft_limit_of_descriptors_is_raised_to_the_hard_one) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(process_descriptors_max(), 64);

  EXPECT_EQ(raise_descriptor_limit(), before.rlim_max);

  EXPECT_EQ(process_descriptors_max(), static_cast<double>(before.rlim_max));
  setrlimit(RLIMIT_NOFILE, &before);
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
    ASSERT_EQ(families.size(), 7u);
    EXPECT_EQ(families[0].name, "process_cpu_seconds_total");
    for (const metrics::Family& family : families.first(6)) {
      EXPECT_GT(family.series[0].function_value, 0) << family.name;
    }
    EXPECT_EQ(families[6].name, "unhandled_errors_total");
    EXPECT_EQ(families[6].series[0].function_value, 0);
  });
}

}  // namespace
}  // namespace keel::telemetry::process_test
