#include "keel/http/client/client.h"

#include <algorithm>
#include <vector>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/http/client/retry_rules.h"
#include "keel/http/client/tunnel.h"
#include "keel/http/message/fields.h"
#include "keel/task/timing.h"

namespace keel::http {
namespace {

// The body of a redirected or retried response is read up to this size, so that its connection can be reused. Reading a
// longer body to its end would cost more than a new connection.
constexpr std::size_t discard_bytes_max = 64 * 1024;

Instant now() noexcept { return Host::current().now(); }

bool is_redirect(Status status) noexcept {
  return status == Status::MovedPermanently || status == Status::Found || status == Status::SeeOther ||
         status == Status::TemporaryRedirect || status == Status::PermanentRedirect;
}

// Whether the field describes the body. A redirect that is followed with GET drops the body together with the fields
// that describe it.
bool is_about_content(std::string_view name) noexcept {
  return (name.size() >= 8 && equals_ignore_case(name.substr(0, 8), "content-")) ||
         equals_ignore_case(name, "digest") || equals_ignore_case(name, "last-modified");
}

void drop_fields_about_content(Buffer& fields) {
  Buffer kept;
  std::string_view rest = fields.view();
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find("\r\n") + 2);
    rest.remove_prefix(line.size());
    if (!is_about_content(line.substr(0, line.find(':')))) kept.append(line);
  }
  fields = std::move(kept);
}

// RFC 9110 §15.4: whether a redirect with this status is followed with GET.
bool becomes_get(Method method, Status status) noexcept {
  const bool is_old = status == Status::MovedPermanently || status == Status::Found;
  return (is_old && method == Method::Post) || (status == Status::SeeOther && method != Method::Head);
}

// Paths begin with a slash; therefore base_url must not end with one.
ClientOptions tidied(ClientOptions options) {
  while (options.base_url.ends_with('/')) options.base_url.pop_back();
  return options;
}

ProxyRules rules_of(const ClientOptions& options, std::string& problem) {
  Result<ProxyRules> rules = ProxyRules::make(options.proxy, options.no_proxy);
  if (rules) return *std::move(rules);
  problem = "ClientOptions::proxy: " + std::string(rules.error().message());
  return {};
}

// Adds the name of the proxy to the message of the error.
Error through(const Proxy* proxy, Error error) {
  if (proxy == nullptr) return error;
  return std::move(error).because("through the proxy " + proxy->name());
}

Result<Url> target_of(const Url& from, std::string_view location, const ClientPool& pool) {
  KEEL_TRY(Url to, from.resolve(location));
  KEEL_TRY_VOID(pool.speaks(to));
  return to;
}

enum class Verdict : std::uint8_t { Good, Bad, None };

// Says whether a circuit breaker counts this result as a success, counts it as a failure, or ignores it. The breaker
// does not count an error that the server did not cause.
Verdict judge(const Result<ClientStream>& response, const CircuitBreakerOptions& options) {
  if (response) return number(response->status()) >= 500 ? Verdict::Bad : Verdict::Good;
  return options.fails(response.error()) ? Verdict::Bad : Verdict::None;
}

bool may_change_by_itself(const Result<ClientStream>& response, const RetryOptions& options) {
  return response ? is_worth_a_retry(response->status()) : options.when(response.error());
}

// Whether the error is marked as one from the environment. The error of a call that was stopped, or that exceeded a
// limit of this client, is not marked, because it says nothing about the server or the request.
bool is_of_environment(const Error& error) noexcept {
  return error.code() != Code::Cancelled && error.code() != Code::ResourceExhausted;
}

}  // namespace

struct Client::Metrics {
  Metrics(metrics::Registry& registry, const ClientOptions& options, const ClientPool& pool)
      : by_class{outcome(registry, options, "1xx"), outcome(registry, options, "2xx"),
                 outcome(registry, options, "3xx"), outcome(registry, options, "4xx"),
                 outcome(registry, options, "5xx")},
        errors(outcome(registry, options, "error")),
        took(registry.histogram("http_client_request_seconds", "Duration of a call, retries included",
                                metrics::latency_seconds, {{"client", options.name}})),
        waited(registry.histogram("http_client_pool_wait_seconds", "Waiting time of a call for a connection",
                                  metrics::latency_seconds, {{"client", options.name}})),
        retries(registry.counter("http_client_retries_total", "Retries: attempts of a call after the first one",
                                 {{"client", options.name}})),
        unaffordable(registry.counter("http_client_retries_refused_total",
                                      "Retries that were not made because the retry budget was spent",
                                      {{"client", options.name}})),
        rejected(registry.counter("http_client_rejected_total", "Attempts that an open circuit breaker rejected",
                                  {{"client", options.name}})) {
    const auto expose = [&](std::string_view name, std::string_view help, metrics::Labels labels,
                            Function<double()> f) {
      functions.push_back(registry.gauge(name, help, labels, std::move(f), metrics::Calls::OnThisThread));
    };
    const ClientPool* const p = &pool;
    expose("http_client_connections", "Connections of the client", {{"client", options.name}, {"state", "idle"}},
           [p] { return static_cast<double>(p->idle()); });
    expose("http_client_connections", "Connections of the client", {{"client", options.name}, {"state", "used"}},
           [p] { return static_cast<double>(p->open() - p->idle()); });
    expose("http_client_circuits", "Servers whose circuit breaker is in this state",
           {{"client", options.name}, {"state", "open"}},
           [p] { return static_cast<double>(p->breakers(CircuitBreaker::State::Open)); });
    expose("http_client_circuits", "Servers whose circuit breaker is in this state",
           {{"client", options.name}, {"state", "half_open"}},
           [p] { return static_cast<double>(p->breakers(CircuitBreaker::State::HalfOpen)); });
  }
  static metrics::Counter outcome(metrics::Registry& registry, const ClientOptions& options, std::string_view what) {
    return registry.counter("http_client_requests_total", "Completed calls, by result",
                            {{"client", options.name}, {"status_class", what}});
  }

  metrics::Counter by_class[5];
  metrics::Counter errors;
  metrics::Histogram took;
  metrics::Histogram waited;
  metrics::Counter retries;
  metrics::Counter unaffordable;
  metrics::Counter rejected;
  std::vector<metrics::GaugeFunction> functions;
};

enum class Client::Trouble : std::uint8_t {
  Any,
  NoPlace,   // No place among the connections became free.
  Stale,     // The attempt used a kept connection, which the server may have closed without this client noticing.
  TooLarge,  // The response was larger than a limit of this client.
  Writer,    // The caller's function that writes the body has failed.
};

// The facts about a call that are recorded when it has ended.
struct Client::Call {
  Method method;
  std::string url;  // The URL for logs, without query and user.
  int attempts = 0;
  bool is_writers_error = false;  // The caller's function that writes the body has failed.
};

std::optional<std::string_view> ClientResponse::header(std::string_view name) const noexcept {
  Field field;
  for (std::string_view rest = head(); next_field(rest, field);) {
    if (equals_ignore_case(field.name, name)) return field.value;
  }
  return std::nullopt;
}

Result<> ClientResponse::read_json(ReadJson read, void* value) const {
  if (const int status = number(status_); status / 100 != 2) {
    const std::string_view phrase = reason(status_);
    std::string text = "returned " + std::to_string(status);
    if (!phrase.empty()) text += ' ' + std::string(phrase);
    return Error::text(Code::Upstream, text).because(loggable_url(url_)).from_environment();
  }
  Arena arena;
  Violations wrong;
  if (read(value, body(), arena, wrong)) return {};
  return wrong.error()
      .as(Code::Upstream)
      .because("the body does not have the expected form")
      .because(loggable_url(url_))
      .from_environment();
}

Task<Chunk> ClientStream::read() {
  Result<Chunk> chunk = co_await attempt(exchange_.read(read_timeout_));
  if (!chunk && is_of_environment(chunk.error())) co_return std::move(chunk).error().from_environment();
  co_return std::move(chunk);
}

Client::Client(Resolver& resolver, ClientOptions options)
    : options_(tidied(std::move(options))),
      log_("http.client"),
      pool_(resolver, options_.pool, options_.retry, options_.breaker, options_.guard,
            rules_of(options_, proxy_problem_)) {
  if (options_.metrics != nullptr) metrics_ = std::make_unique<Metrics>(*options_.metrics, options_, pool_);
}

Client::~Client() = default;

Task<ClientResponse> Client::send(ClientRequest request) { return respond(*this, std::move(request)); }

Task<ClientResponse> Client::respond(Client& client, ClientRequest request) {
  ClientStream stream = co_await client.measured(std::move(request), true);
  co_return std::move(stream.response_);
}

Task<ClientStream> Client::open(ClientRequest request) { return measured(std::move(request), false); }

Task<ClientStream> Client::measured(ClientRequest request, bool whole) {
  if (request.url_.starts_with('/')) request.url_.insert(0, options_.base_url);
  Call call{request.method_, loggable_url(request.url_)};
  const Instant began = now();
  const Duration limit = request.timeout_.value_or(options_.timeout);
  Result<ClientStream> result = co_await attempt(with_timeout(limit, follow(request, whole, call)));
  note(call, result, now() - began);
  if (!result) {
    std::string context = std::string(to_string(call.method)) + ' ' + call.url;
    if (call.url.starts_with('/')) {
      context +=
          ": the client has no base_url; a service reads base_url from network.clients." + options_.name + ".base_url";
    }
    Error error = std::move(result).error().because(context);
    if (!call.is_writers_error && is_of_environment(error)) error = std::move(error).from_environment();
    co_return std::move(error);
  }
  co_return *std::move(result);
}

void Client::note(const Call& call, const Result<ClientStream>& result, Duration took) {
  ++stats_.calls;
  if (metrics_ != nullptr) {
    if (result) {
      metrics_->by_class[number(result->status()) / 100 - 1].add();
    } else {
      metrics_->errors.add();
    }
    metrics_->took.observe(took);
  }
  if (!log_.is_on(Level::Debug)) return;
  const std::string_view method = to_string(call.method);
  if (result) {
    log_.debug("called", log::field("client", options_.name), log::field("method", method), log::field("url", call.url),
               log::field("status", number(result->status())), log::field("took", took),
               log::field("attempts", call.attempts));
  } else {
    log_.debug("call failed", log::field("client", options_.name), log::field("method", method),
               log::field("url", call.url), log::field("took", took), log::field("attempts", call.attempts),
               result.error());
  }
}

Task<ClientStream> Client::follow(ClientRequest& request, bool whole, Call& call) {
  if (request.problem_ != nullptr) co_return fail(Code::InvalidArgument, request.problem_);
  if (request.method_ == Method::Other || request.method_ == Method::Connect || request.method_ == Method::Trace) {
    co_return fail(Code::InvalidArgument, "a client cannot send a request with the method CONNECT, TRACE or Other");
  }
  if (!proxy_problem_.empty()) co_return Error::text(Code::InvalidArgument, proxy_problem_);
  Url url = co_await Url::parse(request.url_);
  co_await pool_.speaks(url);
  for (int followed = 0;; ++followed) {
    ClientStream response = co_await repeat(request, url, whole, call);
    const std::optional<std::string_view> location = response.header("Location");
    if (!is_followed(request, url, response)) co_return std::move(response);
    if (followed == options_.redirects_max) {
      co_return Error::text(Code::Upstream, "more than " + std::to_string(options_.redirects_max) + " redirects");
    }
    Result<Url> next = target_of(url, *location, pool_);
    if (!next) co_return std::move(next).error().as(Code::Upstream).because("following a redirect");
    co_await response.exchange_.discard(discard_bytes_max, options_.read_timeout);
    redirect(request, response.status(), next->origin() != url.origin());
    url = *std::move(next);
    ++stats_.redirects;
  }
}

bool Client::is_followed(const ClientRequest& request, const Url& url, const ClientStream& response) const {
  if (options_.redirects_max == 0 || !is_redirect(response.status())) return false;
  const std::optional<std::string_view> location = response.header("Location");
  if (!location) return false;
  if (becomes_get(request.method_, response.status())) return true;
  if (request.writer_) return false;  // A streamed body cannot be sent again.
  if (request.body_.empty()) return true;
  const Result<Url> next = target_of(url, *location, pool_);
  // If the target is invalid, the attempt to follow it ends the call with an error.
  return !next || next->origin() == url.origin();
}

void Client::redirect(ClientRequest& request, Status status, bool to_another) {
  if (becomes_get(request.method_, status)) {
    request.method_ = Method::Get;
    request.body_.clear();
    request.writer_.reset();
    request.has_body_ = false;
    drop_fields_about_content(request.fields_);
    drop_fields_about_content(request.secret_fields_);
  }
  if (to_another) {
    request.secret_fields_.clear();
    request.has_proxy_authorization_ = false;
  }
}

Task<ClientStream> Client::repeat(const ClientRequest& request, const Url& url, bool whole, Call& call) {
  ClientPool::Origin* const known = co_await pool_.origin(url);
  ClientPool::Origin& origin = *known;
  const ClientPool::Origin::Use use(origin);
  const bool may_repeat = (is_idempotent(request.method_) || request.has_idempotency_key_) && !request.writer_;
  Retry::Attempts attempts(origin.retry(), (co_await this_task()).deadline);
  ClientPool::Kind kind = ClientPool::Kind::Any;
  while (true) {
    ++call.attempts;
    std::optional<CircuitBreaker::Call> admitted = origin.breaker().admit(now());
    if (!admitted) {
      ++stats_.rejected;
      if (metrics_ != nullptr) metrics_->rejected.add();
      co_return Error::text(Code::Unavailable, "the circuit of " + origin.name() + " is open: too many calls failed");
    }
    Trouble trouble = Trouble::Any;
    Result<ClientStream> response = co_await attempt(once(request, url, origin, kind, whole, trouble));
    if (trouble == Trouble::Stale && may_repeat && kind == ClientPool::Kind::Any) {
      kind = ClientPool::Kind::Fresh;
      ++stats_.stale;
      continue;
    }
    kind = ClientPool::Kind::Any;
    call.is_writers_error = trouble == Trouble::Writer;
    // Three kinds of failure are not counted by the circuit breaker: a limit of this client was reached (no free
    // connection, the size of a body), the body's writer failed, or the server had closed an idle connection, which it
    // may do at any time.
    const Verdict verdict = trouble == Trouble::Any ? judge(response, options_.breaker) : Verdict::None;
    if (verdict == Verdict::Good) admitted->succeeded(now());
    if (verdict == Verdict::Bad) admitted->failed(now());
    if (!may_repeat || !may_change_by_itself(response, options_.retry)) co_return std::move(response);

    const std::optional<std::string_view> asked = response ? response->header("Retry-After") : std::nullopt;
    std::optional<Duration> pause;
    if (asked) pause = parse_retry_after(*asked, Host::current().wall_ns() / 1'000'000'000);
    if (pause && *pause > options_.retry_after_max) co_return std::move(response);
    const std::optional<Duration> wait = attempts.next_wait(pause.value_or(Duration()));
    if (!wait) co_return std::move(response);
    // This call's own failure has opened the circuit: a retry would be rejected, and the caller would not get the
    // response.
    if (origin.breaker().state(now()) == CircuitBreaker::State::Open) co_return std::move(response);
    if (!attempts.spend()) {
      ++stats_.unaffordable;
      if (metrics_ != nullptr) metrics_->unaffordable.add();
      co_return std::move(response);
    }
    ++stats_.retries;
    if (metrics_ != nullptr) metrics_->retries.add();
    admitted.reset();
    if (response && !whole) co_await response->exchange_.discard(discard_bytes_max, options_.read_timeout);
    co_await sleep_for(*wait);
  }
}

Task<ClientStream> Client::once(const ClientRequest& request, const Url& url, ClientPool::Origin& origin,
                                ClientPool::Kind kind, bool whole, Trouble& trouble) {
  const Instant began = now();
  bool has_place = false;
  Result<ClientPool::Lease> lent = co_await attempt(pool_.lend(origin, url, kind, has_place));
  if (!lent) {
    if (!has_place) trouble = Trouble::NoPlace;
    // The name service says that the host does not exist.
    if (lent.error().code() == Code::NotFound) co_return std::move(lent).error().as(Code::Upstream);
    co_return std::move(lent).error();
  }
  if (metrics_ != nullptr) metrics_->waited.observe(now() - began);
  ClientStream stream(ClientExchange(*std::move(lent), options_.decompresses ? &decoders_ : nullptr),
                      options_.read_timeout);
  ClientExchange& exchange = stream.exchange_;
  Result<> asked = co_await attempt(exchange.ask(request, url, {options_.first_byte_timeout, options_.sends_deadline}));
  if (!asked) {
    if (exchange.is_writers_error()) trouble = Trouble::Writer;
    if (exchange.may_have_been_stale() && asked.error().code() == Code::Unavailable) trouble = Trouble::Stale;
    if (exchange.is_writers_error()) co_return std::move(asked).error();
    co_return through(exchange.proxy(), std::move(asked).error());
  }
  if (exchange.is_forwarded() && exchange.status() == Status::ProxyAuthenticationRequired) {
    co_return refused_by(*exchange.proxy(), number(exchange.status())).because("the proxy " + exchange.proxy()->name());
  }
  stream.response_.status_ = exchange.status();
  stream.response_.head_ = exchange.take_head();
  stream.response_.url_ = url.text();
  if (whole && !is_followed(request, url, stream)) {
    Result<> read = co_await attempt(read_whole(stream, options_.body_bytes_max, trouble));
    if (!read) co_return through(exchange.proxy(), std::move(read).error());
  }
  co_return std::move(stream);
}

Task<> Client::read_whole(ClientStream& stream, std::size_t bytes_max, Trouble& trouble) {
  while (true) {
    const Chunk chunk = co_await stream.exchange_.read(stream.read_timeout_);
    if (chunk.empty()) break;
    if (chunk.size() > bytes_max - stream.response_.body_.size()) {
      trouble = Trouble::TooLarge;
      const std::string_view decoded = stream.exchange_.is_decoding() ? ", decoded," : "";
      co_await Error::text(Code::Upstream, "the body of the response" + std::string(decoded) + " has more than " +
                                               std::to_string(bytes_max) +
                                               " bytes (body_bytes_max): to read it in pieces, call open()");
    }
    stream.response_.body_.append(chunk);
  }
  stream.response_.trailers_ = stream.exchange_.take_trailers();
}

Client::Stats Client::stats() const noexcept {
  Stats stats = stats_;
  stats.connections = pool_.open();
  stats.idle_connections = pool_.idle();
  return stats;
}

CircuitBreaker::State Client::breaker(std::string_view url) const {
  const Result<Url> parsed = Url::parse(url);
  if (!parsed) return CircuitBreaker::State::Closed;
  return pool_.breaker(parsed->origin());
}

}  // namespace keel::http
