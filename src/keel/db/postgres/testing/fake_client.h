// keel/db/postgres/testing/fake_client.h — a client that calls a FakeServer directly, without I/O: for tests of both.
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
  // Bytes are passed in pieces of `piece` bytes in both directions; with 0, in the pieces in which they come.
  explicit FakeClient(FakeServer& server, std::size_t piece = 0) : server_(server), piece_(piece) {}

  Encoder encoder() { return Encoder(out_); }
  Buffer& out() noexcept { return out_; }

  // Sends the bytes of the encoder, and receives the server's responses.
  Result<> exchange();
  // Logs in, up to the ReadyForQuery. If the options have no nonce, one is generated.
  Result<> log_in(LoginOptions options);
  Login& login() noexcept { return *login_; }

  struct Received {
    MessageType type;
    std::string body;
  };
  // Calls exchange(), and returns the received messages.
  Result<std::vector<Received>> received();
  // Returns the messages as text: their types, separated by blanks; the type of an error is followed by its SQLSTATE:
  // "1 E26000 Z".
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
