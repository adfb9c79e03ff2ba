// The bound for servers on epoll: level-triggered, one shared receive buffer, one recv and one send per event.

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "raw.h"

struct connection {
  struct bytes head;    // The part of a request head that came without its end.
  struct bytes unsent;  // What the peer's window had no room for; nothing is read until it is gone.
  size_t sent;          // How much of `unsent` has left.
  bool closing;         // Refused: close when everything is sent.
};

static struct connection connections[connections_max];
static char received[2 * receive_bytes];
static struct bytes out;

static void close_connection(int fd) {
  struct connection* connection = &connections[fd];
  free(connection->head.data);
  free(connection->unsent.data);
  *connection = (struct connection){0};
  close(fd);
}

static void watch(int epoll, int fd, int operation, uint32_t events) {
  struct epoll_event event = {.events = events, .data.fd = fd};
  if (epoll_ctl(epoll, operation, fd, &event) != 0) close_connection(fd);
}

static void accept_all(int epoll, int listener) {
  int fd;
  while ((fd = raw_accept(listener)) >= 0) watch(epoll, fd, EPOLL_CTL_ADD, EPOLLIN);
}

static void on_readable(int epoll, int fd, const struct raw_options* options) {
  struct connection* connection = &connections[fd];
  size_t carried = connection->head.length;
  if (carried != 0) memcpy(received, connection->head.data, carried);
  ssize_t count = recv(fd, received + carried, receive_bytes, 0);
  if (count <= 0) {
    if (count == 0 || errno != EAGAIN) close_connection(fd);
    return;
  }

  size_t length = carried + (size_t)count;
  out.length = 0;
  size_t used = raw_answer(options, received, length, &out, &connection->closing);
  connection->head.length = 0;
  if (used < length) bytes_append(&connection->head, received + used, length - used);

  size_t sent = 0;
  if (out.length != 0) {
    ssize_t done = send(fd, out.data, out.length, MSG_NOSIGNAL);
    if (done < 0 && errno != EAGAIN) {
      close_connection(fd);
      return;
    }
    if (done > 0) sent = (size_t)done;
  }
  if (sent < out.length) {
    bytes_append(&connection->unsent, out.data + sent, out.length - sent);
    watch(epoll, fd, EPOLL_CTL_MOD, EPOLLOUT);
  } else if (connection->closing) {
    close_connection(fd);
  }
}

static void on_writable(int epoll, int fd) {
  struct connection* connection = &connections[fd];
  ssize_t done =
      send(fd, connection->unsent.data + connection->sent, connection->unsent.length - connection->sent, MSG_NOSIGNAL);
  if (done < 0) {
    if (errno != EAGAIN) close_connection(fd);
    return;
  }
  connection->sent += (size_t)done;
  if (connection->sent < connection->unsent.length) return;
  connection->sent = 0;
  connection->unsent.length = 0;
  if (connection->closing) {
    close_connection(fd);
  } else {
    watch(epoll, fd, EPOLL_CTL_MOD, EPOLLIN);
  }
}

int main(int argc, char** argv) {
  const struct raw_options options = raw_options_from(argc, argv);
  int listener = raw_listen(options.port, true);
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  watch(epoll, listener, EPOLL_CTL_ADD, EPOLLIN);

  static struct epoll_event events[1024];
  for (;;) {
    int count = epoll_wait(epoll, events, 1024, -1);
    for (int i = 0; i < count; ++i) {
      int fd = events[i].data.fd;
      if (fd == listener) {
        accept_all(epoll, listener);
      } else if (connections[fd].unsent.length != 0) {
        on_writable(epoll, fd);
      } else {
        on_readable(epoll, fd, &options);
      }
    }
  }
}
