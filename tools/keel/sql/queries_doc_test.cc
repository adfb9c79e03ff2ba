// docs/queries.md, compiled and run

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "keel/db/sqlite/database.h"
#include "keel/db/testing/folder.h"
#include "keel/db/testing/own_loop.h"
#include "queries/accounts.h"

namespace keel::sql::queries_doc_test {
namespace {

Task<queries::Account> open_with_gift(db::Session& database, std::string owner) {
  const queries::Account made = co_await queries::open_account(database, owner, 500);
  co_return co_await queries::find_account(database, made.id);
}

Task<std::vector<queries::Account>> page(db::Session& database, std::optional<std::string> owner) {
  const queries::ListAccountsParams wanted{.owner = owner, .limit = 20};
  co_return co_await queries::list_accounts(database, wanted, queries::ListAccountsSort::CentsDescending);
}

Task<std::int64_t> import(db::Session& database, std::vector<queries::ImportAccountsParams> accounts) {
  co_return co_await queries::import_accounts(database, accounts);
}

Task<std::int64_t> sum_of_all(db::Session& database) {
  std::int64_t sum = 0;
  const auto add = [&](std::span<const queries::Account> some) -> Task<> {
    for (const queries::Account& account : some) sum += account.cents;
    co_return;  // or await something, such as a client that takes the rows
  };
  co_await queries::export_accounts(database, add);
  co_return sum;
}

TEST(QueriesPage, does_what_it_says) {
  db::testing::Folder folder;
  db::testing::OwnLoop loop;
  const auto database =
      db::sqlite::Database::open({.path = folder / "app.db", .migrations = PAGE_FOLDER "/migrations"}).value();

  const auto opened = loop.run(open_with_gift(*database, "ada"));
  EXPECT_TRUE(opened && opened->owner == "ada" && opened->cents == 500 && !opened->note);
  EXPECT_EQ(loop.run(open_with_gift(*database, "ada")).error().code(), Code::AlreadyExists);
  EXPECT_EQ(loop.run(import(*database, {{"bob", 700}, {"abe", 600}})).value(), 2);
  EXPECT_EQ(loop.run(import(*database, {{"eve", 1}, {"bob", 1}})).error().code(), Code::AlreadyExists);
  EXPECT_EQ(loop.run(sum_of_all(*database)).value(), 1800);
  const auto some = loop.run(page(*database, "a%"));
  ASSERT_TRUE(some && some->size() == 2u);
  EXPECT_EQ(some->at(0).owner, "abe");
  const auto summary = loop.run(queries::summary(*database));
  EXPECT_TRUE(summary && summary->accounts == 3 && summary->cents == 1800 && summary->latest);
  EXPECT_EQ(loop.run(queries::close_account(*database, shop::AccountState::Closed, std::nullopt, 1))->changes, 1);
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(QueriesPage, has_the_queries_that_are_compiled) {
  const std::string page = text_of(KEEL_SOURCE_DIR "/docs/queries.md");
  const std::string queries = text_of(PAGE_FOLDER "/accounts.sql");
  int blocks = 0;
  for (std::size_t at = 0; (at = page.find("```sql\n", at)) != std::string::npos; ++blocks) {
    at += 7;
    const std::string block = page.substr(at, page.find("```", at) - at);
    EXPECT_NE(queries.find(block), std::string::npos) << block;
  }
  EXPECT_EQ(blocks, 6);
}

}  // namespace
}  // namespace keel::sql::queries_doc_test
