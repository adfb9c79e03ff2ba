#include "client.h"

#include <poll.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "keel/base/host.h"
#include "keel/data/json.h"

namespace e2e {

using namespace keel;

std::string Reply::field(std::string_view name) const {
  for (std::size_t at = head.find("\r\n"); at != std::string::npos && at + 2 < head.size();
       at = head.find("\r\n", at + 2)) {
    const std::size_t begin = at + 2;
    if (begin + name.size() + 1 < head.size() && head[begin + name.size()] == ':' &&
        ::strncasecmp(head.data() + begin, name.data(), name.size()) == 0) {
      const std::size_t value = head.find_first_not_of(' ', begin + name.size() + 1);
      return head.substr(value, head.find("\r\n", value) - value);
    }
  }
  return {};
}

std::string request(std::string_view method, std::string_view target, std::string_view body, std::string_view fields) {
  std::string text;
  text.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n").append(fields);
  if (!body.empty() && fields.find("Content-Type:") == fields.npos) text.append("Content-Type: application/json\r\n");
  if (!body.empty() || method == "POST" || method == "PUT") {
    text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
  }
  return text.append("\r\n").append(body);
}

Connection::Connection(const Address& to) : fd_(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (fd_ >= 0 && ::connect(fd_, to.system(), to.system_size()) == 0) return;
  error_ = errno;
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Connection::~Connection() {
  if (fd_ >= 0) ::close(fd_);
}

bool Connection::send(std::string_view bytes) {
  while (fd_ >= 0 && !bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      error_ = errno;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return fd_ >= 0;
}

bool Connection::read_more(Duration timeout) {
  if (fd_ < 0 || ended_) return false;
  const Instant end = Host::system().now() + timeout;
  pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
  for (;;) {
    const std::int64_t left_ms = std::max<std::int64_t>((end - Host::system().now()).count_ns() / 1'000'000, 0);
    const int ready = ::poll(&readable, 1, static_cast<int>(left_ms));
    if (ready == 0) return false;
    char bytes[16384];
    const ssize_t got = ready < 0 ? -1 : ::recv(fd_, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) {
      wire_.append(bytes, static_cast<std::size_t>(got));
      return true;
    }
    if (got < 0) error_ = errno;
    ended_ = true;
    return false;
  }
}

std::optional<Reply> Connection::receive(bool to_head, Duration timeout) {
  const Instant end = Host::system().now() + timeout;
  do {
    for (std::size_t blank; (blank = wire_.find("\r\n\r\n")) != std::string::npos;) {
      Reply reply;
      reply.head = wire_.substr(0, blank + 2);
      reply.status = reply.head.starts_with("HTTP/1.1 ") ? std::atoi(reply.head.c_str() + 9) : -1;
      const std::string length = reply.field("Content-Length");
      const std::size_t size = to_head || length.empty() ? 0 : std::stoul(length);
      if (wire_.size() < blank + 4 + size) break;
      reply.body = wire_.substr(blank + 4, size);
      wire_.erase(0, blank + 4 + size);
      if (reply.status != 100) return reply;
    }
  } while (read_more(end - Host::system().now()));
  return std::nullopt;
}

bool Connection::ends_silently(Duration timeout) { return wire_.empty() && !read_more(timeout) && ended_; }

Reply call(const Address& to, std::string_view method, std::string_view target, std::string_view body,
           std::string_view fields) {
  Connection connection(to);
  if (!connection.send(request(method, target, body, fields))) return {};
  return connection.receive(method == "HEAD").value_or(Reply());
}

std::optional<std::map<std::string, std::string>> members(std::string_view text) {
  Arena arena;
  json::Reader in(text, arena);
  std::map<std::string, std::string> found;
  in.begin_object();
  while (auto key = in.next_key()) {
    std::string name(*key);
    const bool is_string = in.peek() == json::Kind::String;
    found[std::move(name)] = is_string ? in.string() : in.skip();
  }
  if (!in.finish()) return std::nullopt;
  return found;
}

std::optional<std::vector<std::string>> elements(std::string_view text) {
  Arena arena;
  json::Reader in(text, arena);
  std::vector<std::string> found;
  in.begin_array();
  while (in.next_element()) found.emplace_back(in.skip());
  if (!in.finish()) return std::nullopt;
  return found;
}

}  // namespace e2e
