#define _GNU_SOURCE
#include "framing.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "counters.h"

enum { kind_hello = 1, kind_request = 3, kind_response = 4, hello_bytes = 23, type_echoed = 1 };

static size_t put_bytes(char* to, size_t at, uint64_t value, int bytes) {
  for (int i = bytes; i-- > 0; ++at) to[at] = (char)(value >> (8 * i));
  return at;
}

int framing_named(const char* name) {
  if (strcmp(name, "none") == 0) return framing_none;
  if (strcmp(name, "frames") == 0) return framing_frames;
  if (strcmp(name, "websocket") == 0) return framing_websocket;
  return -1;
}

static size_t put_frame_head(char* to, int kind, int type, uint32_t id, size_t size) {
  size_t at = put_bytes(to, 0, size + 8, 4);
  at = put_bytes(to, at, (uint64_t)kind, 1);
  at = put_bytes(to, at, 0, 1);
  at = put_bytes(to, at, (uint64_t)type, 2);
  return put_bytes(to, at, id, 4);
}

static size_t put_websocket_head(char* to, unsigned mask, size_t size) {
  const unsigned final_binary = 0x82;
  size_t at = put_bytes(to, 0, final_binary, 1);
  if (size < 126) return put_bytes(to, at, mask | size, 1);
  at = put_bytes(to, at, mask | (size < 65536 ? 126 : 127), 1);
  return put_bytes(to, at, size, size < 65536 ? 2 : 8);
}

size_t framing_put_message(enum framing framing, char* to, const char* payload, size_t size, uint32_t id) {
  size_t at = 0;
  if (framing == framing_websocket) {
    at = put_websocket_head(to, 0x80, size);
    const uint32_t key = id * 2654435761u + 0x9e3779b9u;
    at = put_bytes(to, at, key, 4);
    const char* const mask = to + at - 4;
    for (size_t i = 0; i < size; ++i) to[at + i] = (char)(payload[i] ^ mask[i % 4]);
    return at + size;
  }
  if (framing == framing_frames) at = put_frame_head(to, kind_request, type_echoed, id, size);
  memcpy(to + at, payload, size);
  return at + size;
}

size_t framing_put_answer(enum framing framing, char* to, const char* payload, size_t size, uint32_t id) {
  size_t at = 0;
  if (framing == framing_frames) at = put_frame_head(to, kind_response, 0, id, size);
  if (framing == framing_websocket) at = put_websocket_head(to, 0, size);
  memcpy(to + at, payload, size);
  return at + size;
}

static void send_whole(int fd, const char* bytes, size_t size) {
  if (send(fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size) die("the greeting cannot be sent");
}

static void receive_whole(int fd, char* to, size_t size) {
  if (recv(fd, to, size, MSG_WAITALL) != (ssize_t)size) die("the server does not greet");
}

static void greet_in_frames(int fd) {
  char hello[64];
  size_t at = put_frame_head(hello, kind_hello, 0, 0, hello_bytes);
  memcpy(hello + at, "KMSG", 4);
  at = put_bytes(hello, at + 4, 1, 1);    // The version, from
  at = put_bytes(hello, at, 1, 1);        // and to.
  at = put_bytes(hello, at, 0, 1);        // No checksums.
  at = put_bytes(hello, at, 64, 2);       // Requests
  at = put_bytes(hello, at, 1, 2);        // and streams at the same time.
  at = put_bytes(hello, at, 2 << 20, 4);  // The largest frame.
  at = put_bytes(hello, at, 65536, 4);    // Credit of a stream.
  at = put_bytes(hello, at, 0, 4);        // No heartbeat.
  send_whole(fd, hello, at);
  receive_whole(fd, hello, 12);
  uint32_t size;
  memcpy(&size, hello, sizeof size);
  size = ntohl(size);
  if (hello[4] != kind_hello || size < 8 + hello_bytes || size > sizeof hello) die("the server's hello is none");
  receive_whole(fd, hello, size - 8);
  if (memcmp(hello, "KMSG", 4) != 0) die("the server's hello is none");
}

// The key and the answer to it are the example of RFC 6455 §1.3.
static void greet_as_websocket(int fd) {
  static const char request[] =
      "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  send_whole(fd, request, sizeof request - 1);
  char answer[4096] = "";
  size_t size = 0;
  // Byte by byte: what comes after it belongs to the messages.
  while (strstr(answer, "\r\n\r\n") == NULL) {
    if (size == sizeof answer - 1) die("the server's head is too long");
    receive_whole(fd, answer + size++, 1);
  }
  if (strncmp(answer, "HTTP/1.1 101 ", 13) != 0 || strstr(answer, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") == NULL) {
    die("the server does not speak WebSocket");
  }
  if (strcasestr(answer, "sec-websocket-extensions") != NULL) die("the server uses an extension that was not offered");
}

void framing_greet(enum framing framing, int fd) {
  if (framing == framing_frames) greet_in_frames(fd);
  if (framing == framing_websocket) greet_as_websocket(fd);
}
