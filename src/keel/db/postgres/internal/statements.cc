#include "keel/db/postgres/internal/statements.h"

#include <fmt/core.h>

#include <utility>

#include "keel/db/postgres/internal/statement_text.h"

namespace keel::db::postgres::internal {
namespace {

// The name contains two independent 64-bit FNV-1a hashes, so that different texts have different names.
std::string statement_name(std::string_view text) {
  std::uint64_t first = 0xcbf29ce484222325;
  std::uint64_t second = 0x9ae16a3b2f90404f;
  for (const char c : text) {
    first = (first ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    second = (second ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15;
    second ^= second >> 29;
  }
  return fmt::format("k{:016x}{:016x}", first, second);
}

}  // namespace

Statement& Statements::find(const Sql& sql) {
  const std::string_view text = sql.text();
  const auto found = by_text_.find(text);
  if (found != by_text_.end()) {
    Statement& statement = *found->second;
    by_use_.remove(statement);
    by_use_.push_back(statement);
    return statement;
  }
  while (by_text_.size() >= max_) {
    Statement* oldest = nullptr;
    by_use_.for_each([&](Statement& statement) {
      if (oldest == nullptr && statement.users == 0) oldest = &statement;
    });
    if (oldest == nullptr) break;  // All statements are in use, because a single group uses more than `max` statements.
    if (oldest->is_described) to_close_.push_back(std::move(oldest->name));
    by_use_.remove(*oldest);
    by_text_.erase(oldest->text);
  }
  auto made = std::make_unique<Statement>();
  made->text = text;
  bool has_names = false;
  for_each_placeholder(text, [&](const Placeholder& placeholder) { has_names = has_names || placeholder.is_named(); });
  if (has_names) made->numbered = with_numbers(text);
  made->name = statement_name(text);
  Statement& statement = *made;
  by_text_.emplace(text, std::move(made));
  by_use_.push_back(statement);
  return statement;
}

void Statements::renew(Statement& statement) {
  to_close_.push_back(statement.name);
  statement.name = fmt::format("{}_{}", statement_name(statement.text), ++renewed_);
  statement.is_described = false;
}

void Statements::forget() noexcept {
  while (by_use_.pop_front() != nullptr) {
  }
  by_text_.clear();
  to_close_.clear();
}

}  // namespace keel::db::postgres::internal
