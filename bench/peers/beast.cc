// Boost.Beast as its own asynchronous examples use it: one session object per connection, callbacks, a 30 s
// expiry set before every read, Boost.JSON for the JSON answer. One thread and no strand.

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/version.hpp>
#include <boost/json/src.hpp>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

Response answer(const Request& request) {
  Response response{http::status::ok, request.version()};
  response.set(http::field::server, BOOST_BEAST_VERSION_STRING);
  response.keep_alive(request.keep_alive());
  if (request.method() != http::verb::get) {
    response.result(http::status::method_not_allowed);
  } else if (request.target() == "/plaintext") {
    response.set(http::field::content_type, "text/plain");
    response.body() = "Hello, World!";
  } else if (request.target() == "/json") {
    response.set(http::field::content_type, "application/json");
    response.body() = boost::json::serialize(boost::json::object{{"message", "Hello, World!"}});
  } else {
    response.result(http::status::not_found);
  }
  response.prepare_payload();
  return response;
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(tcp::socket&& socket) : stream_(std::move(socket)) {}

  void read() {
    request_ = {};
    stream_.expires_after(std::chrono::seconds(30));
    http::async_read(stream_, buffer_, request_, beast::bind_front_handler(&Session::on_read, shared_from_this()));
  }

 private:
  void on_read(beast::error_code error, std::size_t) {
    if (error) return close();
    response_.emplace(answer(request_));
    http::async_write(stream_, *response_, beast::bind_front_handler(&Session::on_write, shared_from_this()));
  }

  void on_write(beast::error_code error, std::size_t) {
    if (error || response_->need_eof()) return close();
    response_.reset();
    read();
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  Request request_;
  std::optional<Response> response_;
};

class Listener {
 public:
  Listener(asio::io_context& context, tcp::endpoint endpoint) : acceptor_(context, endpoint, true) { accept(); }

 private:
  void accept() {
    acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (!error) {
        socket.set_option(tcp::no_delay(true), error);
        std::make_shared<Session>(std::move(socket))->read();
      }
      accept();
    });
  }

  tcp::acceptor acceptor_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::strncmp(argv[1], "--port=", 7) != 0) {
    std::cerr << "usage: " << argv[0] << " --port=N\n";
    return 2;
  }
  const auto port = static_cast<unsigned short>(std::atoi(argv[1] + 7));
  asio::io_context context{1};
  Listener listener(context, {asio::ip::address_v4::loopback(), port});
  context.run();
}
