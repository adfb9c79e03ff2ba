// keel/base/error.h — an error: a code with a message, in one machine word.
//
// An Error is a code, an optional errno and a message. The code is chosen by what the caller should do next; each code
// has a default HTTP status (the status of the RFC 9457 problem that http makes of it) and a log level.
//
//   return fail(Code::NotFound, "no such user");                  // a function or coroutine fails with a literal
//   return Error::text(Code::NotFound, "no user " + name);        // … with a message made now
//   return Error::from_errno("open", errno);                      // … because a system call did
//   return Error::from_exception();                               // … because of what is caught
//   return std::move(result).error().because("reading config");   // … with the error of another, and context
//   log.warn("disk", Error(Code::DataLoss, "a page is torn"));    // an Error that is kept or logged, not returned
//
// Use only these forms. A Result can also be made from an Error directly; a Task<> fails by awaiting the Error with
// co_await.
//
// Origin:    an Error belongs to the application, and a client may see it, unless its origin is one of the following.
//            An error of files, databases, other servers or the system has is_from_environment(); an error that a
//            mistake of the program caused has is_bug() (base/bug.h). A server responds to these two with a status of
//            500 or above, without their message. The origin stays with an Error when its code or message changes;
//            on_error() (task/on_error.h) replaces it by an error of the application.
// Places:    an Error of the two other origins remembers where it was awaited, innermost first, without places in
//            Keel's own sources; an error of a database remembers the statement as well.
//
// Ownership: a literal message is kept by pointer and costs nothing. Any other message (text, because) is one block of
//            the heap, however deep its context. The block has context_room bytes for later context, so that five
//            levels of 23 characters need one allocation; when they do not fit, everything moves into a block that is
//            half as large again. Move-only; clone() copies.
// Threads:   a value; may be moved between threads.
// Cost:      8 bytes; making one from a literal does not allocate.

#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace keel {

class Bug;
struct Stack;

// What a caller can do about an error; each code has an HTTP status and a log level.
enum class Code : std::uint8_t {
  InvalidArgument,     // The caller's input is invalid: correct it, do not retry. 400
  OutOfRange,          // Past the end or above a bound: correct it.                       400
  Unauthenticated,     // The caller is not authenticated. 401
  PermissionDenied,    // The caller is authenticated, but not allowed. 403
  NotFound,            // The object does not exist. 404
  AlreadyExists,       // The object already exists. 409
  Conflict,            // State has changed or forbids it: read again, then decide.        409
  FailedPrecondition,  // The system is not in the state that the operation requires. 412
  ResourceExhausted,   // A limit was reached: back off and retry. 503
  DeadlineExceeded,    // The deadline has passed. 504
  Cancelled,           // The operation was asked to stop, or the peer disconnected. 499
  Unavailable,         // Temporarily not possible: retry with back-off. 503
  Protocol,            // The peer violated the protocol. 400
  Upstream,            // A server that this one called has failed. 502
  Unsupported,         // This build, the system or the peer does not offer it.            501
  DataLoss,            // Stored data is damaged.                                          500
  Internal,            // A bug or a foreign exception.                                    500
};
// The number of codes.
inline constexpr int code_count = 17;

// The severity of a log line.
enum class Level : std::uint8_t { Trace, Debug, Info, Warn, Error, Fatal };

// The name of the code: "NotFound", "Internal", …
std::string_view to_string(Code code) noexcept;
// The HTTP status that this code becomes by default.
int http_status(Code code) noexcept;
// The level at which the code that handles the error should log it.
Level log_level(Code code) noexcept;

class [[nodiscard]] Error {
 public:
  // The number of bytes of context for which a message's block has room; each line counts with its ": ".
  static constexpr std::size_t context_room = 128;

  // `literal` is kept by pointer: a string literal, or something that lives as long as the process.
  Error(Code code, const char* literal) noexcept : Error(code, 0, literal, false) {}
  Error(Error&& other) noexcept : word_(std::exchange(other.word_, 0)) {}
  Error& operator=(Error&& other) noexcept {
    if (this != &other) {
      release();
      word_ = std::exchange(other.word_, 0);
    }
    return *this;
  }
  ~Error() { release(); }

  // An Error with its own message (copied: one allocation).
  // Without memory the message is lost and the code is kept.
  static Error text(Code code, std::string_view message) noexcept;
  // Call it in a catch block. std::bad_alloc becomes ResourceExhausted, every other exception Internal with its what().
  // A std::system_error keeps its errno, and its what() without the errno's text. std::bad_alloc and
  // std::system_error are from the environment; every other exception is a bug. A Bug's sentence is the message, and
  // its place and stack are kept.
  static Error from_exception() noexcept;
  // Internal, with the sentence, place and stack of a Bug that cannot be thrown where it is detected.
  static Error from_bug(const Bug& bug) noexcept;
  // The code that fits `number` (ENOENT is NotFound, EAGAIN Unavailable, …), with `number` kept; from the environment.
  // `what` is a literal, usually the system call. Does not allocate.
  static Error from_errno(const char* what, int number) noexcept;

  Code code() const noexcept { return static_cast<Code>(word_ & 0x1f); }
  // The errno kept by from_errno, else 0.
  int errno_value() const noexcept { return static_cast<int>((word_ >> 8) & 0xff); }
  // The message, with the newest context first and the cause last, but without the errno's text. The view is valid
  // while this Error lives and is not changed.
  std::string_view message() const noexcept;
  // The whole error as text for people: "loading user: open: No such file or directory".
  std::string describe() const;

  // Adds a line of context in front: because("reading config") gives "reading config: …". Code and errno are kept.
  // Without memory the error is unchanged.
  Error&& because(std::string_view context) && noexcept;
  // Replaces the code, for an error that means something else to the caller. Its origin is kept.
  Error&& as(Code code) && noexcept;
  Error clone() const noexcept;

  // Whether the error was caused by a file, a database, another server or the system.
  bool is_from_environment() const noexcept { return (word_ & environment_bit) != 0; }
  Error&& from_environment() && noexcept {
    word_ |= environment_bit;
    return std::move(*this);
  }
  // Whether it is a programming mistake: a Bug, or an uncaught exception.
  bool is_bug() const noexcept { return (word_ & bug_bit) != 0; }

  // Records the operation in progress, such as the text of a statement, and the place that called it. The text must
  // live as long as the process. Allocates once, unless the message is already in a block of its own.
  Error&& during(std::string_view statement, std::source_location place) && noexcept;
  // Adds `place` after the known places: at most places_max, and none in Keel's own sources.
  Error&& awaited_at(std::source_location place) && noexcept;
  static constexpr int places_max = 4;
  // The argument of during(), or empty.
  std::string_view statement() const noexcept;
  // The place of a Bug, of the statement, or else of the innermost await; line() is 0 if unknown.
  std::source_location place() const noexcept;
  // Returns all places, innermost first, as in "orders.cc:42 < shop.cc:17". Empty when none is known.
  std::string describe_places() const;
  // The stack where a Bug was thrown; null for other errors.
  const Stack* stack() const noexcept;

  // Data that an Error carries in addition to its message, for the code that handles it: for example each violation of
  // a request (http/server/rejection.h). It stays with the Error, even if its code and message change.
  class Details {
   public:
    virtual ~Details();
    // A copy, owned by the caller.
    virtual const Details* clone() const = 0;
  };
  // `details` becomes the Error's; without memory it is deleted. Allocates once, unless the message is already in a
  // block of its own.
  Error&& with(const Details* details) && noexcept;
  // The argument of with(), or null.
  const Details* details() const noexcept;

 private:
  struct Text;
  static constexpr std::uint64_t environment_bit = 0x20;
  static constexpr std::uint64_t bug_bit = 0x40;
  static constexpr std::uint64_t owned_bit = 0x80;
  static Error made(Code code, int number, std::string_view context, std::string_view text) noexcept;
  Error& with_origin_of(const Error& other) noexcept;
  Text* own_text() noexcept;
  // Bits 0-4 code, 5-6 the origin, 7 owned, 8-15 errno, 16-63 the address of the literal or of the owned Text (user
  // addresses have 48 bits).
  Error(Code code, int number, const void* text, bool owned) noexcept
      : word_(reinterpret_cast<std::uintptr_t>(text) << 16 | static_cast<std::uint64_t>(number & 0xff) << 8 |
              (owned ? owned_bit : 0) | static_cast<std::uint64_t>(code)) {}
  bool is_owned() const noexcept { return (word_ & owned_bit) != 0; }
  void* address() const noexcept { return reinterpret_cast<void*>(word_ >> 16); }
  Text& owned() const noexcept;
  void release() noexcept {
    if (is_owned()) [[unlikely]]
      free_text(address());
  }
  // Not a member function, so that the address of an Error does not escape and the compiler can keep the Error in
  // registers.
  static void free_text(void* text) noexcept;

  std::uint64_t word_;
};

// A function that returns a Result, or a coroutine, fails by returning this; the message is a literal.
inline std::unexpected<Error> fail(Code code, const char* literal) noexcept {
  return std::unexpected<Error>(Error(code, literal));
}
// Exists only for the compiler's message.
template <class T>
  requires(!std::is_convertible_v<const T&, const char*> && std::is_convertible_v<const T&, std::string_view>)
std::unexpected<Error> fail(Code code, const T& message) noexcept {
  static_assert(std::is_convertible_v<const T&, const char*>,
                "a message that is made at run time must be copied: use Error::text(code, message) instead of fail()");
  return std::unexpected<Error>(Error::text(code, message));
}

}  // namespace keel
