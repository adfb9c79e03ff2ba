#include "keel/http/middleware/rate_limit.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <span>
#include <utility>

#include "keel/base/ascii.h"
#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/base/per_thread.h"
#include "keel/http/middleware/token_buckets.h"
#include "keel/http/server/problem.h"

namespace keel::http {
namespace {

std::int64_t seconds_up(Duration duration) noexcept { return (duration.count_ns() + 999'999'999) / 1'000'000'000; }

// Text and numbers, written on the stack.
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
             "a rate limit must allow at least one request, in a period of at least a second");
  KEEL_CHECK(o.header.empty() || is_token(o.header), "the header of a rate limit must be the name of a field");
  KEEL_CHECK(!o.name.empty() && o.name.size() <= 32 &&
                 std::all_of(o.name.begin(), o.name.end(),
                             [](char c) { return ascii::is_alphanumeric(c) || c == '-' || c == '_'; }),
             "the name of a rate limit must be 1 to 32 letters and digits");
  state_->policy = "\"" + o.name + "\";q=" + std::to_string(o.requests) + ";w=" + std::to_string(seconds_up(o.per));
}

RateLimit::RateLimit(RateLimit&&) noexcept = default;
RateLimit::~RateLimit() = default;

std::optional<Response> RateLimit::before(Request& request) const {
  const RateLimitOptions& options = state_->options;
  Host& host = Host::current();
  TokenBuckets& buckets = state_->buckets.get([&] {
    SipKey key;
    host.secret(std::as_writable_bytes(std::span(&key, 1)));
    return TokenBuckets({.tokens = options.requests, .per = options.per, .keys_max = options.clients_max}, key);
  });
  std::optional<std::string_view> client;
  if (!options.header.empty()) client = request.header(options.header);
  // The key of an address begins with a byte that no field contains. Otherwise, a client that can choose the value of
  // the field could choose the key of another client's address.
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
  Response refused = refuse(Status::TooManyRequests, "too many requests: Retry-After says when to try again");
  refused.header("Retry-After", Line().number(seconds_up(taken.retry_after)).view());
  state_->describe(refused, taken);
  return refused;
}

void RateLimit::after(Request& request, Response& response) const {
  if (const auto* taken = request.get<TokenBuckets::Taken>(state_.get())) state_->describe(response, *taken);
}

}  // namespace keel::http
