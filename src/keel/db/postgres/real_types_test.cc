// The binary forms of types.h against those of a PostgreSQL server, and its login, by a socket that blocks.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "keel/db/postgres/columns.h"
#include "keel/db/postgres/encoder.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/login.h"
#include "keel/db/postgres/message.h"
#include "keel/db/postgres/pipeline.h"
#include "keel/db/postgres/reader.h"
#include "keel/db/postgres/testing/real_server.h"
#include "keel/db/postgres/types.h"

namespace keel::db::postgres::real_types_test {
namespace {

using testing::RealServer;

using Texts = std::vector<std::string>;  // Of a row; "NULL" stands for NULL.

class Client {
 public:
  explicit Client(const RealServer& server) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = server.folder() + "/.s.PGSQL." + std::to_string(server.port());
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << path;
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { ::close(fd_); }

  Result<> log_in(const LoginOptions& options) {
    Login login(options);
    KEEL_TRY_VOID(login.begin(out_));
    while (true) {
      KEEL_TRY(const Message message, next());
      KEEL_TRY(const bool is_ready, login.receive(message, out_));
      if (is_ready) return {};
    }
  }

  // One statement; its rows as the values that types.h makes of them, as text.
  Result<std::vector<Texts>> run(const std::string& sql, const std::vector<std::string>& arguments = {},
                                 bool as_text = false) {
    Encoder encoder(out_);
    KEEL_TRY_VOID(encoder.parse("", sql));
    KEEL_TRY_VOID(encoder.describe_statement(""));
    encoder.sync();
    for (const Step step : {Step::Parse, Step::DescribeStatement, Step::Sync}) KEEL_TRY_VOID(pipeline_.add(step));
    std::vector<Oid> types;
    Columns columns;
    KEEL_TRY_VOID(take([&](const Message& message) -> Result<> {
      if (message.type == MessageType::ParameterDescription) {
        KEEL_TRY(const ParameterDescription described, ParameterDescription::read(message.body));
        for (int i = 0; i < described.count(); ++i) types.push_back(described.type(i));
      } else if (message.type == MessageType::RowDescription) {
        KEEL_TRY(const RowDescription described, RowDescription::read(message.body));
        KEEL_TRY(columns, as_text ? Columns::as_sent(described) : Columns::of(described));
      }
      return {};
    }));
    const std::vector<Value> values(arguments.begin(), arguments.end());
    KEEL_TRY_VOID(encoder.bind("", "", values, types, columns.formats()));
    KEEL_TRY_VOID(encoder.execute(""));
    encoder.sync();
    for (const Step step : {Step::Bind, Step::Execute, Step::Sync}) KEEL_TRY_VOID(pipeline_.add(step));
    Rows rows;
    KEEL_TRY_VOID(take([&](const Message& message) -> Result<> {
      if (message.type == MessageType::DataRow) return columns.append(message.body, rows);
      return {};
    }));
    std::vector<Texts> texts;
    KEEL_TRY_VOID(rows.for_each([&](const Row& row) {
      Texts& of_row = texts.emplace_back();
      for (int i = 0; i < row.columns(); ++i) {
        switch (row.kind(i)) {
          case ValueKind::Null:
            of_row.emplace_back("NULL");
            break;
          case ValueKind::Integer:
            of_row.push_back(std::to_string(row.integer(i)));
            break;
          case ValueKind::Real:
            of_row.push_back(std::to_string(row.real(i)));
            break;
          default:
            of_row.emplace_back(row.text(i));
        }
      }
    }));
    return texts;
  }
  std::string one(const std::string& sql, const std::vector<std::string>& arguments = {}) {
    const auto rows = run(sql, arguments);
    if (!rows) return std::string(rows.error().message());
    return rows->size() == 1 && rows->front().size() == 1 ? rows->front()[0] : "not one value";
  }

 private:
  // Sends what there is, then takes messages until nothing is waited for.
  template <class F>
  Result<> take(F&& on_message) {
    std::optional<Error> first;
    while (pipeline_.waiting() != 0) {
      KEEL_TRY(const Message message, next());
      KEEL_TRY_VOID(pipeline_.receive(message.type));
      if (message.type == MessageType::ErrorResponse) {
        KEEL_TRY(const ErrorResponse response, ErrorResponse::read(message.body));
        first.emplace(error_of(response));
      } else if (Result<> result = on_message(message); !result && !first) {
        first.emplace(std::move(result).error());
      }
    }
    if (first) return std::move(*first);
    return {};
  }
  Result<Message> next() {
    std::string_view rest = out_.view();
    while (!rest.empty()) {
      const ssize_t sent = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) return Error::from_errno("send", errno);
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    out_.clear();
    while (true) {
      KEEL_TRY(const std::optional<Message> message, reader_.next(bytes_));
      if (message) return *message;
      const ssize_t got = ::recv(fd_, chunk_.data(), chunk_.size(), 0);
      if (got <= 0) return Error::from_errno("recv", got == 0 ? ECONNRESET : errno);
      bytes_ = std::string_view(chunk_.data(), static_cast<std::size_t>(got));
    }
  }

  const int fd_;
  Buffer out_;
  Reader reader_;
  Pipeline pipeline_;
  std::array<char, 1000> chunk_;  // Small, so that messages are cut.
  std::string_view bytes_;
};

class RealTypes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (RealServer::is_installed()) {
      server_ = new RealServer(
          {.access = {"local all proven scram-sha-256", "local all hashed md5", "local all shown password"}});
    }
  }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override {
    if (server_ == nullptr) GTEST_SKIP() << RealServer::missing;
    client_.emplace(*server_);
    const std::array<StartupParameter, 2> settings = {
        {{"options", "-c intervalstyle=iso_8601 -c timezone=UTC -c datestyle=ISO"}, {"client_encoding", "UTF8"}}};
    const Result<> result = client_->log_in({.user = "keel", .database = "postgres", .parameters = settings});
    ASSERT_TRUE(result.is_ok()) << result.error().message();
  }
  // What the server writes as text where its form is ours, and the way back.
  void expect_same(const std::string& type, std::initializer_list<const char*> literals, bool is_text_the_same = true) {
    for (const char* literal : literals) {
      const std::string quoted = "'" + std::string(literal) + "'::" + type;
      const auto rows = client_->run("select " + quoted + ", (" + quoted + ")::text");
      ASSERT_TRUE(rows.is_ok()) << quoted << ": " << rows.error().message();
      const std::string& read = (*rows)[0][0];
      EXPECT_TRUE(!is_text_the_same || read == (*rows)[0][1]) << quoted << ": " << read << " is " << (*rows)[0][1];
      expect_back(type, read, quoted);
    }
  }
  // `read` goes in binary, and is the same value.
  void expect_back(const std::string& type, const std::string& read, const std::string& original) {
    EXPECT_EQ(client_->one("select ($1::" + type + ")::text = (" + original + ")::text", {read}), "1")
        << original << " as " << read;
    Buffer out;
    const std::string oid_text = client_->one("select '" + type + "'::regtype::oid");
    EXPECT_TRUE(encode_text(static_cast<Oid>(std::stoul(oid_text)), read, out).is_ok()) << read << " goes in binary";
  }
  // Values that the server makes: both forms, and 100 of them back.
  void expect_same_of_random(const std::string& type, const std::string& expression, bool is_text_the_same = true) {
    const auto rows = client_->run("select x, x::text from (select (" + expression + ")::" + type +
                                   " x from generate_series(1, 2000) i offset 0) rows");
    ASSERT_TRUE(rows.is_ok()) << expression << ": " << rows.error().message();
    ASSERT_EQ(rows->size(), 2000u);
    for (std::size_t i = 0; i < rows->size(); ++i) {
      const Texts& row = (*rows)[i];
      ASSERT_TRUE(!is_text_the_same || row[0] == row[1]) << expression << ": " << row[0] << " is " << row[1];
      if (i % 20 == 0) expect_back(type, row[0], "'" + row[1] + "'::" + type);
    }
  }

  static RealServer* server_;
  std::optional<Client> client_;
};
RealServer* RealTypes::server_ = nullptr;

TEST_F(RealTypes, of_numbers) {
  expect_same("int2", {"-32768", "0", "32767"});
  expect_same("int4", {"-2147483648", "0", "2147483647"});
  expect_same("int8", {"-9223372036854775808", "0", "9223372036854775807"});
  expect_same("oid", {"0", "4294967295"});
  EXPECT_EQ(client_->one("select true"), "1");
  EXPECT_EQ(client_->one("select $1::bool", {"false"}), "0");
  EXPECT_EQ(client_->one("select 1.5::float4"), "1.500000");
  EXPECT_EQ(client_->one("select 'NaN'::float8 = $1::float8", {"NaN"}), "1");
  EXPECT_EQ(client_->one("select '-Infinity'::float8 = $1::float8", {"-Infinity"}), "1");
}

TEST_F(RealTypes, of_numeric) {
  expect_same("numeric", {"0",
                          "0.00",
                          "1",
                          "-1",
                          "10000",
                          "9999",
                          "0.0001",
                          "0.00001",
                          "-0.5",
                          "1.50",
                          "123456789.987654321",
                          "99999999999999999999999999999999999999.99",
                          "-1e-30",
                          "1e30",
                          "1e100",
                          "NaN",
                          "Infinity",
                          "-Infinity",
                          "0.1e-10",
                          "9223372036854775808",
                          "1e131071",
                          "1000000000000000000000.0001"});
  expect_same_of_random("numeric", "(random() - 0.5)::numeric * 10::numeric ^ (i % 60 - 30)");
  expect_same_of_random("numeric(20,5)", "(random() - 0.5) * 1e14");
}

TEST_F(RealTypes, of_dates_and_times) {
  expect_same("date", {"2000-01-01", "1999-12-31", "2026-11-24", "0001-01-01", "0001-12-31 BC", "4714-11-24 BC",
                       "5874897-12-31", "10000-01-01", "infinity", "-infinity", "2024-02-29"});
  expect_same("time", {"00:00:00", "23:59:59.999999", "24:00:00", "12:34:56.7"});
  for (const char* type : {"timestamp", "timestamptz"}) {
    expect_same(type,
                {"2000-01-01 00:00:00Z", "1999-12-31 23:59:59.999999Z", "2026-11-24 12:00:37.25Z",
                 "0001-01-01 00:00:00Z", "4714-11-24 00:00:00Z BC", "294276-12-31 23:59:59.999999Z", "infinity",
                 "-infinity", "0044-03-15 12:00:00Z BC"},
                false);
    expect_same_of_random(type, "timestamp '2000-01-01' + (random() - 0.5) * interval '8000 years'", false);
  }
  EXPECT_EQ(client_->one("select timestamptz '2026-11-24 12:00:37.25+02'"), "2026-11-24T10:00:37.250000000Z");
  EXPECT_EQ(client_->one("select timestamp '2026-11-24 12:00:37.25'"), "2026-11-24T12:00:37.250000000Z");
  expect_same_of_random("date", "date '2000-01-01' + ((random() - 0.5) * 4000000)::int");
  expect_same_of_random("time", "time '00:00' + random() * interval '1 day'");
}

TEST_F(RealTypes, of_intervals) {
  expect_same("interval", {"0", "1 day", "-1 day", "1 year 2 months 3 days 04:05:06.7", "-04:05:06.7", "1 month -1 day",
                           "-00:00:00.000001", "178956970 years 7 months", "2147483647 days", "1 day -00:00:01",
                           "90 minutes", "-13 months", "1 year -1 month", "00:00:59.999999", "-00:01:00.5"});
  expect_same_of_random("interval",
                        "make_interval(months => ((random() - 0.5) * 1000)::int, days => ((random() - 0.5) * "
                        "1000)::int, secs => (random() - 0.5) * 1e7)");
}

TEST_F(RealTypes, of_texts_and_bytes) {
  expect_same("text", {"", "é", "a''b", "line\nbreak"});
  expect_same("varchar", {"x"});
  expect_same("name", {"x"});
  expect_same("json", {"{\"a\":  1}"});
  expect_same("jsonb", {"{\"b\": [1, null], \"a\": 1}"});
  EXPECT_EQ(client_->one("select 'ab'::char(4)"), "ab  ");
  EXPECT_EQ(client_->one("select '\\x0061ff'::bytea"), std::string("\0a\xff", 3));
  EXPECT_EQ(client_->one("select encode($1::bytea, 'hex')", {"\\x41"}), "5c783431") << "the text's own bytes";
  expect_same("uuid", {"00000000-0000-0000-0000-000000000000", "0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50"});
}

TEST_F(RealTypes, of_addresses) {
  expect_same("cidr", {"10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "::/0", "192.168.0.1/32", "::1/128"});
  for (const char* text : {"10.0.0.1", "10.1.2.3/8", "0.0.0.0", "::", "::1", "2001:db8::1", "::ffff:1.2.3.4",
                           "::1.2.3.4", "fe80::1/64", "1:0:0:2:0:0:0:3", "1:2:3:4:5:6:7:8", "::2:0:0:0"}) {
    // As text a host has its mask in a cast, and has none when it is shown.
    EXPECT_EQ(client_->one("select '" + std::string(text) + "'::inet"),
              (*client_->run("select '" + std::string(text) + "'::inet", {}, true))[0][0]);
    expect_back("inet", client_->one("select '" + std::string(text) + "'::inet"), "'" + std::string(text) + "'::inet");
  }
}

TEST_F(RealTypes, of_arrays) {
  expect_same("int4[]", {"{}", "{1}", "{1,NULL,-5}", "{{1,2},{3,4}}", "[0:2]={1,2,3}", "[-1:0][5:6]={{1,2},{3,4}}"});
  expect_same("text[]", {R"({a,"b c","",NULL,"NULL","null","x,y","q\"q","back\\slash","{x}",é," "})"});
  expect_same("bool[]", {"{t,f,NULL}"});
  expect_same("numeric[]", {"{1.50,-0.001,NaN}"});
  expect_same("float8[]", {"{0,-0,1,0.1,1e15,1e14,123456789012345680,1e-4,1e-5,1.7976931348623157e308,5e-324,NaN,"
                           "Infinity,-Infinity,-2.5}"});
  expect_same("float4[]", {"{0,1,0.1,1e5,1e6,123456,1234567,1e-4,1e-5,3.4028235e38,1e-45,NaN}"});
  expect_same("date[]", {"{2026-11-24,infinity,\"0044-03-15 BC\"}"});
  expect_same("uuid[]", {"{0192f7a8-3c1b-7d2e-9f00-6b1c2d3e4f50}"});
  expect_same("bytea[]", {R"({"\\x00ff","\\x"})"});
  expect_same("interval[]", {"{P1DT2H,PT0S}"});
  expect_same("inet[]", {"{10.0.0.1,::1/64}"});
  expect_same("timestamptz[]", {"{\"2026-11-24 12:00:37.25+00\"}"}, false);
  expect_same("jsonb[]", {R"({"{\"a\": 1}"})"});
  // The server does not take a number that lies on the bound between two doubles for either: it writes a digit more.
  expect_same_of_random("float8[]", "array[(random() - 0.5) * 10::float8 ^ (i % 80 - 40), i, -i / 8.0]", false);
  expect_same_of_random("float4[]", "array[((random() - 0.5) * 10::float8 ^ (i % 60 - 30))::float4]", false);
}

TEST_F(RealTypes, that_are_not_known_here_are_text) {
  ASSERT_TRUE(client_->run("create type mood as enum ('sad', 'happy')").is_ok());
  ASSERT_TRUE(client_->run("create domain positive as int check (value > 0)").is_ok());
  ASSERT_TRUE(client_->run("create temp table kept (m mood, p positive)").is_ok());
  EXPECT_TRUE(client_->run("insert into kept values ($1, $2)", {"happy", "5"}).is_ok());
  EXPECT_EQ((*client_->run("select m, p from kept"))[0], (Texts{"happy", "5"}));
  EXPECT_EQ(client_->one("select row(1, 'a b')"), "(1,\"a b\")");
  EXPECT_EQ(client_->one("select 12.5::numeric::money"), "$12.50");
  EXPECT_EQ(client_->one("select pg_sleep(0)"), "");
  EXPECT_EQ(client_->one("select point(1, 2)"), "(1,2)");
}

TEST_F(RealTypes, of_ranges_are_read_and_written_as_text) {
  const auto expect = [&](const char* type, const char* written, const char* read) {
    EXPECT_EQ(client_->one("select $1::" + std::string(type), {written}), read) << type;
    EXPECT_EQ(client_->one("select ($1::" + std::string(type) + ")::text", {read}), read) << type;
  };
  expect("int4range", "[1,5]", "[1,6)");
  expect("int8range", "(,9223372036854775807)", "(,9223372036854775807)");
  expect("int4range", "empty", "empty");
  expect("numrange", "[1.50,2]", "[1.50,2]");
  expect("daterange", "[2026-11-24,2026-11-30]", "[2026-11-24,2026-12-01)");
  expect("tstzrange", "[2026-11-24 12:00:37+02,)", "[\"2026-11-24 10:00:37+00\",)");
  expect("int4range[]", "{\"[1,5)\",NULL}", "{\"[1,5)\",NULL}");
  if (client_->one("select to_regtype('int4multirange') is not null") == "1") {  // Since PostgreSQL 14.
    expect("int4multirange", "{[1,3),[7,9]}", "{[1,3),[7,10)}");
  }
  ASSERT_TRUE(client_->run("create temp table booked (room int, during tstzrange)").is_ok());
  ASSERT_TRUE(client_
                  ->run("insert into booked values ($1, tstzrange($2, $3))",
                        {"7", "2026-11-24T10:00:00Z", "2026-11-24T12:00:00Z"})
                  .is_ok());
  EXPECT_EQ((*client_->run("select room, lower(during), upper(during) from booked where during && $1::tstzrange",
                           {"[2026-11-24 11:00+00,2026-11-24 11:30+00)"}))[0],
            (Texts{"7", "2026-11-24T10:00:00.000000000Z", "2026-11-24T12:00:00.000000000Z"}));
  EXPECT_EQ(client_->run("select $1::int4range", {"[5,1]"}).error().code(), Code::InvalidArgument);
  EXPECT_EQ(client_->run("select $1::int4range", {"1-5"}).error().code(), Code::InvalidArgument);
}

TEST_F(RealTypes, of_several_fields_are_read_and_written_as_text) {
  ASSERT_TRUE(client_->run("create type money_in as (amount numeric, currency text)").is_ok());
  ASSERT_TRUE(client_->run("create temp table prices (sku text, price money_in)").is_ok());
  const auto take = [&](const std::string& price) {
    return client_->run("insert into prices values ('a', $1) returning price, (price).amount, (price).currency",
                        {price});
  };
  EXPECT_EQ((*take("(19.90,EUR)"))[0], (Texts{"(19.90,EUR)", "19.90", "EUR"}));
  EXPECT_EQ((*take("(,\"a \"\"b\"\", c\")"))[0], (Texts{"(,\"a \"\"b\"\", c\")", "NULL", "a \"b\", c"}));
  EXPECT_EQ(client_->one("select array_agg(price) from prices where (price).amount is not null"), "{\"(19.90,EUR)\"}");
  EXPECT_EQ(client_->one("select count(*) from prices where price = any($1::money_in[])", {"{\"(19.90,EUR)\"}"}), "1");
  EXPECT_EQ(client_->one("select (row($1::numeric, $2::text)::money_in)::text", {"2.50", "a,b"}), "(2.50,\"a,b\")");
  EXPECT_EQ(take("19.90").error().code(), Code::InvalidArgument);
  EXPECT_EQ(take("(x,EUR)").error().code(), Code::InvalidArgument);
}

TEST_F(RealTypes, read_a_literal_where_a_text_has_another_form) {
  EXPECT_EQ(client_->one("select $1::interval", {"1 day 2 hours"}), "P1DT2H");
  EXPECT_EQ(client_->one("select $1::timestamptz", {"2026-11-24 12:00:37+02"}), "2026-11-24T10:00:37.000000000Z");
  EXPECT_EQ(client_->one("select $1::int4", {" 12 "}), "12");
  const auto wrong = client_->run("select $1::int4", {"12x"});
  EXPECT_EQ(wrong.error().code(), Code::InvalidArgument);
  EXPECT_EQ(wrong.error().message(), "invalid input syntax for type integer: \"12x\" (22P02)");
  EXPECT_EQ(client_->run("select $1::text", {std::string("a\0b", 3)}).error().code(), Code::InvalidArgument);
}

TEST_F(RealTypes, never_become_sql) {
  const std::string hostile = "'; drop table kept; --\\'\"$$";
  for (const char* type : {"text", "name", "varchar"}) {
    EXPECT_EQ(client_->one("select $1::" + std::string(type), {hostile}), hostile);
  }
  EXPECT_EQ(client_->one("select ($1::text[])[1]", {"{\"'; drop table kept\"}"}), "'; drop table kept");
}

TEST_F(RealTypes, errors_have_their_codes) {
  ASSERT_TRUE(client_
                  ->run("create temp table parts (id int primary key, n int not null check (n > 0), "
                        "of int references parts)")
                  .is_ok());
  ASSERT_TRUE(client_->run("insert into parts values (1, 1)").is_ok());
  const auto code = [&](const char* sql) { return client_->run(sql).error().code(); };
  const auto unique = client_->run("insert into parts values (1, 1)");
  EXPECT_EQ(unique.error().code(), Code::AlreadyExists);
  EXPECT_EQ(server_error(unique.error())->constraint, "parts_pkey");
  EXPECT_EQ(code("insert into parts values (2, null)"), Code::InvalidArgument);
  EXPECT_EQ(code("insert into parts values (2, 0)"), Code::InvalidArgument);
  EXPECT_EQ(code("insert into parts values (2, 1, 9)"), Code::Conflict);
  EXPECT_EQ(code("select 1 / 0"), Code::InvalidArgument);
  EXPECT_EQ(code("selec 1"), Code::Internal);
  EXPECT_EQ(code("select * from nowhere"), Code::Internal);
  ASSERT_TRUE(client_->run("set statement_timeout = 10").is_ok());
  EXPECT_EQ(code("select pg_sleep(10)"), Code::DeadlineExceeded);
}

TEST_F(RealTypes, prove_the_password_as_the_server_has_it) {
  ASSERT_TRUE(client_->run("set password_encryption = 'scram-sha-256'").is_ok());
  ASSERT_TRUE(client_->run("create user proven password 'pässwörd, =x'").is_ok());
  ASSERT_TRUE(client_->run("create user shown password 'pw'").is_ok());
  ASSERT_TRUE(client_->run("set password_encryption = 'md5'").is_ok());
  ASSERT_TRUE(client_->run("create user hashed password 'pw'").is_ok());
  constexpr std::array<std::byte, 18> nonce{std::byte{7}};
  const auto log_in = [&](LoginOptions options) {
    options.database = "postgres";
    options.nonce = nonce;
    Client client(*server_);
    return client.log_in(options);
  };
  EXPECT_TRUE(log_in({.user = "proven", .password = "pässwörd, =x"}).is_ok());
  EXPECT_EQ(log_in({.user = "proven", .password = "wrong"}).error().code(), Code::Unauthenticated);
  EXPECT_EQ(log_in({.user = "nobody", .password = "wrong"}).error().code(), Code::Unauthenticated);
  EXPECT_EQ(log_in({.user = "shown", .password = "pw"}).error().code(), Code::Unauthenticated);
  EXPECT_TRUE(log_in({.user = "shown", .password = "pw", .allows_cleartext_password = true}).is_ok());
  EXPECT_EQ(log_in({.user = "hashed", .password = "pw"}).error().code(), Code::Unauthenticated);
  EXPECT_TRUE(log_in({.user = "hashed", .password = "pw", .allows_md5_password = true}).is_ok());
}

}  // namespace
}  // namespace keel::db::postgres::real_types_test
