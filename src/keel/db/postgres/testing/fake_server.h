// keel/db/postgres/testing/fake_server.h — the server's half of PostgreSQL's protocol for tests: bytes in, bytes out.
//
//   struct Users : FakeDatabase {
//     FakeStatement prepare(std::string_view sql) override {
//       return {.parameters = {oid::int8}, .columns = {{"name", oid::text}}};
//     }
//     FakeResult execute(std::uint64_t session, std::string_view sql, std::span<const FakeValue> arguments) override {
//       return {.rows = {{"ada"}}};
//     }
//   };
//   FakeServer server(users);                        // one for each connection
//   server.receive(bytes);                           // from the client, divided anywhere
//   send(server.output().view()); server.output().clear();
//   if (server.is_closed()) …                        // after the output was sent
//
// It implements, like a server of version 15: SSLRequest and CancelRequest; SCRAM-SHA-256 and -PLUS, md5, cleartext;
// both protocols with prepared statements, portals and row limits; after an error it skips up to the Sync; implicit
// transactions, begin, commit, rollback, savepoints; LISTEN, NOTIFY; COPY in both directions; discard all and
// deallocate. It has no tables: the FakeDatabase of the test returns the result of each statement.
//
// These statements are executed by the server itself, recognised by their first words: begin, start transaction,
// commit, end, rollback, abort, savepoint, release, rollback to, set, reset, discard, deallocate, listen, unlisten,
// notify.
//
// Errors:    a mistake of the client gets an ErrorResponse; where a real server would end the connection, is_closed()
//            becomes true.
// Threads:   one, for all servers of a database.
// Random:    nonces and secrets come from the seed in its options.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/db/postgres/oid.h"

namespace keel::db::postgres::testing {

// A value as text, in the form described in types.h; or NULL.
using FakeValue = std::optional<std::string>;
using FakeRow = std::vector<FakeValue>;

// A column of a result: its name and type.
struct FakeColumn {
  std::string name;
  Oid type = oid::text;
};

// An error response.
struct FakeError {
  std::string sqlstate;
  std::string message;
  std::string constraint = {};
  std::string detail = {};
  std::string severity = "ERROR";  // "FATAL" ends the connection.
};

// The description of a statement: the types of its parameters, and its columns.
struct FakeStatement {
  std::vector<Oid> parameters = {};
  std::vector<FakeColumn> columns = {};  // Empty if the statement returns no rows.
  std::optional<FakeError> error = std::nullopt;
};

// The response to a statement: rows, or an error.
struct FakeResult {
  std::vector<FakeRow> rows = {};
  std::string tag = {};  // If empty, "SELECT n" with the number of rows.
  std::optional<FakeError> error = std::nullopt;
  enum class Copy : std::uint8_t { None, In, Out };
  Copy copy = Copy::None;                 // With Out, the values of `rows` are sent as the rows of a COPY.
  std::vector<Oid> copy_types = {};       // The types of the columns for the binary format; empty for the text format.
  bool is_held = false;                   // The response waits for FakeServer::release() or a cancel.
  std::vector<std::string> notices = {};  // Sent before it.
};

class FakeServer;

// The data that all sessions of a server share. Outlives its FakeServers.
class FakeDatabase {
 public:
  virtual ~FakeDatabase();

  // Describes a statement. Not called for empty statements, nor for those that the server executes itself.
  virtual FakeStatement prepare(std::string_view sql) = 0;
  // Executes a statement, always within a transaction of the session: unless the client has begun one, commit() is
  // called at the Sync after a success.
  virtual FakeResult execute(std::uint64_t session, std::string_view sql, std::span<const FakeValue> arguments) = 0;
  // Receives all data of a COPY ... FROM STDIN; returns the number of rows in its tag, or an error.
  virtual FakeResult copied(std::uint64_t session, std::string_view sql, std::string_view data);

  // Called when a transaction is about to begin; if it returns an error, the transaction does not begin.
  virtual std::optional<FakeError> begin(std::uint64_t session);
  virtual void commit(std::uint64_t session);
  virtual void roll_back(std::uint64_t session);
  // If it returns an error, the savepoint is not set, and the transaction has failed.
  virtual std::optional<FakeError> savepoint(std::uint64_t session, std::string_view name);
  virtual void release(std::uint64_t session, std::string_view name);
  virtual void roll_back_to(std::uint64_t session, std::string_view name);

  // Sends a notification to each listening session, with `process` as its sender.
  void notify(std::string_view channel, std::string_view payload, std::uint32_t process = 0);
  std::size_t sessions() const noexcept { return servers_.size(); }

 private:
  friend class FakeServer;
  void cancel(std::uint32_t process, std::uint32_t secret);
  std::vector<FakeServer*> servers_;
  std::uint64_t next_session_ = 1;
};

// The misbehaviour of a malicious or broken server.
enum class Fault : std::uint8_t {
  None,
  // In the login.
  ResponseToTlsTwice,  // Bytes follow the 'S' that accepts an SSLRequest.
  BadSignature,        // The SCRAM signature is wrong.
  BadNonce,            // The nonce does not begin with the client's.
  HugeIterations,      // Requires 2^31 - 1 iterations.
  NoIterations,
  SkipsProof,  // Accepts the login without proving that it knows the password.
  HidesPlus,   // Does not offer -PLUS, as if an attacker had removed it.
  AsksForCleartext,
  AsksForMd5,
  // The ones below are faults in a response to Execute.
  LengthBelowFour,
  LengthOfGigabytes,
  CellBeyondMessage,
  NegativeCell,
  MoreColumns,  // A row has more columns than were described.
  TrailingBytes,
  EndlessRows,        // Sends rows without end.
  UnexpectedMessage,  // A ReadyForQuery comes before its Sync.
  UnknownMessage,     // Sends a message of an unknown type.
  BadValue,           // Sends bytes that are not a value of the column's type.
  ClosesMidway,       // The connection ends within a DataRow.
};

// How the server behaves during and after the login.
struct FakeOptions {
  // By user. A user who is not listed needs no password (trust).
  std::map<std::string, std::string> passwords = {};
  bool offers_tls = false;
  // The data of tls-server-end-point. Over TLS, SCRAM-SHA-256-PLUS is then offered.
  std::string channel_binding = {};
  std::uint32_t iterations = 4096;
  std::uint64_t seed = 1;
  Fault fault = Fault::None;
  std::string server_version = "15.14";
  // The first CancelRequests, this many, have no effect, as if they came before the statement.
  int cancels_ignored = 0;
  bool is_read_only = false;  // default_transaction_read_only and in_hot_standby are on.
  // Behaves like a pooler that changes servers between transactions: it sends no cancel key, and after a Sync outside
  // of a transaction every named statement is unknown (26000).
  bool is_pooler = false;
};

class FakeServer {
 public:
  explicit FakeServer(FakeDatabase& database, FakeOptions options = {});
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  ~FakeServer();

  void receive(std::string_view bytes);
  // The bytes to send. The caller removes them and then calls refill(), which adds more of a result without an end.
  Buffer& output() noexcept;
  void refill();
  // Called when output() has grown outside of receive(): by a notification, or by the response to a held statement.
  void set_on_output(std::function<void()> on_output);
  // Whether the session accepts no more bytes; the caller then closes the connection after sending output().
  bool is_closed() const noexcept;
  // Whether the 'S' was sent: the client then begins TLS, and receive() gets the decrypted bytes.
  bool is_starting_tls() const noexcept;

  // Sends the response to the held statement.
  void release();
  bool is_holding() const noexcept;
  // Ends the session as an administrator does (57P01).
  void shut_down();

  std::uint64_t session() const noexcept;
  std::uint32_t process() const noexcept;
  char transaction_status() const noexcept;  // 'I', 'T', 'E'
  std::size_t prepared_statements() const noexcept;
  // The numbers of received Parse and Execute messages.
  std::size_t parses() const noexcept;
  std::size_t executes() const noexcept;
  std::size_t syncs() const noexcept;

 private:
  friend class FakeDatabase;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::db::postgres::testing
