// keel/http/server/internal/send_queue.h — the outgoing bytes of a connection: the bytes that wait to be sent, and the
// send in progress.
//
// Internal to http. A SendQueue is the send operation of its connection (base/member.h); it calls the connection's
// function `is_sent` when a send completes. The SendQueue also checks that the peer receives the bytes, and receives
// them fast enough.
//
// While nothing waits or is being sent, a SendQueue owns no buffer.
//
// Threads: the worker.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/http/server/server.h"
#include "keel/io/op.h"
#include "keel/net/transport.h"

namespace keel::http {

class SendQueue : protected io::Send {
 public:
  explicit SendQueue(Done is_sent) noexcept : io::Send(is_sent) {}

  // Bytes that have not been passed to the engine yet; append further bytes to them.
  Buffer& waiting() noexcept { return waiting_; }
  std::size_t size() const noexcept { return waiting_.size(); }
  bool is_empty() const noexcept { return waiting_.empty(); }
  // The memory of all bytes that wait or are being sent.
  std::size_t held_bytes() const noexcept { return waiting_.capacity() + flight_.capacity() + attached_.capacity(); }
  // The number of bytes that wait or are being sent.
  std::size_t unsent() const noexcept { return waiting_.size() + flight_.size(); }
  // Adds a body that follows the waiting bytes and is too large to copy. No further bytes may be appended until the
  // body has been sent.
  void attach(Buffer&& body) noexcept { attached_ = std::move(body); }
  std::size_t attached_bytes() const noexcept { return attached_.size(); }

  bool is_sending() const noexcept { return pending; }
  // Sends the waiting bytes. Returns true if the send is already complete; `is_sent` is then not called.
  bool begin(Transport& transport, Instant now);
  // Frees the bytes that were sent; call this function after each send. Returns false if the send has failed.
  bool finish() noexcept;
  void cancel(Transport& transport) noexcept { transport.cancel(*this); }
  // The error of the last send.
  std::int32_t error() const noexcept { return result; }
  // The number of bytes of the current or last send that the kernel has accepted.
  std::uint64_t bytes_sent() const noexcept { return sent; }
  // The number of bytes that the kernel has accepted and the peer has not acknowledged. Makes a system call if anything
  // was sent.
  std::uint64_t unread(Transport& transport) const noexcept {
    return sent_before_ == 0 && !pending ? 0 : transport.unacknowledged();
  }
  // Whether more than `bytes_max` bytes are unacknowledged. Makes no system call if the connection has sent at most
  // `bytes_max` bytes in total.
  bool is_unread(Transport& transport, std::uint64_t bytes_max) const noexcept {
    return sent_before_ + sent > bytes_max && unread(transport) > bytes_max;
  }

  // The time by which the peer must have received some of the sent bytes, or the time of the next check of its rate,
  // whichever is earlier.
  Instant deadline(const Limits& limits) const noexcept {
    if (!pending) return Instant::never();
    const Instant at = began_ + limits.send_timeout;
    return limits.send_rate_min == 0 ? at : std::min(at, rate_began_ + limits.send_rate_grace);
  }
  // Whether it is time to check the rate at which the peer receives.
  bool is_rate_due(const Limits& limits, Instant now) const noexcept {
    return pending && limits.send_rate_min != 0 && now >= rate_began_ + limits.send_rate_grace;
  }
  // Whether the peer receives too slowly; call it once in each period of a send that is in progress. Only the bytes
  // that the peer has acknowledged are counted: the kernel of this machine accepts megabytes at first, and then more
  // bytes in large steps.
  bool takes_too_little(Transport& transport, const Limits& limits, Instant now) noexcept;
  // Whether the peer has received none of the bytes of the send within the send's time limit.
  bool is_late(const Limits& limits, Instant now) const noexcept {
    return pending && now >= began_ + limits.send_timeout;
  }
  // If the peer has received some bytes, restarts the time limit of the send, because the peer receives, although
  // slowly. Returns false if the peer has received nothing.
  bool extend(const Transport& transport, Instant now) noexcept;
  // Between two sends, returns when to check again whether the peer has acknowledged all but `bytes_max` of the sent
  // bytes.
  // nullopt: the peer has acknowledged these bytes, or it receives more slowly than the limits for sends allow. Makes
  // one or two system calls.
  std::optional<Instant> next_look(Transport& transport, const Limits& limits, std::uint64_t bytes_max, Duration pause,
                                   Instant now) noexcept;

  // The time at which the send began; after rest(), the time at which rest() was called.
  Instant began() const noexcept { return began_; }
  void rest(Instant now) noexcept { began_ = now; }

 private:
  Buffer waiting_;
  Buffer flight_;    // Bytes that are being sent.
  Buffer attached_;  // A large body: it follows the waiting bytes, and is sent together with them.
  iovec parts_[2];   // iov_base of the second part is null unless attached_ is being sent.
  Instant began_;
  // How many bytes had been sent when the time limit of the send last started (the low 32 bits).
  std::uint32_t sent_seen_ = 0;
  // The number of bytes sent by earlier sends; at the largest value of its type, this number no longer grows.
  std::uint32_t sent_before_ = 0;
  // The beginning of the period over which the rate of the send is measured.
  Instant rate_began_;
  // During a send: the number of bytes that the peer had acknowledged at rate_began_, plus one; 0: unknown. Between two
  // sends: the number of unacknowledged bytes; 0: the kernel has not been asked yet.
  std::uint64_t taken_ = 0;
};

inline bool SendQueue::begin(Transport& transport, Instant now) {
  flight_ = std::move(waiting_);
  parts_[0] = {flight_.data(), flight_.size()};
  parts_[1] = {attached_.empty() ? nullptr : attached_.data(), attached_.size()};
  parts = parts_;
  part_count = attached_.empty() ? 1 : 2;
  began_ = rate_began_ = now;
  sent_seen_ = transport.layer() == nullptr ? 0 : static_cast<std::uint32_t>(transport.progress(*this));
  return transport.send(*this);
}

inline bool SendQueue::finish() noexcept {
  flight_.release();
  sent_before_ += static_cast<std::uint32_t>(std::min<std::uint64_t>(sent, UINT32_MAX - sent_before_));
  taken_ = 0;
  if (std::exchange(parts_[1].iov_base, nullptr) != nullptr) attached_.release();
  return result >= 0;
}

}  // namespace keel::http
