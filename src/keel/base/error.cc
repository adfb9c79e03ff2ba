#include "keel/base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

namespace keel {
namespace {

struct Row {
  std::string_view name;
  int status;
  Level level;
};

constexpr Row rows[code_count] = {
    {"InvalidArgument", 400, Level::Info},   {"OutOfRange", 400, Level::Info},
    {"Unauthenticated", 401, Level::Info},   {"PermissionDenied", 403, Level::Info},
    {"NotFound", 404, Level::Info},          {"AlreadyExists", 409, Level::Info},
    {"Conflict", 409, Level::Info},          {"FailedPrecondition", 412, Level::Info},
    {"ResourceExhausted", 503, Level::Warn}, {"DeadlineExceeded", 504, Level::Warn},
    {"Cancelled", 499, Level::Info},         {"Unavailable", 503, Level::Warn},
    {"Protocol", 400, Level::Info},          {"Unsupported", 501, Level::Info},
    {"DataLoss", 500, Level::Error},         {"Internal", 500, Level::Error},
};

const Row& row(Code code) noexcept { return rows[static_cast<int>(code) % code_count]; }

Code code_of(int number) noexcept {
  switch (number) {
    case ENOENT:
    case ENODEV:
    case ESRCH:
      return Code::NotFound;
    case EEXIST:
    case EADDRINUSE:
      return Code::AlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::PermissionDenied;
    case EINVAL:
    case ESPIPE:
    case ENAMETOOLONG:
    case EISDIR:
    case ENOTDIR:
    case EDOM:
    case EMSGSIZE:
    case EDESTADDRREQ:
      return Code::InvalidArgument;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC:
    case EDQUOT:
      return Code::ResourceExhausted;
    case ETIMEDOUT:
    case ETIME:
      return Code::DeadlineExceeded;
    case ECANCELED:
      return Code::Cancelled;
    case EAGAIN:
    case EBUSY:
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENOTCONN:
    case ENETDOWN:
    case EINTR:
      return Code::Unavailable;
    case ENOSYS:
    case EOPNOTSUPP:
    case EAFNOSUPPORT:
    case EPROTONOSUPPORT:
      return Code::Unsupported;
    case EPROTO:
    case EBADMSG:
      return Code::Protocol;
    case EIO:
      return Code::DataLoss;
    default:
      return Code::Internal;
  }
}

}  // namespace

std::string_view to_string(Code code) noexcept { return row(code).name; }
int http_status(Code code) noexcept { return row(code).status; }
Level log_level(Code code) noexcept { return row(code).level; }

// "context: text", or only the text.
Error Error::made(Code code, int number, std::string_view context, std::string_view text) noexcept {
  const std::string_view between = context.empty() ? "" : ": ";
  auto* const all = static_cast<char*>(std::malloc(context.size() + between.size() + text.size() + 1));
  if (all == nullptr) return Error(code, number, "what went wrong was lost: out of memory", false);
  char* at = all;
  for (const std::string_view part : {context, between, text}) at = std::copy(part.begin(), part.end(), at);
  *at = '\0';
  return Error(code, number, all, true);
}

Error Error::text(Code code, std::string_view message) noexcept { return made(code, 0, {}, message); }

Error Error::from_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Error(Code::ResourceExhausted, "out of memory");
  } catch (const std::exception& exception) {
    return made(Code::Internal, 0, "exception", exception.what());
  } catch (...) {
    return Error(Code::Internal, "exception of an unknown type");
  }
}

Error Error::from_errno(const char* what, int number) noexcept { return Error(code_of(number), number, what, false); }

std::string_view Error::message() const noexcept {
  const char* text = pointer();
  return text != nullptr ? std::string_view(text) : std::string_view();
}

std::string Error::describe() const {
  std::string text(message());
  if (errno_value() != 0) {
    char buffer[128];
    text += ": ";
    text += strerror_r(errno_value(), buffer, sizeof buffer);
  }
  return text;
}

Error&& Error::because(std::string_view context) && noexcept {
  *this = made(code(), errno_value(), context, message());
  return std::move(*this);
}

Error&& Error::as(Code code) && noexcept {
  word_ = (word_ & ~std::uint64_t{0x1f}) | static_cast<std::uint64_t>(code);
  return std::move(*this);
}

Error Error::clone() const noexcept {
  if ((word_ & owned_bit) == 0) return Error(code(), errno_value(), pointer(), false);
  return made(code(), errno_value(), {}, message());
}

void Error::free_text() noexcept { std::free(const_cast<char*>(pointer())); }

std::unexpected<Error> fail_text(Code code, std::string_view message) {
  return std::unexpected<Error>(Error::text(code, message));
}
std::unexpected<Error> fail_errno(const char* what, int number) noexcept {
  return std::unexpected<Error>(Error::from_errno(what, number));
}

}  // namespace keel
