// keel/db/postgres/message.h — decodes the messages of a PostgreSQL server.
//
//   KEEL_TRY(const RowDescription columns, RowDescription::read(message.body));
//   for (const ColumnDescription& column : columns) names.push_back(column.name);
//
//   KEEL_TRY(DataRow row, DataRow::read(message.body));
//   for (int i = 0; i < row.columns(); ++i) {
//     KEEL_TRY(const Cell cell, row.next());                   // its bytes, or NULL
//   }
//   KEEL_TRY_VOID(row.end());
//
// Each type of view has a read() function, which takes the body of a message of that type.
//
// Errors:    Protocol, from_environment(), if a count or a length is negative or exceeds the body, if a text lacks its
//            zero byte, or if bytes follow the end. read() checks everything, except the cells of a DataRow, which
//            next() and end() check.
// Lifetime:  the decoded messages are views into the body.
// Threads:   values.
// Cost:      one pass over the body; no allocation. A DataRow can be read only once, by next().
// Source:    PostgreSQL, "Message Formats" and "Error and Notice Message Fields".

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "keel/base/result.h"
#include "keel/db/postgres/oid.h"

namespace keel::db::postgres {

// A column of a result, as in a RowDescription.
struct ColumnDescription {
  std::string_view name;
  Oid table = 0;            // The table that the column belongs to; 0 if none.
  std::int16_t number = 0;  // The number of the column in its table, from 1; 0 if there is no table.
  Oid type = 0;
  std::int16_t type_size = 0;       // Negative if the values of the type vary in size.
  std::int32_t type_modifier = -1;  // As in pg_attribute.atttypmod.
  // In the description of a statement, the format is always Text, because formats are requested only later.
  Format format = Format::Text;
};

// 'T': describes the columns of the rows that follow.
class RowDescription {
 public:
  static Result<RowDescription> read(std::string_view body);

  class Iterator {
   public:
    const ColumnDescription& operator*() const noexcept { return column_; }
    const ColumnDescription* operator->() const noexcept { return &column_; }
    Iterator& operator++() noexcept;
    bool operator!=(const Iterator& other) const noexcept { return left_ != other.left_; }

   private:
    friend class RowDescription;
    Iterator(std::string_view rest, int left) noexcept : rest_(rest), left_(left) {
      if (left_ != 0) take();
    }
    void take() noexcept;
    std::string_view rest_;
    int left_;
    ColumnDescription column_;
  };

  int columns() const noexcept { return columns_; }
  Iterator begin() const noexcept { return {rest_, columns_}; }
  Iterator end() const noexcept { return {{}, 0}; }

 private:
  RowDescription(std::string_view rest, int columns) noexcept : rest_(rest), columns_(columns) {}
  std::string_view rest_;
  int columns_;
};

// A value of a row; null or bytes.
struct Cell {
  std::string_view bytes;
  bool is_null = false;
};

// 'D': one row. A cursor.
class DataRow {
 public:
  static Result<DataRow> read(std::string_view body);

  int columns() const noexcept { return columns_; }
  // The next column. Protocol: the row is malformed, or there is no further column.
  Result<Cell> next();
  // Call it after the last column has been read. It fails if more bytes follow.
  Result<> end() const;

  // The error of next() and end() for a row whose counts and lengths do not match its bytes.
  static Error malformed();

 private:
  DataRow(std::string_view rest, int columns) noexcept : rest_(rest), columns_(columns), left_(columns) {}
  std::string_view rest_;
  int columns_;
  int left_;
};

// 't': the types of a statement's parameters.
class ParameterDescription {
 public:
  static Result<ParameterDescription> read(std::string_view body);

  int count() const noexcept { return static_cast<int>(types_.size() / 4); }
  // `index` must be from 0 to count() - 1.
  Oid type(int index) const noexcept;

 private:
  explicit ParameterDescription(std::string_view types) noexcept : types_(types) {}
  std::string_view types_;
};

// 'C': a statement has completed.
struct CommandComplete {
  static Result<CommandComplete> read(std::string_view body);

  std::string_view tag;  // For example "INSERT 0 1", "SELECT 5", "CREATE TABLE".
  // How many rows the statement inserted, updated, deleted, merged or copied; 0 for other statements, such as SELECT.
  std::int64_t changes = 0;
};

// 'E' and 'N'. Fields that the server did not send are empty.
struct ErrorResponse {
  static Result<ErrorResponse> read(std::string_view body);

  std::string_view severity =
      {};  // "ERROR", "FATAL", "PANIC"; "WARNING", "NOTICE", "DEBUG", "INFO", "LOG". Not translated.
  std::string_view sqlstate = {};  // Five characters: "23505".
  std::string_view message = {};
  std::string_view detail = {};
  std::string_view hint = {};
  std::string_view where = {};
  std::string_view schema = {};
  std::string_view table = {};
  std::string_view column = {};
  std::string_view data_type = {};
  std::string_view constraint = {};
  // The position of the error in the statement, counted in characters from 1; 0 if it is unknown.
  std::int32_t position = 0;

  // Whether the server closes the connection after this error.
  bool is_fatal() const noexcept { return severity == "FATAL" || severity == "PANIC"; }
};

// 'S': the value of a session's setting, such as "server_version".
struct ParameterStatus {
  static Result<ParameterStatus> read(std::string_view body);

  std::string_view name;
  std::string_view value;
};

// 'K': the process and the key that a CancelRequest must contain.
struct BackendKeyData {
  static Result<BackendKeyData> read(std::string_view body);

  std::uint32_t process = 0;
  std::uint32_t secret = 0;
};

// The state of the transaction that a ReadyForQuery reports.
enum class TransactionStatus : char { Idle = 'I', InTransaction = 'T', Failed = 'E' };

// 'Z'.
struct ReadyForQuery {
  static Result<ReadyForQuery> read(std::string_view body);

  TransactionStatus status = TransactionStatus::Idle;
};

// 'A': a notification that NOTIFY has sent.
struct NotificationResponse {
  static Result<NotificationResponse> read(std::string_view body);

  std::uint32_t process = 0;  // The server process of the session that sent the notification.
  std::string_view channel;
  std::string_view payload;
};

// 'G', 'H' and 'W': COPY begins.
struct CopyResponse {
  static Result<CopyResponse> read(std::string_view body);

  Format format = Format::Text;
  int columns = 0;
};

// 'R'.
struct Authentication {
  enum class Kind : std::uint32_t {
    Ok = 0,
    KerberosV5 = 2,
    CleartextPassword = 3,
    Md5Password = 5,
    Gss = 7,
    GssContinue = 8,
    Sspi = 9,
    Sasl = 10,
    SaslContinue = 11,
    SaslFinal = 12,
  };
  // Unsupported: the server requests a kind that is not listed here.
  static Result<Authentication> read(std::string_view body);

  Kind kind = Kind::Ok;
  // For Md5Password: the salt, four bytes. For Sasl: the names of the mechanisms, each followed by a zero byte. For
  // SaslContinue and SaslFinal: the mechanism's data.
  std::string_view data;

  // Of Kind::Sasl.
  bool offers(std::string_view mechanism) const noexcept;
};

// 'v': the server offers a lower version of the protocol, or does not know some options.
struct NegotiateProtocolVersion {
  static Result<NegotiateProtocolVersion> read(std::string_view body);

  std::uint32_t minor = 0;        // The newest minor version x of protocol 3.x that the server speaks.
  int options = 0;                // The number of options in the startup message that the server does not know.
  std::string_view first_option;  // Empty: none.
};

}  // namespace keel::db::postgres
