// keel/db/postgres/testing/fake_client.h — a client without I/O, in front of a FakeServer: for tests of both.
//
//   FakeClient client(server);
//   EXPECT_TRUE(client.log_in({.user = "app", .password = "pw"}).is_ok());
//   client.encoder().query("select 1");
//   EXPECT_EQ(client.answers(), "T D C Z");
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
  // What goes either way is cut into pieces of `piece` bytes; 0: it is not cut.
  explicit FakeClient(FakeServer& server, std::size_t piece = 0) : server_(server), piece_(piece) {}

  Encoder encoder() { return Encoder(out_); }
  Buffer& out() noexcept { return out_; }

  // Sends what the encoder has, and takes what the server answers.
  Result<> exchange();
  // The login, up to its ReadyForQuery. A nonce is given where the options have none.
  Result<> log_in(LoginOptions options);
  Login& login() noexcept { return *login_; }

  struct Received {
    MessageType type;
    std::string body;
  };
  // exchange(), and the messages that have come.
  Result<std::vector<Received>> received();
  // The same as their types with blanks between them; an error's is followed by its SQLSTATE: "1 E26000 Z".
  std::string answers();

 private:
  FakeServer& server_;
  const std::size_t piece_;
  Buffer out_;
  Reader reader_;
  std::optional<Login> login_;
  std::vector<Received> received_;
};

}  // namespace keel::db::postgres::testing
