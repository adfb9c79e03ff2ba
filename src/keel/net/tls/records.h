// keel/net/tls/records.h — the TLS of one connection without a socket: bytes in, bytes out.
//
//   Records records(context, "shop.example");              // a client; Records(context): a server
//   std::string_view wire;                                 // the bytes received from the peer
//   KEEL_TRY(std::size_t got, records.read(wire, plain));  // the handshake first, then the peer's bytes
//   records.write("GET / HTTP/1.1\r\n");                   // once it is established
//   send(records.output());                                // after each of these calls; then clear it
//
// OpenSSL does the handshake and the records, on a BIO of this class that reads from the caller's `wire` and appends to
// output(). OpenSSL never uses a descriptor.
//
// Errors:    Unauthenticated for a peer that has no certificate, or a certificate that is for another host, expired,
//            not valid yet, self-signed, revoked or of an unknown issuer. Protocol if there is no common version,
//            cipher or application protocol; if the peer sends an alert or violates the protocol; and if the peer sends
//            a flood of more than 32 handshake messages (updates of keys, tickets, requests to renegotiate) without
//            data. Unavailable for a connection that ends too early (ended()). ResourceExhausted when memory runs out.
//            All errors are marked as from_environment(); the message names the cause. After an error, every call
//            returns that error again, and output() has the alert for the peer.
// Ownership: keeps the context with which it was made. `wire` and the bytes to be written are used only during the
//            call.
// Threads:   one.
// Memory:    at most one record of the peer (16 KiB), one handshake message (100 KiB, for certificates), and, in
//            output(), output_bytes_max plus one flight. When output() is full, nothing is read or written until the
//            caller takes bytes from it. In addition, OpenSSL keeps some 70 KB for a connection during the handshake,
//            which on a server begins when the client's first record has arrived completely.
// Cost:      that of OpenSSL. Memory for handshakes and records comes from the pools of the thread (base/pool.h): no
//            heap is used in steady state, unless the program has used OpenSSL before main().
// Random:    OpenSSL generates the random numbers, also in a simulation; with testing::SeededRandomness they come from
//            the seed instead.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/net/tls/context.h"

namespace keel::tls {

class Records {
 public:
  static constexpr std::size_t output_bytes_max = 64 * 1024;
  // The largest number of bytes that one read() returns.
  static constexpr std::size_t plain_bytes_max = 16 * 1024;

  // Throws std::bad_alloc when memory runs out.
  explicit Records(const ServerContext& context);
  // `host`: the name or the IP address that the peer's certificate must be valid for; an empty `host` is a Bug.
  Records(const ClientContext& context, std::string_view host);
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  ~Records();

  // Removes bytes from the front of `wire` and continues the handshake, which a client begins with an empty `wire`.
  // After the handshake, decrypts one record at a time into `into`, and returns the number of bytes. 0: all of `wire`
  // was used and more bytes must arrive; or the peer has finished (has_peer_finished()); or output() is full; or `into`
  // is empty. If `into` has less room than plain_bytes_max, part of a record may remain in this object: call read()
  // again.
  Result<std::size_t> read(std::string_view& wire, std::span<char> into);
  // If `wire` has only the beginning of a client's first record, removes it from `wire` and keeps a copy. True: nothing
  // was removed, because read() has a handshake to compute or an error to report. Calling this function is optional.
  bool collect(std::string_view& wire) noexcept;
  // Encrypts bytes from the front of `plain` and returns their number: fewer than all when output() is full. Requires
  // is_established().
  Result<std::size_t> write(std::string_view plain);
  // Tells the peer that nothing more will be written (close_notify). Call this function once; it has no effect before
  // is_established().
  void finish();
  // Call this function when the peer's bytes have ended: with the errno of the failed read, or with 0 at a normal end.
  // Returns success if has_peer_finished(), otherwise the error. After ended(), write() still works on an established
  // connection.
  Result<> ended(int number = 0);

  // The bytes to be sent, which the caller removes.
  Buffer& output() noexcept;

  // Whether OpenSSL has begun the handshake: always true for a client; true for a server as soon as a read() has
  // received the whole first record of the client.
  bool has_begun() const noexcept;
  bool is_established() const noexcept;
  // Whether the peer has sent close_notify: it will write no more, but this side may still write to it.
  bool has_peer_finished() const noexcept;

  // The functions below require an established connection; before that, their results are meaningless.
  Version version() const noexcept;
  // The name of the cipher suite, such as "TLS_AES_128_GCM_SHA256"; the text is valid until the process ends.
  std::string_view cipher() const noexcept;
  // The protocol that ALPN selected; empty: none.
  std::string_view protocol() const noexcept;
  // On a client, the peer's identity is the host. On a server, the peer's identity is the first URI, DNS name or mail
  // address of the peer's certificate, in this order, or the certificate's common name if the certificate has none of
  // these names; empty: the peer has no certificate or the certificate has no name.
  std::string_view peer_identity() const noexcept;
  // The "tls-server-end-point" of the server's certificate (RFC 5929 §4.1), which binds an authentication within the
  // connection to that certificate; available on a client whose connection is established. Empty: the certificate's
  // signature has no hash (Ed25519).
  std::string server_end_point() const;
  // For a server: the host that the client requested (SNI); empty: none.
  std::string_view server_name() const noexcept;
  // Whether an earlier session was resumed.
  bool is_resumed() const noexcept;

  Duration handshake_timeout() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::tls
