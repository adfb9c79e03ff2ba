#include "keel/base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "keel/base/error_code.h"

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
    {"Protocol", 400, Level::Info},          {"Upstream", 502, Level::Warn},
    {"Unsupported", 501, Level::Info},       {"DataLoss", 500, Level::Error},
    {"Internal", 500, Level::Error},
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

// A message and the context in front of it, which comes later: so the characters stand at the end of their block.
struct Error::Text {
  static constexpr std::string_view between = ": ";

  // `text` at the end of a new block, with room in front for `front` bytes at once and for as much as is promised
  // later. Null when there is no memory.
  static Text* make(std::string_view text, std::size_t front) noexcept {
    const std::size_t used = front + text.size() + 1;
    const std::size_t capacity = used + std::max(context_room, used / 2);
    void* const block = std::malloc(sizeof(Text) + capacity);
    if (block == nullptr) return nullptr;
    Text& made = *new (block) Text{capacity, capacity - 1 - text.size()};
    std::copy(text.begin(), text.end(), made.characters() + made.begin);
    made.characters()[capacity - 1] = '\0';
    return &made;
  }
  std::size_t bytes_for(std::string_view context) const noexcept {
    return context.size() + (view().empty() ? 0 : between.size());
  }
  void put_in_front(std::string_view context) noexcept {
    const std::string_view separator = view().empty() ? "" : between;
    for (const std::string_view part : {separator, context}) {
      begin -= part.size();
      std::copy(part.begin(), part.end(), characters() + begin);
    }
  }
  std::string_view view() const noexcept {
    return {reinterpret_cast<const char*>(this + 1) + begin, capacity - 1 - begin};
  }
  char* characters() noexcept { return reinterpret_cast<char*>(this + 1); }

  std::size_t capacity;  // Of the characters, the null at their end included.
  std::size_t begin;     // Of the message in them; before it is room.
};

Error::Text& Error::owned() const noexcept { return *static_cast<Text*>(address()); }

// "context: text", or only the text.
Error Error::made(Code code, int number, std::string_view context, std::string_view text) noexcept {
  Text* const all = Text::make(text, context.empty() ? 0 : context.size() + Text::between.size());
  if (all == nullptr) return Error(code, number, "what went wrong was lost: out of memory", false);
  if (!context.empty()) all->put_in_front(context);
  return Error(code, number, all, true);
}

Error Error::text(Code code, std::string_view message) noexcept { return made(code, 0, {}, message); }

Error Error::from_exception() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Error(Code::ResourceExhausted, "out of memory");
  } catch (const std::system_error& exception) {
    const int number = errno_of(exception.code());
    if (number == 0) return made(Code::Internal, 0, "exception", exception.what());
    char buffer[128];
    std::string_view text = exception.what();
    const std::string_view said = strerror_r(number, buffer, sizeof buffer);
    if (text.ends_with(said)) {
      text.remove_suffix(said.size());
      if (text.ends_with(Text::between)) text.remove_suffix(Text::between.size());
    }
    return made(Code::Internal, number, "exception", text);
  } catch (const std::exception& exception) {
    return made(Code::Internal, 0, "exception", exception.what());
  } catch (...) {
    return Error(Code::Internal, "exception of an unknown type");
  }
}

Error Error::from_errno(const char* what, int number) noexcept { return Error(code_of(number), number, what, false); }

std::string_view Error::message() const noexcept {
  if (is_owned()) return owned().view();
  const auto* const literal = static_cast<const char*>(address());
  return literal != nullptr ? std::string_view(literal) : std::string_view();
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
  if (context.empty()) return std::move(*this);
  if (is_owned() && owned().bytes_for(context) <= owned().begin) {
    owned().put_in_front(context);
    return std::move(*this);
  }
  if (Text* const longer = Text::make(message(), context.size() + Text::between.size()); longer != nullptr) {
    longer->put_in_front(context);
    *this = Error(code(), errno_value(), longer, true);
  }
  return std::move(*this);
}

Error&& Error::as(Code code) && noexcept {
  word_ = (word_ & ~std::uint64_t{0x1f}) | static_cast<std::uint64_t>(code);
  return std::move(*this);
}

Error Error::clone() const noexcept {
  if (!is_owned()) return Error(code(), errno_value(), address(), false);
  return made(code(), errno_value(), {}, message());
}

void Error::free_text(void* text) noexcept { std::free(text); }

}  // namespace keel
