// A light client for byte streams that saturates an echo server from one thread: it sends a message (or --depth of
// them in one packet) on every connection and then reads all of them back. Every message is another slice of one random
// pattern, and every byte that comes back is compared, so an answer that is wrong, short, too long or one behind is an
// error. With --framing messages and answers are frames, whose heads are compared as well. With --churn each round
// connects anew, makes one round trip on each connection and closes.
//
// At the end the client finishes writing and expects the end of each stream: what a server sent too much shows there.
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
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "counters.h"
#include "framing.h"

enum {
  slices = 65536,  // Different messages, one byte apart.
  payload_max = 1 << 20,
  depth_max = 64,
};

struct options {
  int port;
  int connections;
  size_t payload;
  int depth;    // Messages in flight on each connection.
  int framing;  // Of enum framing.
  bool churn;
  double warmup;
  double seconds;
  uint64_t count;   // Ends the window after this many messages instead of after `seconds`; 0 = off.
  double patience;  // Seconds after which a byte that has not arrived is an error.
  int cpu;
  struct counted counted;
};

struct errors {
  uint64_t wrong;    // A byte that had not been sent so.
  uint64_t surplus;  // More bytes than were sent.
  uint64_t closed;   // The connection ended or failed.
  uint64_t timeout;  // Nothing came within the patience.
};

static struct options options = {
    .connections = 64, .payload = 64, .depth = 1, .warmup = 0.3, .seconds = 1.5, .patience = 5, .cpu = -1};
static struct errors errors;
static int* sockets;
static char* pattern;
static char* received;
static char* batch;  // What is sent on one connection in a round, or has to come back.
static uint64_t rounds;
static uint32_t connected;

static const char* message(int index, int number) {
  return pattern + (rounds * 7919 + (uint64_t)index * 104729 + (uint64_t)number * 1299709) % slices;
}

static size_t batch_room(void) { return (options.payload + framing_head_max) * (size_t)options.depth; }

typedef size_t put_framed(enum framing framing, char* to, const char* payload, size_t size, uint32_t id);

// All messages of a connection in this round, or all answers to them, made in `batch`; returns their size.
static size_t make_batch(int index, put_framed* put) {
  size_t size = 0;
  for (int i = 0; i < options.depth; ++i) {
    size += put((enum framing)options.framing, batch + size, message(index, i), options.payload, (uint32_t)i);
  }
  return size;
}

static void make_pattern(void) {
  pattern = malloc(slices + options.payload);
  received = malloc(batch_room());
  batch = malloc(batch_room());
  sockets = malloc((size_t)options.connections * sizeof *sockets);
  if (pattern == NULL || received == NULL || batch == NULL || sockets == NULL) die("out of memory");
  uint64_t state = 0x9e3779b97f4a7c15;
  for (size_t i = 0; i < slices + options.payload; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    pattern[i] = (char)(state >> 32);
  }
}

static int connect_one(void) {
  const int on = 1;
  const struct timeval patience = {
      .tv_sec = (time_t)options.patience,
      .tv_usec = (suseconds_t)((options.patience - (double)(time_t)options.patience) * 1e6)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) die("socket");
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (options.churn) {
    // From many addresses, so that connections in TIME_WAIT never use up the ports of one.
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f010001u + connected++ % 60000)};
    if (bind(fd, (struct sockaddr*)&from, sizeof from) != 0) die("bind");
  }
  struct sockaddr_in to = {
      .sin_family = AF_INET, .sin_port = htons((in_port_t)options.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (connect(fd, (struct sockaddr*)&to, sizeof to) != 0) die("connect");
  framing_greet((enum framing)options.framing, fd);
  return fd;
}

static void connect_all(void) {
  for (int i = 0; i < options.connections; ++i) sockets[i] = connect_one();
}

static void close_all(void) {
  for (int i = 0; i < options.connections; ++i) {
    if (sockets[i] >= 0) close(sockets[i]);
    sockets[i] = -1;
  }
}

static void drop(int index, uint64_t* error) {
  ++*error;
  close(sockets[index]);
  sockets[index] = -1;
}

static bool is_patience_over(void) { return errno == EAGAIN || errno == EWOULDBLOCK; }

static bool send_messages(int index) {
  const char* at = batch;
  for (size_t left = make_batch(index, framing_put_message); left != 0;) {
    ssize_t count = send(sockets[index], at, left, MSG_NOSIGNAL);
    if (count < 0) {
      drop(index, is_patience_over() ? &errors.timeout : &errors.closed);
      return false;
    }
    at += count;
    left -= (size_t)count;
  }
  return true;
}

static bool read_answers(int index) {
  const size_t size = make_batch(index, framing_put_answer);
  for (size_t have = 0; have < size;) {
    ssize_t count = recv(sockets[index], received + have, size - have, 0);
    if (count <= 0) {
      drop(index, count < 0 && is_patience_over() ? &errors.timeout : &errors.closed);
      return false;
    }
    have += (size_t)count;
  }
  if (memcmp(received, batch, size) != 0) {
    drop(index, &errors.wrong);
    return false;
  }
  return true;
}

// Send on all connections, then read all back. How many messages came back right.
static uint64_t round_trip(void) {
  if (options.churn) connect_all();
  uint64_t right = 0;
  for (int i = 0; i < options.connections; ++i) {
    if (sockets[i] >= 0) send_messages(i);
  }
  for (int i = 0; i < options.connections; ++i) {
    if (sockets[i] >= 0) right += read_answers(i) ? (uint64_t)options.depth : 0;
  }
  ++rounds;
  return right;
}

// The peer has to end its stream after ours, without another byte.
static void expect_ends(void) {
  for (int i = 0; i < options.connections; ++i) {
    if (sockets[i] >= 0) shutdown(sockets[i], SHUT_WR);
  }
  for (int i = 0; i < options.connections; ++i) {
    if (sockets[i] < 0) continue;
    ssize_t count = recv(sockets[i], received, 1, 0);
    if (count > 0) drop(i, &errors.surplus);
    else if (count < 0) drop(i, is_patience_over() ? &errors.timeout : &errors.closed);
  }
}

static bool any_connection(void) {
  for (int i = 0; i < options.connections; ++i) {
    if (sockets[i] >= 0) return true;
  }
  return false;
}

// Rounds until `done` says so or a churn has met an error; leaves the last round's connections open.
static uint64_t run(double seconds, uint64_t count, double begin) {
  uint64_t messages = 0;
  for (;;) {
    messages += round_trip();
    const bool failed = errors.wrong + errors.closed + errors.timeout != 0;
    if (options.churn ? failed : !any_connection()) break;
    if (count != 0 ? messages >= count : seconds_of(CLOCK_MONOTONIC) - begin >= seconds) break;
    if (options.churn) close_all();
  }
  return messages;
}

static void read_options(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const char* argument = argv[i];
    const char* value;
    if ((value = value_of(argument, "--port"))) options.port = atoi(value);
    else if ((value = value_of(argument, "--connections"))) options.connections = atoi(value);
    else if ((value = value_of(argument, "--payload"))) options.payload = strtoull(value, NULL, 10);
    else if ((value = value_of(argument, "--depth"))) options.depth = atoi(value);
    else if ((value = value_of(argument, "--framing"))) options.framing = framing_named(value);
    else if ((value = value_of(argument, "--churn"))) options.churn = atoi(value) != 0;
    else if ((value = value_of(argument, "--warmup"))) options.warmup = atof(value);
    else if ((value = value_of(argument, "--seconds"))) options.seconds = atof(value);
    else if ((value = value_of(argument, "--count"))) options.count = strtoull(value, NULL, 10);
    else if ((value = value_of(argument, "--patience"))) options.patience = atof(value);
    else if ((value = value_of(argument, "--cpu"))) options.cpu = atoi(value);
    else if (!counted_option(&options.counted, argument)) die(argument);
  }
  if (options.port <= 0 || options.connections <= 0 || options.payload == 0 || options.payload > payload_max ||
      options.depth <= 0 || options.depth > depth_max || options.framing < 0 || options.patience <= 0) {
    die("--port=N is needed; --connections, --payload, --depth, --framing and --patience must make sense");
  }
}

int main(int argc, char** argv) {
  read_options(argc, argv);
  pin_to(options.cpu);
  make_pattern();
  struct rlimit descriptors;
  if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {
    descriptors.rlim_cur = descriptors.rlim_max;
    setrlimit(RLIMIT_NOFILE, &descriptors);
  }

  if (!options.churn) connect_all();
  if (options.warmup > 0) {
    run(options.warmup, 0, seconds_of(CLOCK_MONOTONIC));
    if (options.churn) close_all();
  }
  open_counters(&options.counted);

  const struct sample from = take_sample();
  const uint64_t messages = run(options.seconds, options.count, from.wall);
  const struct sample to = take_sample();
  expect_ends();

  const double seconds = to.wall - from.wall;
  printf("{\"requests\": %" PRIu64 ", \"seconds\": %.6f, \"rate\": %.1f, \"answer_bytes\": %zu", messages, seconds,
         (double)messages / seconds, options.payload);
  print_counters(&from, &to);
  printf(", \"errors\": {\"wrong\": %" PRIu64 ", \"surplus\": %" PRIu64 ", \"closed\": %" PRIu64
         ", \"timeout\": %" PRIu64 "}}\n",
         errors.wrong, errors.surplus, errors.closed, errors.timeout);
  return errors.wrong + errors.surplus + errors.closed + errors.timeout == 0 ? 0 : 1;
}
