// new/names.h — what a service is called, and in which forms its files have its name.
//
// Errors:  InvalidArgument, with a name that would do where there is one.
// Threads: any.

#pragma once

#include <string>
#include <string_view>

#include "keel/base/result.h"

namespace keel::create {

class Names {
 public:
  static constexpr std::size_t bytes_max = 40;

  // `name` is one of C++, in small letters: the program, its CMake targets, folders and functions have it.
  static Result<Names> of(std::string_view name);

  const std::string& name() const noexcept { return snake_; }
  // A text of the template, or a path, with the names of this service in it.
  std::string apply(std::string_view text) const;

 private:
  std::string snake_;   // "tea_shop"
  std::string pascal_;  // "TeaShop"
};

}  // namespace keel::create
