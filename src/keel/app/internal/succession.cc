#include "keel/app/internal/succession.h"

#include <cstdint>
#include <utility>

#include "keel/observe/log.h"

namespace keel::app::internal {
namespace {

constexpr std::string_view key = "network.handover.path";

const log::Logger& succession_logger() {
  static const log::Logger log("app");
  return log;
}

}  // namespace

Result<> Succession::adopt() {
  if (registrar_.platform.is_test) return {};
  KEEL_TRY(activated_, Listeners::from_environment());
  return {};
}

void Succession::add_module() {
  if (has_module()) registrar_.add({.name = "handover", .start = [this] { return start(); }});
}

Result<> Succession::start() {
  const std::string& path = registrar_.settings.network.handover.path;
  auto found = Predecessor::find(path, registrar_.program.name);
  if (!found) return std::move(found).error().because(key);
  if (found->has_value()) {
    predecessor_.emplace(**std::move(found));
    certificates_.adopt_tickets(predecessor_->secret());
  }
  auto made = Handover::make(path, registrar_.program.name, [this] { supervision_.request_stop(); });
  if (!made) return std::move(made).error().because(key);
  handover_ = *std::move(made);
  return {};
}

Succession::Inherited Succession::find(std::string_view name, const Address& address) const {
  std::vector<int> sockets = activated_.find(name);
  if (!sockets.empty()) return {std::move(sockets), true};
  if (!predecessor_) return {};
  sockets = predecessor_->listeners().find(name, address);
  const bool is_kept = !sockets.empty() && predecessor_->listeners().is_kept(name);
  return {std::move(sockets), is_kept};
}

http::Listening Succession::after_stop(bool is_kept) const noexcept {
  const bool goes_on = is_kept || predecessor_ || handed_ != Handover::State::Kept;
  return goes_on ? http::Listening::GoesOn : http::Listening::Ends;
}

void Succession::relieve() {
  if (predecessor_) {
    const bool told = predecessor_->leave();
    succession_logger().info("the listening sockets of a running process were taken over",
                             log::field("process", static_cast<std::int64_t>(predecessor_->process())),
                             log::field("sockets", predecessor_->listeners().entries().size()),
                             log::field("it_leaves", told));
    predecessor_.reset();
  }
  activated_.clear();
}

void Succession::publish(std::span<const Shared> servers) {
  if (handover_ == nullptr) return;
  Listeners ours;
  Result<> ready;
  for (const Shared& shared : servers) {
    for (const int fd : shared.duplicate()) {
      if (auto added = ours.add(shared.name, fd, shared.is_kept); !added) ready = std::move(added);
    }
  }
  if (ready) ready = handover_->publish(std::move(ours), [this] { return certificates_.save_tickets(); });
  // The predecessor has already exited, so this failure does not end the process. This process can serve anyway, but no
  // successor can take over its sockets.
  if (!ready)
    succession_logger().error("no successor can take over: the hand-over socket is not available", ready.error());
}

Handover::State Succession::end() {
  if (handover_ != nullptr) handed_ = handover_->end();
  return handed_;
}

}  // namespace keel::app::internal
