#include "dev/generations.h"

#include <signal.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace keel::dev {
namespace {

std::string status_of(const std::string& text) {
  constexpr std::string_view key = "STATUS=";
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return {};
  return text.substr(at + key.size(), text.find('\n', at) - at - key.size());
}

}  // namespace

Result<Generations> Generations::make() {
  std::error_code error;
  const auto temporary = std::filesystem::temp_directory_path(error);
  std::string folder = (error ? "/tmp" : temporary.string()) + "/keel-dev-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return Error::from_errno("mkdir", errno).because(folder);
  auto socket = NotifySocket::make(folder + "/notify");
  if (socket) return Generations(std::move(folder), *std::move(socket));
  std::filesystem::remove_all(folder, error);
  return std::move(socket).error();
}

Generations::Generations(Generations&& other) noexcept
    : folder_(std::exchange(other.folder_, {})),
      socket_(std::move(other.socket_)),
      serving_(std::move(other.serving_)),
      left_(other.left_),
      successor_(std::move(other.successor_)),
      leaving_(std::move(other.leaving_)) {}

Generations::~Generations() {
  if (folder_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Result<> Generations::start(Launch launch, Instant now) {
  launch.environment.push_back("NOTIFY_SOCKET=" + socket_.path());
  launch.environment.push_back("KEEL_NETWORK__HANDOVER__PATH=" + folder_ + "/handover");
  successor_.reset();
  KEEL_TRY(Child child, Child::start(launch));
  successor_.emplace(std::move(child), now);
  return {};
}

void Generations::hear(Instant now, std::vector<Event>& events) {
  for (const NotifySocket::Message& message : socket_.receive()) {
    if (!successor_ || message.process != successor_->child.pid() || !message.has("READY=1")) continue;
    events.push_back({.kind = Event::Kind::Ready,
                      .process = message.process,
                      .took = now - successor_->began,
                      .follows = serving_.has_value() || left_ != 0,
                      .status = status_of(message.text)});
    if (serving_) leaving_.push_back(*std::move(serving_));
    serving_.emplace(std::move(successor_->child));
    successor_.reset();
    left_ = 0;
  }
}

std::vector<Generations::Event> Generations::events(Instant now) {
  std::vector<Event> events;
  hear(now, events);
  if (successor_) {
    const std::optional<int> code = successor_->child.ended();
    const bool is_too_slow = !code && now - successor_->began >= start_timeout;
    if (code || is_too_slow) {
      events.push_back({.kind = code ? Event::Kind::NotReady : Event::Kind::TooSlow,
                        .process = successor_->child.pid(),
                        .code = code.value_or(0),
                        .took = now - successor_->began});
      successor_.reset();
      if (left_ != 0) events.push_back({.kind = Event::Kind::Ended, .process = std::exchange(left_, 0)});
    }
  }
  if (serving_) {
    if (const std::optional<int> code = serving_->ended()) {
      if (successor_ && *code == 0) {
        // The process has passed its sockets on to the successor, but the successor might still fail before it is
        // ready.
        left_ = serving_->pid();
      } else {
        events.push_back({.kind = Event::Kind::Ended, .process = serving_->pid(), .code = *code});
      }
      serving_.reset();
    }
  }
  std::erase_if(leaving_, [](Child& child) { return child.ended().has_value(); });
  return events;
}

std::optional<Instant> Generations::deadline() const noexcept {
  if (!successor_) return std::nullopt;
  return successor_->began + start_timeout;
}

void Generations::signal(int number) const noexcept {
  if (serving_) serving_->signal(number);
  if (successor_) successor_->child.signal(number);
  for (const Child& child : leaving_) child.signal(number);
}

}  // namespace keel::dev
