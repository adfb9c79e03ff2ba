// Boost.Asio as its own echo examples use it. Callbacks: one shared session per connection. Coroutines: awaitables that
// return their error instead of throwing. Both: one thread, no strand.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string_view>
#include <utility>

namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t buffer_bytes = 16 * 1024;

void set_no_delay(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(tcp::socket&& socket) : socket_(std::move(socket)) {}

  void read() {
    socket_.async_read_some(asio::buffer(data_), [self = shared_from_this()](error_code error, std::size_t size) {
      if (!error) self->write(size);
    });
  }

 private:
  void write(std::size_t size) {
    asio::async_write(socket_, asio::buffer(data_, size), [self = shared_from_this()](error_code error, std::size_t) {
      if (!error) self->read();
    });
  }

  tcp::socket socket_;
  std::array<char, buffer_bytes> data_;
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

asio::awaitable<void> echo(tcp::socket socket) {
  std::array<char, buffer_bytes> data;
  while (true) {
    auto [read_error, size] = co_await socket.async_read_some(asio::buffer(data), as_tuple);
    if (read_error) co_return;
    auto [write_error, written] = co_await asio::async_write(socket, asio::buffer(data, size), as_tuple);
    if (write_error) co_return;
  }
}

asio::awaitable<void> accept_with_coroutines(tcp::acceptor& acceptor) {
  while (true) {
    auto [error, socket] = co_await acceptor.async_accept(as_tuple);
    if (error) continue;
    set_no_delay(socket);
    asio::co_spawn(acceptor.get_executor(), echo(std::move(socket)), asio::detached);
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
