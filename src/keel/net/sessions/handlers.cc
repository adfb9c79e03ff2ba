#include "keel/net/sessions/handlers.h"

#include <algorithm>

#include "keel/base/bug.h"

namespace keel::sessions {

void Handlers::add(std::uint16_t type, Handle handle) {
  const auto at = std::ranges::lower_bound(entries_, type, {}, &Entry::type);
  KEEL_EXPECT(at == entries_.end() || at->type != type, "a type of message can have only one handler");
  entries_.insert(at, Entry{type, std::move(handle)});
}

const Handlers::Handle* Handlers::find(std::uint16_t type) const noexcept {
  const auto at = std::ranges::lower_bound(entries_, type, {}, &Entry::type);
  return at != entries_.end() && at->type == type ? &at->handle : nullptr;
}

Handlers& Handlers::on_event(Function<void(Session&, const SessionEvent&)> f) {
  KEEL_EXPECT(!on_event_, "the events of sessions can have only one handler");
  on_event_ = std::move(f);
  return *this;
}

}  // namespace keel::sessions
