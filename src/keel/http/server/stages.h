// keel/http/server/stages.h — how requests spend their time: the sums of a worker, by route and stage.
//
// Server::stage_times() returns the sums over the server's workers as RouteStages; Stages itself is internal to http.
//
// One request in `every` is measured, at the cost of two clock reads for each stage that it passes; the others cost a
// decrement.
//
// Threads: only the worker records; any thread may read the sums.

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
  // Makes the stages of `routes` routes, which are numbered as in the router. If `every` is 0, no request is measured.
  Stages(std::size_t routes, std::uint32_t every);

  void set_every(std::uint32_t every) noexcept { left_ = every_ = every; }
  // A clock for the request that begins now, at zero; null when it is not measured. The clock is valid until the next
  // call.
  StageClock* begin() noexcept {
    if constexpr (!metrics::is_recorded) return nullptr;
    if (left_ == 0 || --left_ != 0) [[likely]]
      return nullptr;
    left_ = every_;
    clock_ = {};
    return &clock_;
  }
  // Undoes begin(): there was no request, or its head was incomplete.
  void take_back() noexcept {
    if (every_ != 0) left_ = left_ == every_ ? 1 : left_ + 1;
  }
  // Adds a request whose response has been made, but not sent yet.
  void add(std::size_t route, const StageClock& clock) noexcept;
  // Records the time that sending a response took.
  void add_write(std::size_t route, Duration took) noexcept;

  // The number of measured requests with a response, and their total time in each stage.
  std::uint64_t measured(std::size_t route) const noexcept { return of_route(route)[stage_count].get(); }
  // The number of these requests whose write was measured.
  std::uint64_t written(std::size_t route) const noexcept { return of_route(route)[stage_count + 1].get(); }
  std::uint64_t nanoseconds(std::size_t route, Stage stage) const noexcept {
    return of_route(route)[static_cast<int>(stage)].get();
  }

 private:
  SingleWriterCounter* of_route(std::size_t route) const noexcept { return &tallies_[route * (stage_count + 2)]; }

  // For each route, its stages, and the numbers of measured requests and measured writes.
  std::unique_ptr<SingleWriterCounter[]> tallies_;
  StageClock clock_;
  std::uint32_t every_;
  std::uint32_t left_;
};

// The measured requests of one route, and their total time in each stage.
struct RouteStages {
  Method method = Method::Other;  // Other, with an empty pattern, stands for requests without a route.
  std::string_view pattern;       // Valid as long as the router.
  std::uint64_t measured = 0;
  std::uint64_t written = 0;  // The number of these requests whose write was measured; one write at a time is measured.
  Duration of[stage_count];

  // Average time in that stage; zero when no request was measured.
  Duration mean(Stage stage) const noexcept;
};

// The value of a field Server-Timing (W3C Server Timing): "parse;dur=0.002, handler;dur=1.25", in milliseconds, with
// the stages that took time. Empty when no stage took time.
void write_server_timing(Buffer& out, const StageClock& clock);

}  // namespace keel::http
