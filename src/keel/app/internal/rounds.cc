#include "keel/app/internal/rounds.h"

#include <atomic>
#include <list>

namespace keel::app::internal {

struct Rounds::Round {
  struct Visit : Job {
    explicit Visit(Round& r) noexcept : Job(&run_it), round(r) {}
    static void run_it(Job& job) noexcept { static_cast<Visit&>(job).round.leave(); }
    Round& round;
  };

  Round(io::Runtime& runtime, Function<void()> t) : then(std::move(t)), left(runtime.workers()) {
    for (int i = 0; i < runtime.workers(); ++i) visits.emplace_back(*this);
  }
  void leave() noexcept {
    if (left.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    then();
    is_over.store(true, std::memory_order_release);
  }

  Function<void()> then;
  std::list<Visit> visits;
  std::atomic<int> left;
  std::atomic<bool> is_over{false};
};

Rounds::Rounds() = default;
Rounds::~Rounds() = default;

void Rounds::begin(io::Runtime& runtime, Function<void()> then) {
  std::erase_if(rounds_, [](const auto& round) { return round->is_over.load(std::memory_order_acquire); });
  Round& round = *rounds_.emplace_back(std::make_unique<Round>(runtime, std::move(then)));
  int worker = 0;
  for (Round::Visit& visit : round.visits) runtime.loop(worker++).post(visit);
}

}  // namespace keel::app::internal
