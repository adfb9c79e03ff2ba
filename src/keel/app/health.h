// keel/app/health.h — is the process alive, and may it be sent traffic?
//
//   auto check = health.add("database", Health::Kind::Readiness, [&db] { return db.ping(); });
//   health.start_complete();
//   const bool ready = health.ready(body);     // 200 or 503
//
// Liveness fails only when a restart would help; a dependency that is down belongs to readiness. Readiness also needs
// that the start is complete and that no drain has begun: drain() makes it fail before the listeners close, so that a
// load balancer stops sending first. Both are written as JSON:
//
//   {"status":"failing","checks":[{"name":"start","status":"ok"},{"name":"database","status":"failing",
//    "reason":"open: No such file or directory"}]}
//
// Ownership: a Check ends its registration when destroyed and must not outlive the Health.
// Threads:   any. Checks run on the thread that asks, one at a time under a lock; destroying a Check waits for it to
//            finish, after which it never runs again. A check is quick, does not block, and does not call the Health.
// Cost:      a lock, and the checks.

#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keel/base/buffer.h"
#include "keel/base/function.h"
#include "keel/base/result.h"

namespace keel::app {

class Health {
 public:
  enum class Kind : std::uint8_t { Liveness, Readiness };
  class [[nodiscard]] Check;

  Health() = default;
  ~Health();  // Checks that no Check is left.
  Health(const Health&) = delete;
  Health& operator=(const Health&) = delete;

  // Asks `test` whenever that kind is asked for. Names are for people; using one twice within a kind is a bug.
  Check add(std::string_view name, Kind kind, Function<Result<>()> test);

  void start_complete();
  // Readiness fails from here on with `reason`: "draining".
  void drain(std::string_view reason);

  // Appends the JSON and returns whether all is well.
  bool live(Buffer& out);
  bool ready(Buffer& out);

 private:
  struct Entry {
    std::uint64_t id;
    std::string name;
    Kind kind;
    Function<Result<>()> test;
  };
  bool render(Buffer& out, Kind kind);
  void remove(std::uint64_t id) noexcept;

  std::mutex mutex_;
  std::vector<Entry> entries_;
  std::uint64_t last_id_ = 0;
  bool started_ = false;
  bool draining_ = false;
  std::string drain_reason_;
};

class Health::Check {
 public:
  Check() = default;
  Check(Check&& other) noexcept : health_(std::exchange(other.health_, nullptr)), id_(other.id_) {}
  Check& operator=(Check&& other) noexcept {
    std::swap(health_, other.health_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~Check() {
    if (health_ != nullptr) health_->remove(id_);
  }

 private:
  friend class Health;
  Check(Health& health, std::uint64_t id) : health_(&health), id_(id) {}
  Health* health_ = nullptr;
  std::uint64_t id_ = 0;
};

}  // namespace keel::app
