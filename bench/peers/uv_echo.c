// libuv as its own echo example uses it, without an allocation per message: each connection has one buffer, a write
// request that is used again and again, and does not read while it writes. Bytes that can be written immediately are.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { buffer_bytes = 16 * 1024 };

struct connection {
  uv_tcp_t socket;
  uv_write_t write;
  char data[buffer_bytes];
};

static void on_closed(uv_handle_t* handle) { free(handle->data); }

static void end(struct connection* connection) {
  if (!uv_is_closing((uv_handle_t*)&connection->socket)) uv_close((uv_handle_t*)&connection->socket, on_closed);
}

static void on_buffer_wanted(uv_handle_t* handle, size_t suggested, uv_buf_t* buffer) {
  (void)suggested;
  struct connection* connection = handle->data;
  *buffer = uv_buf_init(connection->data, buffer_bytes);
}

static void on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer);

static void on_written(uv_write_t* write, int status) {
  struct connection* connection = write->data;
  if (status < 0 || uv_read_start((uv_stream_t*)&connection->socket, on_buffer_wanted, on_read) != 0) end(connection);
}

static void on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
  struct connection* connection = stream->data;
  if (count == 0) return;
  if (count < 0) {
    end(connection);
    return;
  }
  uv_buf_t left = uv_buf_init(buffer->base, (unsigned)count);
  const int written = uv_try_write(stream, &left, 1);
  if (written == (int)count) return;
  if (written > 0) left = uv_buf_init(left.base + written, left.len - (size_t)written);
  uv_read_stop(stream);
  if (uv_write(&connection->write, stream, &left, 1, on_written) != 0) end(connection);
}

static void on_connection(uv_stream_t* listener, int status) {
  if (status < 0) return;
  struct connection* connection = malloc(sizeof *connection);
  if (connection == NULL) return;
  uv_tcp_init(listener->loop, &connection->socket);
  connection->socket.data = connection;
  connection->write.data = connection;
  if (uv_accept(listener, (uv_stream_t*)&connection->socket) != 0) {
    end(connection);
    return;
  }
  uv_tcp_nodelay(&connection->socket, 1);
  uv_read_start((uv_stream_t*)&connection->socket, on_buffer_wanted, on_read);
}

int main(int argc, char** argv) {
  const int port = argc == 2 && strncmp(argv[1], "--port=", 7) == 0 ? atoi(argv[1] + 7) : 0;
  struct sockaddr_in address;
  uv_tcp_t listener;
  uv_loop_t* loop = uv_default_loop();
  if (port <= 0 || uv_ip4_addr("127.0.0.1", port, &address) != 0 || uv_tcp_init(loop, &listener) != 0 ||
      uv_tcp_bind(&listener, (const struct sockaddr*)&address, 0) != 0 ||
      uv_listen((uv_stream_t*)&listener, 4096, on_connection) != 0) {
    fprintf(stderr, "usage: %s --port=N, a free one\n", argv[0]);
    return 2;
  }
  return uv_run(loop, UV_RUN_DEFAULT);
}
