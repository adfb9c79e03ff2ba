#include "keel/db/postgres/copy.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "keel/data/timestamp.h"
#include "keel/db/postgres/database.h"
#include "keel/db/postgres/error.h"
#include "keel/db/postgres/internal/database_test.h"
#include "keel/task/timing.h"

namespace keel::db::postgres::copy_test {
namespace {

enum class Colour { Red, Green };

struct Line {
  std::int64_t id = 0;
  std::string sku;
  std::optional<std::string> note;
  double weight = 0;
  Colour colour = Colour::Red;
  Timestamp packed_at;
  std::vector<std::byte> label;
  bool operator==(const Line&) const = default;
};

class PostgresCopy : public testing::RealDatabaseTest {
 protected:
  Database& open_lines(DatabaseOptions options = {}) {
    open(std::move(options));
    script(
        "drop table if exists lines; create table lines (id bigint primary key, sku text not null, note text,"
        " weight float8 not null, colour text not null, packed_at timestamptz not null, label bytea not null,"
        " check (id <> 13))");
    return *database_;
  }
  std::int64_t count() { return integer("select count(*)::bigint from lines"); }
};
INSTANTIATE_TEST_SUITE_P(, PostgresCopy, testing::real_engines(), io::testing::name_of_engine);

Line line(std::int64_t id) {
  return {.id = id,
          .sku = "sku " + std::to_string(id),
          .note = std::nullopt,
          .weight = 0.5,
          .packed_at = Timestamp::parse("2026-11-28T10:00:00.25Z").value(),
          .label = {}};
}

// Writes the lines from `first` on.
struct Fill {
  std::int64_t first = 1;
  std::int64_t count = 0;
  std::optional<Code> fails = std::nullopt;
  Duration pause = {};
  Task<> operator()(CopyRows<Line>& rows) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Line one = line(first + i);
      co_await rows.write(one);
    }
    if (pause > Duration()) co_await sleep_for(pause);
    if (fails) co_await fail(*fails, "the body fails");
  }
};

TEST_P(PostgresCopy, gives_back_what_was_copied_in) {
  open_lines();
  std::vector<Line> lines;
  for (int i = 0; i < 6; ++i) lines.push_back(line(i));
  lines[1].note = "";
  lines[2].note = "\\N";
  lines[3].sku = "tab\tnew\nline\\.\r\v\b\f 'quote' \"";
  lines[3].weight = -std::numeric_limits<double>::infinity();
  lines[4].label = {std::byte{0}, std::byte{0xff}, std::byte{'\\'}};
  lines[5].colour = Colour::Green;
  lines[5].id = std::numeric_limits<std::int64_t>::min();
  auto fill = [&](CopyRows<Line>& rows) { return rows.write(std::span<const Line>(lines)); };
  std::vector<Line> found;
  auto keep = [&](std::span<const Line> some) -> Task<> {
    found.insert(found.end(), some.begin(), some.end());
    co_return;
  };

  const auto in = run(database_->copy_in<Line>("lines", fill));
  const auto out = run(database_->copy_out<Line>("select * from lines order by sku = '' -- all of them", keep));

  ASSERT_TRUE(in) << in.error().describe();
  EXPECT_EQ(*in, 6u);
  ASSERT_TRUE(out) << out.error().describe();
  EXPECT_EQ(*out, 6u);
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found, lines);
}

TEST_P(PostgresCopy, copies_more_than_buffers_hold) {
  open_lines();
  Fill fill{.count = 50'000};
  fill.first = 100;
  std::size_t rows = 0;
  std::size_t largest = 0;
  std::int64_t next = 100;
  bool is_in_order = true;
  auto take = [&](std::span<const Line> some) -> Task<> {
    rows += some.size();
    largest = std::max(largest, some.size());
    for (const Line& one : some) is_in_order = is_in_order && one.id == next++;
    if (rows < 5'000) co_await sleep_for(1_ms);
  };

  const auto in = run(database_->copy_in<Line>("public.lines", fill));
  const auto out = run(database_->copy_out<Line>("select * from lines order by id", take));

  ASSERT_TRUE(in) << in.error().describe();
  EXPECT_EQ(*in, 50'000u);
  ASSERT_TRUE(out) << out.error().describe();
  EXPECT_EQ(rows, 50'000u);
  EXPECT_TRUE(is_in_order);
  EXPECT_LT(largest, 3'000u);
  EXPECT_EQ(count(), 50'000);
}

TEST_P(PostgresCopy, names_the_line_that_the_server_rejects_and_leaves_nothing) {
  DatabaseOptions options;
  options.connections = 1;
  open_lines(std::move(options));
  Fill check{.first = 10, .count = 20'000};

  const auto in = run(database_->copy_in<Line>("lines", check));

  ASSERT_FALSE(in);
  EXPECT_EQ(in.error().code(), Code::InvalidArgument);
  EXPECT_NE(in.error().describe().find("COPY lines, line 4"), std::string::npos) << in.error().describe();
  ASSERT_NE(server_error(in.error()), nullptr);
  EXPECT_EQ(server_error(in.error())->constraint, "lines_id_check");
  EXPECT_EQ(count(), 0);
}

struct Wrong {
  std::string id;
};
Task<> fill_wrong(CopyRows<Wrong>& rows) {
  const Wrong good{"1"};
  const Wrong bad{"many"};
  co_await rows.write(good);
  co_await rows.write(bad);
}
Task<> fill_zero(CopyRows<Wrong>& rows) {
  const Wrong good{"1"};
  const Wrong bad{std::string("a\0b", 3)};
  co_await rows.write(good);
  const Result<> written = co_await attempt(rows.write(bad));  // And swallows the error.
  if (written) co_await fail(Code::Internal, "a zero byte");
}

TEST_P(PostgresCopy, names_line_and_column_of_a_wrong_value) {
  open_lines();
  script("drop table if exists wrong; create table wrong (id bigint)");

  const auto in = run(database_->copy_in<Wrong>("wrong", fill_wrong));
  const auto zero = run(database_->copy_in<Wrong>("wrong", fill_zero));
  const auto table = run(database_->copy_in<Wrong>("no\"where; drop table lines", fill_wrong));

  ASSERT_FALSE(in);
  EXPECT_EQ(in.error().code(), Code::InvalidArgument);
  EXPECT_NE(in.error().describe().find("COPY wrong, line 2, column id"), std::string::npos) << in.error().describe();
  ASSERT_FALSE(zero);
  EXPECT_EQ(zero.error().code(), Code::InvalidArgument);
  EXPECT_NE(zero.error().describe().find("COPY, line 2: column 1"), std::string::npos) << zero.error().describe();
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code(), Code::Internal);
  EXPECT_EQ(integer("select count(*)::bigint from wrong"), 0);
  EXPECT_EQ(count(), 0);
}

Task<std::size_t> copy_in_time(Database& database, Fill& slow) {
  co_return co_await with_timeout(200_ms, database.copy_in<Line>("lines", slow));
}
Task<> take_for_long(std::span<const Line>) { co_await sleep_for(20_s); }
Task<std::size_t> copy_out_in_time(Database& database) {
  co_return co_await with_timeout(200_ms, database.copy_out<Line>("select * from lines", take_for_long));
}

TEST_P(PostgresCopy, leaves_nothing_when_the_body_fails_or_takes_too_long) {
  DatabaseOptions options;
  options.connections = 1;
  open_lines(std::move(options));
  Fill failing{.count = 5'000, .fails = Code::OutOfRange};
  Fill slow{.count = 5'000, .pause = 20_s};

  const auto failed = run(database_->copy_in<Line>("lines", failing));
  const auto late = run(copy_in_time(*database_, slow));

  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::OutOfRange);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(count(), 0);  // On the same connection.
  EXPECT_EQ(database_->stats().lost, 0u);
}

TEST_P(PostgresCopy, ends_early_when_the_rows_are_not_wanted) {
  DatabaseOptions options;
  options.connections = 1;
  open_lines(std::move(options));
  script("insert into lines select n, repeat('x', 200), null, 0, 'Red', now(), '' from generate_series(100, 20000) n");
  auto enough = [](std::span<const Line>) -> Task<> { co_await fail(Code::OutOfRange, "enough"); };

  const auto early = run(database_->copy_out<Line>("select * from lines", enough));
  const auto late = run(copy_out_in_time(*database_));

  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code(), Code::OutOfRange);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Code::DeadlineExceeded);
  EXPECT_EQ(count(), 19'901);
  EXPECT_EQ(database_->stats().lost, 0u);
}

Task<> copy_in_a_transaction(Database& database, bool commits) {
  Transaction transaction = co_await database.begin();
  co_await transaction.execute("delete from lines");
  Fill good{.count = 10};
  const std::size_t in = co_await database.copy_in<Line>(transaction, "lines", good);
  Fill bad{.first = 13, .count = 1};
  const Result<std::size_t> failed = co_await attempt(database.copy_in<Line>(transaction, "lines", bad));
  std::size_t out = 0;
  auto count = [&](std::span<const Line> some) -> Task<> {
    out += some.size();
    co_return;
  };
  co_await database.copy_out<Line>(transaction, "select * from lines", count);
  if (in != 10 || failed || out != 10) co_await fail(Code::Internal, "another number of rows");
  if (commits) co_await transaction.commit();
}

TEST_P(PostgresCopy, is_a_part_of_a_transaction) {
  open_lines();
  Fill before{.first = 100, .count = 3};
  ASSERT_TRUE(run(database_->copy_in<Line>("lines", before)));

  const auto rolled_back = run(copy_in_a_transaction(*database_, false));
  const std::int64_t kept = count();
  const auto committed = run(copy_in_a_transaction(*database_, true));

  EXPECT_TRUE(rolled_back) << rolled_back.error().describe();
  EXPECT_EQ(kept, 3);
  EXPECT_TRUE(committed) << committed.error().describe();
  EXPECT_EQ(count(), 10);
}

Task<> hold_a_copy(Database& database) {
  Transaction transaction = co_await database.begin();
  Fill slow{.count = 10, .pause = 1_s};
  co_await database.copy_in<Line>(transaction, "lines", slow);
}

TEST_P(PostgresCopy, of_a_transaction_ends_with_hold_max) {
  DatabaseOptions options;
  options.connections = 1;
  options.hold_max = 100_ms;
  open_lines(std::move(options));

  const auto held = run(hold_a_copy(*database_));

  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code(), Code::DeadlineExceeded) << held.error().describe();
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(database_->stats().lost, 0u);
}

struct Interval {
  std::string points;
};

TEST_P(PostgresCopy, says_which_type_it_does_not_read) {
  open_lines();
  auto ignore = [](std::span<const Interval>) -> Task<> { co_return; };

  const auto out = run(database_->copy_out<Interval>("select point(1, 2) as points", ignore));
  const auto cast = run(database_->copy_out<Interval>("select point(1, 2)::text as points", ignore));
  const auto none = run(database_->copy_out<Interval>("delete from lines", ignore));
  const auto write =
      run(database_->copy_out<Interval>("insert into lines (id) values (1) returning sku as points", ignore));

  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code(), Code::Unsupported);
  EXPECT_NE(out.error().describe().find("column 'points'"), std::string::npos) << out.error().describe();
  EXPECT_TRUE(cast) << cast.error().describe();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::InvalidArgument);
  ASSERT_FALSE(write);
  EXPECT_EQ(write.error().code(), Code::InvalidArgument) << write.error().describe();
}

TEST_P(PostgresCopy, is_no_statement) {
  DatabaseOptions options;
  options.connections = 1;
  open_lines(std::move(options));

  const auto copied = run(database_->execute("copy lines from stdin"));

  ASSERT_FALSE(copied);
  EXPECT_NE(copied.error().describe().find("copy_in()"), std::string::npos) << copied.error().describe();
  EXPECT_EQ(count(), 0);
}

TEST(CopyStatement, quotes_names) {
  const std::string_view columns[] = {"sku", "a \"b\""};
  EXPECT_EQ(internal::copy_text("lines", columns), "copy \"lines\" (\"sku\",\"a \"\"b\"\"\") from stdin");
  EXPECT_EQ(internal::copy_text("sales.lines", {columns, 1}), "copy \"sales\".\"lines\" (\"sku\") from stdin");
  EXPECT_EQ(internal::copy_text("", {columns, 1}), "copy \"\" (\"sku\") from stdin");
}

}  // namespace
}  // namespace keel::db::postgres::copy_test
