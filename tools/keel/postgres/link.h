// A connection to a PostgreSQL server that asks and waits: for the tools, which look at a database and do nothing else.
//
// By a Unix socket or TCP, without TLS: a database that things are tried out in is near. A server that is reached with
// TLS only is Unsupported, by the URL's sslmode.
//
// Errors:  those of the server with its SQLSTATE (db/postgres/error.h); Unavailable: it cannot be reached, or has gone.
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
  using Cells = std::vector<std::string>;  // Of one row; NULL is "".
  struct Column {
    std::string name;
    std::uint32_t table = 0;  // 0: it is no column of a table.
    int number = 0;           // In it, from 1.
    db::postgres::Oid type = 0;
  };
  struct Description {
    std::vector<db::postgres::Oid> parameters;
    std::vector<Column> columns;
  };

  // A URL as of db/postgres/options.h; PG… variables give what it leaves out.
  static Result<std::unique_ptr<PostgresLink>> open(const std::string& url);
  ~PostgresLink();
  PostgresLink(const PostgresLink&) = delete;
  PostgresLink& operator=(const PostgresLink&) = delete;

  // One or several statements without parameters; the rows of all of them.
  Result<std::vector<Cells>> query(std::string_view sql);
  // What the server says of a statement with parameters $1, $2, …, which does not run.
  Result<Description> describe(std::string_view sql);

  const db::postgres::ConnectOptions& options() const noexcept { return options_; }

 private:
  explicit PostgresLink(db::postgres::ConnectOptions options) : options_(std::move(options)) {}
  Result<> connect(const db::postgres::ServerAddress& server);
  Result<> log_in(const db::postgres::ServerAddress& server);
  Result<> send();
  Result<db::postgres::Message> receive();
  // Each message up to the ReadyForQuery goes to `take`; the first error of the server is the result.
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
