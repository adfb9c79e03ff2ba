// keel/http/server/stages.h — where the time of requests goes: a worker's tally, by route and stage.
//
// Server::stage_times() returns the sums over its workers, RouteStages; a Stages is internal to http.
//
// One request in `every` is measured, at two looks at the clock for each stage that it passes; the others cost a
// decrement.
//
// Threads: recording belongs to the worker; the figures may be read by any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "keel/base/buffer.h"
#include "keel/base/single_writer_counter.h"
#include "keel/http/message/method.h"
#include "keel/http/server/stage.h"
#include "keel/observe/metric.h"
#include "keel/observe/span.h"

namespace keel::http {

class Stages {
 public:
  // For `routes` routes, numbered as the router does. every 0: none is measured.
  Stages(std::size_t routes, std::uint32_t every);

  void set_every(std::uint32_t every) noexcept { left_ = every_ = every; }
  // A clock for the request that begins now, at zero; null when it is not measured. Good until the next call.
  StageClock* begin() noexcept {
    if constexpr (!metrics::is_recorded) return nullptr;
    if (left_ == 0 || --left_ != 0) [[likely]]
      return nullptr;
    left_ = every_;
    clock_ = {};
    return &clock_;
  }
  // After begin(): there was no request, or not all of its head.
  void take_back() noexcept {
    if (every_ != 0) left_ = left_ == every_ ? 1 : left_ + 1;
  }
  // The response is made, but not sent yet.
  void add(std::size_t route, const StageClock& clock) noexcept;
  // The response was sent.
  void add_write(std::size_t route, Duration took) noexcept;

  // Measured requests that got a response, and their time in each stage together.
  std::uint64_t measured(std::size_t route) const noexcept { return of_route(route)[stage_count].get(); }
  // How many of them had a measured write.
  std::uint64_t written(std::size_t route) const noexcept { return of_route(route)[stage_count + 1].get(); }
  std::uint64_t nanoseconds(std::size_t route, Stage stage) const noexcept {
    return of_route(route)[static_cast<int>(stage)].get();
  }

 private:
  SingleWriterCounter* of_route(std::size_t route) const noexcept { return &tallies_[route * (stage_count + 2)]; }

  std::unique_ptr<SingleWriterCounter[]> tallies_;  // For each route its stages, how many were measured, and written.
  StageClock clock_;
  std::uint32_t every_;
  std::uint32_t left_;
};

// The requests of one route that were measured, and how long they were in each stage together.
struct RouteStages {
  Method method = Method::Other;  // Other, with an empty pattern: what no route matched.
  std::string_view pattern;       // Lives as long as the router.
  std::uint64_t measured = 0;
  std::uint64_t written = 0;  // How many of these had a measured write; one write at a time is measured.
  Duration of[stage_count];

  // In that stage, on average; zero when none was measured.
  Duration mean(Stage stage) const noexcept;
};

// The value of a field Server-Timing (W3C Server Timing): "parse;dur=0.002, handler;dur=1.25", in milliseconds; the
// stages that took time. Empty when none did.
void write_server_timing(Buffer& out, const StageClock& clock);

}  // namespace keel::http
