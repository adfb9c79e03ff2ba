// keel/net/tls/ticket_keys.h — the keys with which servers encrypt the sessions that their clients resume (RFC 5077
// §4).
//
//   tls::TicketKeys keys;
//   options.ticket_keys = keys;                              // for each context that replaces another
//   std::string text = keys.save();                          // for a process that replaces this one
//   KEEL_TRY(const tls::TicketKeys same, tls::TicketKeys::load(text));
//   keys.adopt(same);                                        // for contexts that already exist
//
// A ticket is encrypted (AES-256-CBC, HMAC-SHA-256) with a key that is at most an hour old, and can be decrypted for
// two more hours, which is how long a session may be resumed. Once no ticket can be decrypted with a key any more, the
// next handshake erases the key, so that recorded connections can never be decrypted (with TLS 1.2; with TLS 1.3 each
// connection has its own key anyway).
//
// Errors:    std::bad_alloc when memory runs out, or when no random numbers are available. load() fails with
//            InvalidArgument for a text that is not a result of save().
// Ownership: a value; copies share the keys and their rotation.
// Threads:   any.
// Time:      the age of a key is measured by the calendar of the current Host.
// Cost:      a lock and some microseconds for each handshake.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "keel/base/result.h"
#include "keel/base/time.h"

namespace keel::tls {

namespace internal {
class TicketSealer;
}

class TicketKeys {
 public:
  // How long a key encrypts new tickets, and how long it decrypts tickets.
  static constexpr Duration seals_for = Duration::hours(1);
  static constexpr Duration opens_for = Duration::hours(2);

  TicketKeys();

  // The result is secret, because it can decrypt tickets.
  std::string save() const;
  static Result<TicketKeys> load(std::string_view text);
  // From the next handshake on, all contexts that share these keys use the current keys of `others` instead.
  void adopt(const TicketKeys& others);

 private:
  friend class internal::TicketSealer;
  struct State;
  explicit TicketKeys(std::shared_ptr<State> state) noexcept;
  std::shared_ptr<State> state_;
};

}  // namespace keel::tls
