#include "keel/net/messages/handlers.h"

#include <algorithm>

#include "keel/base/bug.h"

namespace keel::messages {

void Handlers::add(std::uint16_t type, internal::Incoming::What what, Handle handle) {
  KEEL_EXPECT(type > 0 && type <= type_max, "a message_type must be from 1 to 0xfeff");
  KEEL_EXPECT(find(type, what) == nullptr, "a type of message can have only one handler");
  const auto at = std::ranges::lower_bound(entries_, type, {}, &Entry::type);
  entries_.insert(at, Entry{type, what, std::move(handle)});
}

const Handlers::Handle* Handlers::find(std::uint16_t type, internal::Incoming::What what) const noexcept {
  auto at = std::ranges::lower_bound(entries_, type, {}, &Entry::type);
  for (; at != entries_.end() && at->type == type; ++at) {
    if (at->what == what) return &at->handle;
  }
  return nullptr;
}

}  // namespace keel::messages
