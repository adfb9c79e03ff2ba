#include "keel/db/postgres/testing/fake_server.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "keel/db/postgres/message.h"
#include "keel/db/postgres/testing/fake_client.h"
#include "keel/db/postgres/types.h"

namespace keel::db::postgres::fake_server_test {
namespace {

using namespace std::string_literals;
using testing::FakeClient;
using testing::FakeDatabase;
using testing::FakeOptions;
using testing::FakeResult;
using testing::FakeServer;
using testing::FakeStatement;
using testing::FakeValue;
using testing::Fault;

// Answers "echo" with its argument, "count N" with N rows, "fail STATE" with an error, "add TEXT" by keeping it.
struct Database : FakeDatabase {
  FakeStatement prepare(std::string_view sql) override {
    if (sql.starts_with("echo")) return {.parameters = {oid::int8}, .columns = {{"n", oid::int8}}};
    if (sql.starts_with("count")) return {.columns = {{"n", oid::int4}}};
    if (sql == "bad syntax") return {.error = testing::FakeError{.sqlstate = "42601", .message = "syntax error"}};
    return {};
  }
  FakeResult execute(std::uint64_t, std::string_view sql, std::span<const FakeValue> arguments) override {
    if (sql.starts_with("echo")) return {.rows = {{arguments[0]}}};
    if (sql.starts_with("count")) {
      FakeResult result;
      for (int i = 0; i < std::stoi(std::string(sql.substr(6))); ++i) result.rows.push_back({std::to_string(i)});
      return result;
    }
    if (sql.starts_with("fail")) {
      return {.error = testing::FakeError{.sqlstate = std::string(sql.substr(5)), .message = "as asked"}};
    }
    if (sql == "hold") return {.tag = "HOLD", .is_held = true};
    if (sql == "copy in") return {.copy = FakeResult::Copy::In};
    if (sql == "copy out") return {.rows = {{"a", std::nullopt}, {"b", "c"}}, .copy = FakeResult::Copy::Out};
    if (sql == "notice") return {.tag = "NOTICE", .notices = {"mind the gap"}};
    log += "+" + std::string(sql.substr(sql.find(' ') + 1));
    return {.tag = "INSERT 0 1"};
  }
  FakeResult copied(std::uint64_t session, std::string_view sql, std::string_view data) override {
    log += "+" + std::string(data);
    return FakeDatabase::copied(session, sql, data);
  }
  void commit(std::uint64_t) override { log += " commit "; }
  void roll_back(std::uint64_t) override { log += " rollback "; }
  std::optional<testing::FakeError> savepoint(std::uint64_t, std::string_view name) override {
    log += " savepoint:" + std::string(name);
    return std::nullopt;
  }
  void release(std::uint64_t, std::string_view name) override { log += " release:" + std::string(name); }
  void roll_back_to(std::uint64_t, std::string_view name) override { log += " to:" + std::string(name); }
  std::string log;
};

struct Connection {
  explicit Connection(Database& database, FakeOptions options = {}, std::size_t piece = 0)
      : server(database, std::move(options)), client(server, piece) {
    const Result<> result = client.log_in({.user = "app", .password = "pw"});
    EXPECT_TRUE(result.is_ok()) << result.error().message();
  }
  std::string ask(std::string_view sql) {
    EXPECT_TRUE(client.encoder().query(sql).is_ok());
    return client.responses();
  }
  // Parse, Bind, Execute and Sync of a statement.
  void send(std::string_view sql, std::span<const Value> values = {}, std::span<const Oid> types = {}) {
    Encoder encoder = client.encoder();
    EXPECT_TRUE(encoder.parse("", sql).is_ok());
    EXPECT_TRUE(encoder.bind("", "", values, types, {}).is_ok());
    EXPECT_TRUE(encoder.execute("").is_ok());
  }
  FakeServer server;
  FakeClient client;
};

TEST(FakeServer, answers_both_protocols_however_the_bytes_are_cut) {
  for (const std::size_t piece : {0u, 1u, 3u, 7u}) {
    Database database;
    Connection connection(database, {}, piece);
    EXPECT_EQ(connection.ask("count 2"), "T D D C Z");
    EXPECT_EQ(connection.ask("count 1; count 2"), "T D C T D D C Z");
    EXPECT_EQ(connection.ask(" ; "), "I Z");
    const std::array<Value, 1> values = {Value(7)};
    const std::array<Oid, 1> types = {oid::int8};
    Encoder encoder = connection.client.encoder();
    ASSERT_TRUE(encoder.parse("s", "echo").is_ok());
    ASSERT_TRUE(encoder.describe_statement("s").is_ok());
    encoder.sync();
    EXPECT_EQ(connection.client.responses(), "1 t T Z");
    ASSERT_TRUE(encoder.bind("", "s", values, types, {}).is_ok());
    ASSERT_TRUE(encoder.describe_portal("").is_ok());
    ASSERT_TRUE(encoder.execute("").is_ok());
    encoder.sync();
    const auto received = connection.client.received().value();
    ASSERT_EQ(received.size(), 5u);
    EXPECT_EQ(received[2].body, "\0\x01\0\0\0\x01"s + "7");
    EXPECT_EQ(CommandComplete::read(received[3].body)->tag, "SELECT 1");
    ASSERT_TRUE(encoder.close_statement("s").is_ok());
    encoder.sync();
    EXPECT_EQ(connection.client.responses(), "3 Z");
    EXPECT_EQ(connection.server.prepared_statements(), 0u);
  }
}

TEST(FakeServer, suspends_a_portal_at_its_row_limit) {
  Database database;
  Connection connection(database);
  EXPECT_EQ(connection.ask("begin"), "C Z");
  Encoder encoder = connection.client.encoder();
  ASSERT_TRUE(encoder.parse("", "count 5").is_ok());
  ASSERT_TRUE(encoder.bind("p", "", {}, {}, {}).is_ok());
  ASSERT_TRUE(encoder.execute("p", 2).is_ok());
  encoder.sync();
  EXPECT_EQ(connection.client.responses(), "1 2 D D s Z");
  ASSERT_TRUE(encoder.execute("p", 2).is_ok());
  ASSERT_TRUE(encoder.execute("p", 2).is_ok());
  encoder.sync();
  EXPECT_EQ(connection.client.responses(), "D D s D C Z");
  EXPECT_EQ(connection.ask("commit"), "C Z");
  ASSERT_TRUE(encoder.execute("p", 2).is_ok());
  encoder.sync();
  EXPECT_EQ(connection.client.responses(), "E34000 Z") << "a portal ends with its transaction";
}

TEST(FakeServer, skips_to_the_sync_after_an_error_and_undoes_the_implicit_transaction) {
  Database database;
  Connection connection(database);
  connection.send("add a");
  connection.send("fail 23505");
  connection.send("add b");
  connection.client.encoder().sync();
  connection.send("add c");
  connection.client.encoder().sync();
  EXPECT_EQ(connection.client.responses(), "1 2 C 1 2 E23505 Z 1 2 C Z");
  EXPECT_EQ(database.log, "+a rollback +c commit ");
}

TEST(FakeServer, has_transactions_and_savepoints) {
  Database database;
  Connection connection(database);
  EXPECT_EQ(connection.ask("BEGIN"), "C Z");
  EXPECT_EQ(connection.server.transaction_status(), 'T');
  EXPECT_EQ(connection.ask("add a"), "C Z");
  EXPECT_EQ(connection.ask("savepoint s1"), "C Z");
  EXPECT_EQ(connection.ask("fail 23505"), "E23505 Z");
  EXPECT_EQ(connection.server.transaction_status(), 'E');
  EXPECT_EQ(connection.ask("add b"), "E25P02 Z");
  EXPECT_EQ(connection.ask("rollback to savepoint s1"), "C Z");
  EXPECT_EQ(connection.ask("release savepoint s1"), "C Z");
  EXPECT_EQ(connection.ask("release savepoint s1"), "E3B001 Z");
  EXPECT_EQ(connection.ask("commit"), "C Z") << "which is a rollback: it has failed";
  EXPECT_EQ(database.log, "+a savepoint:s1 to:s1 release:s1 rollback ");
  database.log.clear();
  EXPECT_EQ(connection.ask("begin"), "C Z");
  EXPECT_EQ(connection.ask("add c"), "C Z");
  EXPECT_EQ(connection.ask("end"), "C Z");
  EXPECT_EQ(connection.ask("savepoint x"), "E25P01 Z");
  EXPECT_EQ(database.log, "+c commit  rollback ");
}

TEST(FakeServer, rolls_back_when_its_client_goes) {
  Database database;
  {
    Connection connection(database);
    EXPECT_EQ(connection.ask("begin; add a"), "C C Z");
    EXPECT_EQ(database.sessions(), 1u);
  }
  EXPECT_EQ(database.log, "+a rollback ");
  EXPECT_EQ(database.sessions(), 0u);
}

TEST(FakeServer, knows_what_was_prepared_and_what_was_not) {
  Database database;
  Connection connection(database);
  Encoder encoder = connection.client.encoder();
  ASSERT_TRUE(encoder.parse("s", "bad syntax").is_ok());
  encoder.sync();
  EXPECT_EQ(connection.client.responses(), "E42601 Z");
  ASSERT_TRUE(encoder.bind("", "s", {}, {}, {}).is_ok());
  encoder.sync();
  ASSERT_TRUE(encoder.describe_statement("s").is_ok());
  encoder.sync();
  EXPECT_EQ(connection.client.responses(), "E26000 Z E26000 Z");
  ASSERT_TRUE(encoder.parse("s", "echo").is_ok());
  ASSERT_TRUE(encoder.parse("s", "echo").is_ok());
  encoder.sync();
  EXPECT_EQ(connection.client.responses(), "1 E42P05 Z");
  ASSERT_TRUE(encoder.bind("", "s", {}, {}, {}).is_ok());
  encoder.sync();
  EXPECT_EQ(connection.client.responses(), "E08P01 Z") << "a parameter is missing";
  const std::string text = "a\0b"s;
  const std::array<Value, 1> values = {Value(text)};
  const std::array<Oid, 1> types = {oid::text};
  ASSERT_TRUE(encoder.bind("", "s", values, types, {}).is_ok());
  encoder.sync();
  EXPECT_EQ(connection.client.responses(), "E22P03 Z") << "three bytes are no bigint";
  EXPECT_EQ(connection.ask("discard all"), "C Z");
  EXPECT_EQ(connection.server.prepared_statements(), 0u);

  Connection pooler(database, {.is_pooler = true});
  EXPECT_EQ(pooler.client.login().key().process, 0u);
  Encoder pooled = pooler.client.encoder();
  ASSERT_TRUE(pooled.parse("s", "echo").is_ok());
  pooled.sync();
  ASSERT_TRUE(pooled.describe_statement("s").is_ok());
  pooled.sync();
  EXPECT_EQ(pooler.client.responses(), "1 Z E26000 Z") << "another server, as behind a pooler";
}

TEST(FakeServer, copies_in_both_directions) {
  Database database;
  Connection connection(database);
  EXPECT_EQ(connection.ask("copy in"), "G");
  ASSERT_TRUE(connection.client.encoder().copy_data("1\n2").is_ok());
  ASSERT_TRUE(connection.client.encoder().copy_data("\n").is_ok());
  connection.client.encoder().copy_done();
  const auto received = connection.client.received().value();
  ASSERT_EQ(received.size(), 2u);
  EXPECT_EQ(CommandComplete::read(received[0].body)->changes, 2);
  EXPECT_EQ(database.log, "+1\n2\n commit ");
  EXPECT_EQ(connection.ask("copy in"), "G");
  ASSERT_TRUE(connection.client.encoder().copy_fail("no more").is_ok());
  EXPECT_EQ(connection.client.responses(), "E57014 Z");
  EXPECT_EQ(connection.ask("copy out"), "H d d c C Z");
}

TEST(FakeServer, notifies_at_the_commit_those_that_listen) {
  Database database;
  Connection listener(database);
  Connection sender(database);
  int calls = 0;
  listener.server.set_on_output([&] { ++calls; });
  EXPECT_EQ(listener.ask("listen jobs"), "C Z");
  EXPECT_EQ(sender.ask("begin; notify jobs, 'it''s new'"), "C C Z");
  EXPECT_EQ(listener.client.responses(), "");
  EXPECT_EQ(sender.ask("commit"), "C Z");
  const auto received = listener.client.received().value();
  ASSERT_EQ(received.size(), 1u);
  const NotificationResponse notification = NotificationResponse::read(received[0].body).value();
  EXPECT_EQ(notification.channel, "jobs");
  EXPECT_EQ(notification.payload, "it's new");
  EXPECT_EQ(notification.process, sender.server.process());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(listener.ask("begin"), "C Z");
  database.notify("jobs", "later");
  EXPECT_EQ(listener.client.responses(), "") << "within its transaction it waits";
  EXPECT_EQ(listener.ask("commit"), "C A Z");
  EXPECT_EQ(listener.ask("unlisten *"), "C Z");
  database.notify("jobs", "gone");
  EXPECT_EQ(listener.client.responses(), "");
}

TEST(FakeServer, holds_a_statement_until_it_is_released_or_cancelled) {
  Database database;
  Connection connection(database);
  EXPECT_EQ(connection.ask("hold"), "");
  EXPECT_TRUE(connection.server.is_holding());
  EXPECT_EQ(connection.ask("count 1"), "") << "it waits its turn";
  connection.server.release();
  EXPECT_EQ(connection.client.responses(), "C Z T D C Z");

  connection.send("hold");
  connection.client.encoder().sync();
  EXPECT_EQ(connection.client.responses(), "1 2");
  FakeServer canceller(database);
  Buffer request;
  const BackendKeyData key = connection.client.login().key();
  Encoder(request).cancel_request(key.process, key.secret + 1);
  canceller.receive(request.view());
  EXPECT_TRUE(canceller.is_closed());
  EXPECT_TRUE(connection.server.is_holding()) << "the secret is wrong";
  FakeServer second(database);
  request.clear();
  Encoder(request).cancel_request(key.process, key.secret);
  second.receive(request.view());
  EXPECT_EQ(connection.client.responses(), "E57014 Z");
}

TEST(FakeServer, sends_notices_and_ends_a_session) {
  Database database;
  Connection connection(database);
  EXPECT_EQ(connection.ask("notice"), "N C Z");
  connection.server.shut_down();
  EXPECT_EQ(connection.client.responses(), "E57P01");
  EXPECT_TRUE(connection.server.is_closed());
  Connection other(database);
  other.client.encoder().terminate();
  EXPECT_EQ(other.client.responses(), "");
  EXPECT_TRUE(other.server.is_closed());
}

TEST(FakeServer, answers_requests_for_tls) {
  Database database;
  FakeServer without(database);
  Buffer request;
  Encoder(request).ssl_request();
  without.receive(request.view());
  EXPECT_EQ(without.output().view(), "N");
  FakeServer with(database, {.offers_tls = true});
  with.receive(request.view());
  EXPECT_EQ(with.output().view(), "S");
  EXPECT_TRUE(with.is_starting_tls());
  FakeServer twice(database, {.offers_tls = true, .fault = Fault::ResponseToTlsTwice});
  twice.receive(request.view());
  EXPECT_EQ(twice.output().size(), 2u);
}

TEST(FakeServer, rejects_messages_of_the_client_that_cannot_be) {
  const auto answer = [](std::string_view bytes) {
    Database database;
    FakeServer server(database);
    server.receive(bytes);
    EXPECT_TRUE(server.is_closed());
    return server.output().size();
  };
  EXPECT_GT(answer("\0\0\0\x07"s), 0u);
  EXPECT_GT(answer("\x7f\0\0\0"s), 0u);
  EXPECT_GT(answer("\0\0\0\x08\0\x02\0\0"s), 0u) << "protocol 2";
  EXPECT_GT(answer("\0\0\0\x09\0\x03\0\0\0"s), 0u) << "no user";
  Database database;
  Connection connection(database);
  connection.client.out().append("?\0\0\0\x04"s);
  EXPECT_EQ(connection.client.responses(), "E08P01");
  EXPECT_TRUE(connection.server.is_closed());
}

TEST(FakeServer, misbehaves_as_it_is_told) {
  struct Case {
    Fault fault;
    std::string_view answer;
  };
  const Case cases[] = {
      {Fault::LengthBelowFour,
       "1 2 DataRow of the server has a length of 3, less than the 4 bytes of the length "
       "itself"},
      {Fault::LengthOfGigabytes, "1 2 DataRow of the server has a length of 4294967280, above 67108864"},
      {Fault::UnknownMessage, "1 2 the server sent a message of type 0x3f, which does not exist in the protocol"},
      {Fault::UnexpectedMessage, "1 2 Z Z"},
      {Fault::CellBeyondMessage, "1 2 D Z"},
      {Fault::NegativeCell, "1 2 D Z"},
      {Fault::MoreColumns, "1 2 D Z"},
      {Fault::TrailingBytes, "1 2 D Z"},
      {Fault::BadValue, "1 2 D Z"},
      {Fault::ClosesMidway, "1 2"},
  };
  for (const Case& one : cases) {
    Database database;
    Connection connection(database, {.fault = one.fault});
    connection.send("count 1");
    connection.client.encoder().sync();
    EXPECT_EQ(connection.client.responses(), one.answer) << static_cast<int>(one.fault);
  }
  Database database;
  Connection endless(database, {.fault = Fault::EndlessRows});
  endless.send("count 1");
  const std::size_t first = endless.client.received()->size();
  endless.server.refill();
  EXPECT_GT(first, 1000u);
  EXPECT_GT(endless.client.received()->size(), 1000u) << "and more";
}

}  // namespace
}  // namespace keel::db::postgres::fake_server_test
