#include "keel/db/sqlite/statement_cache.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>

#include "keel/db/sqlite/connection.h"

namespace keel::db::sqlite {
namespace {

std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a.
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

StatementCache::StatementCache(Connection& connection, int statements_max)
    : connection_(connection), statements_max_(std::max(statements_max, 1)) {
  buckets_.resize(std::bit_ceil(static_cast<std::size_t>(statements_max_) * 2));
  addresses_.resize(buckets_.size());
}

StatementCache::~StatementCache() {
  while (Entry* entry = used_.pop_front()) delete entry;
}

StatementCache::Address& StatementCache::address_of(const char* text) noexcept {
  const auto word = reinterpret_cast<std::uintptr_t>(text) * 0x9e3779b97f4a7c15;
  return addresses_[(word >> 32) & (addresses_.size() - 1)];
}

Result<StatementCache::Entry*> StatementCache::find(Sql sql) {
  const std::string_view text = sql.text();
  Address& address = address_of(text.data());
  if (address.text == text.data() && address.size == text.size()) [[likely]] {
    used_.remove(*address.entry);
    used_.push_back(*address.entry);
    return address.entry;
  }
  KEEL_TRY(Entry * entry, find(text));
  address = {text.data(), text.size(), entry};
  return entry;
}

Result<StatementCache::Entry*> StatementCache::find(std::string_view text) {
  const std::uint64_t hash = hash_of(text);
  const std::size_t mask = buckets_.size() - 1;
  for (std::size_t at = hash & mask; buckets_[at] != nullptr; at = (at + 1) & mask) {
    Entry* entry = buckets_[at];
    if (entry->hash != hash || entry->text != text) continue;
    used_.remove(*entry);
    used_.push_back(*entry);
    return entry;
  }
  std::unique_ptr<Entry> made;
  try {
    made = std::make_unique<Entry>();
    made->text = text;
    Result<Statement> prepared = connection_.prepare(text);
    if (!prepared) {
      Error error = std::move(prepared).error();
      // The text is part of the program, so the mistake is not in the user's input.
      if (error.code() == Code::InvalidArgument) return std::move(error).as(Code::Internal);
      return error;
    }
    made->statement = *std::move(prepared);
  } catch (const std::bad_alloc&) {
    return Error::from_exception();
  }
  ++prepared_;
  if (size_ == statements_max_) evict();
  Entry* const entry = made.release();
  entry->hash = hash;
  std::size_t at = hash & mask;
  while (buckets_[at] != nullptr) at = (at + 1) & mask;
  buckets_[at] = entry;
  used_.push_back(*entry);
  ++size_;
  return entry;
}

void StatementCache::evict() noexcept {
  Entry* entry = used_.pop_front();
  for (Address& address : addresses_) {
    if (address.entry == entry) address = {};
  }
  // The table uses linear probing without tombstones, so the entries after the hole must be inserted again.
  const std::size_t mask = buckets_.size() - 1;
  std::size_t at = entry->hash & mask;
  while (buckets_[at] != entry) at = (at + 1) & mask;
  buckets_[at] = nullptr;
  for (at = (at + 1) & mask; buckets_[at] != nullptr; at = (at + 1) & mask) {
    Entry* moved = std::exchange(buckets_[at], nullptr);
    std::size_t to = moved->hash & mask;
    while (buckets_[to] != nullptr) to = (to + 1) & mask;
    buckets_[to] = moved;
  }
  delete entry;
  --size_;
}

}  // namespace keel::db::sqlite
