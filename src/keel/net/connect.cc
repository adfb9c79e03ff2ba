// How streams connect: to an address, to the first of several addresses that responds, or to a host by its name.

#include <algorithm>
#include <optional>
#include <utility>

#include "keel/base/bug.h"
#include "keel/io/loop.h"
#include "keel/net/address_guard.h"
#include "keel/net/resolver.h"
#include "keel/net/stream.h"
#include "keel/task/event.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel {
namespace {

class Connecting : public Leaf, public io::Connect {
 public:
  using Value = void;
  Connecting(io::Engine& engine, int descriptor, const Address& to) noexcept
      : Leaf(&cancel),
        io::Connect([](io::Op& op) noexcept { static_cast<Connecting&>(static_cast<io::Connect&>(op)).wake(); }),
        engine_(engine) {
    fd = descriptor;
    address = to;
  }
  bool start() noexcept { return engine_.submit(*this); }
  Result<> take() noexcept {
    if (result < 0) return Error::from_errno("connect", -result);
    return {};
  }

 private:
  static void cancel(Leaf& leaf) noexcept {
    auto& self = static_cast<Connecting&>(leaf);
    self.engine_.cancel(self);
  }
  io::Engine& engine_;
};

// RFC 8305 §5: the time after which the next address is tried as well.
constexpr Duration stagger = 250_ms;

// RFC 8305 §4: the families alternate, so that a family that does not work costs only one attempt.
std::vector<Address> in_turns(std::vector<Address> addresses) {
  std::vector<Address> turns;
  std::vector<Address> others;
  for (Address& address : addresses) (address.family() == addresses[0].family() ? turns : others).push_back(address);
  for (std::size_t i = 0; i < others.size(); ++i) {
    turns.insert(turns.begin() + static_cast<std::ptrdiff_t>(std::min(2 * i + 1, turns.size())), others[i]);
  }
  return turns;
}

// The elements of `addresses` that `guard` allows, in the same order.
Result<std::vector<Address>> allowed(const std::vector<Address>& addresses, const AddressGuard& guard) {
  std::vector<Address> kept;
  std::string rejected;
  for (const Address& address : addresses) {
    if (guard.allows(address)) {
      kept.push_back(address);
    } else {
      rejected += (rejected.empty() ? "" : ", ") + address.to_string();
    }
  }
  if (kept.empty()) {
    return Error::text(Code::PermissionDenied, "the address guard does not allow " + rejected).from_environment();
  }
  return kept;
}

struct Race {
  Event changed;
  std::optional<Stream> winner;
  std::size_t failed = 0;
  Code code = Code::Unavailable;  // The code of the first failed attempt.
  std::string failures;
};

Task<> attempt_one(Race& race, Address address, io::ConnectOptions options) {
  Result<Stream> stream = co_await attempt(Stream::connect(address, options));
  if (!stream) {
    if (race.failed++ == 0) race.code = stream.error().code();
    race.failures += (race.failures.empty() ? "" : "; ") + stream.error().describe();
  } else if (!race.winner) {
    race.winner.emplace(*std::move(stream));
  }
  race.changed.set();
}

}  // namespace

Task<Stream> Stream::connect(Address address, io::ConnectOptions options) {
  io::Loop* loop = io::Loop::current();
  KEEL_EXPECT(loop != nullptr,
              "connect() can be called only on a worker: first co_await resume_on() with the loop of a worker");
  io::Engine& engine = loop->engine();
  const int fd = co_await engine.open_stream(address.family(), options);
  Result<> connected = co_await attempt(Connecting(engine, fd, address));
  if (!connected) {
    engine.close(fd);
    co_return std::move(connected).error().because("connecting to " + address.to_string());
  }
  try {
    co_return Stream(fd);
  } catch (...) {  // There is no memory for the stream.
    engine.close(fd);
    throw;
  }
}

Task<Stream> Stream::connect(std::vector<Address> addresses, io::ConnectOptions options) {
  if (addresses.empty()) {
    co_return Error(Code::InvalidArgument, "connecting: the list of addresses is empty").from_environment();
  }
  addresses = in_turns(std::move(addresses));
  Race race;
  Scope attempts;
  for (std::size_t begun = 0; !race.winner && race.failed < addresses.size();) {
    race.changed.reset();
    if (begun < addresses.size()) {
      attempts.spawn(attempt_one(race, addresses[begun++], options), OnError::Ignore);
      Result<> waited = co_await attempt(with_timeout(stagger, race.changed.wait()));
      if (!waited && (co_await this_task()).stop.stop_requested()) co_await std::move(waited);
    } else {
      co_await race.changed.wait();
    }
  }
  attempts.stop();
  Result<> joined = co_await attempt(attempts.join());
  if (race.winner) co_return std::move(*race.winner);
  co_return Error::text(race.code, race.failures).from_environment();
}

Task<Stream> Stream::connect(Resolver& resolver, std::string host, std::uint16_t port, io::ConnectOptions options) {
  const AddressGuard all;
  co_return co_await connect(resolver, std::move(host), port, all, options);
}

Task<Stream> Stream::connect(Resolver& resolver, std::string host, std::uint16_t port, const AddressGuard& guard,
                             io::ConnectOptions options) {
  std::vector<Address> found = co_await resolver.resolve(host, port);
  Result<std::vector<Address>> addresses = allowed(found, guard);
  if (!addresses) co_return std::move(addresses).error().because("connecting to '" + host + '\'');
  const Address first = addresses->front();
  Result<Stream> stream = co_await attempt(connect(*std::move(addresses), options));
  // If the host is an address, the error of the attempt already names that address.
  if (!stream && first.to_string().contains(host)) co_return std::move(stream).error();
  if (!stream) co_return std::move(stream).error().because("connecting to '" + host + '\'');
  co_return *std::move(stream);
}

}  // namespace keel
