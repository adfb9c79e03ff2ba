// keel/http/server/stages.h — measures how requests spend their time: a worker's sums for each route and stage.
//
// Server::stage_times() returns the sums over all workers as RouteStages; Stages itself is internal to http.
//
// One request in `every` is measured, which costs two clock reads for each stage that the request passes; each of the
// other requests costs a decrement.
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
  // Makes the sums for `routes` routes, whose indices are those of the router. If `every` is 0, no request is measured.
  Stages(std::size_t routes, std::uint32_t every);

  void set_every(std::uint32_t every) noexcept { left_ = every_ = every; }
  // Returns a clock for the request that begins now, set to zero; null if the request is not measured. The clock is
  // valid until the next call of begin().
  StageClock* begin() noexcept {
    if constexpr (!metrics::is_recorded) return nullptr;
    if (left_ == 0 || --left_ != 0) [[likely]]
      return nullptr;
    left_ = every_;
    clock_ = {};
    return &clock_;
  }
  // Undoes begin(). Call take_back() if there was no request, or if the head of the request was incomplete.
  void take_back() noexcept {
    if (every_ != 0) left_ = left_ == every_ ? 1 : left_ + 1;
  }
  // Adds a request whose response has been made, but has not been sent yet.
  void add(std::size_t route, const StageClock& clock) noexcept;
  // Records how long it took to send a response.
  void add_write(std::size_t route, Duration took) noexcept;

  // The number of measured requests that got a response, and their total time in a stage.
  std::uint64_t measured(std::size_t route) const noexcept { return of_route(route)[stage_count].get(); }
  // The number of measured requests for which the sending of the response was measured.
  std::uint64_t written(std::size_t route) const noexcept { return of_route(route)[stage_count + 1].get(); }
  std::uint64_t nanoseconds(std::size_t route, Stage stage) const noexcept {
    return of_route(route)[static_cast<int>(stage)].get();
  }

 private:
  SingleWriterCounter* of_route(std::size_t route) const noexcept { return &tallies_[route * (stage_count + 2)]; }

  // For each route: the time in each stage, the number of measured requests, and the number of measured sends.
  std::unique_ptr<SingleWriterCounter[]> tallies_;
  StageClock clock_;
  std::uint32_t every_;
  std::uint32_t left_;
};

// The measured requests of one route, and their total time in each stage.
struct RouteStages {
  Method method = Method::Other;  // Method::Other with an empty pattern stands for requests without a route.
  std::string_view pattern;       // The pattern is valid as long as the router.
  std::uint64_t measured = 0;
  // The number of measured requests for which the sending of the response was also measured; only one send at a time is
  // measured.
  std::uint64_t written = 0;
  Duration of[stage_count];

  // The average time in a stage; zero if no request was measured.
  Duration mean(Stage stage) const noexcept;
};

// Writes the value of a field Server-Timing (W3C Server Timing): "parse;dur=0.002, handler;dur=1.25", in milliseconds,
// with only those stages that took time. Nothing is written if no stage took time.
void write_server_timing(Buffer& out, const StageClock& clock);

}  // namespace keel::http
