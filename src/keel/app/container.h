// keel/app/container.h — constructs the objects of a service from their dependencies, and reports missing dependencies
// before it constructs any object.
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
// Objects are of ordinary classes: their constructors take references, and the classes do not depend on the container.
// An object is made by the constructor that takes only references to classes; the parameters of this constructor are
// the dependencies ("needs") of the object. If a class has several such constructors, select one by a declaration in
// the class: `using Needs = void(Clock&, const Settings&);`. A factory is a callable that takes only references to
// classes, and returns a T, a std::unique_ptr<T>, or a Result of either.
//
// A value of type Settings provides `Settings&` and `const Settings&`; a value of type const Settings provides only
// `const Settings&`. To provide two services of the same class, derive a class for each of them. To provide several
// implementations of one interface, make one service that contains all of them:
// container.singleton<std::vector<Check*>>([](Disk& a, Network& b) { return std::vector<Check*>{&a, &b}; }).
//
// Bind your own executor or logger like any other implementation: singleton<Executor, MyExecutor>(), or
// value<Executor>(mine). For a log writer whose sink calls your class, add a factory that needs your class. A service
// that takes an Executor& gets the provided object itself, without a wrapper: a call costs one virtual call. An event
// bus is a service that needs the registry of its metrics: value(app.metrics()).singleton<events::Bus>() provides both.
// The handlers of a bus's events are member functions of services, and use the references that these services hold.
//
// Result:    build() returns the Services, or an Error (Code::FailedPrecondition) with a line for each mistake, in
//            which case no object was made: "main.cc:31: Users needs Database needs Pool: nobody provides Pool". When a
//            service cannot be constructed, build() returns the error of that service, preceded by the chain of needs,
//            and destroys the objects that it has already constructed.
// Errors:    a class that cannot be made from references to services does not compile.
// Ownership: the Services own the objects that were made and destroy them in reverse order; a transient object belongs
//            to the object that it was made for. Values must outlive the Services.
// Threads:   use the Container, and call build(), on one thread. The Services may be used on any thread, and on several
//            threads at the same time. A lazy service is made on the thread that first requests the service, under a
//            lock that all lazy services share. A scope is used by one thread at a time.
// Cost:      get() is four loads and two comparisons, whatever the number of services; it takes no lock and allocates
//            nothing. A scope takes memory only from the arena that its caller passed.

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

  // Provides `object` as T: value<Executor>(pool) provides `pool` by its interface, Executor. `object` must outlive the
  // Services.
  template <class T>
  Container& value(T& object, Where where = Where::current()) {
    return add_value(internal::type_id<T>(), address_of(object), where);
  }

  // One object that all services share, made by build(): an object of class T, provided as I.
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
  // a scoped object.
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

  // For tests: replaces the earlier provider of I; the replacement has the lifetime with which the earlier provider was
  // registered. build() reports a mistake if I had no provider.
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

// For each lazy service T the container also provides a Lazy<T>: if a service takes a Lazy<Reports>&, the Reports
// object is made only when the service first uses it.
template <class T>
class Lazy {
 public:
  explicit Lazy(internal::Core& core) noexcept : core_(core) {}
  // Returns the T; makes it first if it does not exist. Errors: those of the construction of T, with the chain of
  // dependencies; after an error, the next call tries again.
  Result<T*> get() const {
    return internal::resolve(core_, internal::type_id<T>(), nullptr).map([](void* at) { return static_cast<T*>(at); });
  }

 private:
  internal::Core& core_;
};

// The objects that a container has made, found by their types.
class Services {
 public:
  class Scope;

  Services(Services&&) noexcept = default;
  Services& operator=(Services&&) noexcept = default;
  ~Services() = default;

  // Returns T if it is a value, a singleton, or a lazy service that has been made. Throws a Bug (base/bug.h) for any
  // other T.
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
  // Like get(), returns the service, but makes a lazy service if that service does not exist yet. Errors: NotFound if T
  // is not provided; FailedPrecondition if T needs a scope; otherwise the error of T's construction, with the chain of
  // needs.
  template <class T>
  Result<T*> resolve() const {
    return internal::resolve(*core_, internal::type_id<T>(), nullptr).map([](void* at) { return static_cast<T*>(at); });
  }
  // Makes a scope whose services live in `memory`. The Services and `memory` must outlive the scope.
  Scope scope(Arena& memory) const;

  // Adds a module, named like the service, for each singleton that has a start() (which returns Result<> or void), a
  // stop() (which returns void), or both; each module needs the modules of the services that its own service needs. The
  // Services must outlive the modules.
  void add_to(Lifecycle& lifecycle) const;

  // Appends, for each service, its needs, its lifetime and the time that its construction took: as a tree for people,
  // or as
  // {"took_ns":…,"services":[{"name":…,"implementation":…,"lifetime":…,"where":…,"needs":[…],"order":…,"took_ns":…},…]};
  // order and took_ns are those of the first instance, and null until an instance exists.
  void write_text(Buffer& out) const;
  void write_json(Buffer& out) const;
  // Adds the page /admin/graph, which shows the services as JSON or as a tree.
  void add_pages(telemetry::AdminPages& pages) const;

 private:
  friend class Container;
  explicit Services(std::unique_ptr<internal::Core, internal::CoreDelete> core) noexcept;
  std::unique_ptr<internal::Core, internal::CoreDelete> core_;
  const std::atomic<void*>* slots_ = nullptr;
  std::uint32_t count_ = 0;
};

// The services that belong to, for example, one request. The scope destroys its objects in the reverse of the order in
// which it made them.
//
//   app::Services::Scope scope = services.scope(request.arena());
//   scope.give(request);
//   Basket* basket = co_await scope.resolve<Basket>();
class Services::Scope {
 public:
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // `object` is this scope's T, which was announced by Container::given<T>(). Call give() once for each T; the object
  // must outlive the scope. Throws a Bug (base/bug.h) if T was not announced, and at a second call for the same T.
  template <class T>
  void give(T& object, std::source_location place = std::source_location::current()) {
    internal::give(state_, internal::type_id<T>(), const_cast<std::remove_const_t<T>*>(std::addressof(object)), place);
  }
  // Returns the T of this scope, a new T if T is transient, or the result of Services::resolve(). Errors: those of
  // Services::resolve(); FailedPrecondition if T needs an object that was not given to the scope.
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
