// What a statement that fails at run time costs: its request is a 5xx without internals, and the log has the statement
// and the place of the call.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/http/testing/test_server.h"
#include "keel/observe/log_record.h"
#include "keel/observe/log_ring.h"
#include "keel/task/on_error.h"

namespace keel::statement_faults_test {
namespace {

constexpr const char* schema =
    "create table people (id integer primary key, name text not null unique, age integer);"
    "insert into people values (1, 'ada', 36), (2, 'grace', null), (3, 'alan', 'unknown')";

class People {
 public:
  People(db::Session& session, http::Router& router) : session_(session) {
    router.get("/age/{id}", *this, &People::age).get("/beyond", *this, &People::beyond);
    router.get("/renamed", *this, &People::renamed).get("/mapped", *this, &People::mapped);
    router.get("/long", *this, &People::long_statement);
  }
  static constexpr unsigned age_at = __LINE__ + 3;
  Task<http::Response> age(http::Request& request) {
    const auto id = co_await request.path_param<std::int64_t>("id");
    const auto age = co_await session_.query_one<std::int64_t>("select age from people\n   where id = $1", id);
    co_return http::Response::text(http::Status::Ok, std::to_string(age));
  }
  Task<http::Response> beyond(http::Request&) {
    auto read = [](const db::Row& row) { (void)row.integer(4); };
    co_await session_.query("select id, age from people", read);
    co_return http::Response(http::Status::Ok);
  }
  Task<http::Response> renamed(http::Request&) {
    co_await session_.query_many<std::string>("select surname from people");
    co_return http::Response(http::Status::Ok);
  }
  Task<http::Response> long_statement(http::Request&) {
    co_await session_.query_many<std::string>(
        "select surname from people where name in ('0123456789', '0123456789', '0123456789', '0123456789', "
        "'0123456789', '0123456789', '0123456789', '0123456789', '0123456789', '0123456789', '0123456789', "
        "'0123456789', '0123456789', '0123456789', '0123456789', '0123456789', '0123456789') -- the end");
    co_return http::Response(http::Status::Ok);
  }
  Task<http::Response> mapped(http::Request&) {
    co_await on_error(Code::Internal, fail(Code::Conflict, "not in this version"),
                      session_.query_many<std::string>("select surname from people"));
    co_return http::Response(http::Status::Ok);
  }

 private:
  db::Session& session_;
};

class StatementFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    {
      auto connection = db::sqlite::Connection::open({.path = folder_ / "db"}).value();
      ASSERT_TRUE(connection->run_script(schema));
    }
    database_ = db::sqlite::Database::open({.path = folder_ / "db"}).value();
    people_ = std::make_unique<People>(*database_, router_);
    server_ = std::make_unique<http::TestServer>(router_);
    log_.drain([](const log::Record&) {});
  }
  void TearDown() override { server_.reset(); }

  std::vector<std::string> errors() {
    std::vector<std::string> lines;
    log_.drain([&](const log::Record& record) {
      if (record.level() != Level::Error) return;
      std::string line;
      record.for_each(
          [&](const log::FieldView& field) { line.append(field.name).append("=").append(field.text).append(" "); });
      lines.push_back(line + "at " + record.where().file_name() + ":" + std::to_string(record.where().line()));
    });
    return lines;
  }
  // A 500 that says nothing, and one line at error level, which is returned.
  std::string fault(const std::string& path) {
    const http::TestResponse response = server_->get(path);
    EXPECT_EQ(response.status(), 500) << path;
    for (const std::string_view secret : {"age", "people", "column", "surname", "select"}) {
      EXPECT_EQ(response.body().find(secret), std::string_view::npos) << response.body();
    }
    const std::vector<std::string> lines = errors();
    EXPECT_EQ(lines.size(), 1u);
    return lines.empty() ? std::string() : lines.front();
  }

  db::testing::Folder folder_;
  log::Reader log_{false};
  const log::Ring ring_;
  http::Router router_;
  std::unique_ptr<db::sqlite::Database> database_;
  std::unique_ptr<People> people_;
  std::unique_ptr<http::TestServer> server_;
};

TEST_F(StatementFaults, of_text_or_null_in_a_column_that_is_read_as_a_number_name_the_column) {
  EXPECT_EQ(server_->get("/age/1").body(), "36");
  const std::string at = "statement_faults_test.cc:" + std::to_string(People::age_at);

  const std::string null = fault("/age/2");
  const std::string text = fault("/age/3");

  EXPECT_NE(null.find("error=column 'age' is NULL, but is read as an integer: read it as a std::optional"),
            std::string::npos)
      << null;
  EXPECT_NE(text.find("error=column 'age' is text, but is read as an integer"), std::string::npos) << text;
  EXPECT_NE(text.find("statement=select age from people where id = $1 "), std::string::npos) << text;
  EXPECT_NE(text.find("places=" + at), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with(at)) << text;
}

TEST_F(StatementFaults, of_a_column_beyond_the_last_are_bugs_with_a_stack) {
  const std::string line = fault("/beyond");

  EXPECT_NE(line.find("error=column 4 is read from a row with 2 columns (id, age); columns are counted from "
                      "0"),
            std::string::npos);
  EXPECT_NE(line.find("stack="), std::string::npos) << line;
  EXPECT_EQ(server_->server().stats().bugs, 1u);
  EXPECT_EQ(server_->get("/age/1").status(), 200);
}

TEST_F(StatementFaults, of_a_schema_that_has_changed_name_the_statement) {
  const std::string line = fault("/renamed");

  EXPECT_NE(line.find("no such column: surname"), std::string::npos) << line;
  EXPECT_NE(line.find("statement=select surname from people "), std::string::npos) << line;
  EXPECT_EQ(server_->server().stats().bugs, 0u);
}

TEST_F(StatementFaults, of_a_long_statement_have_its_beginning) {
  const std::string line = fault("/long");

  const std::size_t begin = line.find("statement=select surname from people where name in (");
  ASSERT_NE(begin, std::string::npos) << line;
  const std::size_t end = line.find("…", begin);
  ASSERT_NE(end, std::string::npos) << line;
  EXPECT_EQ(end - begin, std::string_view("statement=").size() + 256);
  EXPECT_EQ(line.find("the end"), std::string::npos) << line;
}

TEST_F(StatementFaults, are_what_the_application_says_where_it_maps_them) {
  const http::TestResponse response = server_->get("/mapped");

  EXPECT_EQ(response.status(), 409);
  EXPECT_NE(response.body().find("not in this version"), std::string_view::npos) << response.body();
  EXPECT_EQ(errors().size(), 0u);
}

TEST_F(StatementFaults, are_none_when_a_row_that_was_asked_for_is_not_there) {
  const http::TestResponse response = server_->get("/age/77");

  EXPECT_EQ(response.status(), 404);
  EXPECT_NE(response.body().find("not found"), std::string_view::npos) << response.body();
  EXPECT_EQ(errors().size(), 0u);
}

}  // namespace
}  // namespace keel::statement_faults_test
