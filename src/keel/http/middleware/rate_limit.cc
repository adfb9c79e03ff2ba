#include "keel/http/middleware/rate_limit.h"

#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/base/per_thread.h"
#include "keel/http/middleware/token_buckets.h"
#include "keel/http/server/problem.h"

namespace keel::http {
namespace {

std::int64_t seconds_up(Duration duration) noexcept { return (duration.count_ns() + 999'999'999) / 1'000'000'000; }

// "text" and a number, on the stack.
class Line {
 public:
  Line& text(std::string_view text) noexcept {
    at_ = std::copy(text.begin(), text.end(), at_);
    return *this;
  }
  Line& number(std::int64_t value) noexcept {
    at_ = std::to_chars(at_, room_ + sizeof room_, value).ptr;
    return *this;
  }
  std::string_view view() const noexcept { return {room_, static_cast<std::size_t>(at_ - room_)}; }

 private:
  char room_[128];
  char* at_ = room_;
};

}  // namespace

struct RateLimit::State {
  RateLimitOptions options;
  std::string policy;
  PerThread<TokenBuckets> buckets;

  void describe(Response& response, const TokenBuckets::Taken& taken) const {
    response.header("RateLimit-Policy", policy);
    Line line;
    line.text("\"").text(options.name).text("\";r=").number(taken.remaining).text(";t=");
    response.header("RateLimit", line.number(seconds_up(taken.full_after)).view());
  }
};

RateLimit::RateLimit(RateLimitOptions options) : state_(new State{std::move(options), {}, {}}) {
  const RateLimitOptions& o = state_->options;
  KEEL_CHECK(o.requests > 0 && o.per >= Duration::seconds(1),
             "a rate limit lets a request through, per second or more");
  KEEL_CHECK(o.header.empty() || is_token(o.header), "a rate limit's header is the name of a field");
  KEEL_CHECK(!o.name.empty() && o.name.size() <= 32 &&
                 std::all_of(o.name.begin(), o.name.end(),
                             [](char c) {
                               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                                      c == '-' || c == '_';
                             }),
             "the name of a rate limit is up to 32 letters and digits");
  state_->policy = "\"" + o.name + "\";q=" + std::to_string(o.requests) + ";w=" + std::to_string(seconds_up(o.per));
}

RateLimit::RateLimit(RateLimit&&) noexcept = default;
RateLimit::~RateLimit() = default;

std::string_view RateLimit::client_of(const Address& address) noexcept {
  const auto bytes = [](const void* at, std::size_t size) {
    return std::string_view(static_cast<const char*>(at), size);
  };
  if (address.family() == AF_INET) {
    return bytes(&reinterpret_cast<const sockaddr_in*>(address.system())->sin_addr, 4);
  }
  if (address.family() == AF_INET6) {
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(address.system())->sin6_addr;
    // An IPv4 client on an IPv6 socket.
    if (IN6_IS_ADDR_V4MAPPED(&v6)) return bytes(v6.s6_addr + 12, 4);
    return bytes(&v6, 8);
  }
  return {};
}

std::optional<Response> RateLimit::before(Request& request) const {
  const RateLimitOptions& options = state_->options;
  Host& host = Host::current();
  TokenBuckets& buckets = state_->buckets.get([&] {
    return TokenBuckets({.tokens = options.requests, .per = options.per, .keys_max = options.clients_max},
                        {host.random(), host.random()});
  });
  std::optional<std::string_view> client;
  if (!options.header.empty()) client = request.header(options.header);
  // Behind a byte that no field has: a client that may choose its field does not choose it to be an address.
  char tagged[1 + 8] = {'\0'};
  if (!client) {
    const Address address = request.client_address();
    const std::string_view bytes = client_of(address);
    client = {tagged, static_cast<std::size_t>(std::copy(bytes.begin(), bytes.end(), tagged + 1) - tagged)};
  }
  const TokenBuckets::Taken taken = buckets.take(*client, host.now());
  if (taken.allowed) {
    request.set(taken, this->state_.get());
    return std::nullopt;
  }
  Response refused = refuse(Status::TooManyRequests, "too many requests: Retry-After says when there may be the next");
  refused.header("Retry-After", Line().number(seconds_up(taken.retry_after)).view());
  state_->describe(refused, taken);
  return refused;
}

void RateLimit::after(Request& request, Response& response) const {
  if (const auto* taken = request.get<TokenBuckets::Taken>(state_.get())) state_->describe(response, *taken);
}

}  // namespace keel::http
