// What the queries of the tests use of a program.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shop {

enum class OrderState { Open, Paid, Sent };

struct Row {
  std::int64_t id = 0;
  std::string user;
  std::int64_t cents = 0;
  std::optional<std::string> note;
};

struct Wanted {
  std::int32_t least = 0;
  std::optional<OrderState> state;
};

}  // namespace shop
