// keel/app/testing/internal/composition.h — holds the service that a TestApp makes, without knowing its type.

#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "keel/app/app.h"
#include "keel/app/settings.h"
#include "keel/base/result.h"
#include "keel/config/config.h"
#include "keel/config/reloadable.h"

namespace keel::app::internal {

class Composition {
 public:
  using SettingsIn = const Settings& (*)(const void* value);

  virtual ~Composition() = default;
  // The new configuration replaces the previous one, if any.
  virtual Result<> load(const config::Sources& sources) = 0;
  virtual config::Versions& versions() = 0;
  virtual SettingsIn settings_in() const = 0;
  virtual const void* type() const = 0;
  virtual void make(App& app) = 0;
  virtual void end() = 0;
};

template <class Service, class S>
class CompositionOf : public Composition {
 public:
  Service& service() noexcept { return *service_; }

 private:
  Result<> load(const config::Sources& sources) final {
    KEEL_TRY(auto loaded, config::Reloadable<S>::load(sources));
    config_.emplace(std::move(loaded));
    return {};
  }
  config::Versions& versions() final { return config_->versions(); }
  SettingsIn settings_in() const final {
    return [](const void* value) -> const Settings& { return *static_cast<const S*>(value); };
  }
  const void* type() const final { return &type_of_settings<S>; }
  void make(App& app) final { service_ = std::make_unique<Service>(app); }
  void end() final { service_.reset(); }

  std::optional<config::Reloadable<S>> config_;
  std::unique_ptr<Service> service_;
};

}  // namespace keel::app::internal
