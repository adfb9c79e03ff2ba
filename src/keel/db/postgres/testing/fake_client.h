// keel/db/postgres/testing/fake_client.h — for tests of the protocol code and of FakeServer: a client that calls a
// FakeServer directly, without I/O.
//
//   FakeClient client(server);
//   EXPECT_TRUE(client.log_in({.user = "app", .password = "pw"}).is_ok());
//   client.encoder().query("select 1");
//   EXPECT_EQ(client.responses(), "T D C Z");
//
// Threads: one.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/db/postgres/encoder.h"
#include "keel/db/postgres/login.h"
#include "keel/db/postgres/reader.h"
#include "keel/db/postgres/testing/fake_server.h"

namespace keel::db::postgres::testing {

class FakeClient {
 public:
  // Passes bytes in both directions in pieces of `piece` bytes or, if `piece` is 0, in the pieces in which they arrive.
  explicit FakeClient(FakeServer& server, std::size_t piece = 0) : server_(server), piece_(piece) {}

  Encoder encoder() { return Encoder(out_); }
  Buffer& out() noexcept { return out_; }

  // Passes the encoder's bytes to the server, and receives the responses.
  Result<> exchange();
  // Logs in, and receives everything up to the ReadyForQuery that ends the login. If the options contain no nonce, a
  // nonce is generated.
  Result<> log_in(LoginOptions options);
  Login& login() noexcept { return *login_; }

  struct Received {
    MessageType type;
    std::string body;
  };
  // Calls exchange(), and returns the received messages.
  Result<std::vector<Received>> received();
  // Calls exchange(), and returns the messages as text: their types, separated by blanks, with the SQLSTATE after the
  // type of an error: "1 E26000 Z".
  std::string responses();

 private:
  FakeServer& server_;
  const std::size_t piece_;
  Buffer out_;
  Reader reader_;
  std::optional<Login> login_;
  std::vector<Received> received_;
};

}  // namespace keel::db::postgres::testing
