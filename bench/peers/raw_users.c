// The bound for rows in SQLite: GET /api/users/N and POST /api/users of the full-stack example, on epoll and SQLite's
// own interface. Answers of one turn leave after it, and all rows that came in it are one transaction, on disk before
// their 201. It checks no field, and reads only the JSON that the clients of the lab write.

#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "raw.h"

struct connection {
  struct bytes head;    // The part of a request that came without its end.
  struct bytes unsent;  // Answers of this turn, and what the peer's window had no room for.
  size_t sent;          // How much of `unsent` has left.
  bool closing;
  bool waits;  // For room: nothing is read until everything is sent.
};

static struct connection connections[connections_max];
static char received[2 * receive_bytes];
static int answered[connections_max];  // Those who are answered in this turn.
static int answered_count;

static sqlite3* database;
static sqlite3_stmt* select_user;
static sqlite3_stmt* insert_user;
static sqlite3_stmt* begin;
static sqlite3_stmt* commit;
static bool in_transaction;

static void must(int code, int expected) {
  if (code == expected) return;
  fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(database));
  exit(1);
}

static sqlite3_stmt* prepare(const char* sql) {
  sqlite3_stmt* made = NULL;
  must(sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, NULL), SQLITE_OK);
  return made;
}

static void run(sqlite3_stmt* statement) {
  must(sqlite3_step(statement), SQLITE_DONE);
  sqlite3_reset(statement);
}

static void open_database(const char* path) {
  must(sqlite3_open(path, &database), SQLITE_OK);
  must(sqlite3_exec(database,
                    "pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -65536;"
                    "create table if not exists users (id integer primary key, name text not null, email text not null"
                    " unique, age integer, created_at text not null) strict",
                    NULL, NULL, NULL),
       SQLITE_OK);
  select_user = prepare("select id, name, email, age, created_at from users where id = ?");
  insert_user = prepare("insert into users (name, email, created_at) values (?, ?, ?)");
  begin = prepare("begin immediate");
  commit = prepare("commit");
}

static const char* now_text(void) {
  static char text[32];
  static time_t at;
  const time_t now = time(NULL);
  if (now != at) {
    struct tm parts;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    at = now;
  }
  return text;
}

static void answer(struct bytes* out, const char* status, const char* more, const char* body, int length) {
  char head[256];
  const int size =
      snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n",
               status, more, length);
  bytes_append(out, head, (size_t)size);
  bytes_append(out, body, (size_t)length);
}

static void answer_row(struct bytes* out, long long id) {
  sqlite3_bind_int64(select_user, 1, id);
  const int code = sqlite3_step(select_user);
  if (code == SQLITE_DONE) {
    answer(out, "404 Not Found", "", "{}", 2);
  } else {
    must(code, SQLITE_ROW);
    char body[1024];
    const char* age = (const char*)sqlite3_column_text(select_user, 3);
    const int length =
        snprintf(body, sizeof body, "{\"id\":%lld,\"name\":\"%s\",\"email\":\"%s\",\"age\":%s,\"created_at\":\"%s\"}",
                 sqlite3_column_int64(select_user, 0), (const char*)sqlite3_column_text(select_user, 1),
                 (const char*)sqlite3_column_text(select_user, 2), age == NULL ? "null" : age,
                 (const char*)sqlite3_column_text(select_user, 4));
    if (length >= (int)sizeof body) exit(1);
    answer(out, "200 OK", "", body, length);
  }
  sqlite3_reset(select_user);
}

// The text of a member `"key": "text"`, without escapes; NULL when there is none.
static const char* member(const char* body, size_t length, const char* key, int* size) {
  const char* at = memmem(body, length, key, strlen(key));
  if (at == NULL) return NULL;
  at += strlen(key);
  const char* end = memchr(at, '"', length - (size_t)(at - body));
  if (end == NULL) return NULL;
  *size = (int)(end - at);
  return at;
}

static bool insert(struct bytes* out, const char* text, size_t length) {
  int name_size = 0;
  int email_size = 0;
  const char* name = member(text, length, "\"name\": \"", &name_size);
  const char* email = member(text, length, "\"email\": \"", &email_size);
  if (name == NULL || email == NULL) return false;
  if (!in_transaction) run(begin);
  in_transaction = true;
  sqlite3_bind_text(insert_user, 1, name, name_size, SQLITE_STATIC);
  sqlite3_bind_text(insert_user, 2, email, email_size, SQLITE_STATIC);
  sqlite3_bind_text(insert_user, 3, now_text(), -1, SQLITE_STATIC);
  if (sqlite3_step(insert_user) != SQLITE_DONE) {
    sqlite3_reset(insert_user);
    answer(out, "409 Conflict", "", "{}", 2);
    return true;
  }
  sqlite3_reset(insert_user);
  char location[64];
  char body[1024];
  const long long id = sqlite3_last_insert_rowid(database);
  snprintf(location, sizeof location, "Location: /api/users/%lld\r\n", id);
  const int size = snprintf(body, sizeof body,
                            "{\"id\":%lld,\"name\":\"%.*s\",\"email\":\"%.*s\",\"age\":null,\"created_at\":\"%s\"}", id,
                            name_size, name, email_size, email, now_text());
  if (size >= (int)sizeof body) return false;
  answer(out, "201 Created", location, body, size);
  return true;
}

// Appends the answer to every complete request in `text`, and returns how many bytes were used up.
static size_t answer_all(char* text, size_t length, struct connection* connection) {
  char* at = text;
  char* end = text + length;
  for (;;) {
    char* empty_line = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
    if (empty_line == NULL) break;
    *empty_line = '\0';
    char* next = empty_line + 4;
    if (strncmp(at, "GET /api/users/", 15) == 0) {
      answer_row(&connection->unsent, atoll(at + 15));
    } else if (strncmp(at, "POST /api/users ", 16) == 0) {
      const char* field = strcasestr(at, "\r\ncontent-length:");
      const size_t size = field == NULL ? 0 : (size_t)atoll(field + 17);
      if (size > (size_t)(end - next)) {
        *empty_line = '\r';
        break;
      }
      if (!insert(&connection->unsent, next, size)) {
        connection->closing = true;
        return length;
      }
      next += size;
    } else {
      connection->closing = true;
      return length;
    }
    at = next;
  }
  if (end - at >= receive_bytes) connection->closing = true;
  return (size_t)(at - text);
}

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

static void on_readable(int fd) {
  struct connection* connection = &connections[fd];
  const size_t carried = connection->head.length;
  if (carried != 0) memcpy(received, connection->head.data, carried);
  const ssize_t count = recv(fd, received + carried, receive_bytes, 0);
  if (count <= 0) {
    if (count == 0 || errno != EAGAIN) close_connection(fd);
    return;
  }
  const size_t length = carried + (size_t)count;
  const size_t used = answer_all(received, length, connection);
  connection->head.length = 0;
  if (used < length) bytes_append(&connection->head, received + used, length - used);
  if (connection->unsent.length != 0 || connection->closing) answered[answered_count++] = fd;
}

static void send_answers(int epoll, int fd) {
  struct connection* connection = &connections[fd];
  const size_t left = connection->unsent.length - connection->sent;
  const ssize_t done = left == 0 ? 0 : send(fd, connection->unsent.data + connection->sent, left, MSG_NOSIGNAL);
  if (done < 0 && errno != EAGAIN) {
    close_connection(fd);
    return;
  }
  if (done > 0) connection->sent += (size_t)done;
  const bool waits = connection->sent < connection->unsent.length;
  if (!waits) {
    connection->sent = 0;
    connection->unsent.length = 0;
    if (connection->closing) {
      close_connection(fd);
      return;
    }
  }
  if (waits != connection->waits) {
    connection->waits = waits;
    watch(epoll, fd, EPOLL_CTL_MOD, waits ? EPOLLOUT : EPOLLIN);
  }
}

int main(int argc, char** argv) {
  if (argc != 3 || strncmp(argv[1], "--port=", 7) != 0 || strncmp(argv[2], "--database=", 11) != 0) {
    fprintf(stderr, "usage: %s --port=N --database=FILE\n", argv[0]);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  open_database(argv[2] + 11);
  const int listener = raw_listen(atoi(argv[1] + 7), true);
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  watch(epoll, listener, EPOLL_CTL_ADD, EPOLLIN);

  static struct epoll_event events[1024];
  for (;;) {
    const int count = epoll_wait(epoll, events, 1024, -1);
    answered_count = 0;
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listener) {
        accept_all(epoll, listener);
      } else if (connections[fd].waits) {
        answered[answered_count++] = fd;
      } else {
        on_readable(fd);
      }
    }
    if (in_transaction) run(commit);
    in_transaction = false;
    for (int i = 0; i < answered_count; ++i) send_answers(epoll, answered[i]);
  }
}
