// Counts the user-space instructions that all threads of a process execute while a command runs, by single-stepping:
// for machines without hardware counters. An instruction with a repeat prefix counts once.
//
//   bench_step_count PID COMMAND...     the command's output, and then one line: the count
//
// Steps are slow, and begin in the middle of whatever the process does: what one operation costs is the difference
// between two commands that differ in the number of operations only. The process ends with its last step (SIGTRAP), so
// each count takes a fresh one.

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { threads_max = 65536 };
static uint64_t last[threads_max];  // Where a thread was, by its number.

static int seize_all(const char* pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%s/task", pid);
  DIR* threads = opendir(path);
  if (threads == NULL) return -1;
  int count = 0;
  for (struct dirent* entry; (entry = readdir(threads)) != NULL;) {
    const int thread = atoi(entry->d_name);
    if (thread == 0 || ptrace(PTRACE_SEIZE, thread, 0, PTRACE_O_TRACECLONE) != 0) continue;
    if (ptrace(PTRACE_INTERRUPT, thread, 0, 0) == 0) ++count;
  }
  closedir(threads);
  return count;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s PID COMMAND...\n", argv[0]);
    return 2;
  }
  if (seize_all(argv[1]) <= 0) {
    perror(argv[1]);
    return 2;
  }
  const pid_t command = fork();
  if (command < 0) {
    perror("fork");
    return 2;
  }
  if (command == 0) {
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    _exit(127);
  }
  uint64_t steps = 0;
  for (;;) {
    int status = 0;
    const pid_t thread = waitpid(-1, &status, __WALL);
    if (thread < 0 && errno == EINTR) continue;
    if (thread < 0) return 2;
    if (thread == command && (WIFEXITED(status) || WIFSIGNALED(status))) {
      printf("%" PRIu64 "\n", steps);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
    }
    if (!WIFSTOPPED(status)) continue;
    int signal = WSTOPSIG(status);
    const int event = status >> 16;
    if (signal == SIGTRAP && event == 0) {
      const size_t at = (size_t)thread % threads_max;
      const uint64_t now = (uint64_t)ptrace(PTRACE_PEEKUSER, thread, offsetof(struct user_regs_struct, rip), 0);
      if (now != last[at]) ++steps;
      last[at] = now;
      signal = 0;
    } else if (event != 0) {
      signal = 0;
    }
    ptrace(PTRACE_SINGLESTEP, thread, 0, signal);
  }
}
