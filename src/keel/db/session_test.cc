// The typed calls and transactions, on a back end that only writes down what it is asked.

#include "keel/db/session.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "keel/db/testing/own_loop.h"

namespace keel::db::session_test {
namespace {

class Notebook final : public Session {
 public:
  std::vector<std::string> notes;
  int rows = 0;  // That each query finds: 1, "row 1"; 2, "row 2"; ….
  Result<> outcome;

 private:
  Task<Transaction> begin_transaction(TransactionOptions options, std::source_location) override {
    notes.push_back(options.read_only ? "begin read only" : "begin");
    co_return Transaction(*this, ++begun_);
  }
  bool may_retry(const Error& error) const noexcept override { return error.code() == Code::Conflict; }
  Task<std::size_t> query_rows(Sql sql, Arguments arguments, FunctionRef<void(const Row&)> on_row,
                               std::uint64_t transaction) override {
    note(sql, arguments, transaction);
    Rows found;
    for (int i = 1; i <= rows; ++i) {
      const std::string text = "row " + std::to_string(i);
      NewRow row(found, 2);
      row.append(i);
      row.append(text);
      row.end();
    }
    found.set_names({"id\0name\0", 8});
    co_await found.for_each(on_row);
    co_return found.count();
  }
  Task<Written> execute_values(Sql sql, Arguments arguments, std::uint64_t transaction) override {
    note(sql, arguments, transaction);
    co_return Written{.changes = 7, .last_insert_id = 8};
  }
  Task<> commit(std::uint64_t transaction) override {
    notes.push_back("commit " + std::to_string(transaction));
    co_await std::move(outcome);
  }
  void roll_back(std::uint64_t transaction) noexcept override {
    notes.push_back("roll back " + std::to_string(transaction));
  }
  Task<Savepoint> savepoint(std::uint64_t transaction) override {
    notes.push_back("savepoint of " + std::to_string(transaction));
    co_return Savepoint(*this, transaction, ++savepoints_begun_);
  }
  Task<> release(std::uint64_t transaction, std::uint64_t savepoint) override {
    notes.push_back("release " + std::to_string(savepoint) + " of " + std::to_string(transaction));
    co_await std::move(outcome);
  }
  void roll_back_to(std::uint64_t transaction, std::uint64_t savepoint) noexcept override {
    notes.push_back("roll back to " + std::to_string(savepoint) + " of " + std::to_string(transaction));
  }

  void note(Sql sql, const Arguments& arguments, std::uint64_t transaction) {
    std::string text = std::to_string(transaction) + ": " + std::string(sql.text());
    for (const Value& value : arguments.values()) {
      text += ", ";
      switch (value.kind) {
        case ValueKind::Integer:
          text += std::to_string(value.integer);
          break;
        case ValueKind::Text:
          text += std::string_view(value.bytes, value.size);
          break;
        default:
          text += "null";
      }
    }
    notes.push_back(std::move(text));
  }
  std::uint64_t begun_ = 0;
  std::uint64_t savepoints_begun_ = 0;
};

struct Named {
  std::int64_t id;
  std::string name;
};
struct Placed {
  std::int64_t id;
  std::string name;
  static Placed from_row(const Row& row) { return {-row.integer(0), std::string(row.text(1))}; }
};
struct Other {
  std::int64_t id;
  std::string title;
};

class Sessions : public ::testing::Test {
 protected:
  using Notes = std::vector<std::string>;
  testing::OwnLoop loop;
  Notebook session;
};

Task<std::size_t> ask(Queries& queries, std::string name) {
  auto ignore = [](const Row&) {};
  co_return co_await queries.query("select $1, $2, $3", ignore, name, 5, nullptr);
}

TEST_F(Sessions, typed_calls_give_a_back_end_the_text_and_its_arguments) {
  session.rows = 2;

  EXPECT_EQ(loop.run(ask(session, "alice")).value(), 2u);
  EXPECT_EQ(loop.run(session.execute("delete from t"))->changes, 7);

  EXPECT_EQ(session.notes, Notes({"0: select $1, $2, $3, alice, 5, null", "0: delete from t"}));
}

TEST_F(Sessions, typed_calls_map_rows) {
  EXPECT_EQ(loop.run(session.query_one<Named>("select 1")).error().code(), Code::NotFound);
  EXPECT_FALSE(loop.run(session.query_optional<Named>("select 1"))->has_value());
  EXPECT_TRUE(loop.run(session.query_many<Named>("select 1"))->empty());
  session.rows = 3;

  EXPECT_EQ(loop.run(session.query_one<Named>("select 1"))->name, "row 1");
  EXPECT_EQ(loop.run(session.query_optional<Named>("select 1")).value()->id, 1);
  EXPECT_EQ(loop.run(session.query_many<Named>("select 1"))->at(2).name, "row 3");
  EXPECT_EQ(loop.run(session.query_many<Placed>("select 1"))->at(2).id, -3);
  EXPECT_EQ(loop.run(session.query_many<std::int64_t>("select 1")).value(), std::vector<std::int64_t>({1, 2, 3}));
}

TEST_F(Sessions, a_struct_with_a_field_that_the_rows_do_not_have_fails_the_call) {
  session.rows = 2;

  for (const Error& error : {loop.run(session.query_one<Other>("select 1")).error().clone(),
                             loop.run(session.query_optional<Other>("select 1")).error().clone(),
                             loop.run(session.query_many<Other>("select 1")).error().clone()}) {
    EXPECT_EQ(error.code(), Code::Internal);
    EXPECT_TRUE(error.message().ends_with(": no column 'title' for the field of that name; the columns are id, name"))
        << error.message();
  }
}

struct Wanted {
  std::string name;
  std::optional<int> limit;
  std::vector<std::string> tags;
};

Task<> ask_by_name(Queries& queries) {
  const Wanted wanted{.name = "carol", .limit = 3, .tags = {}};
  auto ignore = [](const Row&) {};
  co_await queries.query("select $limit, $name, $limit", ignore, wanted);
  (void)co_await queries.query_one<Named>("select $name", wanted);
  const Wanted other{.name = "dan", .limit = {}, .tags = {}};
  (void)co_await queries.query_optional<Named>("select $name", other);
  (void)co_await queries.query_many<Named>("select $limit", other);
  co_await queries.execute("delete from t where name = $name", wanted);
}
Task<> ask_by_name_inside(Session& session) {
  Transaction transaction = co_await session.begin();
  co_await ask_by_name(transaction);
}

TEST_F(Sessions, typed_calls_give_a_back_end_the_fields_of_a_struct_that_the_text_names) {
  session.rows = 1;

  ASSERT_TRUE(loop.run(ask_by_name(session)));

  EXPECT_EQ(session.notes,
            Notes({"0: select $limit, $name, $limit, 3, carol", "0: select $name, carol", "0: select $name, dan",
                   "0: select $limit, null", "0: delete from t where name = $name, carol"}));
  session.notes.clear();
  ASSERT_TRUE(loop.run(ask_by_name_inside(session)));
  EXPECT_EQ(session.notes.at(1), "1: select $limit, $name, $limit, 3, carol");
}

Task<> commits(Session& session) {
  Transaction transaction = co_await session.begin();
  co_await ask(transaction, "bob");
  co_await transaction.execute("delete from t where a = $1", 4);
  co_await transaction.commit();
}

TEST_F(Sessions, a_transaction_names_itself_to_the_back_end) {
  ASSERT_TRUE(loop.run(commits(session)));
  ASSERT_TRUE(loop.run(commits(session)));

  EXPECT_EQ(session.notes, Notes({"begin", "1: select $1, $2, $3, bob, 5, null", "1: delete from t where a = $1, 4",
                                  "commit 1", "roll back 1", "begin", "2: select $1, $2, $3, bob, 5, null",
                                  "2: delete from t where a = $1, 4", "commit 2", "roll back 2"}))
      << "a back end rolls nothing back that has ended";
}

Task<> moves(Session& session) {
  Transaction first = co_await session.begin();
  Transaction second(std::move(first));
  co_await second.execute("delete from t");
}

TEST_F(Sessions, a_transaction_that_is_destroyed_is_rolled_back_once_wherever_it_was_moved) {
  ASSERT_TRUE(loop.run(moves(session)));

  EXPECT_EQ(session.notes, Notes({"begin", "1: delete from t", "roll back 1"}));
}

Task<> saves(Session& session) {
  Transaction transaction = co_await session.begin();
  {
    Savepoint first = co_await transaction.savepoint();
    co_await transaction.execute("delete from t");
    co_await first.release();
  }
  Savepoint second = co_await transaction.savepoint();
  const Savepoint moved(std::move(second));
}

TEST_F(Sessions, a_savepoint_that_is_destroyed_is_rolled_back_to_once_wherever_it_was_moved) {
  ASSERT_TRUE(loop.run(saves(session)));

  EXPECT_EQ(session.notes, Notes({"begin", "savepoint of 1", "1: delete from t", "release 1 of 1",
                                  "roll back to 1 of 1", "savepoint of 1", "roll back to 2 of 1", "roll back 1"}))
      << "a back end rolls nothing back that has ended";
}

TEST_F(Sessions, what_a_commit_fails_with_is_told) {
  session.outcome = fail(Code::Conflict, "a deferred key");

  EXPECT_EQ(loop.run(commits(session)).error().message(), "a deferred key");
}

Task<int> transacts(Session& session, int& calls, int conflicts) {
  auto body = [&](Transaction& transaction) -> Task<int> {
    co_await transaction.execute("delete from t");
    if (++calls <= conflicts) co_return fail(Code::Conflict, "another one was faster");
    co_return calls;
  };
  co_return co_await session.transact({.read_only = true}, body, {.attempts_max = 3, .pause_max = 1_ms});
}

TEST_F(Sessions, transact_commits_what_the_body_did_and_gives_its_value) {
  int calls = 0;

  EXPECT_EQ(loop.run(transacts(session, calls, 0)).value(), 1);

  EXPECT_EQ(session.notes, Notes({"begin read only", "1: delete from t", "commit 1", "roll back 1"}));
}

TEST_F(Sessions, transact_runs_the_body_again_from_its_beginning) {
  int calls = 0;

  EXPECT_EQ(loop.run(transacts(session, calls, 1)).value(), 2);

  EXPECT_EQ(session.notes, Notes({"begin read only", "1: delete from t", "roll back 1", "begin read only",
                                  "2: delete from t", "commit 2", "roll back 2"}));
}

TEST_F(Sessions, transact_gives_up_after_attempts_max) {
  int calls = 0;

  const auto done = loop.run(transacts(session, calls, 100));

  EXPECT_EQ(done.error().code(), Code::Conflict);
  EXPECT_EQ(calls, 3);
}

TEST_F(Sessions, transact_does_not_repeat_what_another_error_ended) {
  session.outcome = fail(Code::Unavailable, "whether it happened is unknown");
  int calls = 0;

  EXPECT_EQ(loop.run(transacts(session, calls, 0)).error().code(), Code::Unavailable);
  EXPECT_EQ(calls, 1);
}

Task<> does_nothing(Transaction&) { co_return; }

TEST_F(Sessions, transact_takes_a_function_as_well) {
  EXPECT_TRUE(loop.run(session.transact(does_nothing)));

  EXPECT_EQ(session.notes, Notes({"begin", "commit 1", "roll back 1"}));
}

TEST(Streams, are_unsupported_by_a_back_end_that_has_none) {
  testing::OwnLoop loop;
  Notebook notebook;
  const auto ignore = [](std::span<const std::int64_t>) -> Task<> { co_return; };

  const auto read = loop.run(notebook.stream<std::int64_t>("select id from lines", ignore));

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), Code::Unsupported);
  EXPECT_EQ(read.error().statement(), "select id from lines");
}

}  // namespace
}  // namespace keel::db::session_test
