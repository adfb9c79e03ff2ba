#include "keel/net/resolver.h"

#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <unordered_map>
#include <utility>

#include "keel/base/ascii.h"
#include "keel/base/bug.h"
#include "keel/base/host.h"
#include "keel/base/member.h"
#include "keel/io/loop.h"
#include "keel/net/internal/lookup.h"
#include "keel/task/frame.h"

namespace keel {
namespace {

constexpr std::size_t name_bytes_max = 253;  // The maximum length of a name in text form (RFC 1035 §2.3.4).

bool is_name(std::string_view host) noexcept {
  if (host.empty() || host.size() > name_bytes_max) return false;
  return std::none_of(host.begin(), host.end(), [](char c) { return c <= ' ' || c == 0x7f || c == '/'; });
}

}  // namespace

bool internal::is_localhost(std::string host) {
  std::transform(host.begin(), host.end(), host.begin(), ascii::to_lower);
  if (host.ends_with('.')) host.pop_back();
  return host == "localhost" || host.ends_with(".localhost");
}

Error internal::lookup_error(std::string_view host, int status, int number) {
  const std::string name(host);
  switch (status) {
    case EAI_NONAME:
    case EAI_NODATA:
    case EAI_ADDRFAMILY:
      return Error::text(Code::NotFound, "no such host '" + name + "'").from_environment();
    case EAI_MEMORY:
      return Error(Code::ResourceExhausted, "looking up a host: out of memory").from_environment();
    case EAI_SYSTEM:
      return Error::from_errno("getaddrinfo", number).because("looking up '" + name + "'");
    default:
      return Error::text(Code::Unavailable, "looking up '" + name + "': " + gai_strerror(status)).from_environment();
  }
}

Result<std::vector<Address>> Resolver::system_lookup(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;  // This flag omits IPv6 addresses on a machine without IPv6.
  addrinfo* found = nullptr;
  if (const int status = getaddrinfo(host.c_str(), nullptr, &hints, &found); status != 0) {
    if (internal::is_localhost(host)) return std::vector<Address>{*Address::ip("127.0.0.1", 0)};
    return internal::lookup_error(host, status, errno);
  }
  std::vector<Address> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    addresses.push_back(Address::from_system(one->ai_addr, one->ai_addrlen));
  }
  freeaddrinfo(found);
  return addresses;
}

// A name with its known addresses and the waiting tasks.
struct Resolver::Entry : Link {
  bool is_fresh(Instant now) const noexcept { return now < fresh_until; }

  std::string host;
  std::vector<Address> addresses;  // Empty: the look-up failed, and `error` is valid.
  Error error{Code::NotFound, ""};
  Instant fresh_until;
  Instant stale_until;
  Question* question = nullptr;
  WaitList waiting;
};

// The job of a lookup, which runs on the pool and then returns to the loop. This object has no owner, and frees itself
// when it has returned to the loop.
struct Resolver::Question {
  Question(State& s, Entry& e);
  void look_up() noexcept {
    try {
      found = (*lookup)(host);
    } catch (...) {
      found = Error::from_exception();
    }
    if (found && found->empty()) found = internal::lookup_error(host, EAI_NODATA, 0);
    home.post(back);
  }
  void come_back() noexcept;

  State* state;  // Null once the resolver is destroyed.
  Entry* entry;
  Executor& home;
  std::shared_ptr<const Lookup> lookup;
  std::string host;
  Result<std::vector<Address>> found = std::vector<Address>();
  Member<Job, Question, &Question::look_up> out{*this};
  Member<Job, Question, &Question::come_back> back{*this};
};

struct Resolver::State {
  State(Executor& p, const ResolverOptions& o, Lookup l)
      : pool(p), options(o), lookup(std::make_shared<const Lookup>(std::move(l))) {}

  // Returns the entry of `host`, and marks it as the most recently used one.
  Entry& entry_of(std::string_view host) {
    std::unique_ptr<Entry>& entry = entries[std::string(host)];
    if (entry == nullptr) {
      entry = std::make_unique<Entry>();
      entry->host = host;
      forget_one();
    }
    if (entry->linked()) entry->unlink();
    by_use.push_back(*entry);
    return *entry;
  }
  void forget_one() noexcept {
    if (entries.size() <= options.names_max) return;
    Entry* oldest = nullptr;
    by_use.for_each([&](Entry& entry) {
      if (oldest == nullptr && entry.question == nullptr) oldest = &entry;
    });
    if (oldest == nullptr) return;
    oldest->unlink();
    entries.erase(oldest->host);
  }
  void ask(Entry& entry) {
    entry.question = new Question(*this, entry);
    ++lookups;
    pool.post(entry.question->out);
  }
  void complete(Entry& entry, Result<std::vector<Address>>&& found) noexcept {
    const Instant now = Host::current().now();
    entry.question = nullptr;
    --lookups;
    if (found) {
      entry.addresses = *std::move(found);
      entry.fresh_until = now + options.lifetime;
      entry.stale_until = now + options.stale_lifetime;
    } else if (found.error().code() == Code::NotFound) {
      entry.addresses.clear();
      entry.error = std::move(found).error();
      entry.fresh_until = now + options.negative_lifetime;
    } else if (!entry.addresses.empty() && now < entry.stale_until) {
      entry.fresh_until = now + options.negative_lifetime;
    } else {
      entry.addresses.clear();
      entry.error = std::move(found).error();
      entry.fresh_until = now;
    }
    // A task that continues may call resolve() again or destroy the resolver, so the tasks continue only after all of
    // them have their results.
    Trampoline::Deferring deferring;
    while (Waiting* waiting = entry.waiting.pop()) {
      auto& resolve = static_cast<Resolve&>(*waiting);
      give(entry, resolve);
      WaitList::wake(resolve);
    }
  }
  static void give(const Entry& entry, Resolve& resolve) {
    if (entry.addresses.empty()) {
      resolve.result_ = entry.error.clone();
    } else {
      resolve.result_ = entry.addresses;
    }
  }

  Executor& pool;
  const ResolverOptions options;
  const std::shared_ptr<const Lookup> lookup;
  std::unordered_map<std::string, std::unique_ptr<Entry>> entries;
  List<Entry> by_use;
  std::size_t lookups = 0;
};

Resolver::Question::Question(State& s, Entry& e)
    : state(&s), entry(&e), home(*Executor::current()), lookup(s.lookup), host(e.host) {}

void Resolver::Question::come_back() noexcept {
  if (state != nullptr) state->complete(*entry, std::move(found));
  delete this;
}

Resolver::Resolver(Executor& pool, const ResolverOptions& options, Lookup lookup)
    : state_(Owned<State>::make(pool, options, std::move(lookup))) {}

Resolver::~Resolver() {
  state_->by_use.for_each([](Entry& entry) {
    if (entry.question != nullptr) entry.question->state = nullptr;
    entry.unlink();
  });
}

Resolver::Resolve Resolver::resolve(std::string_view host, std::uint16_t port) noexcept {
  return Resolve(*state_, host, port);
}

bool Resolver::Resolve::start() {
  KEEL_EXPECT_AT(io::Loop::current() != nullptr,
                 "resolve() can be awaited only on a worker: first co_await resume_on() with the loop of a worker",
                 place());
  if (Result<Address> literal = Address::ip(host_, 0)) {
    result_ = std::vector<Address>{*literal};
    return true;
  }
  if (!is_name(host_)) {
    result_ =
        Error::text(Code::InvalidArgument, "'" + std::string(host_) + "' is not the name of a host").from_environment();
    return true;
  }
  Entry& entry = state_.entry_of(host_);
  if (entry.question == nullptr) {
    if (entry.is_fresh(Host::current().now())) {
      State::give(entry, *this);
      return true;
    }
    if (state_.lookups >= state_.options.lookups_max) {
      result_ = Error(Code::ResourceExhausted, "too many names are being looked up");
      return true;
    }
    state_.ask(entry);
  }
  return wait_in(entry.waiting);
}

Result<std::vector<Address>> Resolver::Resolve::take() noexcept {
  if (is_cancelled()) return taken().error();
  if (result_) {
    for (Address& address : *result_) address.set_port(port_);
  }
  return std::move(result_);
}

}  // namespace keel
