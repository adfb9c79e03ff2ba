// A light HTTP/1.1 client that saturates a server from one thread: it sends a request (or --depth pipelined
// ones) on every connection and then reads all the answers. With a fixed request it learns the length and the body of
// the answer from the first one, and compares lengths, status lines and bodies afterwards; with {n} in the path or the
// body every request is different, and each answer's Content-Length is read.
//
// Prints one line of JSON. Exit code 0: measured and no error. 1: errors, each counted. 2: not measured.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "counters.h"

enum { buffer_bytes = 2 * 1024 * 1024 };  // A pipeline of answers, or one of 1 MiB.

struct options {
  int port;
  const char* method;
  const char* path;
  const char* body;
  const char* status;
  int connections;
  int depth;
  double warmup;
  double seconds;
  uint64_t count;  // Ends the window after this many requests instead of after `seconds`; 0 = off.
  uint64_t first;
  uint64_t range;  // {n} runs through first .. first+range-1 again and again; 0 = never the same twice.
  int cpu;
  struct counted counted;
};

struct errors {
  uint64_t status;   // An answer, but not with the expected status.
  uint64_t length;   // Longer or shorter than the first, or than its Content-Length.
  uint64_t body;     // As long as the first, but with another body.
  uint64_t closed;   // The connection ended or failed.
  uint64_t timeout;  // No response within the receive timeout.
};

static struct options options = {.port = 0,
                                 .method = "GET",
                                 .path = "/plaintext",
                                 .status = "200",
                                 .connections = 64,
                                 .depth = 1,
                                 .warmup = 0.3,
                                 .seconds = 1.5,
                                 .first = 1,
                                 .cpu = -1};
static struct errors errors;
static int* sockets;
static char buffer[buffer_bytes + 1];
static char* request;  // All the requests that are sent in one go.
static size_t request_length;
static bool varying;
static size_t answer_length;  // Of a fixed request; learnt from the first answer, as is its body.
static size_t body_length;
static char* first_body;
static uint64_t next_number;

// --- Requests ---

static char* write_number(char* out, const char* template, uint64_t number) {
  for (const char* at = template; *at != '\0';) {
    if (strncmp(at, "{n}", 3) == 0) {
      out += sprintf(out, "%" PRIu64, number);
      at += 3;
    } else {
      *out++ = *at++;
    }
  }
  *out = '\0';
  return out;
}

static void build_requests(void) {
  char* out = request;
  for (int i = 0; i < options.depth; ++i) {
    uint64_t number = options.first + (options.range != 0 ? next_number % options.range : next_number);
    ++next_number;
    out += sprintf(out, "%s ", options.method);
    out = write_number(out, options.path, number);
    out += sprintf(out, " HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n", options.port);
    if (options.body != NULL) {
      static char body[16 * 1024];
      size_t length = (size_t)(write_number(body, options.body, number) - body);
      out += sprintf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", length, body);
    } else {
      out += sprintf(out, "\r\n");
    }
  }
  request_length = (size_t)(out - request);
}

// --- Answers ---

// Length of the first answer in text, 0 when its end cannot be known yet. `text` ends with a zero byte.
static size_t length_of_answer(const char* text) {
  const char* end = strstr(text, "\r\n\r\n");
  if (end == NULL) return 0;
  size_t head = (size_t)(end - text) + 4;
  const char* field = strcasestr(text, "\r\ncontent-length:");
  return head + (field != NULL && field < end ? strtoul(field + 17, NULL, 10) : 0);
}

static void check_status(const char* answer) {
  if (memcmp(answer, "HTTP/1.1 ", 9) != 0 || memcmp(answer + 9, options.status, 3) != 0) ++errors.status;
}

static void drop(int index, uint64_t* error) {
  ++*error;
  close(sockets[index]);
  sockets[index] = -1;
}

// Appends what has arrived; false when the connection is lost.
static bool receive_more(int index, size_t* have) {
  ssize_t count = recv(sockets[index], buffer + *have, buffer_bytes - *have, 0);
  if (count <= 0) {
    drop(index, count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? &errors.timeout : &errors.closed);
    return false;
  }
  *have += (size_t)count;
  buffer[*have] = '\0';
  return true;
}

// All answers have the length of the first one. How many were read.
static int read_fixed(int index) {
  const size_t expected = answer_length * (size_t)options.depth;
  size_t have = 0;
  while (have < expected) {
    if (!receive_more(index, &have)) return 0;
    // Rather than wait for bytes that never come: does the last, partial answer say that it is a short one?
    if (have < expected) {
      size_t length = length_of_answer(buffer + have / answer_length * answer_length);
      if (length != 0 && length != answer_length) {
        drop(index, &errors.length);
        return 0;
      }
    }
  }
  if (have != expected) {
    drop(index, &errors.length);
    return 0;
  }
  for (int i = 0; i < options.depth; ++i) {
    const char* answer = buffer + (size_t)i * answer_length;
    check_status(answer);
    if (memcmp(answer + answer_length - body_length, first_body, body_length) != 0) ++errors.body;
  }
  return options.depth;
}

// Every answer says how long it is. How many were read.
static int read_varying(int index) {
  size_t have = 0;
  size_t at = 0;
  buffer[0] = '\0';
  for (int done = 0; done < options.depth;) {
    size_t length = length_of_answer(buffer + at);
    if (length == 0 || at + length > have) {
      if (have == buffer_bytes) die("the answers are too long for this client");
      if (!receive_more(index, &have)) return done;
      continue;
    }
    check_status(buffer + at);
    at += length;
    ++done;
  }
  if (at != have) drop(index, &errors.length);
  return options.depth;
}

// One round: send on all connections, then read all answers. How many answers were read.
static uint64_t round_trip(void) {
  for (int i = 0; i < options.connections; ++i) {
    if (sockets[i] < 0) continue;
    if (varying) build_requests();
    if (send(sockets[i], request, request_length, MSG_NOSIGNAL) != (ssize_t)request_length) drop(i, &errors.closed);
  }
  uint64_t answers = 0;
  for (int i = 0; i < options.connections && errors.timeout == 0; ++i) {  // One that hangs is enough to know.
    if (sockets[i] >= 0) answers += (uint64_t)(varying ? read_varying(i) : read_fixed(i));
  }
  return answers;
}

static void connect_all(void) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((in_port_t)options.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  const int on = 1;
  const struct timeval patience = {.tv_sec = 5};
  sockets = calloc((size_t)options.connections, sizeof *sockets);
  for (int i = 0; i < options.connections; ++i) {
    sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(sockets[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(sockets[i], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(sockets[i], (struct sockaddr*)&address, sizeof address) != 0) die("connect");
  }
}

// Sends the request once, alone, to learn how long the answer is, and its body.
static void learn_answer(void) {
  const int depth = options.depth;
  options.depth = 1;
  build_requests();
  if (send(sockets[0], request, request_length, MSG_NOSIGNAL) != (ssize_t)request_length) die("send");
  size_t have = 0;
  while (answer_length == 0 || have < answer_length) {
    if (have == buffer_bytes) die("the answers are too long for this client");
    if (!receive_more(0, &have)) die("the first request got no answer");
    answer_length = length_of_answer(buffer);
  }
  check_status(buffer);
  if (have != answer_length) ++errors.length;
  body_length = answer_length - (size_t)(strstr(buffer, "\r\n\r\n") + 4 - buffer);
  first_body = malloc(body_length + 1);
  if (first_body == NULL) die("out of memory");
  memcpy(first_body, buffer + answer_length - body_length, body_length);
  options.depth = depth;
  build_requests();
}

// --- Options ---

static void read_options(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const char* argument = argv[i];
    const char* value;
    if ((value = value_of(argument, "--port"))) options.port = atoi(value);
    else if ((value = value_of(argument, "--method"))) options.method = value;
    else if ((value = value_of(argument, "--path"))) options.path = value;
    else if ((value = value_of(argument, "--body"))) options.body = value;
    else if ((value = value_of(argument, "--expect-status"))) options.status = value;
    else if ((value = value_of(argument, "--connections"))) options.connections = atoi(value);
    else if ((value = value_of(argument, "--depth"))) options.depth = atoi(value);
    else if ((value = value_of(argument, "--warmup"))) options.warmup = atof(value);
    else if ((value = value_of(argument, "--seconds"))) options.seconds = atof(value);
    else if ((value = value_of(argument, "--count"))) options.count = strtoull(value, NULL, 10);
    else if ((value = value_of(argument, "--first"))) options.first = strtoull(value, NULL, 10);
    else if ((value = value_of(argument, "--range"))) options.range = strtoull(value, NULL, 10);
    else if ((value = value_of(argument, "--cpu"))) options.cpu = atoi(value);
    else if (!counted_option(&options.counted, argument)) die(argument);
  }
  if (options.port <= 0 || options.connections <= 0 || options.depth <= 0 || strlen(options.status) != 3) {
    die("--port=N is needed; --connections, --depth and --expect-status must make sense");
  }
  if (options.body != NULL && strlen(options.body) > 4096) die("--body has at most 4096 bytes");
}

// --- The measurement ---

static bool goes_on(void) {
  if (errors.timeout != 0) return false;
  for (int i = 0; i < options.connections; ++i) {
    if (sockets[i] >= 0) return true;
  }
  return false;
}

int main(int argc, char** argv) {
  read_options(argc, argv);
  varying = options.body != NULL || strstr(options.path, "{n}") != NULL;
  // Room for a {n} of 20 digits at every place where the template has three bytes.
  size_t template_bytes = strlen(options.path) + (options.body != NULL ? strlen(options.body) : 0);
  request = malloc((size_t)options.depth * (template_bytes * 7 + strlen(options.method) + 256));
  if (request == NULL) die("out of memory");
  pin_to(options.cpu);

  connect_all();
  uint64_t before = 0;  // Answers ahead of the window.
  if (!varying) {
    learn_answer();
    before = 1;
  }
  const double begin = seconds_of(CLOCK_MONOTONIC);
  while (goes_on() && seconds_of(CLOCK_MONOTONIC) - begin < options.warmup) before += round_trip();
  open_counters(&options.counted);

  const struct sample from = take_sample();
  uint64_t answers = 0;
  while (goes_on()) {
    answers += round_trip();
    if (options.count != 0 ? answers >= options.count : seconds_of(CLOCK_MONOTONIC) - from.wall >= options.seconds)
      break;
  }
  const struct sample to = take_sample();

  const double seconds = to.wall - from.wall;
  printf("{\"requests\": %" PRIu64 ", \"all_requests\": %" PRIu64
         ", \"seconds\": %.6f, \"rate\": %.1f, \"answer_bytes\": %zu",
         answers, before + answers, seconds, (double)answers / seconds, answer_length);
  print_counters(&from, &to);
  printf(", \"errors\": {\"status\": %" PRIu64 ", \"length\": %" PRIu64 ", \"body\": %" PRIu64 ", \"closed\": %" PRIu64
         ", \"timeout\": %" PRIu64 "}}\n",
         errors.status, errors.length, errors.body, errors.closed, errors.timeout);
  return errors.status + errors.length + errors.body + errors.closed + errors.timeout == 0 ? 0 : 1;
}
