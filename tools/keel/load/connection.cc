#include "load/connection.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "load/generator.h"

namespace keel::load {
namespace {

constexpr Duration retry_after = 100_ms;
// A body that is longer than this limit never counts as the expected body.
constexpr std::size_t checked_body_bytes_max = 16u << 20;
constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

}  // namespace

Connection::Connection(Generator& generator, int depth)
    : generator_(generator),
      connect_(*this),
      transport_(*this),
      send_(*this),
      depth_(static_cast<std::size_t>(depth)),
      outstanding_(depth_) {}

// The place in outstanding_ that is `index` places after the oldest request.
std::size_t Connection::place(std::size_t index) const noexcept {
  const std::size_t at = first_ + index;
  return at < depth_ ? at : at - depth_;
}

void Connection::open() noexcept {
  io::Loop& loop = generator_.loop();
  closes_ = false;
  has_response_ = false;
  begun_ = 0;
  since_ = loop.now();
  state_ = State::Connecting;
  const Address& address = generator_.plan().address;
  const auto fd = loop.engine().open_stream(address.family());
  if (!fd) return cannot_connect(fd.error());
  connect_.fd = *fd;
  connect_.address = address;
  if (loop.engine().submit(connect_)) connected();
}

void Connection::connected() noexcept {
  if (state_ == State::Closing) return close_if_quiet();
  if (connect_.result < 0) return cannot_connect(Error::from_errno("connect", -connect_.result));
  io::Loop& loop = generator_.loop();
  Endpoint endpoint{&loop.engine(), connect_.fd};
  if (TransportLayers* const layers = generator_.plan().layers; layers != nullptr) {
    Result<Endpoint> layered = layers->make(endpoint, generator_.plan().host);
    if (!layered) return cannot_connect(layered.error());
    endpoint = *layered;
  }
  connect_.fd = -1;
  transport_.open(endpoint);
  state_ = State::Open;
  generator_.opened();
  transport_.receive();
  const Instant now = loop.now();
  // Repeats requests of the earlier connection: the server announced that it would not respond to them.
  for (std::size_t i = 0; i < count_; ++i) {
    Outstanding& carried = outstanding_[place(i)];
    carried.sent = now;
    closes_ = ++begun_ == generator_.plan().requests_per_connection_max;
    stage(*carried.request, closes_);
  }
  if (count_ != 0) begin_response();
  fill(now, all);
}

void Connection::cannot_connect(const Error& why) noexcept {
  generator_.note_reason(why);
  generator_.failed_to_connect();
  begin_close();
}

void Connection::fill(Instant now, std::size_t max) noexcept {
  for (; max != 0 && has_room(); --max) {
    Instant intended;
    const Request* request = generator_.next_request(now, intended);
    if (request == nullptr) break;
    outstanding_[place(count_)] = {intended, now, request};
    if (++count_ == 1) begin_response();
    closes_ = ++begun_ == generator_.plan().requests_per_connection_max;
    stage(*request, closes_);
  }
  flush();
  if (has_room()) generator_.has_room(*this);
}

void Connection::stage(const Request& request, bool closes) {
  if (request.is_fixed() && staged_text_.empty() && staged_.empty()) {
    staged_text_ = request.text(closes);
    return;
  }
  if (!staged_text_.empty()) staged_.append(std::exchange(staged_text_, {}));
  if (request.is_fixed()) {
    staged_.append(request.text(closes));
  } else {
    generator_.write(request, staged_, closes);
  }
}

void Connection::flush() noexcept {
  while (state_ == State::Open && send_.is_idle() && !(staged_text_.empty() && staged_.empty())) {
    if (!staged_text_.empty()) {
      send_.set(staged_text_.data(), staged_text_.size());
      generator_.sent(staged_text_.size());
      staged_text_ = {};
    } else {
      std::swap(staged_, sending_);
      staged_.clear();
      send_.set(sending_.data(), sending_.size());
      generator_.sent(sending_.size());
    }
    // A failed write is ignored: a response may have arrived before the failure, and a read will report the end of the
    // connection.
    if (!transport_.send(send_)) return;
  }
}

void Connection::has_sent() noexcept {
  if (state_ == State::Closing) return close_if_quiet();
  flush();
}

void Connection::received() noexcept {
  if (state_ == State::Closing) {
    if (!transport_.is_receiving()) close_if_quiet();
  } else if (transport_.outcome() > 0) {
    take(transport_.bytes());
  } else {
    peer_ended(transport_.outcome());
  }
}

void Connection::begin_response() noexcept {
  reader_.begin(outstanding_[first_].request->is_head());
  body_.clear();
  body_is_too_long_ = false;
}

void Connection::take(std::string_view bytes) noexcept {
  generator_.received(bytes.size());
  while (!bytes.empty() && state_ == State::Open) {
    if (count_ == 0) {
      generator_.count_error(Failure::Protocol);  // The server sent a response without a request.
      return begin_close();
    }
    const Request& request = *outstanding_[first_].request;
    const http::ResponseStep step = reader_.feed(bytes, generator_.cache_of(request));
    bytes.remove_prefix(step.consumed);
    if (step.state == http::ResponseState::Done) {
      finish_response(step.data);
    } else if (step.state == http::ResponseState::Refused) {
      return fail(Failure::Protocol);
    } else if (request.checks_body()) {
      collect(step.data);
    }
  }
  if (state_ == State::Open) fill(generator_.loop().now(), all);
}

void Connection::collect(std::string_view data) noexcept {
  if (body_.size() + data.size() > checked_body_bytes_max) body_is_too_long_ = true;
  if (!body_is_too_long_) body_.append(data);
}

// `last` is the last piece of the response's body.
void Connection::finish_response(std::string_view last) noexcept {
  const Outstanding request = outstanding_[first_];
  first_ = place(1);
  --count_;
  has_response_ = true;
  bool has_expected_body = true;
  if (request.request->checks_body()) {
    if (!body_.empty()) collect(last);
    const std::string_view body = body_.empty() ? last : body_.view();
    has_expected_body = !body_is_too_long_ && request.request->check().has_body(body, generator_.arena());
  }
  generator_.responded(request, reader_.head().status, has_expected_body);
  // The server responds to no further request on this connection; outstanding requests are sent again on the next
  // connection.
  if (!reader_.head().keep_alive || (closes_ && count_ == 0)) return begin_close();
  if (count_ != 0) begin_response();
}

void Connection::peer_ended(std::int32_t result) noexcept {
  if (count_ != 0 && result == 0 && reader_.has_begun() && reader_.finish().state == http::ResponseState::Done) {
    finish_response({});
    if (state_ != State::Open) return;
  }
  if (result < 0) {
    if (count_ != 0) generator_.note_reason(transport_.error("receive", result));
    return fail(Failure::Reset);
  }
  fail(count_ != 0 && reader_.has_begun() ? Failure::Short : Failure::Closed);
}

void Connection::fail(Failure failure) noexcept {
  for (; count_ != 0; --count_) {
    generator_.failed(outstanding_[first_], failure);
    first_ = place(1);
  }
  begin_close();
}

void Connection::check_time(Instant now) noexcept {
  const Duration timeout = generator_.plan().timeout;
  if (state_ == State::Waiting && now >= since_) {
    open();
  } else if (state_ == State::Connecting && now - since_ >= timeout) {
    cannot_connect(Error(Code::DeadlineExceeded, "connect: no response within --timeout"));
  } else if (state_ == State::Open && count_ != 0 && now - outstanding_[first_].sent >= timeout) {
    fail(Failure::Timeout);
  }
}

void Connection::end(Failure failure) noexcept {
  ends_ = true;
  if (state_ == State::Closing) {
    for (; count_ != 0; --count_) generator_.failed(outstanding_[place(count_ - 1)], failure);
    return;
  }
  fail(failure);
}

void Connection::begin_close() noexcept {
  if (linked()) unlink();
  staged_text_ = {};
  staged_.clear();
  const bool was_open = state_ == State::Open;
  state_ = State::Closing;
  generator_.closed(was_open, false);
  generator_.loop().engine().cancel(connect_);
  if (transport_.is_open()) {
    transport_.cancel_receive();
    transport_.cancel(send_);
  }
  close_if_quiet();
}

void Connection::close_if_quiet() noexcept {
  if (!connect_.is_idle() || transport_.is_receiving() || !send_.is_idle()) return;
  if (transport_.is_open()) transport_.close();
  if (connect_.fd >= 0) generator_.loop().engine().close(std::exchange(connect_.fd, -1));
  if (ends_) {
    state_ = State::Closed;
    generator_.closed(false, true);
  } else if (has_response_) {
    open();
  } else {
    state_ = State::Waiting;
    since_ = generator_.loop().now() + retry_after;
  }
}

}  // namespace keel::load
