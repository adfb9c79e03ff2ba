// GnuTLS' end of tests/tls/exchange.py: tls_exchange_gnutls serve|ask PORT FILE RECORDS BYTES RECORDS_PER_KEY
//
// FILE is the pair to serve with, or the roots to trust. It sends RECORDS while it receives BYTES, as exchange.cc does,
// and renews its keys after RECORDS_PER_KEY records. It does not ask for those of the peer: to GnuTLS 3.7 it is an
// error when the peer asks at the same time, which RFC 8446 §4.6.3 allows.

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { period = 65521, record_bytes_max = 16 * 1024 };

static char digits[period + record_bytes_max];

static void make_digits(void) {
  unsigned state = 27;
  for (int i = 0; i < period; ++i) {
    state = (state * 1103515245u + 12345u) & 0x7FFFFFFFu;
    digits[i] = (char)('0' + (state >> 16) % 10);
  }
  memcpy(digits + period, digits, record_bytes_max);
}

static long check(const char* doing, long result) {
  if (result >= 0) return result;
  fprintf(stderr, "%s: %s\n", doing, gnutls_strerror((int)result));
  exit(1);
}

static int connected(int is_server, int port) {
  const struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((unsigned short)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  int result = is_server ? bind(fd, (const struct sockaddr*)&address, sizeof address)
                         : connect(fd, (const struct sockaddr*)&address, sizeof address);
  if (result == 0 && is_server) {
    listen(fd, 1);
    fd = result = accept(fd, NULL, NULL);
  }
  if (result < 0) {
    perror("exchange_gnutls");
    exit(1);
  }
  return fd;
}

static int is_later(long result) { return result == GNUTLS_E_AGAIN || result == GNUTLS_E_INTERRUPTED; }

static void await(int fd, short events) {
  struct pollfd wait = {.fd = fd, .events = events};
  poll(&wait, 1, 1000);
}

static void exchange(gnutls_session_t session, int fd, long records, long expected, long records_per_key) {
  unsigned state = 1;
  long sent = 0, sent_bytes = 0, received = 0;
  while (sent < records || received < expected) {
    int is_idle = 1;
    if (received < expected) {
      char room[record_bytes_max];
      const long got = gnutls_record_recv(session, room, sizeof room);
      if (!is_later(got)) {
        if (check("receive", got) == 0 || memcmp(room, digits + received % period, (size_t)got) != 0) {
          fprintf(stderr, "other bytes than the peer has sent, after %ld\n", received);
          exit(1);
        }
        received += got;
        is_idle = 0;
      }
    }
    for (int i = 0; i < 16 && sent < records; ++i) {
      state = state * 1664525u + 1013904223u;
      const size_t size = sent % 1000 == 999 ? record_bytes_max : 1 + (state >> 16) % 1200;
      // Until it has left: a request for new keys that GnuTLS 3.7 receives in between has it send the record twice.
      long done;
      while (is_later(done = gnutls_record_send(session, digits + sent_bytes % period, size))) await(fd, POLLOUT);
      if (check("send", done) != (long)size) exit(1);
      sent_bytes += done;
      ++sent;
      if (sent % records_per_key == 0) {
        int renewed;
        while (is_later(renewed = gnutls_session_key_update(session, 0))) await(fd, POLLOUT);
        check("key update", renewed);
      }
      is_idle = 0;
    }
    if (is_idle) await(fd, POLLIN);
  }
}

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const int is_server = strcmp(argv[1], "serve") == 0;
  make_digits();
  gnutls_certificate_credentials_t credentials;
  check("credentials", gnutls_certificate_allocate_credentials(&credentials));
  check(argv[3], is_server ? gnutls_certificate_set_x509_key_file(credentials, argv[3], argv[3], GNUTLS_X509_FMT_PEM)
                           : gnutls_certificate_set_x509_trust_file(credentials, argv[3], GNUTLS_X509_FMT_PEM));
  gnutls_session_t session;
  check("session", gnutls_init(&session, is_server ? GNUTLS_SERVER : GNUTLS_CLIENT));
  check("priorities", gnutls_set_default_priority(session));
  check("credentials", gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials));
  if (!is_server) gnutls_session_set_verify_cert(session, "localhost", 0);
  const int fd = connected(is_server, atoi(argv[2]));
  gnutls_transport_set_int(session, fd);
  long shaken;
  do shaken = gnutls_handshake(session);
  while (is_later(shaken));
  check("handshake", shaken);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  exchange(session, fd, atol(argv[4]), atol(argv[5]), atol(argv[6]));
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  check("end", gnutls_bye(session, GNUTLS_SHUT_RDWR));
  return 0;
}
