// keel/task/on_error.h — replaces an error of a database, a file or another server by an error of the application.
//
//   co_await on_error(Code::AlreadyExists, fail(Code::Conflict, "that e-mail is taken"),
//                     db.execute("insert into users (email) values ($1)", email));
//   File picture = co_await on_error(Code::NotFound, fail(Code::NotFound, "there is no such picture"),
//                                    File::open(path, File::Mode::Read));
//   KEEL_TRY(const Address peer, on_error(Code::InvalidArgument, fail(Code::Internal, "peer"), Address::parse(text)));
//
// Errors from the environment (base/error.h) end a request with 500 or above and are logged as errors. Use on_error()
// to reword an error that a client may cause and should see, at the place where its meaning is known. To handle two
// codes, nest two calls; the code of the inner call is checked first.
//
// Result:   the result of the awaited task or operation; if that result is an error with `code`, the error `instead`
//           replaces it. An error with a code other than `code` is passed on.
// Lifetime: awaited in the expression that makes it.
// Cancel:   as for the awaited task or operation.
// Cost:     a frame from the thread's pool; nothing for a Result.

#pragma once

#include <expected>
#include <type_traits>
#include <utility>

#include "keel/base/result.h"
#include "keel/task/task.h"

namespace keel {

template <class T>
Result<T> on_error(Code code, std::unexpected<Error> instead, Result<T> result) {
  if (!result && result.error().code() == code) return instead;
  return result;
}
template <class T>
Task<T> on_error(Code code, std::unexpected<Error> instead, Task<T>&& task) {
  Result<T> result = co_await attempt(std::move(task));
  if constexpr (std::is_void_v<T>) {
    co_await on_error(code, std::move(instead), std::move(result));
  } else {
    co_return on_error(code, std::move(instead), std::move(result));
  }
}
template <Operation L>
Task<typename std::remove_reference_t<L>::Value> on_error(Code code, std::unexpected<Error> instead, L&& leaf) {
  using T = typename std::remove_reference_t<L>::Value;
  Result<T> result = co_await attempt(leaf);
  if constexpr (std::is_void_v<T>) {
    co_await on_error(code, std::move(instead), std::move(result));
  } else {
    co_return on_error(code, std::move(instead), std::move(result));
  }
}

}  // namespace keel
