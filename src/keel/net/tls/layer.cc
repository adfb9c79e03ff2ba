#include "keel/net/tls/layer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "keel/base/host.h"
#include "keel/io/loop.h"

namespace keel::tls {
namespace {

constexpr Duration close_timeout = 10_s;
// The number of bytes of one send that are encrypted before other connections continue; for a plain send, the engine
// sends the same number of bytes at a time.
constexpr std::size_t burst_bytes_max = 1 << 20;
// The time for which handshakes may compute in an event-loop iteration before the remaining handshakes wait. The time
// is shorter than the first step of a handshake (some 0.3 ms) and longer than an alert takes, so a burst of handshakes
// delays other connections by only one handshake.
constexpr Duration handshakes_max = 50_us;

}  // namespace

// The handshakes of a loop: they are computed one after the other, and the layer whose turn is next is posted to the
// loop. Handshakes that have begun and new handshakes wait in two queues that take turns, because a handshake has
// several steps: if its last step waited until all hellos of a burst were computed, the handshake would exceed its time
// limit.
//
// The object lives as long as any of the loop's layers, so that a simulation starts without the state of an earlier
// one.
class Layer::Handshakes {
 public:
  // Adds a layer to the handshakes of the loop that runs on this thread. Throws std::bad_alloc when memory runs out.
  static Handshakes& enter() {
    io::Loop& loop = *io::Loop::current();
    Handshakes* found = of_thread;
    while (found != nullptr && &found->loop_ != &loop) found = found->other_;
    if (found == nullptr) found = of_thread = new Handshakes(loop, of_thread);
    ++found->layers_;
    return *found;
  }
  // Must be the caller's last action, because this function may delete this object.
  void leave() noexcept {
    if (--layers_ != 0) return;
    Handshakes** at = &of_thread;
    while (*at != this) at = &(*at)->other_;
    *at = other_;
    delete this;
  }
  static void* operator new(std::size_t bytes) { return pool_allocate(bytes); }
  static void operator delete(void* self, std::size_t bytes) noexcept { pool_free(self, bytes); }

  // False: the layer has to wait, and is posted to the loop when its turn comes.
  bool may_compute(Layer& layer) noexcept {
    if (loop_.turns() > turn_) {
      turn_ = loop_.turns();
      spent_ = Duration();
    }
    const bool is_next = std::exchange(layer.is_next_, false);
    if ((is_next || is_empty()) && spent_ < handshakes_max) return true;
    List<Layer>& line = lines_[layer.records_.has_begun() ? 1 : 0];
    if (!layer.linked()) {
      is_next ? line.push_front(layer) : line.push_back(layer);
      layer.waiting_->fetch_add(1, std::memory_order_relaxed);
    }
    next().post();
    return false;
  }
  template <class F>
  auto compute(const F& f) noexcept {
    const Instant began = loop_.precise_now();
    auto result = f();
    const Duration took = loop_.precise_now() - began;
    spent_ = spent_ + took;
    if (took == Duration()) {
      // In a simulation no time passes during the computation, so the computation counts as lasting until the end of
      // the next iteration.
      spent_ = handshakes_max;
      ++turn_;
    }
    return result;
  }
  // Ends the layer's wait if it is the layer's turn or the layer is closed. Returns whether it is the layer's turn.
  bool stop_waiting(Layer& layer) noexcept {
    if (!layer.linked()) return false;
    const bool is_next = &next() == &layer;
    if (!is_next && !layer.is_closed_) return false;
    if (is_next) line_ = layer.records_.has_begun() ? 0 : 1;
    layer.unlink();
    layer.waiting_->fetch_sub(1, std::memory_order_relaxed);
    if (!is_empty()) next().post();
    return is_next;
  }

 private:
  Handshakes(io::Loop& loop, Handshakes* other) noexcept : loop_(loop), other_(other) {}

  bool is_empty() const noexcept { return lines_[0].empty() && lines_[1].empty(); }
  Layer& next() noexcept { return lines_[line_].empty() ? lines_[1 - line_].front() : lines_[line_].front(); }

  static constinit thread_local Handshakes* of_thread;

  io::Loop& loop_;
  Handshakes* other_;  // The queue of another loop of the thread: a simulation has several loops.
  std::size_t layers_ = 0;
  List<Layer> lines_[2];  // The queue of new handshakes, and the queue of those that have begun.
  int line_ = 0;          // The queue whose turn it is.
  std::uint64_t turn_ = 0;
  Duration spent_;  // The time that handshakes have taken in the iteration `turn_`.
};

constinit thread_local Layer::Handshakes* Layer::Handshakes::of_thread = nullptr;

Layer::Layer(io::Engine& engine, int fd, const ServerContext& context, std::string_view received, Waiting waiting)
    : TransportLayer(engine, fd), records_(context), waiting_(std::move(waiting)) {
  receive_.fd = send_.fd = fd;
  in_.append(received);
}

Layer::Layer(io::Engine& engine, int fd, const ClientContext& context, std::string_view host, std::string_view received,
             Waiting waiting)
    : TransportLayer(engine, fd), records_(context, host), waiting_(std::move(waiting)) {
  receive_.fd = send_.fd = fd;
  in_.append(received);
}

Layer::~Layer() {
  if (handshakes_ != nullptr) handshakes_->leave();
}

std::string_view Layer::protocol() const noexcept {
  return records_.is_established() ? records_.protocol() : std::string_view();
}

void Layer::open() noexcept {
  if (std::exchange(has_begun_, true)) return;
  loop_ = io::Loop::current();
  try {
    handshakes_ = &Handshakes::enter();
  } catch (const std::bad_alloc&) {
    fail_with(-ENOMEM);
  }
  Host::current().start_timer(timer_, Host::current().now() + records_.handshake_timeout());
  engine().submit(receive_);
  std::string_view nothing;
  read_from(nothing);  // A client sends the first bytes of the handshake.
  flush();
  if (failure_ < 0 || !in_.empty()) post();
}

void Layer::end_receive() noexcept {
  if (!transport()->is_receiving()) return;
  ending_ = true;
  transport()->resume();
}

void Layer::cancel_receive() noexcept {
  if (!transport()->is_receiving()) return;
  cancelling_ = true;
  post();
}

bool Layer::send(io::Send& send) noexcept {
  if (failure_ < 0 || wants_end_) {
    send.result = failure_ < 0 ? failure_ : -EPIPE;
    return true;
  }
  sending_ = &send;
  is_taken_ = false;
  part_ = 0;
  offset_ = sealed_ = 0;
  calls_back_ = false;
  flush();
  calls_back_ = true;
  if (sending_ == nullptr) return true;
  begin(send);
  return false;
}

void Layer::cancel(io::Op& send) noexcept {
  if (&send != sending_) return;
  send_failure_ = -ECANCELED;
  // Bytes in flight are cancelled only if they belong to this send and not to the handshake.
  sealed_ == 0 || send_.is_idle() ? post() : engine().cancel(send_);
}

void Layer::shutdown_write() noexcept {
  wants_end_ = true;
  flush();
}

void Layer::shutdown() noexcept {
  is_shut_down_ = true;
  engine().shutdown(fd());
}

bool Layer::has_unread() noexcept { return !in_.empty() || has_ended_ || engine().has_unread(fd()); }

Error Layer::error(const char* doing, std::int32_t outcome) const noexcept {
  if (outcome == -EPROTO && why_) return why_->clone();
  return Error::from_errno(doing, -outcome);
}

// Sends close_notify, with a time limit for a peer that does not receive it.
void Layer::close() noexcept {
  is_closed_ = true;
  stop_timer();
  wants_end_ = has_begun_ && !is_reset_;
  if (!is_reset_) {
    flush();
  } else if (!send_.is_idle()) {
    engine().cancel(send_);
  }
  engine().cancel(receive_);
  if (!send_.is_idle()) Host::current().start_timer(timer_, Host::current().now() + close_timeout);
  post();  // A caller may still be inside a function of this layer.
}

// --- receiving -----------------------------------------------------------------------------------------------------

void Layer::start_receiving() noexcept {
  if (receive_.paused && in_.empty()) engine().resume(receive_);
  post();
}

void Layer::post() noexcept {
  if (std::exchange(is_posted_, true)) return;
  if (loop_ == nullptr) loop_ = io::Loop::current();
  loop_->post(job_);
}

void Layer::posted() noexcept {
  is_posted_ = false;
  is_next_ = handshakes_ != nullptr && handshakes_->stop_waiting(*this);
  burst_ = 0;
  if (is_closed_) return end_if_quiet();
  if (sending_ != nullptr && send_failure_ < 0 && (sealed_ == 0 || send_.is_idle())) finish_send(send_failure_);
  if (transport() != nullptr) advance({});
}

void Layer::received() noexcept {
  if (is_closed_) return end_if_quiet();
  burst_ = 0;
  if (receive_.result > 0) return advance({receive_.data, static_cast<std::size_t>(receive_.result)});
  has_ended_ = true;
  if (receive_.result < 0) {
    if (records_.is_established()) {
      fail_with(receive_.result);
    } else {
      fail_with(records_.ended(-receive_.result).error());
    }
  }
  advance({});
}

void Layer::late() noexcept {
  // A peer that does not receive the unsent bytes would block the waiting send.
  if (!send_.is_idle()) engine().cancel(send_);
  if (is_closed_) return;
  const auto limit = records_.handshake_timeout();
  fail_with(Error::text(Code::DeadlineExceeded,
                        "the TLS handshake did not end within " + std::to_string(limit.count_ms()) + " ms")
                .from_environment());
  advance({});
}

// Processes the waiting bytes, and then the newly arrived bytes.
void Layer::advance(std::string_view fresh) noexcept {
  try {
    if (in_.empty()) {
      read_from(fresh);
      if (!fresh.empty() && failure_ == 0) in_.append(fresh);
    } else {
      in_.append(fresh);
      std::string_view all = in_.view();
      read_from(all);
      in_.consume(in_.size() - all.size());
      if (in_.empty()) in_.release();
    }
  } catch (const std::bad_alloc&) {
    fail_with(-ENOMEM);
  }
  if (failure_ < 0 || records_.has_peer_finished()) in_.release();
  if (has_ended_ && is_shut_down_ && !records_.is_established() && out_failure_ == 0) out_failure_ = -EPIPE;
  if (has_ended_ && in_.empty() && failure_ == 0 && !is_shut_down_ && !is_cut_) {
    if (const Result<> fine = records_.ended(); !fine) {
      if (records_.is_established()) {
        is_cut_ = true;
        why_.emplace(fine.error().clone());
      } else {
        fail_with(fine.error());
      }
    }
  }
  flush();
  // Reading needs room for this side's replies to the peer's messages. A handshake that waits is posted to the loop
  // when its turn comes.
  const bool may_read = is_wanted() || !records_.is_established();
  if (!in_.empty() && may_read && !cancelling_ && send_.is_idle() && !linked()) post();
  // Receiving is paused until the handshake's turn comes, and further bytes wait in the kernel.
  if (!is_closed_ && receive_.pending) {
    if (!in_.empty() && !receive_.paused) engine().pause(receive_);
    if (in_.empty() && may_read && receive_.paused && failure_ == 0) engine().resume(receive_);
  }
  end_receiving();
}

// Continues with the handshake, and delivers bytes while the transport wants them.
void Layer::read_from(std::string_view& wire) noexcept {
  char plain[Records::plain_bytes_max];
  while (failure_ == 0 && !cancelling_ && !is_closed_) {
    const bool is_asked = is_wanted();
    if (!is_asked && records_.is_established()) return;
    const auto read = [&] { return records_.read(wire, is_asked ? std::span<char>(plain) : std::span<char>()); };
    const bool shakes = !records_.is_established() && !wire.empty();
    if (shakes && !records_.collect(wire)) return;
    if (shakes && !handshakes_->may_compute(*this)) return;
    // The responses that this event-loop iteration has written so far need not wait for the handshake.
    if (shakes) engine().flush();
    const Result<std::size_t> got = shakes ? handshakes_->compute(read) : read();
    if (records_.is_established() && timer_.is_running()) stop_timer();
    if (!got) return fail_with(got.error());
    if (*got == 0) return;
    deliver({plain, *got});
  }
}

// Reports the end if nothing more will be delivered. This call must be the caller's last action, because the transport
// may be closed during the call.
void Layer::end_receiving() noexcept {
  Transport* const to = transport();
  if (to == nullptr) return;
  if (to->is_receiving() && cancelling_) {
    cancelling_ = ending_ = false;
    // Continues the handshake for a send that waits for it.
    if (!in_.empty() && !records_.is_established() && !linked()) post();
    return finish(-ECANCELED);
  }
  if (is_wanted() && in_.empty()) {
    if (failure_ < 0) return finish(failure_);
    if (records_.has_peer_finished()) return finish(0);
    if (has_ended_) return finish(is_cut_ ? -EPROTO : 0);
    if (std::exchange(ending_, false)) return finish(-ECANCELED);
  }
  const bool may_wait = !is_wanted() && records_.is_established();
  if (may_wait && receive_.pending && !receive_.paused) engine().pause(receive_);
}

void Layer::fail_with(std::int32_t failure) noexcept {
  if (failure_ != 0) return;
  failure_ = failure;
  stop_timer();
}

void Layer::fail_with(const Error& error) noexcept {
  if (failure_ != 0) return;
  why_.emplace(error.clone());
  fail_with(-EPROTO);
}

// --- sending -------------------------------------------------------------------------------------------------------

// Encrypts more bytes of sending_ while output() has room, and returns whether any byte was encrypted.
bool Layer::seal() noexcept {
  if (sending_ == nullptr || is_taken_ || !records_.is_established() || failure_ < 0 || send_failure_ < 0) return false;
  if (burst_ >= burst_bytes_max) {
    post();
    return false;
  }
  char gathered[Records::plain_bytes_max];
  std::size_t sealed_now = 0;
  while (part_ < sending_->part_count && records_.output().size() < Records::output_bytes_max) {
    // Several short parts are joined in one record.
    std::size_t size = 0;
    std::uint32_t part = part_;
    std::size_t offset = offset_;
    std::string_view bytes;
    while (part < sending_->part_count && size < sizeof gathered) {
      const auto* const base = static_cast<const char*>(sending_->parts[part].iov_base);
      const std::string_view rest(base + offset, sending_->parts[part].iov_len - offset);
      const std::string_view some = rest.substr(0, sizeof gathered - size);
      const bool is_last = part + 1 == sending_->part_count;
      if (size == 0 && (is_last || some.size() == sizeof gathered)) {
        bytes = some;  // These bytes are not copied.
      } else if (!some.empty()) {
        std::memcpy(gathered + size, some.data(), some.size());
        bytes = {gathered, size + some.size()};
      }
      size += some.size();
      offset += some.size();
      if (some.size() < rest.size()) break;
      ++part;
      offset = 0;
      if (bytes.data() != gathered && !bytes.empty()) break;
    }
    if (!bytes.empty()) {
      const Result<std::size_t> sealed = records_.write(bytes);
      if (!sealed) {
        fail_with(sealed.error());
        return false;
      }
      // The room was checked, so all of `bytes` must have been encrypted.
      if (*sealed != bytes.size()) {
        fail_with(Error(Code::Internal, "OpenSSL did not encrypt a record as a whole"));
        return false;
      }
    }
    part_ = part;
    offset_ = offset;
    sealed_now += size;
  }
  sealed_ += sealed_now;
  burst_ += sealed_now;
  is_taken_ = part_ == sending_->part_count;
  return sealed_now != 0;
}

void Layer::flush() noexcept {
  while (send_.is_idle() && out_failure_ == 0) {
    if (records_.output().empty() && !seal()) {
      const bool may_end = wants_end_ && !has_said_end_ && records_.is_established() && sending_ == nullptr;
      if (!may_end || failure_ < 0) break;
      has_said_end_ = true;
      records_.finish();
      if (records_.output().empty()) break;
    }
    flight_ = std::exchange(records_.output(), Buffer());
    send_.set(flight_.data(), flight_.size());
    if (!engine().submit(send_)) return;
    land();
    if (send_.result < 0) out_failure_ = send_.result;
  }
  if (!send_.is_idle()) return;
  if (has_said_end_ && !is_closed_ && !std::exchange(is_shut_, true)) engine().shutdown_write(fd());
  if (sending_ == nullptr) return;
  // The callbacks must come last, because they may send more.
  if (send_failure_ < 0 || out_failure_ < 0 || failure_ < 0) {
    finish_send(send_failure_ < 0 ? send_failure_ : failure_ < 0 ? failure_ : out_failure_);
  } else if (records_.is_established() && (is_taken_ || sending_->part_count == 0)) {
    finish_send(0);
  }
}

// Called when the engine's send of encrypted bytes has completed.
void Layer::land() noexcept {
  flight_.release();
  flown_ += std::exchange(send_.sent, 0);
}

void Layer::sent() noexcept {
  land();
  burst_ = 0;
  if (send_.result < 0) out_failure_ = send_.result;
  if (is_closed_ && is_reset_) return end_if_quiet();
  flush();
  if (is_closed_) return end_if_quiet();
  if (!in_.empty()) post();
}

void Layer::finish_send(std::int32_t failure) noexcept {
  io::Send& send = *std::exchange(sending_, nullptr);
  send_failure_ = 0;
  send.sent = sealed_;
  const std::int32_t result = failure < 0 ? failure : send.total();
  if (calls_back_) return complete(send, result);
  send.result = result;
}

// --- the end -------------------------------------------------------------------------------------------------------

void Layer::stop_timer() noexcept {
  if (timer_.is_running()) Host::current().stop_timer(timer_);
}

void Layer::end_if_quiet() noexcept {
  if (!receive_.is_idle() || !send_.is_idle() || is_posted_) return;
  stop_timer();
  engine().close(fd());
  delete this;
}

Result<Endpoint> Layers::put_over(Endpoint plain, std::string_view host, std::string_view received) {
  const auto context = [&] {
    const std::lock_guard lock(mutex_);
    return context_;
  }();
  try {
    if (const auto* const server = std::get_if<ServerContext>(&context)) {
      plain.layer = new Layer(*plain.engine, plain.fd, *server, received, waiting_);
    } else {
      plain.layer = new Layer(*plain.engine, plain.fd, std::get<ClientContext>(context), host, received, waiting_);
    }
    return plain;
  } catch (const std::bad_alloc&) {
    return fail(Code::ResourceExhausted, "no memory for TLS");
  }
}

void Layers::set_context(ServerContext context) {
  const std::lock_guard lock(mutex_);
  context_ = std::move(context);
}

void Layers::set_context(ClientContext context) {
  const std::lock_guard lock(mutex_);
  context_ = std::move(context);
}

}  // namespace keel::tls
