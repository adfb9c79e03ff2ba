#include "keel/net/tls/blocking_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/net/tls/records.h"

namespace keel::tls {
namespace {

Instant after(Duration timeout) {
  return timeout == Duration::forever() ? Instant::never() : Host::system().now() + timeout;
}
Duration until(Instant deadline) {
  return deadline.is_never() ? Duration::forever() : std::max(deadline - Host::system().now(), Duration());
}

}  // namespace

BlockingStream::BlockingStream(blocking::Stream plain, std::unique_ptr<Records> records) noexcept
    : plain_(std::move(plain)), records_(std::move(records)) {}

BlockingStream::BlockingStream(BlockingStream&& other) noexcept
    : plain_(std::move(other.plain_)),
      records_(std::move(other.records_)),
      wire_(std::move(other.wire_)),
      in_(std::move(other.in_)),
      taken_(std::exchange(other.taken_, 0)),
      is_cut_(other.is_cut_) {}

BlockingStream& BlockingStream::operator=(BlockingStream&& other) noexcept {
  if (this == &other) return *this;
  close();
  plain_ = std::move(other.plain_);
  records_ = std::move(other.records_);
  wire_ = std::move(other.wire_);
  in_ = std::move(other.in_);
  taken_ = std::exchange(other.taken_, 0);
  is_cut_ = other.is_cut_;
  return *this;
}

BlockingStream::~BlockingStream() { close(); }

Result<BlockingStream> BlockingStream::connect(const ClientContext& context, const std::string& host,
                                               std::uint16_t port, Duration timeout,
                                               const io::ConnectOptions& options) {
  const Instant deadline = after(timeout);
  KEEL_TRY(blocking::Stream plain, blocking::Stream::connect(host, port, timeout, options));
  return connect(context, host, std::move(plain), until(deadline));
}

Result<BlockingStream> BlockingStream::connect(const ClientContext& context, const std::string& host,
                                               blocking::Stream plain, Duration timeout) {
  BlockingStream stream(std::move(plain), std::make_unique<Records>(context, host));
  if (auto shaken = stream.shake(timeout); !shaken) {
    return std::move(shaken).error().because("TLS with '" + host + '\'');
  }
  return stream;
}

Result<BlockingStream> BlockingStream::accept(const ServerContext& context, blocking::Stream plain, Duration timeout) {
  BlockingStream stream(std::move(plain), std::make_unique<Records>(context));
  KEEL_TRY_VOID(stream.shake(timeout));
  return stream;
}

Result<> BlockingStream::shake(Duration timeout) {
  const Duration limit = std::min(timeout, records_->handshake_timeout());
  const Instant deadline = after(limit);
  Result<> result;
  while (true) {
    std::string_view wire = wire_.view();
    const Result<std::size_t> got = records_->read(wire, {});
    wire_.consume(wire_.size() - wire.size());
    result = flush(deadline);  // This call also sends the alert that tells the peer why it is rejected.
    if (!got) return got.error().clone();
    if (!result || records_->is_established()) break;
    result = receive_more(deadline);
    if (!result) break;
  }
  if (!result && result.error().code() == Code::DeadlineExceeded) {
    return Error::text(Code::DeadlineExceeded,
                       "the TLS handshake did not end within " + std::to_string(limit.count_ms()) + " ms");
  }
  return result;
}

// Receives more bytes; fails at the end of the connection.
Result<> BlockingStream::receive_more(Instant deadline) {
  KEEL_TRY(const blocking::Chunk chunk, plain_.receive(until(deadline)));
  if (chunk.empty()) return records_->ended();
  wire_.append(chunk);
  return {};
}

// Sends the output of the TLS records.
Result<> BlockingStream::flush(Instant deadline) {
  if (records_->output().empty()) return {};
  const Buffer out = std::exchange(records_->output(), Buffer());
  if (is_cut_) return Error(Code::Unavailable, "an earlier write failed").from_environment();
  Result<> sent = plain_.write(out.view(), until(deadline));
  is_cut_ = !sent;
  return sent;
}

Result<> BlockingStream::check_open() const {
  return records_ != nullptr ? Result<>() : Result<>(Error::from_errno("TLS", EBADF));
}

// Reads one more record; false: the peer has finished.
Result<bool> BlockingStream::fill(Instant deadline) {
  KEEL_TRY_VOID(check_open());
  char plain[Records::plain_bytes_max];
  while (true) {
    std::string_view wire = wire_.view();
    const Result<std::size_t> got = records_->read(wire, plain);
    wire_.consume(wire_.size() - wire.size());
    if (wire_.empty()) wire_.release();
    if (got) in_.append({plain, *got});
    // Sending may fail here, but the received bytes are returned nevertheless.
    Result<> flushed = flush(deadline);
    if (!got) return got.error().clone();
    if (*got != 0) return true;
    if (!flushed) return std::move(flushed).error();
    if (records_->has_peer_finished()) return false;
    KEEL_TRY_VOID(receive_more(deadline));
  }
}

Result<blocking::Chunk> BlockingStream::receive(Duration timeout) {
  if (left().empty()) {
    in_.release();
    taken_ = 0;
    KEEL_TRY(const bool has_more, fill(after(timeout)));
    if (!has_more) return blocking::Chunk();
  }
  const std::string_view chunk = left();
  taken_ = in_.size();
  return chunk;
}

Result<std::size_t> BlockingStream::read(std::span<char> into, Duration timeout) {
  if (into.empty()) return 0;
  const std::size_t before = taken_;
  const bool is_there = !left().empty();
  KEEL_TRY(const blocking::Chunk chunk, receive(timeout));
  const std::size_t size = std::min(into.size(), chunk.size());
  std::memcpy(into.data(), chunk.data(), size);
  taken_ = (is_there ? before : 0) + size;
  return size;
}

Result<blocking::Chunk> BlockingStream::read_until(std::string_view delimiter, std::size_t max, Duration timeout) {
  KEEL_EXPECT(!delimiter.empty(), "read_until() was given an empty delimiter");
  const Instant deadline = after(timeout);
  in_.consume(std::exchange(taken_, 0));
  std::size_t searched = 0;
  while (true) {
    const std::string_view have = in_.view().substr(0, std::min(in_.size(), max));
    const std::size_t from = searched - std::min(searched, delimiter.size() - 1);
    searched = have.size();
    if (const std::size_t at = have.find(delimiter, from); at != std::string_view::npos) {
      taken_ = at + delimiter.size();
      return have.substr(0, taken_);
    }
    if (in_.size() >= max) {
      return fail(Code::OutOfRange, "read_until: no delimiter within the limit");
    }
    KEEL_TRY(const bool has_more, fill(deadline));
    if (has_more) continue;
    if (in_.empty()) return blocking::Chunk();
    return Error(Code::Unavailable, "the peer finished before the delimiter").from_environment();
  }
}

Result<> BlockingStream::write(std::string_view bytes, Duration timeout) {
  KEEL_TRY_VOID(check_open());
  const Instant deadline = after(timeout);
  while (!bytes.empty()) {
    KEEL_TRY(const std::size_t sealed, records_->write(bytes));
    bytes.remove_prefix(sealed);
    KEEL_TRY_VOID(flush(deadline));
  }
  return {};
}

Result<> BlockingStream::shutdown_write(Duration timeout) {
  KEEL_TRY_VOID(check_open());
  records_->finish();
  KEEL_TRY_VOID(flush(after(timeout)));
  plain_.shutdown_write();
  return {};
}

void BlockingStream::close() noexcept {
  if (records_ == nullptr) return;
  records_->finish();
  static_cast<void>(flush(after(Duration())));
  records_.reset();
  plain_.close();
}

}  // namespace keel::tls
