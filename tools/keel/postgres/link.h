// A blocking connection to a PostgreSQL server, for tools that have nothing else to do while they wait for the server.
//
// A Link uses a Unix socket or TCP without TLS, because databases for experiments are local. If the sslmode of a URL
// requires TLS, the error is Unsupported.
//
// Errors:  the server's errors with their SQLSTATE (db/postgres/error.h); Unavailable if the server cannot be reached,
//          or if the connection is lost.
// Threads: one. Blocks.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/db/postgres/oid.h"
#include "keel/db/postgres/options.h"
#include "keel/db/postgres/reader.h"

namespace keel::tool {

class PostgresLink {
 public:
  using Cells = std::vector<std::string>;  // The values of one row, as texts; NULL is "".
  struct Column {
    std::string name;
    // The table that the column belongs to; 0 if the result's column is not a column of a table.
    std::uint32_t table = 0;
    int number = 0;  // The column's number in the table, from 1.
    db::postgres::Oid type = 0;
  };
  struct Description {
    std::vector<db::postgres::Oid> parameters;
    std::vector<Column> columns;
  };

  // `url` is a URL as in db/postgres/options.h; PG… variables supply the parts that it omits.
  static Result<std::unique_ptr<PostgresLink>> open(const std::string& url);
  ~PostgresLink();
  PostgresLink(const PostgresLink&) = delete;
  PostgresLink& operator=(const PostgresLink&) = delete;

  // Runs one or several statements without parameters; returns the rows of all statements.
  Result<std::vector<Cells>> query(std::string_view sql);
  // Returns the server's description of a statement with parameters $1, $2, …; does not run the statement.
  Result<Description> describe(std::string_view sql);

  const db::postgres::ConnectOptions& options() const noexcept { return options_; }

 private:
  explicit PostgresLink(db::postgres::ConnectOptions options) : options_(std::move(options)) {}
  Result<> connect(const db::postgres::ServerAddress& server);
  Result<> log_in(const db::postgres::ServerAddress& server);
  Result<> send();
  Result<db::postgres::Message> receive();
  // Passes each message up to the ReadyForQuery to `take`; returns the server's first error, if there is one.
  template <class F>
  Result<> exchange(F take);

  db::postgres::ConnectOptions options_;
  db::postgres::Reader reader_;
  Buffer out_;
  std::string in_;
  std::string_view rest_;
  int fd_ = -1;
};

}  // namespace keel::tool
