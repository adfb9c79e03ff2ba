#include "keel/db/postgres/message.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace keel::db::postgres::message_test {
namespace {

using namespace std::string_literals;

// Each prefix of the body, and the body with more behind it, is an error.
template <class T>
void expect_whole_only(const std::string& body) {
  ASSERT_TRUE(T::read(body).is_ok());
  for (std::size_t size = 0; size < body.size(); ++size) {
    const std::string part = body.substr(0, size);  // In memory of its own.
    const auto result = T::read(part);
    ASSERT_TRUE(result.is_err()) << size;
    EXPECT_EQ(result.error().code(), Code::Protocol);
    EXPECT_TRUE(result.error().is_from_environment());
  }
  EXPECT_TRUE(T::read(body + "x").is_err());
}

const std::string two_columns = "\0\x02id\0\0\0\x40\0\0\x01\0\0\0\x14\0\x08\xff\xff\xff\xff\0\0"s +
                                "name\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\x01"s;

TEST(RowDescription, gives_each_column) {
  const RowDescription columns = RowDescription::read(two_columns).value();

  std::vector<ColumnDescription> all;
  for (const ColumnDescription& column : columns) all.push_back(column);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(columns.columns(), 2);
  EXPECT_EQ(all[0].name, "id");
  EXPECT_EQ(all[0].table, 0x4000u);
  EXPECT_EQ(all[0].number, 1);
  EXPECT_EQ(all[0].type, oid::int8);
  EXPECT_EQ(all[0].type_size, 8);
  EXPECT_EQ(all[0].type_modifier, -1);
  EXPECT_EQ(all[0].format, Format::Text);
  EXPECT_EQ(all[1].name, "name");
  EXPECT_EQ(all[1].type, oid::text);
  EXPECT_EQ(all[1].type_size, -1);
  EXPECT_EQ(all[1].format, Format::Binary);
  expect_whole_only<RowDescription>(two_columns);
}

TEST(RowDescription, rejects_counts_and_formats_that_cannot_be) {
  EXPECT_TRUE(RowDescription::read("\xff\xff"s).is_err());
  EXPECT_TRUE(RowDescription::read("\x7f\xff"s).is_err());
  std::string format = two_columns;
  format.back() = 2;
  EXPECT_TRUE(RowDescription::read(format).is_err());
  EXPECT_EQ(RowDescription::read("\0\0"s)->columns(), 0);
}

TEST(DataRow, gives_cells_and_nulls) {
  const std::string body = "\0\x03\0\0\0\x02hi\xff\xff\xff\xff\0\0\0\0"s;
  DataRow row = DataRow::read(body).value();

  EXPECT_EQ(row.columns(), 3);
  EXPECT_EQ(row.next()->bytes, "hi");
  EXPECT_TRUE(row.end().is_err()) << "not all were looked at";
  EXPECT_TRUE(row.next()->is_null);
  const Cell empty = row.next().value();
  EXPECT_FALSE(empty.is_null);
  EXPECT_TRUE(empty.bytes.empty());
  EXPECT_TRUE(row.end().is_ok());
  EXPECT_EQ(row.next().error().code(), Code::Protocol) << "there is none left";
}

Result<> walk(std::string_view body) {
  KEEL_TRY(DataRow row, DataRow::read(body));
  for (int i = 0; i < row.columns(); ++i) KEEL_TRY_VOID(row.next());
  return row.end();
}

TEST(DataRow, rejects_lengths_that_its_bytes_do_not_have) {
  const std::string body = "\0\x02\0\0\0\x02hi\0\0\0\x01x"s;
  ASSERT_TRUE(walk(body).is_ok());
  for (std::size_t size = 0; size < body.size(); ++size) EXPECT_TRUE(walk(body.substr(0, size)).is_err()) << size;
  EXPECT_TRUE(walk(body + "x").is_err());
  EXPECT_TRUE(walk("\xff\xff"s).is_err());
  EXPECT_TRUE(walk("\x7f\xff\0\0\0\0"s).is_err()) << "32767 columns do not fit";
  EXPECT_TRUE(walk("\0\x01\x7f\xff\xff\xff"s).is_err());
  EXPECT_TRUE(walk("\0\x01\xff\xff\xff\xfe"s).is_err()) << "-2";
  EXPECT_TRUE(walk("\0\x01\x80\0\0\0"s).is_err());
}

TEST(ParameterDescription, gives_the_types) {
  const std::string body = "\0\x02\0\0\0\x14\0\0\0\x19"s;
  const ParameterDescription types = ParameterDescription::read(body).value();
  EXPECT_EQ(types.count(), 2);
  EXPECT_EQ(types.type(0), oid::int8);
  EXPECT_EQ(types.type(1), oid::text);
  expect_whole_only<ParameterDescription>(body);
}

TEST(CommandComplete, counts_what_was_changed) {
  const auto changes = [](std::string_view tag) { return CommandComplete::read(std::string(tag) + '\0')->changes; };
  EXPECT_EQ(changes("INSERT 0 5"), 5);
  EXPECT_EQ(changes("UPDATE 12"), 12);
  EXPECT_EQ(changes("DELETE 0"), 0);
  EXPECT_EQ(changes("MERGE 3"), 3);
  EXPECT_EQ(changes("COPY 7"), 7);
  EXPECT_EQ(changes("SELECT 5"), 0);
  EXPECT_EQ(changes("CREATE TABLE"), 0);
  EXPECT_EQ(changes("UPDATE 9223372036854775807"), 9'223'372'036'854'775'807);
  EXPECT_TRUE(CommandComplete::read("UPDATE 9223372036854775808\0"s).is_err());
  EXPECT_TRUE(CommandComplete::read("UPDATE x\0"s).is_err());
  EXPECT_TRUE(CommandComplete::read("UPDATE \0"s).is_err());
  expect_whole_only<CommandComplete>("INSERT 0 1\0"s);
}

TEST(ErrorResponse, gives_the_fields) {
  const std::string body =
      "SFEHLER\0VERROR\0C23505\0Mduplicate\0Ddetail\0Hhint\0P17\0Wwhere\0spublic\0tusers\0cemail\0dtext\0nusers_key\0"
      "Ffile\0L1\0Rroutine\0\0"s;
  const ErrorResponse error = ErrorResponse::read(body).value();
  EXPECT_EQ(error.severity, "ERROR") << "not the translated one";
  EXPECT_EQ(error.sqlstate, "23505");
  EXPECT_EQ(error.message, "duplicate");
  EXPECT_EQ(error.detail, "detail");
  EXPECT_EQ(error.hint, "hint");
  EXPECT_EQ(error.position, 17);
  EXPECT_EQ(error.where, "where");
  EXPECT_EQ(error.schema, "public");
  EXPECT_EQ(error.table, "users");
  EXPECT_EQ(error.column, "email");
  EXPECT_EQ(error.data_type, "text");
  EXPECT_EQ(error.constraint, "users_key");
  EXPECT_FALSE(error.is_fatal());
  expect_whole_only<ErrorResponse>(body);
  EXPECT_TRUE(ErrorResponse::read("SFATAL\0\0"s)->is_fatal());
  EXPECT_EQ(ErrorResponse::read("P99999999999999999999\0\0"s)->position, 999'999'999) << "no overflow";
}

TEST(Messages, of_one_line_each_give_their_fields) {
  EXPECT_EQ(ParameterStatus::read("TimeZone\0UTC\0"s)->value, "UTC");
  expect_whole_only<ParameterStatus>("TimeZone\0UTC\0"s);
  const BackendKeyData key = BackendKeyData::read("\0\0\0\x07\xff\0\0\x01"s).value();
  EXPECT_EQ(key.process, 7u);
  EXPECT_EQ(key.secret, 0xff000001u);
  expect_whole_only<BackendKeyData>("\0\0\0\x07\xff\0\0\x01"s);
  EXPECT_EQ(ReadyForQuery::read("T")->status, TransactionStatus::InTransaction);
  EXPECT_TRUE(ReadyForQuery::read("X").is_err());
  expect_whole_only<ReadyForQuery>("I");
  const std::string notified = "\0\0\0\x09jobs\0new\0"s;
  const NotificationResponse notification = NotificationResponse::read(notified).value();
  EXPECT_EQ(notification.process, 9u);
  EXPECT_EQ(notification.channel, "jobs");
  EXPECT_EQ(notification.payload, "new");
  expect_whole_only<NotificationResponse>("\0\0\0\x09jobs\0new\0"s);
  EXPECT_EQ(CopyResponse::read("\x01\0\x02\0\x01\0\x01"s)->columns, 2);
  EXPECT_EQ(CopyResponse::read("\x01\0\x02\0\x01\0\x01"s)->format, Format::Binary);
  expect_whole_only<CopyResponse>("\0\0\x02\0\0\0\0"s);
  EXPECT_TRUE(CopyResponse::read("\x02\0\0"s).is_err());
  EXPECT_TRUE(CopyResponse::read("\0\xff\xff"s).is_err());
  const std::string negotiated = "\0\x03\0\0\0\0\0\x01_pq_.x\0"s;
  const NegotiateProtocolVersion version = NegotiateProtocolVersion::read(negotiated).value();
  EXPECT_EQ(version.minor, 0u);
  EXPECT_EQ(version.options, 1);
  EXPECT_EQ(version.first_option, "_pq_.x");
  expect_whole_only<NegotiateProtocolVersion>("\0\x03\0\0\0\0\0\x01_pq_.x\0"s);
  EXPECT_TRUE(NegotiateProtocolVersion::read("\0\x03\0\0\x7f\xff\xff\xff"s).is_err());
}

TEST(Authentication, gives_the_kind_and_its_data) {
  EXPECT_EQ(Authentication::read("\0\0\0\0"s)->kind, Authentication::Kind::Ok);
  expect_whole_only<Authentication>("\0\0\0\0"s);
  EXPECT_EQ(Authentication::read("\0\0\0\x05salt"s)->data, "salt");
  EXPECT_TRUE(Authentication::read("\0\0\0\x05sal"s).is_err());
  const std::string sasl = "\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"s;
  const Authentication offered = Authentication::read(sasl).value();
  EXPECT_TRUE(offered.offers("SCRAM-SHA-256"));
  EXPECT_TRUE(offered.offers("SCRAM-SHA-256-PLUS"));
  EXPECT_FALSE(offered.offers("SCRAM-SHA-1"));
  EXPECT_FALSE(offered.offers(""));
  expect_whole_only<Authentication>(sasl);
  EXPECT_EQ(Authentication::read("\0\0\0\x0b"s + "r=1")->data, "r=1");
  EXPECT_EQ(Authentication::read("\0\0\0\x63"s).error().code(), Code::Unsupported);
}

}  // namespace
}  // namespace keel::db::postgres::message_test
