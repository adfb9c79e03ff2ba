#include "keel/app/internal/addresses.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "keel/app/internal/options.h"
#include "keel/base/check.h"
#include "keel/io/sockets.h"

namespace keel::app::internal {
namespace {

// Whether the IP address of `address` stands for all interfaces.
bool is_wildcard(const Address& address) {
  const std::string text = address.to_string();
  return text.starts_with("0.0.0.0:") || text.starts_with("[::]:");
}

// Whether the two addresses conflict, so that two sockets cannot listen at them at the same time.
bool overlap(const Address& one, const Address& other) {
  if (one == other) return one.is_unix() || one.port() != 0;
  if (one.is_unix() || other.is_unix() || one.port() != other.port() || one.port() == 0) return false;
  return is_wildcard(one) || is_wildcard(other);
}

Result<> check_vacant(io::Engine& engine, const Address& address, std::uint32_t socket_mode) {
  if (!address.is_unix()) return io::check_vacant(engine, address, {});
  KEEL_TRY(const int fd, engine.open_listener(address, {.socket_mode = socket_mode}));
  engine.turn_away(fd);  // Removes its file.
  engine.close(fd);
  engine.flush();
  return {};
}

}  // namespace

void Addresses::add(std::string_view name, const Address& address, std::string_view section, std::string_view keys,
                    std::uint32_t socket_mode) {
  entries_.push_back({.name = std::string(name),
                      .address = address,
                      .section = std::string(section),
                      .keys = std::string(keys),
                      .socket_mode = socket_mode});
}

Result<> Addresses::report(std::string_view name, Result<> started) {
  const auto entry = std::ranges::find(entries_, name, &Entry::name);
  KEEL_CHECK(entry != entries_.end(), "a listener must be added before it starts");
  entry->is_tried = true;
  entry->listens = started.is_ok();
  if (started) return started;
  for (Entry& other : entries_) {
    if (std::exchange(other.is_tried, true)) continue;
    if (Result<> tried = try_to_listen(other); !tried) {
      further_.push_back(explain(other, std::move(tried)).error().describe());
    }
  }
  return explain(*entry, std::move(started));
}

Result<> Addresses::try_to_listen(const Entry& entry) {
  if (!succession_.find(entry.name, entry.address).sockets.empty()) return {};
  Result<> result;
  workers_.runtime().each([&](io::Loop& loop) {
    if (loop.index() == 0) result = check_vacant(loop.engine(), entry.address, entry.socket_mode);
  });
  return result;
}

Result<> Addresses::explain(const Entry& entry, Result<> result) const {
  const bool is_taken = result.error().errno_value() == EADDRINUSE;
  for (const Entry& other : entries_) {
    if (!is_taken || !other.listens || !overlap(other.address, entry.address)) continue;
    return std::move(result)
        .because("this service itself listens there, for " + other.section + ": change " +
                 key_of_place(entry.address, entry.keys))
        .because(entry.section);
  }
  return with_remedy(std::move(result), entry.address, entry.keys).because(entry.section);
}

}  // namespace keel::app::internal
