// The conditions that a response must fulfil.
//
// Cost: without anything about the body, a comparison; with, the body is checked in one pass, where it lies when it
//       came in one piece. JSON is read by cursor, as far as the member.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/arena.h"
#include "keel/base/result.h"

namespace keel::load {

struct Check {
  struct Member {
    std::string path;   // "user.name", "items.0.id"
    std::string value;  // The text of a string, or anything else as it is written: "Ada", "42", "true".
  };
  std::optional<int> status = {};  // None: 2xx and 3xx are accepted.
  std::optional<std::string> body = {};
  std::vector<std::string> contains = {};
  std::optional<std::uint64_t> length = {};
  std::vector<Member> json = {};

  bool has_status(int answered) const noexcept {
    return status ? answered == *status : answered >= 200 && answered < 400;
  }
  bool needs_body() const noexcept { return body || !contains.empty() || length || !json.empty(); }
  // `arena` is rewound.
  bool has_body(std::string_view answered, Arena& arena) const;
};

// "user.name=Ada". InvalidArgument: there is no '=', or nothing before it.
Result<Check::Member> parse_member(std::string_view text);

}  // namespace keel::load
