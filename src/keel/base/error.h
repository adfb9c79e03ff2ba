// keel/base/error.h — an error: a code with a message, in one machine word.
//
// An Error is a code, an optional errno and a message. The code is chosen by what the caller should do next; each code
// has a log level, and a default HTTP status. An HTTP server turns an Error into an RFC 9457 problem, by default with
// this status.
//
//   return fail(Code::NotFound, "no such user");                  // a function or coroutine fails with a literal
//   return Error::text(Code::NotFound, "no user " + name);        // … with a message made now
//   return Error::from_errno("open", errno);                      // … because a system call did
//   return Error::from_exception();                               // … because of what is caught
//   return std::move(result).error().because("reading config");   // … with the error of another, and context
//   log.warn("disk", Error(Code::DataLoss, "a page is torn"));    // an Error that is kept or logged, not returned
//
// Make an Error only in the forms shown above. A Result can also be made from an Error directly; a Task<> fails by
// awaiting the Error with co_await.
//
// Origin:    an Error belongs to the application, and a client may see it, unless its origin is one of the following
//            two. is_from_environment() is true for an error of files, databases, other servers or the system. is_bug()
//            is true for an error that a mistake of the program caused (base/bug.h). A server responds to an Error from
//            the environment or of a bug with a status of 500 or above, and does not send the Error's message. The
//            origin stays with an Error when its code or message changes; on_error() (task/on_error.h) replaces the
//            whole Error by an error of the application.
// Places:    an Error from the environment or of a bug remembers the places where it was awaited, innermost first,
//            without places in Keel's own sources. An error of a database also contains the statement.
//
// Ownership: a literal message is kept by pointer and costs nothing. Any other message (of text() or because()) is in
//            one block of the heap, however many levels of context are added to it. The block has context_room bytes
//            for later context, so that five levels of 23 characters need one allocation; when later context does not
//            fit, everything moves into a block of 1.5 times the size. Move-only; clone() copies.
// Threads:   a value; may be moved between threads.
// Cost:      8 bytes; making an Error from a literal does not allocate.

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
  InvalidArgument,     // The caller's input is invalid: correct it, do not retry.    400
  OutOfRange,          // A value is past a range or above a bound: correct it.       400
  Unauthenticated,     // The caller is not authenticated.                            401
  PermissionDenied,    // The caller is authenticated, but not allowed.               403
  NotFound,            // The object does not exist.                                  404
  AlreadyExists,       // The object already exists.                                  409
  Conflict,            // The state has changed or conflicts: read it, then decide.   409
  FailedPrecondition,  // The system is not in the state that the operation requires. 412
  ResourceExhausted,   // A limit was reached: back off and retry.                    503
  DeadlineExceeded,    // The deadline has passed.                                    504
  Cancelled,           // The operation was asked to stop, or the peer disconnected.  499
  Unavailable,         // The operation cannot succeed now: retry with back-off.      503
  Protocol,            // The peer violated the protocol.                             400
  Upstream,            // Another server, which this server called, has failed.       502
  Unsupported,         // This build, the system or the peer lacks the feature.       501
  DataLoss,            // Stored data is damaged.                                     500
  Internal,            // A bug or a foreign exception.                               500
};
// The number of codes.
inline constexpr int code_count = 17;

// The severity of a log line.
enum class Level : std::uint8_t { Trace, Debug, Info, Warn, Error, Fatal };

// The name of the code: "NotFound", "Internal", …
std::string_view to_string(Code code) noexcept;
// The default HTTP status for this code.
int http_status(Code code) noexcept;
// The level at which to log an error with this code.
Level log_level(Code code) noexcept;

class [[nodiscard]] Error {
 public:
  // The number of bytes of context for which a message's block has room, including the colon and the blank after each
  // level of context.
  static constexpr std::size_t context_room = 128;

  // `literal` is kept by pointer: it must be a string literal, or live as long as the process.
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

  // An Error with its own copy of `message`, which takes one allocation. If memory runs out, the message is lost and
  // the code is kept.
  static Error text(Code code, std::string_view message) noexcept;
  // Call from_exception() in a catch block. std::bad_alloc becomes ResourceExhausted, every other exception becomes
  // Internal with its what(). For a std::system_error, the Error keeps the errno, and the message of the Error is the
  // text of what() without the errno's text. std::bad_alloc and std::system_error are from the environment; every other
  // exception is a bug. For a Bug, the Error's message is the Bug's sentence, and the Bug's place and stack are kept.
  static Error from_exception() noexcept;
  // An Error with Code::Internal and the sentence, place and stack of a Bug that cannot be thrown where it is detected.
  static Error from_bug(const Bug& bug) noexcept;
  // An Error with the code that fits `number` (NotFound for ENOENT, Unavailable for EAGAIN, …). The Error keeps
  // `number`, and its origin is the environment. `what` is a literal, usually the system call. Does not allocate.
  static Error from_errno(const char* what, int number) noexcept;

  Code code() const noexcept { return static_cast<Code>(word_ & 0x1f); }
  // The errno that from_errno() kept, or 0.
  int errno_value() const noexcept { return static_cast<int>((word_ >> 8) & 0xff); }
  // The message, with the newest context first and the cause last, but without the errno's text. The view is valid
  // while this Error lives and is not changed.
  std::string_view message() const noexcept;
  // The whole error as text for people: the message, then the text of the errno if there is an errno.
  std::string describe() const;

  // Adds context in front of the message: because("reading config") gives "reading config: …". Code and errno are kept.
  // If memory runs out, the error is unchanged.
  Error&& because(std::string_view context) && noexcept;
  // Replaces the code, for an error that means something else to the caller. The origin is kept.
  Error&& as(Code code) && noexcept;
  Error clone() const noexcept;

  // True if a file, a database, another server or the system caused the error.
  bool is_from_environment() const noexcept { return (word_ & environment_bit) != 0; }
  Error&& from_environment() && noexcept {
    word_ |= environment_bit;
    return std::move(*this);
  }
  // True if a programming mistake caused the error: a Bug or an uncaught exception.
  bool is_bug() const noexcept { return (word_ & bug_bit) != 0; }

  // Records the operation that failed, such as the text of a statement, and the place that called the operation. The
  // text must live as long as the process. Allocates once, unless the message already has its own block.
  Error&& during(std::string_view statement, std::source_location place) && noexcept;
  // Adds `place` after the known places, unless there are already places_max of them or `place` is in Keel's own
  // sources.
  Error&& awaited_at(std::source_location place) && noexcept;
  static constexpr int places_max = 4;
  // The argument of during(), or empty.
  std::string_view statement() const noexcept;
  // The place of the Bug or of the statement if there is one, otherwise that of the innermost await; line() is 0 if
  // unknown.
  std::source_location place() const noexcept;
  // Returns all places, innermost first, as in "orders.cc:42 < shop.cc:17". Empty when no place is known.
  std::string describe_places() const;
  // The stack where a Bug was thrown; null for other errors.
  const Stack* stack() const noexcept;

  // Data that an Error carries in addition to its message, for the code that handles it: for example each violation of
  // a request (http/server/rejection.h). The data stays with the Error, even if the code and the message of the Error
  // change.
  class Details {
   public:
    virtual ~Details();
    // A copy, owned by the caller.
    virtual const Details* clone() const = 0;
  };
  // The Error takes ownership of `details`; if memory runs out, `details` is deleted. Allocates once, unless the
  // message already has its own block.
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
  // Bits 0-4: the code; 5-6: the origin; 7: whether the Error owns a Text; 8-15: the errno; 16-63: the address of the
  // literal or of the owned Text (user addresses have 48 bits).
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

// A function or a coroutine fails by returning the result of fail(), whose message is a literal.
inline std::unexpected<Error> fail(Code code, const char* literal) noexcept {
  return std::unexpected<Error>(Error(code, literal));
}
// This overload exists only for the message of its static_assert.
template <class T>
  requires(!std::is_convertible_v<const T&, const char*> && std::is_convertible_v<const T&, std::string_view>)
std::unexpected<Error> fail(Code code, const T& message) noexcept {
  static_assert(std::is_convertible_v<const T&, const char*>,
                "a message that is made at run time must be copied: use Error::text(code, message) instead of fail()");
  return std::unexpected<Error>(Error::text(code, message));
}

}  // namespace keel
