// Boost.Asio as its own blocking echo example uses it: a thread for each connection, read_some and write.

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <thread>
#include <utility>

namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

void echo(tcp::socket socket) {
  error_code error;
  socket.set_option(tcp::no_delay(true), error);
  std::array<char, 16 * 1024> data;
  while (true) {
    const std::size_t size = socket.read_some(asio::buffer(data), error);
    if (error) return;
    asio::write(socket, asio::buffer(data, size), error);
    if (error) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view argument = argc == 2 ? argv[1] : "";
  const int port = argument.starts_with("--port=") ? std::atoi(argv[1] + 7) : 0;
  if (port <= 0) {
    std::cerr << "usage: " << argv[0] << " --port=N\n";
    return 2;
  }
  asio::io_context context{1};
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), static_cast<unsigned short>(port)}, true);
  acceptor.listen(4096);
  while (true) std::thread(echo, acceptor.accept()).detach();
}
