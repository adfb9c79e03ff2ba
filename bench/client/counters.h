// What both clients have in common: the counters of the server, read by the client itself at the first and the last
// moment of the measured window: CPU time, context switches, page faults, system calls, heap allocations, and how long
// the machine's cores were idle. What cannot be counted ends the client: a count is right or absent, never 0 instead.

#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct counted {
  int server;      // Process whose CPU time is measured; 0 = none.
  int tracepoint;  // Id of raw_syscalls:sys_enter; 0 = system calls are not counted.
  const char* allocations;
};

struct sample {
  double wall;
  double client_cpu;
  double server_cpu;
  double server_user;  // By the clock tick, unlike server_cpu: good for shares of windows of a second.
  double server_system;
  double idle;  // Of all cores together; tells how much anything else ran.
  double steal;
  uint64_t voluntary_switches;    // Of all threads that live: a thread had to wait.
  uint64_t involuntary_switches;  // Of all threads that live: a thread was preempted.
  uint64_t minor_faults;
  uint64_t major_faults;
  uint64_t system_calls;
  uint64_t allocations;
  uint64_t allocated_bytes;
};

// Reads --server=, --tracepoint= and --allocations=; false when `argument` is none of them.
bool counted_option(struct counted* counted, const char* argument);
void open_counters(const struct counted* counted);
struct sample take_sample(void);
// The differences, as members of a JSON object that has begun.
void print_counters(const struct sample* from, const struct sample* to);

// Ends the client with code 2 and a sentence.
_Noreturn void die(const char* what);
double seconds_of(clockid_t clock);
// What follows `name`= in `argument`, or NULL.
const char* value_of(const char* argument, const char* name);
// Negative: nowhere.
void pin_to(int cpu);
