// keel/db/postgres/encoder.h — encodes the messages that a PostgreSQL client sends (protocol version 3.0).
//
//   Encoder encoder(out);                                          // appends to a Buffer
//   KEEL_TRY_VOID(encoder.parse("s1", "select name from users where id = $1"));
//   KEEL_TRY_VOID(encoder.describe_statement("s1"));
//   encoder.sync();                                                // the Reader then gives the types of its parameters
//   KEEL_TRY_VOID(encoder.bind("", "s1", values, parameter_types, formats));
//   KEEL_TRY_VOID(encoder.execute(""));
//   encoder.sync();
//   send(out.view());
//
// Result:    the whole message is appended to `out`; after an error, `out` is unchanged.
// Errors:    InvalidArgument if a name, an SQL text or a password contains a zero byte, which would end the text on the
//            wire, or if an argument does not have the type of its parameter (the message contains the parameter's
//            number; see types.h). ResourceExhausted: the message would be longer than message_bytes_max. The size is
//            checked before a length is written, so that no length is ever truncated to 32 bits. All are
//            from_environment().
// Bugs:      more values than types, or more than 65,535 values.
// Ownership: `out` must outlive the encoder; arguments are used only during the call.
// Threads:   one.
// Cost:      a copy of the arguments; no allocation except to grow `out`.
// Source:    PostgreSQL, "Message Formats".

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/result.h"
#include "keel/db/postgres/oid.h"
#include "keel/db/value.h"

namespace keel::db::postgres {

// A setting of the session, sent in the startup message: "application_name", "search_path".
struct StartupParameter {
  std::string_view name;
  std::string_view value;
};

class Encoder {
 public:
  // The largest message that the server accepts (PQ_LARGE_MESSAGE_LIMIT, 1 GiB less one byte).
  static constexpr std::size_t server_bytes_max = 0x3fff'ffff;

  explicit Encoder(Buffer& out, std::size_t message_bytes_max = server_bytes_max) noexcept
      : out_(out), message_bytes_max_(message_bytes_max < server_bytes_max ? message_bytes_max : server_bytes_max) {}

  // An SSLRequest or a CancelRequest must be sent before any other message. The server responds to an SSLRequest with
  // one byte (Reader::encryption_response). A CancelRequest has a connection of its own, and the server responds only
  // by closing that connection.
  void ssl_request();
  void cancel_request(std::uint32_t process, std::uint32_t secret);
  // `parameters` must contain "user", and usually contains "database"; they must not exceed 10,000 bytes (the server's
  // limit).
  Result<> startup(std::span<const StartupParameter> parameters);

  // The client's responses to authentication requests (login.h sends them).
  Result<> password(std::string_view password);
  Result<> sasl_initial_response(std::string_view mechanism, std::string_view response);
  Result<> sasl_response(std::string_view response);

  // The extended protocol. An empty name is the unnamed statement, or the unnamed portal. `types`: the type of each
  // parameter. The server infers the type of a parameter whose entry in `types` is 0 or missing.
  Result<> parse(std::string_view statement, std::string_view sql, std::span<const Oid> types = {});
  // `types` must come from the statement's ParameterDescription, and contain one type for each value; it is an error if
  // a value does not fit the type of its parameter. `results` contains one Format for each column, or one Format for
  // all columns; if it is empty, results are text.
  Result<> bind(std::string_view portal, std::string_view statement, std::span<const Value> values,
                std::span<const Oid> types, std::span<const Format> results);
  Result<> describe_statement(std::string_view statement);
  Result<> describe_portal(std::string_view portal);
  // If `rows_max` is 0, the server returns all rows. Otherwise the portal is suspended after `rows_max` rows
  // (PortalSuspended).
  Result<> execute(std::string_view portal, std::uint32_t rows_max = 0);
  Result<> close_statement(std::string_view statement);
  Result<> close_portal(std::string_view portal);
  void sync();
  void flush();

  // The simple protocol: one or several statements without parameters; results are text, and a Sync is implied.
  Result<> query(std::string_view sql);

  // A piece of the data for COPY … FROM STDIN; a piece need not consist of whole rows.
  Result<> copy_data(std::string_view bytes);
  void copy_done();
  // The error with which the server ends the COPY will contain `reason`.
  Result<> copy_fail(std::string_view reason);

  void terminate();

 private:
  Result<> check(std::size_t body, std::string_view what) const;
  Result<> named(char type, char kind, std::string_view name);

  Buffer& out_;
  const std::size_t message_bytes_max_;
};

}  // namespace keel::db::postgres
