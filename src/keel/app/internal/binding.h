// The untyped internals of the container: which service provides a type, what that service needs, and how it is made.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "keel/app/internal/needs.h"
#include "keel/base/arena.h"
#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/base/type_name.h"

namespace keel::app::internal {

// The whole program has one TypeId for each requested type; `const T` counts as a separate type. The index is the
// type's place in the tables of all containers. The index is assigned when the type is first registered, and is 0 until
// then.
struct TypeId {
  std::atomic<std::uint32_t> index;
  std::string_view name;  // Without const.
  TypeId* plain;          // The TypeId of T, whether this type is T or const T.
  TypeId* constant;       // The TypeId of const T, whether this type is T or const T.
};
template <class T>
struct TypeIds {
  static TypeId plain;
  static TypeId constant;
};
template <class T>
constinit TypeId TypeIds<T>::plain = {0, type_name<T>(), &plain, &constant};
template <class T>
constinit TypeId TypeIds<T>::constant = {0, type_name<T>(), &plain, &constant};
template <class T>
TypeId& type_id() noexcept {
  if constexpr (std::is_const_v<T>) {
    return TypeIds<std::remove_const_t<T>>::constant;
  } else {
    return TypeIds<T>::plain;
  }
}

enum class Lifetime : std::uint8_t { Value, Singleton, Lazy, Transient, Scoped, Given };

// The start() and the stop() of a service; a pointer is null if the service has no such function. start() and stop()
// are called with the memory in which the service was made.
struct Phases {
  Result<> (*start)(void* at) = nullptr;
  void (*stop)(void* at) = nullptr;
};

struct Binding {
  TypeId* provides = nullptr;
  TypeId* implementation = nullptr;
  Lifetime lifetime = Lifetime::Singleton;
  std::source_location where;
  std::vector<TypeId*> needs;
  std::size_t bytes = 0;
  std::size_t alignment = 1;
  // Makes the object at `at`, and returns its address as a pointer to the type that the binding provides. The elements
  // of the parameter `needs` have the same order as the member `needs` above.
  Function<Result<void*>(void* at, void* const* needs)> make;
  void (*destroy)(void* at) noexcept = nullptr;
  Phases phases;
  void* value = nullptr;  // Value: the object.
};

struct Made;  // An instance that a container or a scope owns.

// The result of build(): the bindings, and the objects made by them.
struct Core;
struct CoreDelete {
  void operator()(Core* core) const noexcept;
};

struct ScopeState {
  Core& core;
  Arena& memory;
  void** table = nullptr;  // Indexed by Binding::place.
  Made* last = nullptr;
};

// Returns the object of `type`; makes it if necessary. `scope`: null if the call is not made in a scope.
Result<void*> resolve(Core& core, TypeId& type, ScopeState* scope);
void give(ScopeState& scope, TypeId& type, void* object, std::source_location place);
[[noreturn]] void refuse_get(const TypeId& type, std::source_location place);

}  // namespace keel::app::internal
