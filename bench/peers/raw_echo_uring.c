// The bound for echo servers on io_uring: multishot accept and receive, a ring of provided buffers, one send per
// receive straight from its buffer, which goes back when the send is complete; one io_uring_enter per turn.
//
// Linked sends of one connection would keep their order when a peer does not read; here each connection has at most one
// in flight and the buffers behind it wait in a list.
//
// What was tried and left out of Keel's engine, for the experiment uring-choices: --registered (descriptors that only
// the ring knows), --zero-copy (sends that complete twice), --buffers=N (how many the kernel has; 1024).

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
  echo_bytes = 16 * 1024,
  buffers_max = 1024,
  registered_max = 4096,
  none = -1
};
enum operation { accepting = 1, receiving = 2, sending = 3 };

struct connection {
  int first;  // Buffers to send; the first is in the kernel's hands.
  int last;
  bool receives;  // A receive is pending; nothing refers to the descriptor when it has ended and nothing is sent.
  bool failed;
};

static bool registered;
static bool zero_copy;
static int buffer_count = buffers_max;

static struct io_uring ring;
static struct io_uring_buf_ring* buffer_ring;
static char* buffers;
static int lengths[buffers_max];
static int next_of[buffers_max];
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
  if (registered) {
    io_uring_prep_multishot_accept_direct(entry, listener, NULL, NULL, 0);
  } else {
    io_uring_prep_multishot_accept(entry, listener, NULL, NULL, SOCK_CLOEXEC);
  }
  tag(entry, accepting, listener);
}

static unsigned char of_connection(void) { return registered ? IOSQE_FIXED_FILE : 0; }

static void start_receive(int fd) {
  struct io_uring_sqe* entry = next_entry();
  io_uring_prep_recv_multishot(entry, fd, NULL, 0, 0);
  entry->flags |= IOSQE_BUFFER_SELECT | of_connection();
  entry->buf_group = 0;
  tag(entry, receiving, fd);
  connections[fd].receives = true;
}

static void start_send(int fd) {
  int id = connections[fd].first;
  struct io_uring_sqe* entry = next_entry();
  const char* from = buffers + (size_t)id * echo_bytes;
  if (zero_copy) {
    io_uring_prep_send_zc(entry, fd, from, (size_t)lengths[id], MSG_NOSIGNAL | MSG_WAITALL, 0);
  } else {
    io_uring_prep_send(entry, fd, from, (size_t)lengths[id], MSG_NOSIGNAL | MSG_WAITALL);
  }
  entry->flags |= of_connection();
  tag(entry, sending, fd);
}

static void return_buffer(int id) {
  io_uring_buf_ring_add(buffer_ring, buffers + (size_t)id * echo_bytes, echo_bytes, (unsigned short)id,
                        io_uring_buf_ring_mask(buffer_count), 0);
  io_uring_buf_ring_advance(buffer_ring, 1);
}

static void close_if_quiet(int fd) {
  struct connection* connection = &connections[fd];
  if (connection->receives || connection->first != none) return;
  struct io_uring_sqe* entry = next_entry();
  if (registered) {
    io_uring_prep_close_direct(entry, (unsigned)fd);
  } else {
    io_uring_prep_close(entry, fd);
  }
  entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

static void on_accepted(const struct io_uring_cqe* completion, int listener) {
  int fd = completion->res;
  if (fd >= connections_max) {
    close(fd);
  } else if (fd >= 0) {
    if (!registered) raw_no_delay(fd);  // Else it is the listener's.
    connections[fd] = (struct connection){.first = none, .last = none};
    start_receive(fd);
  }
  if (!(completion->flags & IORING_CQE_F_MORE)) start_accept(listener);
}

static void on_received(const struct io_uring_cqe* completion, int fd) {
  struct connection* connection = &connections[fd];
  const bool more = completion->flags & IORING_CQE_F_MORE;
  if (completion->res > 0) {
    int id = (int)(completion->flags >> IORING_CQE_BUFFER_SHIFT);
    if (connection->failed) {
      return_buffer(id);
    } else {
      lengths[id] = completion->res;
      next_of[id] = none;
      if (connection->first == none) {
        connection->first = connection->last = id;
        start_send(fd);
      } else {
        next_of[connection->last] = id;
        connection->last = id;
      }
    }
  }
  if (more) return;
  if (completion->res > 0 || completion->res == -ENOBUFS) {
    start_receive(fd);
  } else {
    connection->receives = false;
    close_if_quiet(fd);
  }
}

static void on_sent(const struct io_uring_cqe* completion, int fd) {
  struct connection* connection = &connections[fd];
  int id = connection->first;
  if (zero_copy && !(completion->flags & IORING_CQE_F_NOTIF)) {
    if (completion->res != lengths[id]) connection->failed = true;
    if (completion->flags & IORING_CQE_F_MORE) return;  // The kernel still reads the buffer.
  }
  connection->first = next_of[id];
  const bool failed = connection->failed || (!zero_copy && completion->res != lengths[id]);
  return_buffer(id);
  if (failed) {
    connection->failed = true;
    while (connection->first != none) {
      id = connection->first;
      connection->first = next_of[id];
      return_buffer(id);
    }
    struct io_uring_sqe* entry = next_entry();
    io_uring_prep_shutdown(entry, fd, SHUT_RDWR);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS | of_connection();
    entry->user_data = 0;
  }
  if (connection->first != none) {
    start_send(fd);
  } else {
    close_if_quiet(fd);
  }
}

static void set_up(void) {
  struct io_uring_params parameters = {
      .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL,
      .cq_entries = completion_entries,
  };
  int error = io_uring_queue_init_params(ring_entries, &ring, &parameters);
  if (error == 0 && io_uring_register_ring_fd(&ring) < 0) error = -EINVAL;
  if (posix_memalign((void**)&buffer_ring, 4096, buffer_count * sizeof(struct io_uring_buf)) != 0 ||
      posix_memalign((void**)&buffers, 4096, (size_t)buffer_count * echo_bytes) != 0) {
    abort();
  }
  struct io_uring_buf_reg registration = {
      .ring_addr = (uint64_t)(uintptr_t)buffer_ring, .ring_entries = (unsigned)buffer_count, .bgid = 0};
  io_uring_buf_ring_init(buffer_ring);
  if (error == 0) error = io_uring_register_buf_ring(&ring, &registration, 0);
  if (error == 0 && registered) error = io_uring_register_files_sparse(&ring, registered_max);
  if (error != 0) {
    fprintf(stderr, "io_uring: %s\n", strerror(-error));
    exit(3);
  }
  for (int id = 0; id < buffer_count; ++id) return_buffer(id);
}

// Takes its own options out of argv; returns how many are left.
static int own_options_from(int argc, char** argv) {
  int left = 1;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--registered") == 0) {
      registered = true;
    } else if (strcmp(argv[i], "--zero-copy") == 0) {
      zero_copy = true;
    } else if (strncmp(argv[i], "--buffers=", 10) == 0) {
      buffer_count = atoi(argv[i] + 10);
      if (buffer_count < 1 || buffer_count > buffers_max || (buffer_count & (buffer_count - 1)) != 0) {
        fprintf(stderr, "--buffers: a power of two up to %d\n", buffers_max);
        exit(2);
      }
    } else {
      argv[left++] = argv[i];
    }
  }
  return left;
}

int main(int argc, char** argv) {
  const int left = own_options_from(argc, argv);
  int listener = raw_listen(raw_options_from(left, argv).port, false);
  if (registered) raw_no_delay(listener);
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
          on_received(completion, fd);
          break;
        case sending:
          on_sent(completion, fd);
          break;
      }
    }
    io_uring_cq_advance(&ring, count);
  }
}
