// keel/db/sqlite/statement_cache.h — the prepared statements of one connection; the least recently used statement is
// removed first.
//
// A statement whose text is constant (Sql) is found by the address of the text, with one load and one comparison; any
// other statement is found by its text. A statement is prepared when it is first used. Bounded: at most
// `statements_max` statements are kept.
//
// Errors:   as Connection::prepare().
// Lifetime: must be destroyed before its Connection; the Entry is valid until the next find().
// Threads:  one at a time.
// Cost:     a hit does not allocate.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/list.h"
#include "keel/base/result.h"
#include "keel/db/sql.h"
#include "keel/db/sqlite/statement.h"

namespace keel::db::sqlite {

class Connection;

class StatementCache {
 public:
  struct Entry : Link {
    Statement statement;
    std::string text;
    std::uint64_t hash = 0;
    // How often the statement has exceeded the limits for reads on a loop; the reader sets this.
    int budget_exceeded = 0;
    // True if the statement needs a savepoint, because it does not undo its changes when it fails; the writer sets
    // this.
    bool needs_savepoint = false;
  };

  StatementCache(Connection& connection, int statements_max);
  ~StatementCache();

  Result<Entry*> find(Sql sql);
  Result<Entry*> find(std::string_view text);

  int size() const noexcept { return size_; }
  std::uint64_t prepared() const noexcept { return prepared_; }

 private:
  struct Address {
    const char* text = nullptr;
    std::size_t size = 0;
    Entry* entry = nullptr;
  };
  Address& address_of(const char* text) noexcept;
  void evict() noexcept;

  Connection& connection_;
  const int statements_max_;
  int size_ = 0;
  std::uint64_t prepared_ = 0;
  List<Entry> used_;  // In the order of use: the first entry is the least recently used.
  std::vector<Entry*> buckets_;
  std::vector<Address> addresses_;
};

}  // namespace keel::db::sqlite
