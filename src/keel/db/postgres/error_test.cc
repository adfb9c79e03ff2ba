#include "keel/db/postgres/error.h"

#include <gtest/gtest.h>

namespace keel::db::postgres::error_test {
namespace {

TEST(PostgresError, has_the_code_of_its_sqlstate) {
  struct Case {
    const char* state;
    Code code;
  };
  const Case cases[] = {
      {"23505", Code::AlreadyExists},
      {"23503", Code::Conflict},
      {"23001", Code::Conflict},
      {"23P01", Code::Conflict},
      {"23502", Code::InvalidArgument},
      {"23514", Code::InvalidArgument},
      {"22001", Code::InvalidArgument},
      {"22P02", Code::InvalidArgument},
      {"44000", Code::InvalidArgument},
      {"40001", Code::Conflict},
      {"40P01", Code::Conflict},
      {"40003", Code::Unavailable},
      {"25P02", Code::Conflict},
      {"25P03", Code::DeadlineExceeded},
      {"25006", Code::FailedPrecondition},
      {"57014", Code::Cancelled},
      {"57P01", Code::Unavailable},
      {"57P03", Code::Unavailable},
      {"57P05", Code::Unavailable},
      {"08006", Code::Unavailable},
      {"58030", Code::Unavailable},
      {"53300", Code::ResourceExhausted},
      {"54000", Code::ResourceExhausted},
      {"28P01", Code::Unauthenticated},
      {"42501", Code::PermissionDenied},
      {"3D000", Code::FailedPrecondition},
      {"55P03", Code::Conflict},
      {"55006", Code::FailedPrecondition},
      {"0A000", Code::Unsupported},
      {"XX001", Code::DataLoss},
      {"XX000", Code::Internal},
      {"26000", Code::Internal},
      {"42601", Code::Internal},
      {"42P01", Code::Internal},
      {"P0001", Code::InvalidArgument},
      {"P0002", Code::Internal},
      {"25001", Code::Internal},
      {"", Code::Internal},
      {"2350", Code::Internal},
      {"235055", Code::Internal},
  };
  for (const Case& one : cases) EXPECT_EQ(code_of(one.state), one.code) << one.state;
}

TEST(PostgresError, says_what_the_server_says_and_names_what_is_concerned) {
  const Error error = error_of({.severity = "ERROR",
                                .sqlstate = "23505",
                                .message = "duplicate key value violates unique constraint \"users_email_key\"",
                                .detail = "Key (email)=(ada@example.org) already exists.",
                                .schema = "public",
                                .table = "users",
                                .constraint = "users_email_key"});

  EXPECT_EQ(error.code(), Code::AlreadyExists);
  EXPECT_TRUE(error.is_from_environment());
  EXPECT_EQ(error.message(), "duplicate key value violates unique constraint \"users_email_key\" (23505)")
      << "without the values of the row";
  const ServerError* server = server_error(error);
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(server->sqlstate, "23505");
  EXPECT_EQ(server->constraint, "users_email_key");
  EXPECT_EQ(server->detail, "Key (email)=(ada@example.org) already exists.");
  EXPECT_EQ(server_error(error.clone())->table, "users");
}

TEST(PostgresError, names_constraint_table_and_column_where_the_message_does_not) {
  EXPECT_EQ(
      error_of({.sqlstate = "23514", .message = "no", .table = "lines", .column = "sku", .constraint = "lines_ck"})
          .message(),
      "no, constraint lines_ck, table lines, column sku (23514)");
}

TEST(PostgresError, shows_position_and_hint) {
  EXPECT_EQ(error_of({.sqlstate = "42703",
                      .message = "column \"nam\" does not exist",
                      .hint = "Perhaps you meant to reference the column \"users.name\".",
                      .position = 8})
                .message(),
            "column \"nam\" does not exist (42703) at character 8. Hint: Perhaps you meant to reference the column "
            "\"users.name\".");
  EXPECT_EQ(error_of({}).message(), "the server gave no reason");
}

TEST(PostgresError, tells_a_timeout_from_a_cancel) {
  EXPECT_EQ(error_of({.sqlstate = "57014", .message = "canceling statement due to user request"}).code(),
            Code::Cancelled);
  EXPECT_EQ(error_of({.sqlstate = "57014", .message = "canceling statement due to statement timeout"}).code(),
            Code::DeadlineExceeded);
}

TEST(PostgresError, says_what_may_be_done_again) {
  const auto of = [](const char* state, const char* message = "") {
    return error_of({.sqlstate = state, .message = message});
  };
  EXPECT_TRUE(is_retryable(of("40001")));
  EXPECT_TRUE(is_retryable(of("40P01")));
  EXPECT_FALSE(is_retryable(of("23505")));
  EXPECT_FALSE(is_retryable(Error(Code::Conflict, "another")));
  EXPECT_TRUE(is_unknown_statement(of("26000")));
  EXPECT_FALSE(is_unknown_statement(of("42601")));
  EXPECT_TRUE(is_stale_statement(of("0A000", "cached plan must not change result type")));
  EXPECT_FALSE(is_stale_statement(of("0A000", "not supported")));
  EXPECT_TRUE(is_disk_error(of("53100", "could not extend file")));
  EXPECT_TRUE(is_disk_error(of("58030", "could not read block")));
  EXPECT_FALSE(is_disk_error(of("53300", "too many connections")));
  EXPECT_TRUE(is_read_only_error(of("25006", "cannot execute INSERT in a read-only transaction")));
  EXPECT_FALSE(is_read_only_error(of("25002", "")));
  EXPECT_EQ(server_error(Error(Code::Internal, "x")), nullptr);
}

}  // namespace
}  // namespace keel::db::postgres::error_test
