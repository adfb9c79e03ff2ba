// new/names.h — the name of a service, in the forms that its files contain.
//
// Errors:  InvalidArgument; the message suggests a valid name, if there is a similar one.
// Threads: any.

#pragma once

#include <string>
#include <string_view>

#include "keel/base/result.h"

namespace keel::create {

class Names {
 public:
  static constexpr std::size_t bytes_max = 40;

  // `name` is a C++ name in lower case: it is used for the program, its CMake targets, folders and functions.
  static Result<Names> of(std::string_view name);

  const std::string& name() const noexcept { return snake_; }
  // Returns a text or a path of the template with the names of this service in place of the template's names.
  std::string apply(std::string_view text) const;

 private:
  std::string snake_;   // "tea_shop"
  std::string pascal_;  // "TeaShop"
};

}  // namespace keel::create
