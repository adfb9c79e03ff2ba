// The operation of api.yaml with the tag `health`.

#pragma once

#include "api/health.h"

class Health final : public api::HealthHandler {
 public:
  keel::Task<api::GetHealthResponse> get_health(keel::http::Request&, const api::GetHealthRequest&) override {
    co_return api::Health{};
  }
};
