#define _GNU_SOURCE
#include "counters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { threads_max = 1024 };

static struct counted counted;
static clockid_t server_clock;
static int system_call_counters[threads_max];
static int system_call_counter_count;
static const volatile uint64_t* allocation_counts;

void die(const char* what) {
  fprintf(stderr, "client: %s%s%s\n", what, errno != 0 ? ": " : "", errno != 0 ? strerror(errno) : "");
  exit(2);
}

double seconds_of(clockid_t clock) {
  struct timespec t;
  if (clock_gettime(clock, &t) != 0) die("a clock ended; did the server?");
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

const char* value_of(const char* argument, const char* name) {
  size_t length = strlen(name);
  return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1 : NULL;
}

void pin_to(int cpu) {
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) die("--cpu");
}

bool counted_option(struct counted* to, const char* argument) {
  const char* value;
  if ((value = value_of(argument, "--server"))) to->server = atoi(value);
  else if ((value = value_of(argument, "--tracepoint"))) to->tracepoint = atoi(value);
  else if ((value = value_of(argument, "--allocations"))) to->allocations = value;
  else return false;
  return true;
}

static void open_system_call_counters(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", counted.server);
  DIR* threads = opendir(path);
  if (threads == NULL) die(path);
  for (struct dirent* entry; (entry = readdir(threads)) != NULL;) {
    int thread = atoi(entry->d_name);
    if (thread == 0 || system_call_counter_count == threads_max) continue;
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_TRACEPOINT, .size = sizeof attributes, .config = (uint64_t)counted.tracepoint, .inherit = 1};
    int fd = (int)syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) die("perf_event_open");
    system_call_counters[system_call_counter_count++] = fd;
  }
  closedir(threads);
}

void open_counters(const struct counted* which) {
  counted = *which;
  if (counted.tracepoint != 0 && counted.server == 0) die("--tracepoint needs --server");
  if (counted.server != 0 && clock_getcpuclockid(counted.server, &server_clock) != 0) die("no such server process");
  if (counted.tracepoint != 0) open_system_call_counters();
  if (counted.allocations != NULL) {
    int fd = open(counted.allocations, O_RDONLY | O_CLOEXEC);
    void* shared = fd < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED) die(counted.allocations);
    allocation_counts = shared;
    close(fd);
  }
}

static void sample_cores(struct sample* sample) {
  FILE* file = fopen("/proc/stat", "re");
  double idle = 0;
  double wait = 0;
  if (file == NULL || fscanf(file, "cpu %*f %*f %*f %lf %lf %*f %*f %lf", &idle, &wait, &sample->steal) != 3) {
    die("/proc/stat");
  }
  fclose(file);
  const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
  sample->idle = (idle + wait) * tick;
  sample->steal *= tick;
}

static void sample_switches(struct sample* sample) {
  char path[320];
  snprintf(path, sizeof path, "/proc/%d/task", counted.server);
  DIR* threads = opendir(path);
  if (threads == NULL) die(path);
  for (struct dirent* entry; (entry = readdir(threads)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/%d/task/%s/status", counted.server, entry->d_name);
    FILE* file = fopen(path, "re");
    if (file == NULL) continue;  // A thread that has just ended.
    char line[256];
    uint64_t count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
      if (sscanf(line, "voluntary_ctxt_switches: %" SCNu64, &count) == 1) sample->voluntary_switches += count;
      if (sscanf(line, "nonvoluntary_ctxt_switches: %" SCNu64, &count) == 1) sample->involuntary_switches += count;
    }
    fclose(file);
  }
  closedir(threads);
}

static void sample_process(struct sample* sample) {
  char path[64];
  char text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", counted.server);
  FILE* file = fopen(path, "re");
  const size_t length = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
  if (file != NULL) fclose(file);
  text[length] = '\0';
  const char* after_name = strrchr(text, ')');  // The name may hold anything, a parenthesis too.
  unsigned long user = 0;
  unsigned long system = 0;
  if (after_name == NULL || sscanf(after_name, ") %*c %*d %*d %*d %*d %*d %*u %" SCNu64 " %*u %" SCNu64 " %*u %lu %lu",
                                   &sample->minor_faults, &sample->major_faults, &user, &system) != 4) {
    die(path);
  }
  const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
  sample->server_user = (double)user * tick;
  sample->server_system = (double)system * tick;
}

struct sample take_sample(void) {
  struct sample sample = {0};
  sample_cores(&sample);
  if (counted.server != 0) {
    sample_switches(&sample);
    sample_process(&sample);
  }
  if (allocation_counts != NULL) {
    sample.allocations = allocation_counts[0];
    sample.allocated_bytes = allocation_counts[1];
  }
  for (int i = 0; i < system_call_counter_count; ++i) {
    uint64_t count = 0;
    if (read(system_call_counters[i], &count, sizeof count) == sizeof count) sample.system_calls += count;
  }
  if (counted.server != 0) sample.server_cpu = seconds_of(server_clock);
  sample.client_cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  sample.wall = seconds_of(CLOCK_MONOTONIC);
  return sample;
}

void print_counters(const struct sample* from, const struct sample* to) {
  printf(", \"client_cpu\": %.6f", to->client_cpu - from->client_cpu);
  if (counted.server != 0) {
    printf(", \"server_cpu\": %.6f", to->server_cpu - from->server_cpu);
    printf(", \"server_user\": %.2f, \"server_system\": %.2f", to->server_user - from->server_user,
           to->server_system - from->server_system);
    printf(", \"voluntary_switches\": %" PRIu64 ", \"involuntary_switches\": %" PRIu64,
           to->voluntary_switches - from->voluntary_switches, to->involuntary_switches - from->involuntary_switches);
    printf(", \"minor_faults\": %" PRIu64 ", \"major_faults\": %" PRIu64, to->minor_faults - from->minor_faults,
           to->major_faults - from->major_faults);
  }
  if (counted.tracepoint != 0) printf(", \"system_calls\": %" PRIu64, to->system_calls - from->system_calls);
  if (allocation_counts != NULL) {
    printf(", \"allocations\": %" PRIu64 ", \"allocated_bytes\": %" PRIu64, to->allocations - from->allocations,
           to->allocated_bytes - from->allocated_bytes);
  }
  printf(", \"idle\": %.3f, \"steal\": %.3f", to->idle - from->idle, to->steal - from->steal);
}
