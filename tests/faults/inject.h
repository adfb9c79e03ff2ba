/* The faults of inject.c as the test and the process under test share them: a file that both have mapped.
 *
 * Each kind of call is counted. While a fault is armed the next `let_pass` calls of its kind go through, the `strikes`
 * after them fail with `error`, and those behind go through again. What has struck is counted, so that a test can tell
 * a fault that was survived from one that never happened.
 *
 * Threads: all fields are atomic words; `armed` is written last and read first. */

#pragma once

#include <stdint.h>

enum fault_call {
  FAULT_SYNC,   /* fsync, fdatasync */
  FAULT_WRITE,  /* pwrite, and ftruncate: how SQLite changes a file */
  FAULT_ACCEPT, /* accept4 */
  FAULT_SEND,   /* send, sendmsg; error 0: only one byte is taken */
  FAULT_MALLOC, /* malloc, calloc, realloc, aligned_alloc, posix_memalign, and so operator new;
                   not of the main thread */
  FAULT_CALLS
};

struct fault {
  int64_t armed;
  int64_t let_pass;
  int64_t strikes;
  int64_t error;  /* An errno. */
  int64_t seen;   /* Calls while armed. */
  int64_t struck; /* Of these, failed. */
};

struct fault_plan {
  struct fault calls[FAULT_CALLS];
  int64_t wall_offset_ns; /* Added to CLOCK_REALTIME. */
  int64_t wall_reads;     /* How often that was asked for. */
};
