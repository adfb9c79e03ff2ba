// The operations that a topic needs on events of one type.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>

#include "keel/base/type_name.h"

namespace keel::events::internal {

inline constexpr std::uint32_t event_types_max = 1024;  // The maximum number of event types in a program.

struct EventType {
  // The index of the type, the same in every Bus; 0 until a topic of the type is first requested.
  std::atomic<std::uint32_t> index;
  std::string_view name;
  std::size_t bytes, alignment;
  void (*copy)(void* to, const void* from);  // Null: the type cannot be copied.
  void (*destroy)(void* event) noexcept;
};

template <class E>
constexpr auto copier() -> void (*)(void*, const void*) {
  if constexpr (std::is_copy_constructible_v<E>) {
    return [](void* to, const void* from) { ::new (to) E(*static_cast<const E*>(from)); };
  } else {
    return nullptr;
  }
}

// In the whole program there is one object for each type that is published or subscribed to.
template <class E>
struct EventTypes {
  static EventType type;
};
template <class E>
constinit EventType EventTypes<E>::type = {
    0,          type_name<E>(), sizeof(E),
    alignof(E), copier<E>(),    [](void* event) noexcept { std::destroy_at(static_cast<E*>(event)); }};

template <class E>
EventType& event_type() noexcept {
  static_assert(std::is_object_v<E> && std::is_same_v<E, std::remove_cvref_t<E>>,
                "an event must be a value: write its type without const and &");
  return EventTypes<E>::type;
}

}  // namespace keel::events::internal
