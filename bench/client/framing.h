// How a message to an echo server and its answer are framed, and what is said first on a connection.

#pragma once

#include <stddef.h>
#include <stdint.h>

enum framing {
  framing_none,       // The answer is what was sent.
  framing_frames,     // Keel's messages (src/keel/net/messages/frame.h): a request, and the response with its id.
  framing_websocket,  // RFC 6455: a masked binary message, and the same message without a mask.
};

enum { framing_head_max = 14 };  // Bytes before a payload.

// Negative when there is no framing of that name.
int framing_named(const char* name);
// Writes message `id`, of those in flight on a connection, with its payload to `to`, which has room for
// framing_head_max bytes more than the payload; returns the bytes that are used.
size_t framing_put_message(enum framing framing, char* to, const char* payload, size_t size, uint32_t id);
// The same of the answer that is right.
size_t framing_put_answer(enum framing framing, char* to, const char* payload, size_t size, uint32_t id);
// Says what each side says first, and checks what the server says; ends the client when that is wrong.
void framing_greet(enum framing framing, int fd);
