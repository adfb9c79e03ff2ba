#define _GNU_SOURCE
#include "raw.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char default_plaintext[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";
static const char default_json[] =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 27\r\n\r\n{\"message\":\"Hello, World!\"}";

static struct answer read_answer(const char* path) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    exit(2);
  }
  struct answer answer = {.text = malloc(receive_bytes)};
  answer.length = fread(answer.text, 1, receive_bytes, file);
  fclose(file);
  if (answer.length == 0 || answer.length == receive_bytes) {
    fprintf(stderr, "%s: an answer has 1 to %d bytes\n", path, receive_bytes - 1);
    exit(2);
  }
  return answer;
}

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void burn(long rounds) {
  for (volatile long i = 0; i < rounds; i = i + 1) {
  }
}

// How many rounds burn() makes in this many nanoseconds; the shortest of a few attempts was the least disturbed.
static long rounds_of(double ns) {
  const long rounds = 1000000;
  double shortest = 1e18;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const double begin = cpu_ns();
    burn(rounds);
    const double took = cpu_ns() - begin;
    if (took < shortest) shortest = took;
  }
  return (long)(ns * (double)rounds / shortest);
}

static double wall_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

// Once a second it stalls for this time.
static void stall(int ms) {
  static double last;
  const double now = wall_ms();
  if (last == 0) last = now;
  if (now - last < 1000) return;
  last = now;
  usleep((useconds_t)ms * 1000);
}

struct raw_options raw_options_from(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  struct raw_options options = {
      .port = 8080,
      .plaintext = {.text = strdup(default_plaintext), .length = sizeof default_plaintext - 1},
      .json = {.text = strdup(default_json), .length = sizeof default_json - 1},
  };
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], "--port=", 7) == 0) {
      options.port = atoi(argv[i] + 7);
    } else if (strncmp(argv[i], "--plaintext=", 12) == 0) {
      options.plaintext = read_answer(argv[i] + 12);
    } else if (strncmp(argv[i], "--json=", 7) == 0) {
      options.json = read_answer(argv[i] + 7);
    } else if (strncmp(argv[i], "--burn-ns=", 10) == 0) {
      options.burn_rounds = rounds_of(atof(argv[i] + 10));
    } else if (strncmp(argv[i], "--stall-ms=", 11) == 0) {
      options.stall_ms = atoi(argv[i] + 11);
    } else {
      fprintf(stderr, "usage: %s --port=N [--plaintext=FILE] [--json=FILE] [--burn-ns=N] [--stall-ms=N]\n", argv[0]);
      exit(2);
    }
  }
  return options;
}

int raw_listen(int port, bool nonblocking) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (nonblocking ? SOCK_NONBLOCK : 0), 0);
  int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((in_port_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(fd, (struct sockaddr*)&address, sizeof address) != 0 || listen(fd, 4096) != 0) {
    perror("listen");
    exit(2);
  }
  return fd;
}

int raw_accept(int listener) {
  int fd;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= connections_max) close(fd);
  if (fd >= 0) raw_no_delay(fd);
  return fd;
}

void raw_no_delay(int fd) {
  int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void bytes_append(struct bytes* to, const char* from, size_t length) {
  if (to->length + length > to->capacity) {
    size_t capacity = to->capacity == 0 ? 512 : to->capacity;
    while (capacity < to->length + length) capacity *= 2;
    to->data = realloc(to->data, capacity);
    if (to->data == NULL) abort();
    to->capacity = capacity;
  }
  memcpy(to->data + to->length, from, length);
  to->length += length;
}

size_t raw_answer(const struct raw_options* options, const char* text, size_t length, struct bytes* out,
                  bool* refused) {
  const char* at = text;
  const char* end = text + length;
  for (;;) {
    const char* empty_line = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
    if (empty_line == NULL) break;
    size_t head = (size_t)(empty_line - at);
    if (head > 15 && memcmp(at, "GET /plaintext ", 15) == 0) {
      bytes_append(out, options->plaintext.text, options->plaintext.length);
    } else if (head > 10 && memcmp(at, "GET /json ", 10) == 0) {
      bytes_append(out, options->json.text, options->json.length);
    } else {
      *refused = true;
      return length;
    }
    burn(options->burn_rounds);
    if (options->stall_ms != 0) stall(options->stall_ms);
    at = empty_line + 4;
  }
  if (end - at >= receive_bytes) *refused = true;
  return (size_t)(at - text);
}
