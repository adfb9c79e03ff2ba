// keel/db/postgres/error.h — turns an error of a PostgreSQL server into a keel::Error.
//
//   KEEL_TRY(const ErrorResponse response, ErrorResponse::read(message.body));
//   return error_of(response).during(sql.text(), sql.place());
//
// | SQLSTATE                            | Code                                                                        |
// |-------------------------------------|-----------------------------------------------------------------------------|
// | 23505 unique key                    | AlreadyExists                                                               |
// | 23503, 23001 foreign key; 23P01 exclusion | Conflict                                                              |
// | 40001 serialization, 40P01 deadlock, 40002; 55P03 lock not available | Conflict; is_retryable() for the first two |
// | 25P02 the transaction has failed    | Conflict                                                                    |
// | 23502 null, 23514 check, 44000, 22xxx data, P0001 raise | InvalidArgument                                         |
// | 57014 cancelled                     | DeadlineExceeded if statement_timeout ended it, else Cancelled              |
// | 25P03, 57P05 idle too long          | DeadlineExceeded, Unavailable                                               |
// | 08xxx, 57P01 to 57P04, 40003, 58xxx | Unavailable                                                                 |
// | 53xxx, 54xxx                        | ResourceExhausted                                                           |
// | 28xxx                               | Unauthenticated                                                             |
// | 42501                               | PermissionDenied                                                            |
// | 25006 read-only, 55xxx, 3D000 no such database | FailedPrecondition                                               |
// | 0A000                               | Unsupported                                                                 |
// | XX001, XX002                        | DataLoss                                                                    |
// | 26000, 42xxx and all others         | Internal                                                                    |
//
// Result:    an Error, from_environment(), whose message consists of the server's message, the objects that the error
//            names, and the SQLSTATE: `duplicate key value violates unique constraint "users_email_key" (23505)`. The
//            detail, which contains values of rows, is not in the message, but in ServerError.
// Threads:   functions.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "keel/base/error.h"
#include "keel/db/postgres/message.h"

namespace keel::db::postgres {

// The Code for an SQLSTATE.
Code code_of(std::string_view sqlstate) noexcept;

// The Error for an error response of the server.
Error error_of(const ErrorResponse& response);

// The parts of the server's error that error_of() keeps (Error::details()).
class ServerError : public Error::Details {
 public:
  explicit ServerError(const ErrorResponse& response);
  const Details* clone() const override { return new ServerError(*this); }

  std::string sqlstate;
  std::string detail;
  std::string hint;
  std::string where;  // The context: "COPY lines, line 3, column quantity: "many"".
  std::string schema;
  std::string table;
  std::string column;
  std::string constraint;
  std::int32_t position = 0;
};
// Returns null if the error did not come from a PostgreSQL server.
const ServerError* server_error(const Error& error) noexcept;

// Whether the transaction may succeed if it is repeated as a whole, as after a serialization failure or a deadlock.
bool is_retryable(const Error& error) noexcept;
// True if the server does not have the prepared statement, because the statement was deallocated, or because a pooler
// switched to another session.
bool is_unknown_statement(const Error& error) noexcept;
// Whether the statement must be prepared again, because a table that it reads has changed (0A000 "cached plan must not
// change result type").
bool is_stale_statement(const Error& error) noexcept;
// True if the server's disk is full (53100) or has failed (58030).
bool is_disk_error(const Error& error) noexcept;
// Whether the statement tried to write although the server or the transaction is read-only (25006).
bool is_read_only_error(const Error& error) noexcept;

}  // namespace keel::db::postgres
