// The bound for servers on io_uring: multishot accept and receive, a ring of provided buffers, one send per
// receive completion, one io_uring_enter per turn.

#define _GNU_SOURCE
#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "raw.h"

enum {
  ring_entries = 4096,
  completion_entries = 16384,
  buffer_count = 2048,
  unsent_bytes_max = 1 << 20,  // A peer that sends requests and reads no answers is cut off here.
};

enum operation { accepting = 1, receiving = 2, sending = 3 };

struct connection {
  struct bytes head;     // The part of a request head that came without its end.
  struct bytes sending;  // In the kernel's hands while its length is not 0.
  struct bytes queued;   // Answers made meanwhile.
  size_t sent;           // How much of `sending` has left.
  bool receive_ended;    // The multishot receive is over for good.
  bool closing;          // Refused: shut down when everything is sent.
};

static struct io_uring ring;
static struct io_uring_buf_ring* buffer_ring;
static char* buffers;
static struct connection connections[connections_max];

static struct io_uring_sqe* next_entry(void) {
  struct io_uring_sqe* entry;
  while ((entry = io_uring_get_sqe(&ring)) == NULL) io_uring_submit(&ring);
  return entry;
}

static void tag(struct io_uring_sqe* entry, enum operation operation, int fd) {
  entry->user_data = (uint64_t)operation << 32 | (uint32_t)fd;
}

static void start_accept(int listener) {
  struct io_uring_sqe* entry = next_entry();
  io_uring_prep_multishot_accept(entry, listener, NULL, NULL, SOCK_CLOEXEC);
  tag(entry, accepting, listener);
}

static void start_receive(int fd) {
  struct io_uring_sqe* entry = next_entry();
  io_uring_prep_recv_multishot(entry, fd, NULL, 0, 0);
  entry->flags |= IOSQE_BUFFER_SELECT;
  entry->buf_group = 0;
  tag(entry, receiving, fd);
}

static void start_send(int fd) {
  struct connection* connection = &connections[fd];
  struct io_uring_sqe* entry = next_entry();
  io_uring_prep_send(entry, fd, connection->sending.data + connection->sent,
                     connection->sending.length - connection->sent, MSG_NOSIGNAL | MSG_WAITALL);
  tag(entry, sending, fd);
}

static void return_buffer(int id) {
  io_uring_buf_ring_add(buffer_ring, buffers + (size_t)id * receive_bytes, receive_bytes, (unsigned short)id,
                        io_uring_buf_ring_mask(buffer_count), 0);
  io_uring_buf_ring_advance(buffer_ring, 1);
}

// Starts the next send, or ends the connection when nothing is left to do. Called when no send is in flight.
static void go_on(int fd) {
  struct connection* connection = &connections[fd];
  if (connection->receive_ended) {  // Nothing refers to the descriptor any more.
    free(connection->head.data);
    free(connection->sending.data);
    free(connection->queued.data);
    *connection = (struct connection){0};
    close(fd);
  } else if (connection->queued.length != 0) {
    struct bytes empty = connection->sending;
    connection->sending = connection->queued;
    connection->queued = empty;
    connection->sent = 0;
    start_send(fd);
  } else if (connection->closing) {
    shutdown(fd, SHUT_RDWR);  // The receive ends with 0, and that closes.
  }
}

static void on_accepted(const struct io_uring_cqe* completion, int listener) {
  int fd = completion->res;
  if (fd >= connections_max) {
    close(fd);
  } else if (fd >= 0) {
    raw_no_delay(fd);
    start_receive(fd);
  }
  if (!(completion->flags & IORING_CQE_F_MORE)) start_accept(listener);
}

static void on_received(const struct io_uring_cqe* completion, int fd, const struct raw_options* options) {
  struct connection* connection = &connections[fd];
  const bool more = completion->flags & IORING_CQE_F_MORE;
  const bool has_buffer = completion->flags & IORING_CQE_F_BUFFER;
  const int id = (int)(completion->flags >> IORING_CQE_BUFFER_SHIFT);

  if (completion->res > 0 && !connection->closing) {
    const char* text = buffers + (size_t)id * receive_bytes;
    size_t length = (size_t)completion->res;
    const bool carried = connection->head.length != 0;
    if (carried) {
      bytes_append(&connection->head, text, length);
      text = connection->head.data;
      length = connection->head.length;
    }
    size_t used = raw_answer(options, text, length, &connection->queued, &connection->closing);
    if (carried) {
      memmove(connection->head.data, connection->head.data + used, length - used);
      connection->head.length = length - used;
    } else if (used < length) {
      bytes_append(&connection->head, text + used, length - used);
    }
    if (connection->queued.length > unsent_bytes_max) shutdown(fd, SHUT_RDWR);
  }
  if (has_buffer) return_buffer(id);

  if (!more) {
    if (completion->res > 0 || completion->res == -ENOBUFS) {
      start_receive(fd);
    } else {
      connection->receive_ended = true;
    }
  }
  if (connection->sending.length == 0) go_on(fd);
}

static void on_sent(const struct io_uring_cqe* completion, int fd) {
  struct connection* connection = &connections[fd];
  if (completion->res > 0) {
    connection->sent += (size_t)completion->res;
    if (connection->sent < connection->sending.length && !connection->receive_ended) {
      start_send(fd);
      return;
    }
  } else {
    connection->queued.length = 0;
    connection->closing = true;
  }
  connection->sending.length = 0;
  go_on(fd);
}

static void set_up(void) {
  struct io_uring_params parameters = {
      .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL,
      .cq_entries = completion_entries,
  };
  int error = io_uring_queue_init_params(ring_entries, &ring, &parameters);
  if (error == 0 && io_uring_register_ring_fd(&ring) < 0) error = -EINVAL;
  if (posix_memalign((void**)&buffer_ring, 4096, buffer_count * sizeof(struct io_uring_buf)) != 0 ||
      posix_memalign((void**)&buffers, 4096, (size_t)buffer_count * receive_bytes) != 0) {
    abort();
  }
  struct io_uring_buf_reg registration = {
      .ring_addr = (uint64_t)(uintptr_t)buffer_ring, .ring_entries = buffer_count, .bgid = 0};
  io_uring_buf_ring_init(buffer_ring);
  if (error == 0) error = io_uring_register_buf_ring(&ring, &registration, 0);
  if (error != 0) {
    fprintf(stderr, "io_uring: %s\n", strerror(-error));
    exit(3);
  }
  for (int id = 0; id < buffer_count; ++id) return_buffer(id);
}

int main(int argc, char** argv) {
  const struct raw_options options = raw_options_from(argc, argv);
  int listener = raw_listen(options.port, false);
  set_up();
  start_accept(listener);

  for (;;) {
    io_uring_submit_and_wait(&ring, 1);
    struct io_uring_cqe* completion;
    unsigned head;
    unsigned count = 0;
    io_uring_for_each_cqe(&ring, head, completion) {
      ++count;
      int fd = (int)(uint32_t)completion->user_data;
      switch ((enum operation)(completion->user_data >> 32)) {
        case accepting:
          on_accepted(completion, fd);
          break;
        case receiving:
          on_received(completion, fd, &options);
          break;
        case sending:
          on_sent(completion, fd);
          break;
      }
    }
    io_uring_cq_advance(&ring, count);
  }
}
