// Does exactly as much as it is told, so that counters can be checked against it.
//
//   bench_known                 reads "WHAT N" lines, does each, and answers "done"; ends with its input
//   bench_known WHAT N          does it once
//
// WHAT is allocations, calls (system calls), switches (voluntary ones),
// pages (touched for the first time, and kept), or turns (of a loop of two instructions, on x86-64 and arm64).

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void touch(long pages) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* memory = mmap(NULL, (size_t)pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(2);
  madvise(memory, (size_t)pages * page, MADV_NOHUGEPAGE);
  for (long at = 0; at < pages; ++at) memory[(size_t)at * page] = 1;
}

static void turn(long times) {
  if (times <= 0) return;
#if defined(__x86_64__)
  __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(times) : : "cc");
#elif defined(__aarch64__)
  __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(times) : : "cc");
#else
#error "the loop of two instructions is not written for this processor"
#endif
}

static void do_exactly(const char* what, long times) {
  if (strcmp(what, "allocations") == 0) {
    for (long i = 0; i < times; ++i) {
      void* volatile memory = malloc(100);  // Volatile: the pair must not be optimised away.
      free(memory);
    }
  } else if (strcmp(what, "calls") == 0) {
    for (long i = 0; i < times; ++i) syscall(SYS_getppid);
  } else if (strcmp(what, "switches") == 0) {
    const struct timespec moment = {.tv_nsec = 100000};
    for (long i = 0; i < times; ++i) clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
  } else if (strcmp(what, "pages") == 0) {
    touch(times);
  } else if (strcmp(what, "turns") == 0) {
    turn(times);
  } else {
    fprintf(stderr, "bench_known: unknown: %s\n", what);
    exit(2);
  }
}

int main(int argc, char** argv) {
  if (argc == 3) {
    do_exactly(argv[1], atol(argv[2]));
    return 0;
  }
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    char what[32];
    long times = 0;
    if (sscanf(line, "%31s %ld", what, &times) != 2) return 2;
    do_exactly(what, times);
    puts("done");
    fflush(stdout);
  }
  return 0;
}
