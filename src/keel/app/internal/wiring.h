// What the compiler can say of a list of services: circles, what is nowhere in it, and singletons that need scoped
// ones.

#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "keel/app/internal/binding.h"
#include "keel/app/internal/container_inl.h"
#include "keel/app/internal/needs.h"

namespace keel::app::internal {

template <std::size_t count>
struct Chain {
  std::size_t size = 0;
  std::size_t at[count + 1] = {};

  constexpr void push(std::size_t service) { at[size++] = service; }
  constexpr void pop() { --size; }
};

// The needs of each service as places in the list; those that nobody in it provides are left out.
template <std::size_t count>
struct Wires {
  std::size_t size[count] = {};
  std::size_t to[count][needs_max] = {};
  Lifetime lifetime[count] = {};

  consteval Chain<count> circle() const {
    bool seen[count] = {};
    for (std::size_t service = 0; service < count; ++service) {
      Chain<count> path;
      if (!seen[service] && circle_from(service, path, seen)) return path;
    }
    return {};
  }

  // A service that lives on and, behind it, transient ones up to a scoped one.
  consteval Chain<count> too_short() const {
    for (std::size_t service = 0; service < count; ++service) {
      if (lifetime[service] != Lifetime::Singleton && lifetime[service] != Lifetime::Lazy) continue;
      Chain<count> path;
      if (scoped_behind(service, path)) return path;
    }
    return {};
  }

 private:
  // True: `path` ends where it began.
  consteval bool circle_from(std::size_t service, Chain<count>& path, bool* seen) const {
    for (std::size_t i = 0; i < path.size; ++i) {
      if (path.at[i] != service) continue;
      Chain<count> circle;
      for (; i < path.size; ++i) circle.push(path.at[i]);
      circle.push(service);
      path = circle;
      return true;
    }
    if (seen[service]) return false;
    seen[service] = true;
    path.push(service);
    for (std::size_t i = 0; i < size[service]; ++i) {
      if (circle_from(to[service][i], path, seen)) return true;
    }
    path.pop();
    return false;
  }
  consteval bool scoped_behind(std::size_t service, Chain<count>& path) const {
    path.push(service);
    for (std::size_t i = 0; i < size[service]; ++i) {
      const std::size_t need = to[service][i];
      if (lifetime[need] == Lifetime::Scoped || lifetime[need] == Lifetime::Given) {
        path.push(need);
        return true;
      }
      if (lifetime[need] == Lifetime::Transient && scoped_behind(need, path)) return true;
    }
    path.pop();
    return false;
  }
};

template <std::size_t at, class First, class... Rest>
struct Nth : Nth<at - 1, Rest...> {};
template <class First, class... Rest>
struct Nth<0, First, Rest...> {
  using type = First;
};

template <class Need, class... Entry>
consteval std::size_t provider() {
  std::size_t at = 0;
  std::size_t found = sizeof...(Entry);
  const auto look = [&](bool fits) {
    if (fits && found == sizeof...(Entry)) found = at;
    ++at;
  };
  (look(std::is_same_v<Need, typename Entry::Interface> || std::is_same_v<Need, const typename Entry::Interface>), ...);
  return found;
}

template <class... Entry>
consteval auto wires() {
  constexpr std::size_t count = sizeof...(Entry);
  Wires<count> wires;
  std::size_t at = 0;
  const auto add = [&]<class E, class... N>(std::type_identity<E>, Types<N...>) {
    wires.lifetime[at] = E::lifetime;
    [[maybe_unused]] const auto need = [&](std::size_t to) {
      if (to != count) wires.to[at][wires.size[at]++] = to;
    };
    (need(provider<N, Entry...>()), ...);
    ++at;
  };
  (add(std::type_identity<Entry>{}, typename Entry::Needs{}), ...);
  return wires;
}

template <template <class...> class Refusal, auto chain, class... Entry>
consteval void refuse_chain() {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    [[maybe_unused]] Refusal<typename Nth<chain.at[I], Entry...>::type::Implementation...> refusal;
  }(std::make_index_sequence<chain.size>{});
}

template <class Service, class Need, class... Entry>
consteval void check_provided() {
  if constexpr (provider<Need, Entry...>() == sizeof...(Entry)) {
    [[maybe_unused]] what_the_service_needs_is_nowhere_in_the_list<Service, Need> refusal;
  }
}
template <class Service, class... Entry, class... N>
consteval void check_all_provided(Types<N...>) {
  (check_provided<Service, N, Entry...>(), ...);
}

template <class... Entry>
consteval void check_wiring() {
  (check_all_provided<typename Entry::Implementation, Entry...>(typename Entry::Needs{}), ...);
  constexpr auto circle = wires<Entry...>().circle();
  if constexpr (circle.size != 0) {
    refuse_chain<services_need_each_other_in_a_circle, circle, Entry...>();
  } else {
    constexpr auto too_short = wires<Entry...>().too_short();
    if constexpr (too_short.size != 0) {
      refuse_chain<a_service_would_outlive_the_scope_of_what_it_needs, too_short, Entry...>();
    }
  }
}

}  // namespace keel::app::internal
