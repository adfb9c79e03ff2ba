// What somebody gets wrong who calls generated queries, those of docs/queries.md. The first case compiles.

#include "queries/accounts.h"

namespace {

using namespace keel;

[[maybe_unused]] Task<> page(db::Session& database) {
  const queries::ListAccountsParams wanted{.owner = "ada", .limit = 20};
  const auto accounts = co_await queries::list_accounts(database, wanted, queries::ListAccountsSort::Cents);
  static_cast<void>(accounts);
#if CASE == 1
  // GCC 12 would destroy the struct twice.
  static_cast<void>(
      co_await queries::list_accounts(database, {.owner = "ada", .limit = 20}, queries::ListAccountsSort::Cents));
#endif
}

}  // namespace
