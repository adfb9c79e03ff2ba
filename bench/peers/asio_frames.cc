// Boost.Asio with the frames of Keel's messages (src/keel/net/messages/frame.h): every request is answered with its
// payload. One read takes all that has arrived, all frames in it are answered by one write, and buffers are reused: two
// reads for each message, as the chat example has them, would cost twice as many system calls. Only what the client
// sends is understood: no deadlines, traces, checksums, streams or limits in flight. One thread, no strand.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t buffer_bytes = 16 * 1024;
constexpr std::size_t frame_bytes_max = 2 << 20;
constexpr std::size_t head_bytes = 12;
enum Kind : std::uint8_t { Hello = 1, Request = 3, Response = 4 };

std::uint32_t load(const char* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return __builtin_bswap32(value);
}

// The frames of one connection, in and out.
class Frames {
 public:
  Frames() : in_(buffer_bytes) {}

  // Where to read to.
  asio::mutable_buffer room() { return asio::buffer(in_.data() + size_, in_.size() - size_); }
  // Handles all whole frames, now that `size` bytes more have come. False: they are none that are understood.
  bool take(std::size_t size) {
    size_ += size;
    out_.clear();
    std::size_t at = 0;
    std::size_t needed = 0;
    while (size_ - at >= head_bytes) {
      const char* const frame = in_.data() + at;
      const std::size_t whole = std::size_t{4} + load(frame);
      if (whole < head_bytes || whole > frame_bytes_max || frame[5] != 0) return false;
      if (whole > size_ - at) {
        needed = whole;
        break;
      }
      if (!answer(frame, whole)) return false;
      at += whole;
    }
    std::memmove(in_.data(), in_.data() + at, size_ - at);
    size_ -= at;
    if (needed > in_.size()) in_.resize(needed);
    return true;
  }
  // What `take` has made, to be sent before the next read.
  asio::const_buffer answers() const { return asio::buffer(out_.data(), out_.size()); }

 private:
  bool answer(const char* frame, std::size_t size) {
    const std::size_t at = out_.size();
    switch (frame[4]) {
      case Hello:  // Its limits are those of the peer.
        out_.insert(out_.end(), frame, frame + size);
        return true;
      case Request:
        out_.insert(out_.end(), frame, frame + size);
        out_[at + 4] = Response;
        out_[at + 6] = out_[at + 7] = 0;  // A response has no type.
        return true;
      default:
        return false;
    }
  }

  std::vector<char> in_;
  std::size_t size_ = 0;
  std::vector<char> out_;
};

void set_no_delay(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(tcp::socket&& socket) : socket_(std::move(socket)) {}

  void read() {
    socket_.async_read_some(frames_.room(), [self = shared_from_this()](error_code error, std::size_t size) {
      if (error || !self->frames_.take(size)) return;
      if (self->frames_.answers().size() == 0) return self->read();
      self->write();
    });
  }

 private:
  void write() {
    asio::async_write(socket_, frames_.answers(), [self = shared_from_this()](error_code error, std::size_t) {
      if (!error) self->read();
    });
  }

  tcp::socket socket_;
  Frames frames_;
};

void accept_with_callbacks(tcp::acceptor& acceptor) {
  acceptor.async_accept([&acceptor](error_code error, tcp::socket socket) {
    if (!error) {
      set_no_delay(socket);
      std::make_shared<Session>(std::move(socket))->read();
    }
    accept_with_callbacks(acceptor);
  });
}

constexpr auto as_tuple = asio::experimental::as_tuple(asio::use_awaitable);

asio::awaitable<void> answer(tcp::socket socket) {
  Frames frames;
  while (true) {
    auto [read_error, size] = co_await socket.async_read_some(frames.room(), as_tuple);
    if (read_error || !frames.take(size)) co_return;
    if (frames.answers().size() == 0) continue;
    auto [write_error, written] = co_await asio::async_write(socket, frames.answers(), as_tuple);
    if (write_error) co_return;
  }
}

asio::awaitable<void> accept_with_coroutines(tcp::acceptor& acceptor) {
  while (true) {
    auto [error, socket] = co_await acceptor.async_accept(as_tuple);
    if (error) continue;
    set_no_delay(socket);
    asio::co_spawn(acceptor.get_executor(), answer(std::move(socket)), asio::detached);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view style;
  int port = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--port=")) port = std::atoi(argv[i] + 7);
    if (argument.starts_with("--style=")) style = argument.substr(8);
  }
  if (port <= 0 || (style != "callbacks" && style != "coroutines")) {
    std::cerr << "usage: " << argv[0] << " --port=N --style=callbacks|coroutines\n";
    return 2;
  }
  asio::io_context context{1};
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)}, true);
  acceptor.listen(4096);
  if (style == "callbacks") {
    accept_with_callbacks(acceptor);
  } else {
    asio::co_spawn(context, accept_with_coroutines(acceptor), asio::detached);
  }
  context.run();
}
