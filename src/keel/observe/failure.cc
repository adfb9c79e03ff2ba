#include "keel/observe/failure.h"

#include "keel/base/stack.h"

namespace keel::log {
namespace {

constexpr std::size_t statement_bytes_max = 256;

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_blank = c == ' ' || (c >= '\t' && c <= '\r');
    if (is_blank && (line.empty() || line.back() == ' ')) continue;
    if (line.size() == statement_bytes_max) return line + "…";
    line += is_blank ? ' ' : c;
  }
  return line;
}

}  // namespace

// A request that was stopped, for example because its client disconnected, is not a fault.
Level Failure::level_of(const Error& error) noexcept {
  const bool is_ours = error.is_bug() || (error.is_from_environment() && error.code() != Code::Cancelled);
  return is_ours ? Level::Error : log_level(error.code());
}

Failure::Failure(const Error& error) : Failure(error, level_of(error)) {}

Failure::Failure(const Error& error, Level level)
    : error_(error), level_(level), statement_(on_one_line(error.statement())), places_(error.describe_places()) {}

std::string Failure::stack() const { return to_string(*error_.stack()); }

}  // namespace keel::log
