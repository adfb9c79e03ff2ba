"""How fast the compiler is here and now: limits of CPU time are for a machine that compiles a fixed source in a known time.

On another machine, and beside others on this one, the limits are longer in proportion. A short compilation finds a quiet
moment on a busy machine more easily than a long one, so the source takes about as long as what is compared with it."""

import os
import resource
import subprocess

SECONDS = 0.90  # Of user CPU, with GCC 12.2 on the machine that the limits are for.
CLOCK_SECONDS = 1.00  # On a clock, with nothing else on that machine.
INSTANTIATIONS = 5
SOURCE = """#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
template <int i>
struct Number {
  int value;
};
template <int i>
std::size_t count() {
  std::map<std::string, std::vector<Number<i>>> numbers;
  numbers[std::to_string(i)].push_back({i});
  return numbers.size();
}
int main() { return static_cast<int>(%s); }
""" % " + ".join(f"count<{i}>()" for i in range(INSTANTIATIONS))


def user_seconds(command, **options):
    """What a command takes of user CPU, which others on the machine lengthen less than the time on a clock."""
    return cpu_seconds(command, **options)[0]


def cpu_seconds(command, **options):
    """What a command takes of user CPU, and of the system's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def measure(compiler="g++"):
    """What the source takes here and now, of user CPU."""
    return user_seconds([compiler, "-std=c++23", "-O2", "-x", "c++", "-", "-c", "-o", os.devnull], input=SOURCE.encode())


def slowness(seconds):
    """By how much a limit is longer where the source takes `seconds`."""
    return max(1.0, seconds / SECONDS)
