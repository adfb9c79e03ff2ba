// keel/net/tls/records.h — the TLS of one connection without a socket: bytes in, bytes out.
//
//   Records records(context, "shop.example");              // a client; Records(context): a server
//   std::string_view wire;                                 // what has come from the peer
//   KEEL_TRY(std::size_t got, records.read(wire, plain));  // the handshake first, then the peer's bytes
//   records.write("GET / HTTP/1.1\r\n");                   // once it is established
//   send(records.output());                                // after each of these calls; then clear it
//
// OpenSSL does the handshake and the records, on a BIO of our own: it reads from the caller's `wire` and appends to
// output(). It never uses a descriptor.
//
// Errors:    Unauthenticated for a peer that is not believed: another host, expired, not valid yet, self-signed,
//            unknown issuer, revoked, no certificate. Protocol for no version, cipher or application protocol in
//            common, an alert of the peer's, whatever breaks the protocol, and a flood: more than 32 handshake messages
//            (updates of keys, tickets, requests to renegotiate) without data. Unavailable for a connection that ends
//            in between (ended()). ResourceExhausted without memory. All are from_environment(); the message names the
//            cause. After an error, every call returns it again, and output() has the alert for the peer.
// Ownership: keeps its context. `wire` and the bytes to be written are used only during the call.
// Threads:   one.
// Memory:    at most one record of the peer's (16 KiB), of the handshake one message (100 KiB: certificates), and of
//            output() output_bytes_max and one flight more: above that nothing is read or written until it is taken.
//            Besides, what OpenSSL keeps for a connection: some 70 KB during a handshake, which for a server begins
//            when the client's first record has come as a whole.
// Cost:      OpenSSL's. Memory for handshakes and records comes from the pools of the thread (base/pool.h): no heap is
//            used in steady state, unless the program has used OpenSSL before main().
// Random:    OpenSSL's own, also in a simulation; testing::SeededRandomness takes it from the seed instead.

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

  // std::bad_alloc when there is no memory.
  explicit Records(const ServerContext& context);
  // `host`: the name, or the IP address, that the peer's certificate must be for. Must not be empty (a Bug).
  Records(const ClientContext& context, std::string_view host);
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  ~Records();

  // Takes from the front of `wire` and continues with the handshake; a client begins it with an empty `wire`. After the
  // handshake it copies the bytes that the peer has sent, of one record at a time, and returns their number. 0: `wire`
  // is used up and more must come; or the peer has finished (has_peer_finished()); or output() is full; or `into` is
  // empty. With less room than plain_bytes_max, part of a record may stay inside: call read() again.
  Result<std::size_t> read(std::string_view& wire, std::span<char> into);
  // Takes from `wire` what begins the first record of a client and is not the whole of it, which costs a copy. True:
  // nothing was taken, and read() has a handshake to compute, or an error. Need not be called.
  bool collect(std::string_view& wire) noexcept;
  // Encrypts the front of `plain` and returns the number of bytes: less than all where output() is full. Requires
  // is_established().
  Result<std::size_t> write(std::string_view plain);
  // Tells the peer that nothing more will be written (close_notify). Call it once; it has no effect before
  // is_established().
  void finish();
  // Call it when the peer's bytes have ended, with an errno or 0: success after has_peer_finished(), else the error.
  // When established, write() still works afterwards.
  Result<> ended(int number = 0);

  // The bytes to be sent. The caller takes from it.
  Buffer& output() noexcept;

  // OpenSSL has the handshake: of a client always, of a server since the read() that had its first record as a whole.
  bool has_begun() const noexcept;
  bool is_established() const noexcept;
  // The peer has sent close_notify: it will write no more, but can still be written to.
  bool has_peer_finished() const noexcept;

  // The functions below need an established connection; before, they say nothing that is true of the peer.
  Version version() const noexcept;
  // The name of the cipher suite, such as "TLS_AES_128_GCM_SHA256"; the text is valid until the process ends.
  std::string_view cipher() const noexcept;
  // The protocol that ALPN selected; empty: none.
  std::string_view protocol() const noexcept;
  // On a server it is the first URI, DNS name or mail address of the peer's certificate, in this order of kinds, else
  // its common name; empty: it has none. On a client it is the host.
  std::string_view peer_identity() const noexcept;
  // The "tls-server-end-point" of the server's certificate (RFC 5929 §4.1), which binds an authentication within the
  // connection to it: for a client, once it is established. Empty: the certificate's signature has no hash (Ed25519).
  std::string server_end_point() const;
  // For a server: the host that the client has asked for (SNI); empty: none.
  std::string_view server_name() const noexcept;
  // Whether an earlier session was resumed.
  bool is_resumed() const noexcept;

  Duration handshake_timeout() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::tls
