// What the programs of the experiments idle-turn and timers share: each measures its own library's loop in the same
// way, and prints nanoseconds of CPU for one operation.
//
//   idle-turn  one turn that does not wait, of a loop with a connection on which nothing arrives
//   posted     a turn that runs one job, which the loop's own thread has posted
//   start-stop one of N timers started and stopped again, all started before the first is stopped
//   expiry     one of N timers started and run, due within 8 ms; the waiting costs no CPU

#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

struct turns_options {
  const char* what;
  const char* engine;
  long count;
};

static inline struct turns_options turns_read(int argc, char** argv) {
  struct turns_options options = {"", "", 1};
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], "--what=", 7) == 0) options.what = argv[i] + 7;
    if (strncmp(argv[i], "--engine=", 9) == 0) options.engine = argv[i] + 9;
    if (strncmp(argv[i], "--count=", 8) == 0) options.count = atol(argv[i] + 8);
  }
  if (options.count <= 0) options.count = 1;
  return options;
}

static inline double turns_cpu(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline double turns_wall(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// A connection on which nothing arrives.
static inline int turns_quiet_connection(void) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) exit(2);
  return pair[0];
}

// Repeats `round`, which does `operations`, for 0.4 s after 0.1 s of warm-up. Returns the exit code.
static inline int turns_measure(void (*round)(void* with), void* with, long operations) {
  const double warm = turns_wall() + 0.1;
  do {
    round(with);
  } while (turns_wall() < warm);
  const double begin = turns_cpu();
  const double end = turns_wall() + 0.4;
  long rounds = 0;
  do {
    round(with);
    ++rounds;
  } while (turns_wall() < end);
  const double used = turns_cpu() - begin;
  printf("{\"ns\": %.3f, \"whole_cpu\": %.6f}\n", used * 1e9 / ((double)rounds * (double)operations), turns_cpu());
  return 0;
}
