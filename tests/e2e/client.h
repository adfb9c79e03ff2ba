// A blocking HTTP/1.1 client for tests: what was sent, what came back and how a connection ended, nothing hidden.
//
//   e2e::Reply reply = e2e::call(address, "POST", "/api/users", R"({"name":"A","email":"a@b"})");
//
//   e2e::Connection connection(address);
//   connection.send(e2e::request("GET", "/health"));
//   std::optional<e2e::Reply> reply = connection.receive();    // nothing: closed, see ended() and unfinished()

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/time.h"
#include "keel/io/address.h"

namespace e2e {

struct Reply {
  int status = 0;
  std::string head;  // With the line end of its last field.
  std::string body;

  // The field's value; "" when there is none.
  std::string field(std::string_view name) const;
  bool closes() const { return field("Connection") == "close"; }
};

// A whole request. Content-Length is there when there is a body, or a method that should have one; Content-Type, of
// JSON unless `fields` has one, when there is a body.
std::string request(std::string_view method, std::string_view target, std::string_view body = {},
                    std::string_view fields = {});

class Connection {
 public:
  explicit Connection(const keel::Address& to);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool is_connected() const noexcept { return fd_ >= 0; }
  // Why it is not.
  int error() const noexcept { return error_; }
  // All of it; false when the peer is gone.
  bool send(std::string_view bytes);
  // The next reply, interim ones passed over; nothing when the connection ends, or `timeout` is over, before it is
  // whole. `to_head`: it answers HEAD, and so has no body whatever its fields say.
  std::optional<Reply> receive(bool to_head = false, keel::Duration timeout = keel::Duration::seconds(10));
  // The peer closed, or reset, the connection.
  bool ended() const noexcept { return ended_; }
  // Whether the end comes within `timeout`, and nothing before it.
  bool ends_silently(keel::Duration timeout);
  // Bytes of a reply that is not whole.
  const std::string& unfinished() const noexcept { return wire_; }

 private:
  bool read_more(keel::Duration timeout);
  int fd_ = -1;
  int error_ = 0;
  bool ended_ = false;
  std::string wire_;
};

// One request on a connection of its own. Status 0: no whole reply.
Reply call(const keel::Address& to, std::string_view method, std::string_view target, std::string_view body = {},
           std::string_view fields = {});

// The members of a JSON object: strings as they are meant, everything else as it is written. Nothing: not an object.
std::optional<std::map<std::string, std::string>> members(std::string_view json);
// The elements of a JSON array as they are written. Nothing: not an array.
std::optional<std::vector<std::string>> elements(std::string_view json);

}  // namespace e2e
