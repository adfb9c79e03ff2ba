#include "keel/db/postgres/error.h"

#include <algorithm>
#include <initializer_list>
#include <new>

namespace keel::db::postgres {
namespace {

struct CodeOfState {
  std::string_view state;  // A whole SQLSTATE, or the two characters of a class.
  Code code;
};

// Whole SQLSTATEs come before classes, because the first match counts.
constexpr CodeOfState codes[] = {
    {"23505", Code::AlreadyExists},      {"23503", Code::Conflict},           {"23001", Code::Conflict},
    {"23P01", Code::Conflict},           {"25P02", Code::Conflict},           {"25P03", Code::DeadlineExceeded},
    {"25P04", Code::DeadlineExceeded},  // transaction_timeout, in version 17 and later.
    {"25006", Code::FailedPrecondition}, {"3D000", Code::FailedPrecondition}, {"40003", Code::Unavailable},
    {"42501", Code::PermissionDenied},   {"55P03", Code::Conflict},           {"57014", Code::Cancelled},
    {"P0001", Code::InvalidArgument},    {"XX001", Code::DataLoss},           {"XX002", Code::DataLoss},
    {"08", Code::Unavailable},           {"0A", Code::Unsupported},           {"22", Code::InvalidArgument},
    {"23", Code::InvalidArgument},       {"28", Code::Unauthenticated},       {"40", Code::Conflict},
    {"44", Code::InvalidArgument},       {"53", Code::ResourceExhausted},     {"54", Code::ResourceExhausted},
    {"55", Code::FailedPrecondition},    {"57", Code::Unavailable},           {"58", Code::Unavailable},
};

}  // namespace

Code code_of(std::string_view sqlstate) noexcept {
  for (const CodeOfState& known : codes) {
    if (sqlstate.size() == 5 && sqlstate.starts_with(known.state)) return known.code;
  }
  return Code::Internal;
}

ServerError::ServerError(const ErrorResponse& response)
    : sqlstate(response.sqlstate),
      detail(response.detail),
      hint(response.hint),
      where(response.where),
      schema(response.schema),
      table(response.table),
      column(response.column),
      constraint(response.constraint),
      position(response.position) {}

Error error_of(const ErrorResponse& response) {
  Code code = code_of(response.sqlstate);
  // A timeout and a cancellation have the same SQLSTATE, so only the text of the message distinguishes them. If the
  // server's messages are in another language, a timeout is reported as Cancelled.
  if (code == Code::Cancelled && response.message.find("timeout") != std::string_view::npos) {
    code = Code::DeadlineExceeded;
  }
  std::string text(response.message.empty() ? "the server gave no reason" : response.message);
  const auto add = [&](std::string_view what, std::string_view name) {
    if (name.empty() || response.message.find(name) != std::string_view::npos) return;
    text.append(what).append(name);
  };
  add(", constraint ", response.constraint);
  add(", table ", response.table);
  add(", column ", response.column);
  // Only the beginning of the error's context is added, because the beginning names the line of a COPY, but not the
  // value.
  if (response.where.starts_with("COPY ")) {
    text.append(", ").append(response.where.substr(0, response.where.find_first_of(":\n")));
  }
  if (!response.sqlstate.empty()) text.append(" (").append(response.sqlstate).append(")");
  if (response.position > 0) text.append(" at character ").append(std::to_string(response.position));
  if (!response.hint.empty()) text.append(". Hint: ").append(response.hint);
  Error error = Error::text(code, text).from_environment();
  return std::move(error).with(new ServerError(response));
}

const ServerError* server_error(const Error& error) noexcept {
  return dynamic_cast<const ServerError*>(error.details());
}

namespace {

bool has_state(const Error& error, std::initializer_list<std::string_view> states) noexcept {
  const ServerError* const server = server_error(error);
  return server != nullptr && std::ranges::find(states, server->sqlstate) != states.end();
}

}  // namespace

bool is_retryable(const Error& error) noexcept { return has_state(error, {"40001", "40P01"}); }

bool is_unknown_statement(const Error& error) noexcept { return has_state(error, {"26000"}); }

bool is_stale_statement(const Error& error) noexcept {
  return has_state(error, {"0A000"}) && error.message().find("cached plan") != std::string_view::npos;
}

bool is_disk_error(const Error& error) noexcept { return has_state(error, {"53100", "58030"}); }

bool is_read_only_error(const Error& error) noexcept { return has_state(error, {"25006"}); }

}  // namespace keel::db::postgres
