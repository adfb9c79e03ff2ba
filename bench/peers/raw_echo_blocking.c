// The bound for blocking echo servers: a thread for each connection, one recv and one send for each message.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "raw.h"

enum { echo_bytes = 16 * 1024 };

static void* echo(void* argument) {
  const int fd = (int)(intptr_t)argument;
  char received[echo_bytes];
  ssize_t count;
  while ((count = recv(fd, received, echo_bytes, 0)) > 0) {
    // A blocking socket takes all of it, unless the connection breaks.
    if (send(fd, received, (size_t)count, MSG_NOSIGNAL) != count) break;
  }
  close(fd);
  return NULL;
}

int main(int argc, char** argv) {
  const struct raw_options options = raw_options_from(argc, argv);
  const int listener = raw_listen(options.port, false);
  while (true) {
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) continue;
    raw_no_delay(fd);
    pthread_t thread;
    if (pthread_create(&thread, NULL, echo, (void*)(intptr_t)fd) != 0) {
      close(fd);
    } else {
      pthread_detach(thread);
    }
  }
}
