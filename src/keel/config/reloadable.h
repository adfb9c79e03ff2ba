// keel/config/reloadable.h — a configuration that can be loaded again while the program runs.
//
//   KEEL_TRY(auto config, config::Reloadable<ShopConfig>::load({.file = "shop.yaml", .args = args}));
//   auto applier = config.on_reload("store", [&](const ShopConfig& now, const ShopConfig& before) {
//     return store.resize(now.store.shelves);
//   });
//   …
//   auto changes = config.reload();                // on SIGHUP; app::App does it
//
// reload() reads the file, the environment and the command line again and checks the whole configuration; if there is
// any mistake, nothing changes. Changed fields that are marked reloadable() take effect; other changed fields keep
// their value, and are reported as needing a restart. Finally, reload() calls the appliers of the changed fields, in
// the order of their registration. When an applier fails, the appliers that ran before it are called again in reverse
// order with old and new values exchanged, and the old values stay in effect. An applier that fails must have undone
// its own part; appliers whose work is easy to undo should be registered first.
//
// Values never change in place: a reload creates a new value, and old values are kept as long as the Reloadable lives.
// Therefore a reference to *config is always consistent: it refers to the values that were in effect when the reference
// was taken. Evaluating *config again gives the current values. A Secret is the only value that changes in place: once
// the appliers have run, the old values reveal random bytes for each Secret that the reload has replaced. The old text
// of such a Secret has to be overwritten, but only when no thread can still be reading the text. Either reload() itself
// overwrites the text, which is correct if no other thread reads secrets, or the caller of reload() chooses the time
// (AfterReaders). An App overwrites the text once each worker has finished the code that it was running: on a worker,
// the text of reveal() is intact until the next co_await. Therefore read a secret from *config each time, and copy it
// if it is needed across an await or on another thread.
//
// Errors:   load() fails with the errors of config::load(); reload() can also fail with the error of an applier.
// Threads:  *config, config->, origins() and describe() on any thread; all other functions on one thread, on which the
//           appliers run.
// Lifetime: Sources::environment, if given, outlives the Reloadable; the other sources are copied. An Applier must not
//           outlive the Reloadable.
// Cost:     *config is one atomic load. Each reload with changes keeps one more value in memory, and one page for each
//           secret that it replaces.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/function.h"
#include "keel/base/result.h"
#include "keel/config/config.h"

namespace keel::config {

// A field that differs after a reload; for a list whose length changed, the whole list.
struct Change {
  std::string path;           // "network.http.max_body"
  std::string before, after;  // The values as YAML; secrets are ***.
  std::string origin;         // The origin of the new value: "service.yaml:7".
  bool is_applied = false;    // False: the change needs a restart, and `before` stays in effect.
};

// The part of a Reloadable that does not depend on its type.
class Versions {
 public:
  struct Type {
    void* (*make)();  // Makes a value that has its defaults.
    void* (*clone)(const void*);
    void (*destroy)(void*);
    void (*fields)(void*, Schema&);
    void (*check)(const void*, Checks&);
  };
  using Apply = Function<Result<>(const void* now, const void* before)>;
  // A function that a reload calls after it has replaced secrets. Once no thread reads text that a secret revealed
  // before the reload, the function has to call `overwrite`; the call may be on any thread, but the Versions must still
  // exist. If the function drops `overwrite`, the destructor of the Versions overwrites the text.
  using AfterReaders = FunctionRef<void(Function<void()> overwrite)>;

  static Result<std::unique_ptr<Versions>> load(const Type& type, const Sources& sources);
  // Takes ownership of `value`. Without sources, reload() finds no change.
  Versions(const Type& type, void* value, Origins origins);
  ~Versions();  // Checks that every Applier has been destroyed.
  Versions(const Versions&) = delete;

  const void* value() const noexcept { return now_.load(std::memory_order_acquire)->value; }
  const Origins& origins() const noexcept { return now_.load(std::memory_order_acquire)->origins; }
  std::string describe() const;
  Result<std::vector<Change>> reload(AfterReaders after_readers);
  std::uint64_t add(std::string_view path, Apply apply);
  void remove(std::uint64_t id) noexcept;

 private:
  struct Version {
    void* value;
    Origins origins;
    std::vector<Change> waiting;   // Changes that wait for a restart.
    std::vector<Secret*> secrets;  // The secrets in `value` whose text has not been overwritten yet.
  };
  struct Entry {
    std::uint64_t id;
    std::string path;
    Apply apply;
  };
  struct Kept;  // Sources that own their text.
  Schema schema_of(void* value) const;
  Result<> apply(const std::vector<Change>& changes, const void* now, const void* before);
  std::vector<Secret*> secrets_of(void* value) const;
  void forget_replaced_secrets(AfterReaders after_readers);

  const Type& type_;
  std::unique_ptr<Kept> sources_;
  std::vector<std::unique_ptr<Version>> versions_;
  // Overwritten secrets are kept, so that a view that is used too long does not read the memory of other objects.
  std::vector<std::unique_ptr<Secret>> replaced_;
  std::atomic<const Version*> now_;
  std::vector<Entry> entries_;
  std::uint64_t last_id_ = 0;
};

// The registration of an applier. Destroying this object ends the registration.
class [[nodiscard]] Applier {
 public:
  Applier() = default;
  Applier(Versions& versions, std::uint64_t id) noexcept : versions_(&versions), id_(id) {}
  Applier(Applier&& other) noexcept : versions_(std::exchange(other.versions_, nullptr)), id_(other.id_) {}
  Applier& operator=(Applier&& other) noexcept {
    std::swap(versions_, other.versions_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~Applier() {
    if (versions_ != nullptr) versions_->remove(id_);
  }

 private:
  Versions* versions_ = nullptr;
  std::uint64_t id_ = 0;
};

template <Section T>
class Reloadable {
 public:
  static Result<Reloadable> load(const Sources& sources) {
    KEEL_TRY(auto versions, Versions::load(type, sources));
    return Reloadable(std::move(versions));
  }
  // Holds a value that the program made itself instead of loading it; therefore reload() finds no change.
  explicit Reloadable(T value, Origins origins = {})
      : Reloadable(std::make_unique<Versions>(type, new T(std::move(value)), std::move(origins))) {}

  const T& operator*() const noexcept { return *static_cast<const T*>(versions_->value()); }
  const T* operator->() const noexcept { return &**this; }
  const Origins& origins() const noexcept { return versions_->origins(); }
  // Returns the text of config::describe(), preceded by a line for each value that waits for a restart.
  std::string describe() const { return versions_->describe(); }

  // Returns the differences, applied or not; empty when nothing differs.
  Result<std::vector<Change>> reload() {
    return reload([](Function<void()> overwrite) { overwrite(); });
  }
  // Use this overload in a program whose other threads read secrets.
  Result<std::vector<Change>> reload(Versions::AfterReaders after_readers) { return versions_->reload(after_readers); }

  // Calls `apply(now, before)`, which returns Result<>, when a reload changes `path` or anything below it; the path
  // "" stands for the whole configuration. A path that does not exist is a bug.
  template <class F>
  Applier on_reload(std::string_view path, F apply) {
    return {*versions_, versions_->add(path, [apply = std::move(apply)](const void* now, const void* before) mutable {
              return apply(*static_cast<const T*>(now), *static_cast<const T*>(before));
            })};
  }

  Versions& versions() noexcept { return *versions_; }

 private:
  explicit Reloadable(std::unique_ptr<Versions> versions) noexcept : versions_(std::move(versions)) {}

  static constexpr Versions::Type type = {
      .make = []() -> void* { return new T{}; },
      .clone = [](const void* from) -> void* { return new T(*static_cast<const T*>(from)); },
      .destroy = [](void* value) { delete static_cast<T*>(value); },
      .fields = [](void* value, Schema& schema) { internal::list_fields(schema, *static_cast<T*>(value)); },
      .check = &internal::check<T>};

  std::unique_ptr<Versions> versions_;
};

}  // namespace keel::config
