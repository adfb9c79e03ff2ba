#include "keel/base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <system_error>

#include "keel/base/bug.h"
#include "keel/base/error_code.h"
#include "keel/base/stack.h"

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

// Whether a file is one of Keel's sources. Errors leave out the locations in such files, because these locations mean
// nothing to the user. Tests next to the sources count as user code.
bool is_of_keel(std::string_view file) noexcept {
  if (file.find("_test.") != file.npos || file.find("_bench.") != file.npos) return false;
  for (const std::string_view module : {"base/", "task/", "exec/", "io/", "net/", "data/", "db/", "http/", "events/",
                                        "observe/", "telemetry/", "config/", "app/"}) {
    const std::size_t at = file.rfind(module);
    if (at != file.npos && file.substr(0, at).ends_with("keel/")) return true;
  }
  return false;
}

std::string_view name_of(std::string_view file) noexcept {
  const std::size_t slash = file.rfind('/');
  return slash == file.npos ? file : file.substr(slash + 1);
}

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

// The characters are at the end of their block, so that context can later be put in front of the message.
struct Error::Text {
  static constexpr std::string_view between = ": ";

  // Puts `text` at the end of a new block. The space before the text has room for `front` bytes, which the caller adds
  // next, and for later context. Returns null when there is no memory.
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
  static void free(Text* text) noexcept {
    text->~Text();
    std::free(text);
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

  std::size_t capacity;  // The number of characters including the terminating null.
  std::size_t begin;     // The position at which the message begins; the bytes before it are free.
  // Data for the log in addition to the message.
  struct Kept {
    std::string_view statement;
    std::source_location places[places_max];
    int place_count = 0;
    std::unique_ptr<const Stack> stack;
    std::unique_ptr<const Details> details;
  } kept = {};
};

Error::Text& Error::owned() const noexcept { return *static_cast<Text*>(address()); }

// "context: text", or only the text.
Error Error::made(Code code, int number, std::string_view context, std::string_view text) noexcept {
  Text* const all = Text::make(text, context.empty() ? 0 : context.size() + Text::between.size());
  if (all == nullptr) return Error(code, number, "the message of this error was lost: out of memory", false);
  if (!context.empty()) all->put_in_front(context);
  return Error(code, number, all, true);
}

Error Error::text(Code code, std::string_view message) noexcept { return made(code, 0, {}, message); }

Error& Error::with_origin_of(const Error& other) noexcept {
  word_ |= other.word_ & (environment_bit | bug_bit);
  return *this;
}

// Makes sure that the Error has its own block, and returns the block; null when there is no memory for it.
Error::Text* Error::own_text() noexcept {
  if (!is_owned()) {
    Text* const own = Text::make(message(), 0);
    if (own == nullptr) return nullptr;
    word_ = (word_ & 0xffff) | owned_bit | reinterpret_cast<std::uintptr_t>(own) << 16;
  }
  return &owned();
}

Error Error::from_bug(const Bug& bug) noexcept {
  Error error = made(Code::Internal, 0, {}, bug.what());
  error.word_ |= bug_bit;
  if (Text* const own = error.own_text(); own != nullptr) {
    own->kept.places[own->kept.place_count++] = bug.place();
    own->kept.stack.reset(new (std::nothrow) Stack(bug.stack()));
  }
  return error;
}

Error Error::from_exception() noexcept {
  const auto bug = [](Error&& error) -> Error&& {
    error.word_ |= bug_bit;
    return std::move(error);
  };
  try {
    throw;
  } catch (const Bug& exception) {
    return from_bug(exception);
  } catch (const std::bad_alloc&) {
    return Error(Code::ResourceExhausted, "out of memory").from_environment();
  } catch (const std::system_error& exception) {
    const int number = errno_of(exception.code());
    if (number == 0) return made(Code::Internal, 0, "exception", exception.what()).from_environment();
    char buffer[128];
    std::string_view text = exception.what();
    const std::string_view said = strerror_r(number, buffer, sizeof buffer);
    if (text.ends_with(said)) {
      text.remove_suffix(said.size());
      if (text.ends_with(Text::between)) text.remove_suffix(Text::between.size());
    }
    return made(Code::Internal, number, "exception", text).from_environment();
  } catch (const std::exception& exception) {
    return bug(made(Code::Internal, 0, "exception", exception.what()));
  } catch (...) {
    return bug(Error(Code::Internal, "exception of an unknown type"));
  }
}

Error Error::from_errno(const char* what, int number) noexcept {
  return Error(code_of(number), number, what, false).from_environment();
}

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
    if (is_owned()) longer->kept = std::move(owned().kept);
    *this = std::move(Error(code(), errno_value(), longer, true).with_origin_of(*this));
  }
  return std::move(*this);
}

Error&& Error::as(Code code) && noexcept {
  word_ = (word_ & ~std::uint64_t{0x1f}) | static_cast<std::uint64_t>(code);
  return std::move(*this);
}

Error Error::clone() const noexcept {
  if (!is_owned()) return std::move(Error(code(), errno_value(), address(), false).with_origin_of(*this));
  Error copy = made(code(), errno_value(), {}, message());
  if (copy.is_owned()) {
    const Text::Kept& from = owned().kept;
    Text::Kept& to = copy.owned().kept;
    to.statement = from.statement;
    std::copy(std::begin(from.places), std::end(from.places), to.places);
    to.place_count = from.place_count;
    if (from.stack != nullptr) to.stack.reset(new (std::nothrow) Stack(*from.stack));
    if (from.details != nullptr) {
      try {
        to.details.reset(from.details->clone());
      } catch (const std::bad_alloc&) {
        // If memory cannot be allocated, the copy is made without the details; for the same reason it may lack the
        // stack.
      }
    }
  }
  return std::move(copy.with_origin_of(*this));
}

Error&& Error::during(std::string_view statement, std::source_location place) && noexcept {
  if (Text* const own = own_text(); own != nullptr && own->kept.statement.empty()) {
    Text::Kept& kept = own->kept;
    kept.statement = statement;
    // The statement's place comes first, because places are ordered innermost first, and the statement is inside the
    // code that awaited it.
    kept.place_count = std::min(kept.place_count + 1, places_max);
    std::move_backward(kept.places, kept.places + kept.place_count - 1, kept.places + kept.place_count);
    kept.places[0] = place;
  }
  return std::move(*this);
}

Error&& Error::awaited_at(std::source_location place) && noexcept {
  if (place.line() == 0 || is_of_keel(place.file_name())) return std::move(*this);
  Text* const own = own_text();
  if (own == nullptr || own->kept.place_count == places_max) return std::move(*this);
  Text::Kept& kept = own->kept;
  // Consecutive places on the same line of the source count as one place.
  if (kept.place_count != 0) {
    const std::source_location& last = kept.places[kept.place_count - 1];
    if (last.line() == place.line() && std::string_view(last.file_name()) == place.file_name()) return std::move(*this);
  }
  kept.places[kept.place_count++] = place;
  return std::move(*this);
}

std::string_view Error::statement() const noexcept { return is_owned() ? owned().kept.statement : std::string_view(); }

std::source_location Error::place() const noexcept {
  return is_owned() && owned().kept.place_count != 0 ? owned().kept.places[0] : std::source_location();
}

std::string Error::describe_places() const {
  std::string text;
  for (int i = 0; is_owned() && i < owned().kept.place_count; ++i) {
    const std::source_location& place = owned().kept.places[i];
    if (i != 0) text += " < ";
    text += name_of(place.file_name());
    text += ':';
    text += std::to_string(place.line());
  }
  return text;
}

const Stack* Error::stack() const noexcept { return is_owned() ? owned().kept.stack.get() : nullptr; }

Error::Details::~Details() = default;

Error&& Error::with(const Details* details) && noexcept {
  std::unique_ptr<const Details> owned_details(details);
  if (Text* const own = own_text(); own != nullptr) own->kept.details = std::move(owned_details);
  return std::move(*this);
}

const Error::Details* Error::details() const noexcept { return is_owned() ? owned().kept.details.get() : nullptr; }

void Error::free_text(void* text) noexcept { Text::free(static_cast<Text*>(text)); }

}  // namespace keel
