// What docs/queries.md has of a program.

#pragma once

namespace shop {

enum class AccountState { Open, Closed };

}  // namespace shop
