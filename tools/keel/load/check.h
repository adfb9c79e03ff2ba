// The conditions that a response must satisfy.
//
// Cost: one comparison if there is no condition for the body. With a condition for the body, the cost is one pass over
//       the body, without a copy if the body arrived in one piece. JSON is read only as far as the expected member.

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
    std::string path;  // "user.name", "items.0.id"
    // The expected value: the content of a string, or the JSON text of any other value. "Ada", "42", "true".
    std::string value;
  };
  std::optional<int> status = {};  // If absent, all 2xx and 3xx statuses are accepted.
  std::optional<std::string> body = {};
  std::vector<std::string> contains = {};
  std::optional<std::uint64_t> length = {};
  std::vector<Member> json = {};

  bool has_status(int received) const noexcept {
    return status ? received == *status : received >= 200 && received < 400;
  }
  bool needs_body() const noexcept { return body || !contains.empty() || length || !json.empty(); }
  // `arena` is rewound.
  bool has_body(std::string_view received, Arena& arena) const;
};

// Reads "user.name=Ada"; InvalidArgument if the text has no '=', or nothing before the '='.
Result<Check::Member> parse_member(std::string_view text);

}  // namespace keel::load
