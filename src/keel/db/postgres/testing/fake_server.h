// keel/db/postgres/testing/fake_server.h — for tests: the server's half of PostgreSQL's protocol, bytes in, bytes out.
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
// A FakeServer implements the following as a server of version 15 does: SSLRequest and CancelRequest; SCRAM-SHA-256 and
// -PLUS, md5, cleartext; both protocols with prepared statements, portals and row limits; the skipping of messages up
// to the Sync after an error; implicit transactions, begin, commit, rollback, savepoints; LISTEN, NOTIFY; COPY in both
// directions; discard all and deallocate. A FakeServer has no tables: the FakeDatabase of the test returns the result
// of each statement.
//
// The server itself executes these statements, which it recognizes by their first words: begin, start transaction,
// commit, end, rollback, abort, savepoint, release, rollback to, set, reset, discard, deallocate, listen, unlisten,
// notify.
//
// Errors:    the server responds to a mistake of the client with an ErrorResponse; where a real server would end the
//            connection, is_closed() becomes true.
// Threads:   one thread for all servers of a FakeDatabase.
// Random:    nonces and secrets are derived from FakeOptions::seed.

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

// A value as text, in the form that types.h describes; nullopt is NULL.
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
  std::string severity = "ERROR";  // If the value is "FATAL", the session ends.
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
  std::string tag = {};  // The command tag; if empty, "SELECT n" with the number of rows.
  std::optional<FakeError> error = std::nullopt;
  enum class Copy : std::uint8_t { None, In, Out };
  Copy copy = Copy::None;  // With Copy::Out, `rows` are sent as the data of a COPY.
  // The types of the columns in the binary format of COPY; empty for the text format.
  std::vector<Oid> copy_types = {};
  bool is_held = false;                   // True: the response waits for FakeServer::release() or a cancellation.
  std::vector<std::string> notices = {};  // Sent before it.
};

class FakeServer;

// The data that all sessions of a server share. Outlives its FakeServers.
class FakeDatabase {
 public:
  virtual ~FakeDatabase();

  // Describes a statement. This function is not called for empty statements, nor for statements that the server itself
  // executes.
  virtual FakeStatement prepare(std::string_view sql) = 0;
  // Executes a statement, always within a transaction of the session. If the client has not begun a transaction, the
  // FakeServer begins one before the statement, and if the statement succeeds, calls commit() at the Sync.
  virtual FakeResult execute(std::uint64_t session, std::string_view sql, std::span<const FakeValue> arguments) = 0;
  // Receives the whole data of a COPY … FROM STDIN; returns a result whose tag has the number of rows, or an error.
  virtual FakeResult copied(std::uint64_t session, std::string_view sql, std::string_view data);

  // Called before a transaction begins; if the function returns an error, the transaction does not begin.
  virtual std::optional<FakeError> begin(std::uint64_t session);
  virtual void commit(std::uint64_t session);
  virtual void roll_back(std::uint64_t session);
  // If the function returns an error, the savepoint is not set, and the transaction is in the failed state.
  virtual std::optional<FakeError> savepoint(std::uint64_t session, std::string_view name);
  virtual void release(std::uint64_t session, std::string_view name);
  virtual void roll_back_to(std::uint64_t session, std::string_view name);

  // Sends a notification to each session that listens; `process` is the sender.
  void notify(std::string_view channel, std::string_view payload, std::uint32_t process = 0);
  std::size_t sessions() const noexcept { return servers_.size(); }

 private:
  friend class FakeServer;
  void cancel(std::uint32_t process, std::uint32_t secret);
  std::vector<FakeServer*> servers_;
  std::uint64_t next_session_ = 1;
};

// How the server misbehaves, to simulate a malicious or broken server.
enum class Fault : std::uint8_t {
  None,
  // In the login.
  ResponseToTlsTwice,  // Sends more bytes after the 'S' that accepts an SSLRequest.
  BadSignature,        // Sends a wrong SCRAM signature.
  BadNonce,            // Sends a nonce that does not begin with the client's.
  HugeIterations,      // Requires 2^31 - 1 iterations.
  NoIterations,
  SkipsProof,  // The server accepts the login without proving that it knows the password.
  HidesPlus,   // Does not offer SCRAM-SHA-256-PLUS, as if an attacker had removed the offer.
  AsksForCleartext,
  AsksForMd5,
  // The faults below occur in the response to an Execute.
  LengthBelowFour,
  LengthOfGigabytes,
  CellBeyondMessage,
  NegativeCell,
  MoreColumns,  // Sends a row with more columns than were described.
  TrailingBytes,
  EndlessRows,        // Sends an endless sequence of rows.
  UnexpectedMessage,  // Sends a ReadyForQuery before the client has sent a Sync.
  UnknownMessage,     // Sends a message of an unknown type.
  BadValue,           // Sends bytes that are not a value of the column's type.
  ClosesMidway,       // Closes the connection within a DataRow.
};

// How the server behaves during and after the login.
struct FakeOptions {
  // Passwords by user; users that are not listed need no password (trust).
  std::map<std::string, std::string> passwords = {};
  bool offers_tls = false;
  // The channel binding data of tls-server-end-point. If this data is set, the server offers SCRAM-SHA-256-PLUS over
  // TLS.
  std::string channel_binding = {};
  std::uint32_t iterations = 4096;
  std::uint64_t seed = 1;
  Fault fault = Fault::None;
  std::string server_version = "15.14";
  // The first `cancels_ignored` CancelRequests have no effect, as if they had arrived before the statement.
  int cancels_ignored = 0;
  bool is_read_only = false;  // Whether default_transaction_read_only and in_hot_standby are on.
  // Whether the server behaves like a pooler that changes servers between transactions: it sends no cancel key, and
  // after a Sync outside of a transaction it no longer knows any named statement (26000).
  bool is_pooler = false;
};

class FakeServer {
 public:
  explicit FakeServer(FakeDatabase& database, FakeOptions options = {});
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  ~FakeServer();

  void receive(std::string_view bytes);
  // The bytes to send to the client. The caller removes the bytes that it has sent, and then calls refill(), which adds
  // more rows of an endless result.
  Buffer& output() noexcept;
  void refill();
  // `on_output` is called when output() has grown outside of receive(), because of a notification or of the response to
  // a held statement.
  void set_on_output(std::function<void()> on_output);
  // True if the session accepts no more bytes; the caller then sends output() and closes the connection.
  bool is_closed() const noexcept;
  // True once the server has sent the 'S' that accepts an SSLRequest. After this 'S', the client begins TLS, and
  // receive() gets the decrypted bytes.
  bool is_starting_tls() const noexcept;

  // Sends the response that is being held.
  void release();
  bool is_holding() const noexcept;
  // Ends the session in the way an administrator's command does (57P01).
  void shut_down();

  std::uint64_t session() const noexcept;
  std::uint32_t process() const noexcept;
  char transaction_status() const noexcept;  // 'I', 'T', 'E'
  std::size_t prepared_statements() const noexcept;
  // How many Parse and Execute messages have arrived.
  std::size_t parses() const noexcept;
  std::size_t executes() const noexcept;
  std::size_t syncs() const noexcept;

 private:
  friend class FakeDatabase;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::db::postgres::testing
