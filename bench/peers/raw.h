// What the two raw servers share: the fixed answers and the loop that turns request heads into answers.
//
// The raw servers are the bound that a real server is compared with. They read no method, header or body: a
// request is "GET /plaintext " or "GET /json " up to the empty line, anything else ends the connection. The
// answers are files given at start, so that the bound sends exactly as many bytes as the server next to it.

#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
  receive_bytes = 4096,     // One receive; longer request heads than this are refused.
  connections_max = 65536,  // Descriptors are used as indices.
};

struct answer {
  char* text;
  size_t length;
};

struct raw_options {
  int port;
  struct answer plaintext;
  struct answer json;
  long burn_rounds;  // Planted effects, by which the lab is tested: more CPU for each response.
  int stall_ms;      // The other planted effect: once a second a response that is this late.
};

// Reads --port=N [--plaintext=FILE] [--json=FILE] [--burn-ns=N] [--stall-ms=N]; ends the process with a
// sentence when they are wrong.
struct raw_options raw_options_from(int argc, char** argv);

// A listening TCP socket on the loopback address; ends the process when the port cannot be had.
int raw_listen(int port, bool nonblocking);

// The next connection of a listener that does not block: it does not block either and has TCP_NODELAY. -1 when there is
// none. Those whose descriptor is too great for an index are closed.
int raw_accept(int listener);

void raw_no_delay(int fd);

// A byte queue that keeps its memory.
struct bytes {
  char* data;
  size_t length;
  size_t capacity;
};

void bytes_append(struct bytes* to, const char* from, size_t length);

// Appends the answer to every complete request in `text` to `out` and returns how many bytes were used up.
// Sets *refused when a request is not one of the two known ones, or when the head is too long.
size_t raw_answer(const struct raw_options* options, const char* text, size_t length, struct bytes* out, bool* refused);
