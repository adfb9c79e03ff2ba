// Counts what a process does while a command runs, with the counters of the clients; see client/counters.h.
//
//   bench_count --server=PID [--tracepoint=ID] [--allocations=FILE] COMMAND...     one line of JSON after the command

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../client/counters.h"

static int run(char** command) {
  const pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) die("waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int main(int argc, char** argv) {
  struct counted counted = {0};
  int at = 1;
  while (at < argc && counted_option(&counted, argv[at])) ++at;
  if (counted.server == 0 || at == argc || strncmp(argv[at], "--", 2) == 0) {
    fprintf(stderr, "usage: %s --server=PID [--tracepoint=ID] [--allocations=FILE] COMMAND...\n", argv[0]);
    return 2;
  }
  open_counters(&counted);
  const struct sample before = take_sample();
  const int code = run(argv + at);
  const struct sample after = take_sample();
  printf("{\"seconds\": %.6f", after.wall - before.wall);
  print_counters(&before, &after);
  printf("}\n");
  return code;
}
