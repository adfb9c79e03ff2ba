// keel/app/container.h — constructs a service's objects from their dependencies, and reports missing ones before it
// starts.
//
//   app::Container container;
//   container.value(settings);                            // exists already, is not owned
//   container.singleton<Clock, SystemClock>();            // an interface, and what is made for it
//   container.singleton<db::Database>(open_database);     // a factory: Result<std::unique_ptr<…>>(const Settings&)
//   container.singleton<Users>();                         // Users(db::Database&, const Clock&) says what it needs
//   container.scoped<Basket>();                           // one for each scope
//   KEEL_TRY(app::Services services, container.build());  // all singletons are made, what they need first
//   Users& users = services.get<Users>();
//   app.services(services);                               // GET /admin/graph; start() and stop() of services
//
// Objects are ordinary: they take references in their constructor and do not depend on the container. The dependencies
// ("needs") of an object are the parameters of its only constructor that takes only references to classes. If there are
// several, declare `using Needs = void(Clock&, const Settings&);` in the class to select one. A factory is a callable
// with such parameters that returns a T, a std::unique_ptr<T>, or a Result of either.
//
// A value of type Settings provides `Settings&` and `const Settings&`; a value of type const Settings provides only
// `const Settings&`. For two services of the same class, derive a class for each. To provide several implementations of
// one interface, make a service of them: container.singleton<std::vector<Check*>>([](Disk& a, Network& b) { return
// std::vector<Check*>{&a, &b}; }).
//
// Your own executor or logger is bound like any implementation: singleton<Executor, MyExecutor>(), or
// value<Executor>(mine); to make a log writer whose sink calls your class, add a factory that needs your class. A
// service that takes an Executor& gets exactly that object, without a wrapper: a call costs one virtual call. An event
// bus is a service that needs the registry of its metrics, value(app.metrics()).singleton<events::Bus>(); its handlers
// are member functions of services, and use the references that these services hold.
//
// Result:    build() returns the Services, or an Error (Code::FailedPrecondition) with a line for each mistake, in
//            which case no object was made: "main.cc:31: Users needs Database needs Pool: nobody provides Pool". When a
//            service cannot be constructed, build() returns the error of that service, preceded by the chain of needs,
//            and destroys the objects that it has already constructed.
// Errors:    a class that cannot be made from references to services does not compile.
// Ownership: Services own the objects that were made and destroy them in reverse order; transient services belong to
//            the one that they were made for. Values outlive the Services.
// Threads:   Container and build(): one thread. Services: any thread, also concurrently. A lazy service is made on the
//            thread that first requests it, under a lock that all lazy services share. A scope: one thread at a time.
// Cost:      get() is four loads and two compares, whatever the number of services; no lock, no allocation. A scope
//            takes memory only from the arena that it was given.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "keel/app/internal/binding.h"
#include "keel/app/internal/container_inl.h"
#include "keel/base/arena.h"
#include "keel/base/buffer.h"
#include "keel/base/result.h"

namespace keel::telemetry {
class AdminPages;
}

namespace keel::app {

class Lifecycle;
class Services;

class Container {
 public:
  using Where = std::source_location;

  Container() = default;
  Container(Container&&) = default;
  Container& operator=(Container&&) = default;

  // Provides `object` as T: value<Executor>(pool) provides `pool` by its interface. `object` must outlive the Services.
  template <class T>
  Container& value(T& object, Where where = Where::current()) {
    return add_value(internal::type_id<T>(), address_of(object), where);
  }

  // One object that all services share, made by build(): a T, provided as I.
  template <class I, class T = I>
  Container& singleton(Where where = Where::current()) {
    return add(internal::describe<I, T>(), internal::Lifetime::Singleton, where);
  }
  template <class I, class F>
  Container& singleton(F factory, Where where = Where::current()) {
    return add(internal::describe<I>(std::move(factory)), internal::Lifetime::Singleton, where);
  }
  // One object that all services share, made when it is first requested: by Services::resolve(), by a Lazy<I>, or
  // because another service needs it.
  template <class I, class T = I>
  Container& lazy(Where where = Where::current());
  template <class I, class F>
  Container& lazy(F factory, Where where = Where::current());
  // One object for each service that needs it, and for each Scope::resolve().
  template <class I, class T = I>
  Container& transient(Where where = Where::current()) {
    return add(internal::describe<I, T>(), internal::Lifetime::Transient, where);
  }
  template <class I, class F>
  Container& transient(F factory, Where where = Where::current()) {
    return add(internal::describe<I>(std::move(factory)), internal::Lifetime::Transient, where);
  }
  // One object for each scope that requests it. Singletons, and services that live as long as singletons, must not need
  // it.
  template <class I, class T = I>
  Container& scoped(Where where = Where::current()) {
    return add(internal::describe<I, T>(), internal::Lifetime::Scoped, where);
  }
  template <class I, class F>
  Container& scoped(F factory, Where where = Where::current()) {
    return add(internal::describe<I>(std::move(factory)), internal::Lifetime::Scoped, where);
  }
  // Announces that Scope::give() provides the T of each scope, such as its request.
  template <class T>
  Container& given(Where where = Where::current()) {
    return add_given(internal::type_id<T>(), where);
  }

  // For tests: replaces the earlier provider of I and keeps the lifetime that it was registered with. build() reports a
  // mistake if I had no provider.
  template <class I, class T>
  Container& replace(Where where = Where::current()) {
    return add_replacement(internal::describe<I, T>(), where);
  }
  template <class T>
  Container& replace(T& object, Where where = Where::current()) {
    return add_value_replacement(internal::type_id<T>(), address_of(object), where);
  }

  // Call it once.
  Result<Services> build();

 private:
  template <class T>
  static void* address_of(T& object) noexcept {
    return const_cast<std::remove_const_t<T>*>(std::addressof(object));
  }
  Container& add(internal::Binding binding, internal::Lifetime lifetime, Where where);
  Container& add_value(internal::TypeId& type, void* object, Where where);
  Container& add_given(internal::TypeId& type, Where where);
  Container& add_replacement(internal::Binding binding, Where where);
  Container& add_value_replacement(internal::TypeId& type, void* object, Where where);

  std::vector<internal::Binding> bindings_;
  std::vector<internal::Binding> replacements_;
};

// For each lazy service T the container also provides a Lazy<T>: with a Lazy<Reports>&, a service can have the Reports
// made later.
template <class T>
class Lazy {
 public:
  explicit Lazy(internal::Core& core) noexcept : core_(core) {}
  // Returns the T, and makes it first if it does not exist. Errors: those of its construction, with the chain of
  // dependencies; the next call tries again.
  Result<T*> get() const {
    return internal::resolve(core_, internal::type_id<T>(), nullptr).map([](void* at) { return static_cast<T*>(at); });
  }

 private:
  internal::Core& core_;
};

// The objects that a container has made, by their types.
class Services {
 public:
  class Scope;

  Services(Services&&) noexcept = default;
  Services& operator=(Services&&) noexcept = default;
  ~Services() = default;

  // Returns a value, a singleton, or a lazy service that was made. Anything else throws a Bug (base/bug.h).
  template <class T>
  T& get(std::source_location place = std::source_location::current()) const {
    const std::uint32_t index = internal::type_id<T>().index.load(std::memory_order_relaxed);
    if (index < count_) [[likely]] {
      if (void* const at = slots_[index].load(std::memory_order_acquire); at != nullptr) [[likely]] {
        return *static_cast<T*>(at);
      }
    }
    internal::refuse_get(internal::type_id<T>(), place);
  }
  // Returns the service like get(), but makes a lazy one if it does not exist yet. Errors: NotFound when T is not
  // provided, FailedPrecondition when it needs a scope; else the error of T itself, with its chain.
  template <class T>
  Result<T*> resolve() const {
    return internal::resolve(*core_, internal::type_id<T>(), nullptr).map([](void* at) { return static_cast<T*>(at); });
  }
  // A scope whose services live in `memory`. The Services and `memory` must outlive the scope.
  Scope scope(Arena& memory) const;

  // Adds a module, named like the service, for each singleton that has `Result<> start()` or `void start()`, or `void
  // stop()`; each module needs the modules of the services that its own service needs. The Services must outlive the
  // modules.
  void add_to(Lifecycle& lifecycle) const;

  // Appends, for each service, its needs, its lifetime and the time that its construction took: as a tree for people,
  // and as
  // {"took_ns":…,"services":[{"name":…,"implementation":…,"lifetime":…,"where":…,"needs":[…],"order":…,"took_ns":…},…]};
  // order and took_ns are those of the first instance, and null until there is one.
  void write_text(Buffer& out) const;
  void write_json(Buffer& out) const;
  // The page /admin/graph, in both formats.
  void add_pages(telemetry::AdminPages& pages) const;

 private:
  friend class Container;
  explicit Services(std::unique_ptr<internal::Core, internal::CoreDelete> core) noexcept;
  std::unique_ptr<internal::Core, internal::CoreDelete> core_;
  const std::atomic<void*>* slots_ = nullptr;
  std::uint32_t count_ = 0;
};

// The services of, for example, one request. Destroys the objects that it made in reverse order.
//
//   app::Services::Scope scope = services.scope(request.arena());
//   scope.give(request);
//   Basket* basket = co_await scope.resolve<Basket>();
class Services::Scope {
 public:
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // `object` is this scope's T, which was announced by Container::given<T>(). Call it once for each T; the object must
  // outlive the scope. Throws a Bug (base/bug.h) for a T that was not announced, and at a second call for the same T.
  template <class T>
  void give(T& object, std::source_location place = std::source_location::current()) {
    internal::give(state_, internal::type_id<T>(), const_cast<std::remove_const_t<T>*>(std::addressof(object)), place);
  }
  // The T of this scope, a new T if it is transient, or the result of Services::resolve(). Errors: those of
  // Services::resolve(); FailedPrecondition when T needs an object that the scope was not given.
  template <class T>
  Result<T*> resolve() {
    return internal::resolve(state_.core, internal::type_id<T>(), &state_).map([](void* at) {
      return static_cast<T*>(at);
    });
  }

 private:
  friend class Services;
  explicit Scope(internal::Core& core, Arena& memory) noexcept;
  internal::ScopeState state_;
};

template <class I, class T>
Container& Container::lazy(Where where) {
  add(internal::describe<I, T>(), internal::Lifetime::Lazy, where);
  return singleton<Lazy<I>>(where);
}
template <class I, class F>
Container& Container::lazy(F factory, Where where) {
  add(internal::describe<I>(std::move(factory)), internal::Lifetime::Lazy, where);
  return singleton<Lazy<I>>(where);
}

}  // namespace keel::app
