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
//   server.receive(bytes);                           // from the client, cut anywhere
//   send(server.output().view()); server.output().clear();
//   if (server.is_closed()) …                        // after what is to be sent
//
// It does what a server of version 15 does: SSLRequest and CancelRequest; SCRAM-SHA-256 and -PLUS, md5, cleartext; both
// protocols with prepared statements, portals and row limits; after an error it skips up to the Sync; implicit
// transactions, begin, commit, rollback, savepoints; LISTEN, NOTIFY; COPY in both directions; discard all and
// deallocate. What tables hold is the FakeDatabase's: it answers the texts of statements.
//
// What the server answers itself, by the first words of the statement: begin, start transaction, commit, end, rollback,
// abort, savepoint, release, rollback to, set, reset, discard, deallocate, listen, unlisten, notify.
//
// Errors:    of the client's: an ErrorResponse, and where a real server would end the connection, is_closed().
// Threads:   one, for all servers of a database.
// Random:    all that it makes (nonces, secrets) comes from the seed in its options.

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

// A value as text, in the form that types.h says; or NULL.
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
  std::string severity = "ERROR";  // FATAL: the connection ends.
};

// What a statement takes and gives.
struct FakeStatement {
  std::vector<Oid> parameters = {};
  std::vector<FakeColumn> columns = {};  // None: it gives no rows.
  std::optional<FakeError> error = std::nullopt;
};

// The response to a statement: rows, or an error.
struct FakeResult {
  std::vector<FakeRow> rows = {};
  std::string tag = {};  // Empty: "SELECT n" for the rows.
  std::optional<FakeError> error = std::nullopt;
  enum class Copy : std::uint8_t { None, In, Out };
  Copy copy = Copy::None;                 // Out: the rows' values are sent as the rows of a COPY.
  std::vector<Oid> copy_types = {};       // With types of columns it is in the binary format, else in text.
  bool is_held = false;                   // Nothing is answered before FakeServer::release(), or a cancel.
  std::vector<std::string> notices = {};  // Sent before it.
};

class FakeServer;

// What all sessions of a server share. Outlives its FakeServers.
class FakeDatabase {
 public:
  virtual ~FakeDatabase();

  // Of a statement that is not empty and not the server's own.
  virtual FakeStatement prepare(std::string_view sql) = 0;
  // Within a transaction of the session, always: after a success outside of begin, commit() follows at the Sync.
  virtual FakeResult execute(std::uint64_t session, std::string_view sql, std::span<const FakeValue> arguments) = 0;
  // What execute() got from a client for a COPY ... FROM STDIN, whole; an error instead of the count of rows.
  virtual FakeResult copied(std::uint64_t session, std::string_view sql, std::string_view data);

  virtual void commit(std::uint64_t session);
  virtual void roll_back(std::uint64_t session);
  virtual void savepoint(std::uint64_t session, std::string_view name);
  virtual void release(std::uint64_t session, std::string_view name);
  virtual void roll_back_to(std::uint64_t session, std::string_view name);

  // Sends a notification to each session that listens, as from process 0.
  void notify(std::string_view channel, std::string_view payload, std::uint32_t process = 0);
  std::size_t sessions() const noexcept { return servers_.size(); }

 private:
  friend class FakeServer;
  void cancel(std::uint32_t process, std::uint32_t secret);
  std::vector<FakeServer*> servers_;
  std::uint64_t next_session_ = 1;
};

// What a malicious or broken server does.
enum class Fault : std::uint8_t {
  None,
  // In the login.
  AnswersTlsTwice,  // Bytes follow the 'S' that answers an SSLRequest.
  BadSignature,     // The SCRAM signature is another one.
  BadNonce,         // The nonce does not begin with the client's.
  HugeIterations,   // 2^31 - 1 iterations.
  NoIterations,
  SkipsProof,  // Says that all is well before it has proven anything.
  HidesPlus,   // Does not offer the -PLUS that it has: somebody in between has taken it out.
  AsksForCleartext,
  AsksForMd5,
  // In an answer to Execute.
  LengthBelowFour,
  LengthOfGigabytes,
  CellBeyondMessage,
  NegativeCell,
  MoreColumns,  // Than were described.
  TrailingBytes,
  EndlessRows,        // Rows, as long as the output is taken.
  UnexpectedMessage,  // A ReadyForQuery before its Sync.
  UnknownMessage,     // A type that there is not.
  BadValue,           // Bytes that are no value of the column's type.
  ClosesMidway,       // The connection ends within a DataRow.
};

// How the server behaves at the login and after it.
struct FakeOptions {
  // By user; none: each is let in without one (trust).
  std::map<std::string, std::string> passwords = {};
  bool offers_tls = false;
  // The data of tls-server-end-point, where TLS is spoken: then SCRAM-SHA-256-PLUS is offered.
  std::string channel_binding = {};
  std::uint32_t iterations = 4096;
  std::uint64_t seed = 1;
  Fault fault = Fault::None;
  std::string server_version = "15.14";
  bool is_read_only = false;  // default_transaction_read_only and in_hot_standby are on.
  // Knows no prepared statements beyond a transaction, and gives no key: as a pooler that changes servers between
  // transactions. Every statement of a name is unknown (26000) after the Sync outside of a transaction.
  bool is_pooler = false;
};

class FakeServer {
 public:
  explicit FakeServer(FakeDatabase& database, FakeOptions options = {});
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;
  ~FakeServer();

  void receive(std::string_view bytes);
  // What is to be sent. The caller takes from it, and calls refill() then: endless rows continue.
  Buffer& output() noexcept;
  void refill();
  // Called when output() got something outside of receive(): a notification, the answer of a statement that was held.
  void set_on_output(std::function<void()> on_output);
  // No more bytes are taken, and the connection is to be closed after output() has been sent.
  bool is_closed() const noexcept;
  // The 'S' was given: what comes now is TLS, and what receive() gets next was in it.
  bool is_starting_tls() const noexcept;

  // Answers the statement that is held.
  void release();
  bool is_holding() const noexcept;
  // Ends the session as an administrator does (57P01).
  void shut_down();

  std::uint64_t session() const noexcept;
  std::uint32_t process() const noexcept;
  char transaction_status() const noexcept;  // 'I', 'T', 'E'
  std::size_t prepared_statements() const noexcept;
  // How many of each were received.
  std::size_t parses() const noexcept;
  std::size_t executes() const noexcept;
  std::size_t syncs() const noexcept;

 private:
  friend class FakeDatabase;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace keel::db::postgres::testing
