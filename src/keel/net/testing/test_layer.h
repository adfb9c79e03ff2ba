// keel/net/testing/test_layer.h — a TransportLayer for tests of code that uses a Transport: it encrypts nothing, but
// uses its transport and the engine as a cipher does.
//
// Each side sends a hello and is established when it has received the hello of the other side. After the hellos, all
// data is sent in records of at most `record_bytes` with inverted bytes, so received bytes may contain several records
// and the beginning of another one. Before each record the layer sends a control record, to which the other side
// replies with a control record. A special record marks the end of the data; if the stream ends without it, that is an
// error.

#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "keel/base/buffer.h"
#include "keel/base/member.h"
#include "keel/exec/executor.h"
#include "keel/io/loop.h"
#include "keel/net/transport.h"

namespace keel {

class TestLayer final : public TransportLayer {
 public:
  static constexpr std::size_t record_bytes = 700;

  TestLayer(io::Engine& engine, int fd, std::string_view identity, bool says_hello, std::string_view received)
      : TransportLayer(engine, fd), identity_(identity), says_hello_(says_hello) {
    receive_.fd = send_.fd = fd;
    in_.append(received);
    ++alive;
  }

  bool is_established() const noexcept override { return established_; }
  std::string_view protocol() const noexcept override { return established_ ? "inverted" : ""; }
  std::string_view peer_identity() const noexcept override {
    return established_ ? std::string_view(peer_, peer_size_) : std::string_view();
  }

  static inline thread_local int alive = 0;  // Layers that have not been freed.

 private:
  enum class Record : char { Hello = 'h', Data = 'd', Question = 'q', Reply = 'r', End = 'e' };
  static constexpr std::size_t head_bytes = 3;  // The head of a record states the kind and the size of the record.

  ~TestLayer() override { --alive; }

  void open() noexcept override {
    if (std::exchange(has_begun_, true)) return;
    says_hello_ ? put(Record::Hello, identity_) : out_.append("what?");
    engine().submit(receive_);
    flush();
    if (!in_.empty()) post();
  }
  void receive() noexcept override { start_receiving(); }
  void resume() noexcept override { start_receiving(); }
  void end_receive() noexcept override {
    if (!transport()->is_receiving()) return;
    ending_ = true;
    transport()->resume();
  }
  void cancel_receive() noexcept override {
    if (!transport()->is_receiving()) return;
    cancelling_ = true;
    post();
  }

  bool send(io::Send& send) noexcept override {
    if (failure_ < 0) {
      send.result = failure_;
      return true;
    }
    sending_ = &send;
    is_taken_ = false;
    calls_back_ = false;
    take_and_flush();
    calls_back_ = true;
    if (sending_ == nullptr) return true;
    begin(send);
    return false;
  }
  std::uint64_t progress() const noexcept override { return send_.sent; }
  void cancel(io::Op& send) noexcept override {
    if (&send != sending_) return;
    send_failure_ = -ECANCELED;
    send_.is_idle() ? post() : engine().cancel(send_);
  }

  void reset_on_close() noexcept override { is_reset_ = true; }
  void shutdown_write() noexcept override {
    say_end();
    take_and_flush();
  }
  void shutdown() noexcept override {
    is_shut_down_ = true;
    engine().shutdown(fd());
  }
  bool has_unread() noexcept override { return !in_.empty() || has_ended_ || engine().has_unread(fd()); }
  Error error(const char* doing, std::int32_t outcome) const noexcept override {
    if (outcome == -EPROTO) return Error(Code::Unavailable, "the test layer does not understand its peer");
    return Error::from_errno(doing, -outcome);
  }

  // Waits, without a time limit, until the last record of this layer has been sent.
  void close() noexcept override {
    is_closed_ = true;
    if (is_reset_) {
      out_.clear();
      if (!send_.is_idle()) engine().cancel(send_);
    } else {
      if (has_begun_ && failure_ == 0) say_end();
      flush();
    }
    engine().cancel(receive_);
    post();  // Continues later, because a function of this layer may be running.
  }

  // --- input

  void start_receiving() noexcept {
    if (receive_.paused) engine().resume(receive_);
    post();
  }
  void post() noexcept {
    if (std::exchange(is_posted_, true)) return;
    io::Loop::current()->post(job_);
  }
  void posted() noexcept {
    is_posted_ = false;
    if (is_closed_) return end_if_quiet();
    if (sending_ != nullptr && send_failure_ < 0 && send_.is_idle()) finish_send(send_failure_);
    if (transport() != nullptr) deliver_what_is_there();
  }

  void received() noexcept {
    if (is_closed_) return end_if_quiet();
    if (receive_.result > 0) {
      in_.append({receive_.data, static_cast<std::size_t>(receive_.result)});
    } else {
      has_ended_ = true;
      if (receive_.result < 0) fail_with(receive_.result);
    }
    deliver_what_is_there();
  }

  void deliver_what_is_there() noexcept {
    while (!cancelling_ && failure_ == 0 && take_record()) {
    }
    // The end must not be reported before the stream has ended.
    if (has_ended_ && failure_ == 0 && !peer_is_done_ && !is_shut_down_ && !has_whole_record()) fail_with(-EPROTO);
    take_and_flush();
    Transport* const to = transport();
    if (to == nullptr) return;
    if (to->is_receiving() && cancelling_) {
      cancelling_ = ending_ = false;
      return finish(-ECANCELED);  // The layer may be closed during this call.
    }
    if (is_wanted() && !has_whole_record()) {
      if (failure_ < 0) return finish(failure_);
      if (peer_is_done_ || has_ended_) return finish(0);
      if (std::exchange(ending_, false)) return finish(-ECANCELED);
    }
    if (!is_wanted() && established_ && receive_.pending && !receive_.paused) engine().pause(receive_);
  }

  std::size_t size_at_front() const noexcept {
    std::uint16_t size = 0;
    std::memcpy(&size, in_.data() + 1, sizeof size);
    return size;
  }
  bool has_whole_record() const noexcept {
    return in_.size() >= head_bytes && in_.size() - head_bytes >= size_at_front();
  }

  // Processes a complete record; false: no record is complete.
  bool take_record() noexcept {
    if (!in_.empty() && !established_ && in_.data()[0] != static_cast<char>(Record::Hello)) {
      fail_with(-EPROTO);
      return false;
    }
    if (!has_whole_record()) return false;
    const auto record = static_cast<Record>(in_.data()[0]);
    const std::size_t size = size_at_front();
    if (record == Record::Data && !is_wanted()) return false;
    Buffer plain;
    plain.append(in_.view().substr(head_bytes, size));
    for (std::size_t i = 0; i < size; ++i) plain.data()[i] = static_cast<char>(~plain.data()[i]);
    in_.consume(head_bytes + size);
    switch (record) {
      case Record::Hello:
        peer_size_ = std::min(size, sizeof peer_);
        std::memcpy(peer_, plain.data(), peer_size_);
        established_ = true;
        return true;
      case Record::Question:
        if (!has_said_end_) put(Record::Reply, {});
        return true;
      case Record::Reply:
        return true;
      case Record::End:
        peer_is_done_ = true;
        return true;
      case Record::Data:
        deliver(plain.view());
        return true;
    }
    fail_with(-EPROTO);
    return false;
  }

  void fail_with(std::int32_t failure) noexcept {
    if (failure_ == 0) failure_ = failure;
    in_.clear();
  }

  // --- output

  void put(Record record, std::string_view bytes) {
    const auto size = static_cast<std::uint16_t>(bytes.size());
    char head[head_bytes] = {static_cast<char>(record)};
    std::memcpy(head + 1, &size, sizeof size);
    out_.append({head, head_bytes});
    const std::size_t before = out_.size();
    out_.append(bytes);
    for (std::size_t i = before; i < out_.size(); ++i) out_.data()[i] = static_cast<char>(~out_.data()[i]);
  }
  void say_end() {
    if (!std::exchange(has_said_end_, true)) put(Record::End, {});
  }

  // Sends the transport's data when the handshake is over.
  void take_and_flush() noexcept {
    if (sending_ != nullptr && established_ && !std::exchange(is_taken_, true)) {
      for (std::uint32_t i = 0; i < sending_->part_count; ++i) {
        std::string_view part(static_cast<const char*>(sending_->parts[i].iov_base), sending_->parts[i].iov_len);
        size_ += part.size();
        for (; !part.empty(); part.remove_prefix(std::min(part.size(), record_bytes))) {
          put(Record::Question, "?");
          put(Record::Data, part.substr(0, record_bytes));
        }
      }
    }
    flush();
  }
  void flush() noexcept {
    while (send_.is_idle() && !out_.empty() && out_failure_ == 0) {
      flight_ = std::exchange(out_, Buffer());
      send_.set(flight_.data(), flight_.size());
      if (!engine().submit(send_)) return;
      if (send_.result < 0) out_failure_ = send_.result;
    }
    if (!send_.is_idle()) return;
    if (has_said_end_ && !is_closed_ && !std::exchange(is_shut_, true)) engine().shutdown_write(fd());
    if (sending_ == nullptr) return;
    // finish_send() comes last, because the callback that it calls may send more data.
    if (send_failure_ < 0 || out_failure_ < 0 || failure_ < 0) {
      finish_send(send_failure_ < 0 ? send_failure_ : out_failure_ < 0 ? out_failure_ : failure_);
    } else if (is_taken_) {
      finish_send(0);
    }
  }
  void sent() noexcept {
    if (send_.result < 0) out_failure_ = send_.result;
    flush();
    if (is_closed_) end_if_quiet();
  }
  void finish_send(std::int32_t failure) noexcept {
    io::Send& send = *std::exchange(sending_, nullptr);
    send_failure_ = 0;
    send.sent = std::exchange(size_, 0);
    const std::int32_t result = failure < 0 ? failure : send.total();
    if (calls_back_) return complete(send, result);
    send.result = result;
  }

  void end_if_quiet() noexcept {
    if (!receive_.is_idle() || !send_.is_idle() || is_posted_) return;
    engine().close(fd());
    delete this;
  }

  const std::string_view identity_;
  const bool says_hello_;
  bool has_begun_ = false;
  bool established_ = false;
  bool ending_ = false;
  bool cancelling_ = false;
  bool has_ended_ = false;     // The stream has ended.
  bool peer_is_done_ = false;  // The peer has sent its last record.
  bool has_said_end_ = false;
  bool is_shut_ = false;
  bool is_shut_down_ = false;
  bool is_reset_ = false;
  bool is_closed_ = false;
  bool is_posted_ = false;
  bool is_taken_ = false;  // The data of sending_ has been copied to out_.
  bool calls_back_ = true;
  std::int32_t failure_ = 0;
  std::int32_t out_failure_ = 0;
  std::int32_t send_failure_ = 0;
  char peer_[32];
  std::size_t peer_size_ = 0;
  std::size_t size_ = 0;
  io::Send* sending_ = nullptr;
  Buffer in_;
  Buffer out_;
  Buffer flight_;
  Member<io::Receive, TestLayer, &TestLayer::received> receive_{*this};
  Member<io::SendPart, TestLayer, &TestLayer::sent> send_{*this};
  Member<Job, TestLayer, &TestLayer::posted> job_{*this};
};

// Makes the layers of one side; `identity` is the name of this side, and must outlive this object.
class TestLayers final : public TransportLayers {
 public:
  explicit TestLayers(std::string_view identity, bool says_hello = true) noexcept
      : identity_(identity), says_hello_(says_hello) {}

 private:
  Result<Endpoint> put_over(Endpoint plain, std::string_view, std::string_view received) override {
    plain.layer = new TestLayer(*plain.engine, plain.fd, identity_, says_hello_, received);
    return plain;
  }

  const std::string_view identity_;
  const bool says_hello_;
};

}  // namespace keel
