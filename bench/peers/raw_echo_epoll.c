// The bound for echo servers on epoll: level-triggered, one shared receive buffer, one recv and one send per event.
// What the peer's window has no room for waits, and nothing more is read from that peer until it has left.

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "raw.h"

enum { echo_bytes = 16 * 1024 };

struct connection {
  struct bytes unsent;
  size_t sent;
};

static struct connection connections[connections_max];
static char received[echo_bytes];

static void close_connection(int fd) {
  free(connections[fd].unsent.data);
  connections[fd] = (struct connection){0};
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

static void on_readable(int epoll, int fd) {
  ssize_t count = recv(fd, received, echo_bytes, 0);
  if (count <= 0) {
    if (count == 0 || errno != EAGAIN) close_connection(fd);
    return;
  }
  ssize_t sent = send(fd, received, (size_t)count, MSG_NOSIGNAL);
  if (sent < 0) {
    if (errno != EAGAIN) {
      close_connection(fd);
      return;
    }
    sent = 0;
  }
  if (sent < count) {
    bytes_append(&connections[fd].unsent, received + sent, (size_t)(count - sent));
    watch(epoll, fd, EPOLL_CTL_MOD, EPOLLOUT);
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
  watch(epoll, fd, EPOLL_CTL_MOD, EPOLLIN);
}

int main(int argc, char** argv) {
  int listener = raw_listen(raw_options_from(argc, argv).port, true);
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
        on_readable(epoll, fd);
      }
    }
  }
}
