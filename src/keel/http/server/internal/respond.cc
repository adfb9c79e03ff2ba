// What a connection answers: a handler's response or a refusal, framed and recorded.

#include <optional>
#include <string>
#include <utility>

#include "keel/base/hex.h"
#include "keel/http/server/internal/acceptor.h"
#include "keel/http/server/internal/answer.h"
#include "keel/http/server/internal/connection.h"
#include "keel/http/server/internal/exchange.h"
#include "keel/http/server/internal/server_metrics.h"
#include "keel/http/server/internal/upgraded.h"
#include "keel/http/server/problem.h"
#include "keel/observe/flight_recorder.h"

namespace keel::http {
namespace {

constexpr std::string_view too_late = "this server is late with all that it has to do";

// Without a port that nobody told.
std::string client_text(const Address& address) {
  std::string text = address.to_string();
  if (!address.is_unix() && text.ends_with(":0")) text.resize(text.size() - 2);
  return text;
}

// say(), with the fields that there is something in.
template <class Say>
void say_of(std::string_view client, std::string_view id, const Say& say) {
  if (client.empty() && id.empty()) return say();
  if (client.empty()) return say(log::field("request_id", id));
  if (id.empty()) return say(log::field("client", client));
  say(log::field("client", client), log::field("request_id", id));
}

}  // namespace

void Connection::respond(Request& request, const Router::Match& match, Result<Response>&& result) {
  if (request.arena_->bytes_held() > acceptor_.limits().request_bytes_max) [[unlikely]] {
    acceptor_.tally.requests_too_big.add();
    result = fail(Code::ResourceExhausted, "the request needs more memory than this server gives to one");
  }
  if (!result) result = problem(request, result.error());
  if (result->is_upgrade()) [[unlikely]]
    result = answer_upgrade(*request.head_, *std::move(result));
  if (!request.accepted_type_.empty()) result->vary("Accept");
  if (result->status() == Status::Unauthorized && !result->field("WWW-Authenticate")) [[unlikely]]
    result->header("WWW-Authenticate", acceptor_.server_.options_.challenge);
  Middleware::after(request, *result);
  const int status_number = number(result->status());
  if (!result->is_valid() || (status_number < 200 && !result->is_upgrade()) || status_number > 599) {
    // After an interim status the client would take the next answer for this one; above 599 there is no status line.
    acceptor_.log_.error("a response had a field or a status that cannot be sent", log::field("path", request.path()));
    result = refuse(Status::InternalServerError, {});
  }
  if (acceptor_.server_.options_.request_ids) result->header("X-Request-Id", request.id());
  if (result->status() == Status::ResetContent) [[unlikely]]
    result->drop_content();
  Response& response = *result;
  const RequestHead& head = *request.head_;
  BodyEnd body_end = BodyEnd::Length;
  std::optional<std::uint64_t> length;
  if (response.is_streamed()) {
    if (response.streamed_.coder() == nullptr) length = response.streamed_.length();
    if (!length) body_end = head.version_minor() == 0 ? BodyEnd::Close : BodyEnd::Chunks;
  } else if (head.method() == Method::Head && match.is_route && response.content().empty() &&
             acceptor_.router().method(match) == Method::Head) [[unlikely]] {
    // It has not been told what GET would send, whose length this would be (RFC 9110 §8.6).
    body_end = BodyEnd::Unsaid;
  }
  const bool streams = response.is_streamed() && head.method() != Method::Head && !forbids_content(response.status());
  if (!response.is_upgrade() &&
      (!head.keep_alive() || response.close_ || acceptor_.draining_ ||
       requests_ >= acceptor_.limits().requests_per_connection_max || (streams && body_end == BodyEnd::Close))) {
    close_ = true;
  }
  const std::size_t bytes = response.body_.size();
  const Status status = response.status();
  if (acceptor_.server_.options_.server_timing && request.span_.stages != nullptr) {
    Buffer timing;
    write_server_timing(timing, *request.span_.stages);
    if (!timing.empty()) response.header("Server-Timing", timing.view());
  }
  {
    const StageTimer timer(Stage::Serialize, request.span_.stages);
    write_answer(out_, response,
                 {.ok_and_date = acceptor_.ok_and_date(),
                  .version_minor = head.version_minor(),
                  .head_only = head.method() == Method::Head,
                  .close = close_,
                  .end = body_end,
                  .length = length});
  }
  if (streams) return begin_streaming(response, body_end);
  if (bytes > copied_body_max && head.method() != Method::Head && !forbids_content(status)) {
    large_ = std::move(response.body_);
  }
  if (response.is_upgrade()) begin_upgrade(response.upgrade_.release(), request.trace());
  record(request, match, status, bytes);
}

// An answer that has been given, or whose body has been.
void Connection::record(Request& request, const Router::Match& match, Status status, std::size_t bytes) {
  acceptor_.tally.requests.add();
  const Instant now = acceptor_.loop_.precise_now();
  const Duration took = now - request.started_;
  acceptor_.worked(match.index, now);
  if (const auto& metrics = acceptor_.metrics_) metrics->count(match.index, status, took);
  flight::note({.method = to_string(request.method()),
                .route = request.route(),
                .status = static_cast<unsigned>(number(status)),
                .bytes = bytes,
                .started = request.started_,
                .took = took,
                .trace = request.trace()});
  if (log::is_recorded && acceptor_.access_log_) log_answer(request, status, bytes, took);
  if (StageClock* const clock = request.span_.stages) [[unlikely]] {
    clock->add(Stage::Record, acceptor_.loop_.precise_now() - now);
    acceptor_.count_stages(match.index, *clock);
    // Of a streamed body only the end is left to be sent.
    if (phase_ != Phase::Streaming) acceptor_.begin_write(*this, match.index, send_.pending);
  }
}

void Connection::log_answer(Request& request, Status status, std::size_t bytes, Duration took) {
  const ServerOptions& options = acceptor_.server_.options_;
  const std::string client = options.log_clients ? client_text(request.client_address()) : std::string();
  say_of(client, options.request_ids ? request.id() : std::string_view(), [&](const auto&... more) {
    acceptor_.log_.info("request", log::field("method", request.head_->method_text()),
                        log::field("path", request.path()), log::field("status", number(status)),
                        log::field("bytes", bytes), log::field("duration", took), more...);
  });
}

void Connection::refuse_and_close(Status status, std::string_view detail, bool head_only) {
  ++requests_;
  close_ = true;
  peer_closes_ = false;  // Whatever it announced, the rest of what was refused may be on its way.
  phase_ = Phase::Head;
  free_partial();
  acceptor_.tally.requests.add();
  acceptor_.tally.refused.add();
  const ServerOptions& options = acceptor_.server_.options_;
  Response answer = refuse(status, detail);
  char id_text[2 * hex_digits];
  std::string_view id;
  if (options.request_ids) {
    write_hex(write_hex(id_text, acceptor_.trace_high_), acceptor_.loop_.random());
    id = {id_text, sizeof id_text};
    answer.header("X-Request-Id", id);
  }
  write_answer(out_, answer, {.ok_and_date = acceptor_.ok_and_date(), .head_only = head_only, .close = true});
  acceptor_.count_refused(status);
  const std::string client =
      options.log_clients ? client_text(acceptor_.loop_.engine().peer_address(receive_.fd)) : std::string();
  say_of(client, id, [&](const auto&... more) {
    acceptor_.log_.info("request refused", log::field("status", number(status)), log::field("reason", detail), more...);
  });
}

// Before any work for it has begun.
std::string_view Connection::refuse_late(Request& request, std::string_view rest) {
  const ServerOptions& options = acceptor_.server_.options_;
  const RequestHead& head = *request.head_;
  const bool is_whole =
      head.body() == BodyKind::None || (head.body() == BodyKind::Length && rest.size() >= head.content_length());
  if (!is_whole) peer_closes_ = false;
  if (!is_whole || !head.keep_alive() || acceptor_.draining_) close_ = true;
  acceptor_.tally.requests.add();
  acceptor_.tally.refused.add();
  acceptor_.tally.overloaded.add();
  acceptor_.count_refused(Status::ServiceUnavailable);
  if (acceptor_.access_log_) {
    const std::string client = options.log_clients ? client_text(request.client_address()) : std::string();
    say_of(client, options.request_ids ? request.id() : std::string_view(), [&](const auto&... more) {
      acceptor_.log_.info("request refused", log::field("status", number(Status::ServiceUnavailable)),
                          log::field("reason", too_late), log::field("method", head.method_text()),
                          log::field("path", head.path()), more...);
    });
  }
  Response answer = refuse(Status::ServiceUnavailable, too_late);
  if (options.request_ids) answer.header("X-Request-Id", request.id());
  write_answer(out_, answer,
               {.ok_and_date = acceptor_.ok_and_date(),
                .version_minor = head.version_minor(),
                .head_only = head.method() == Method::Head,
                .close = close_});
  acceptor_.scratch_.rewind();
  return is_whole ? rest.substr(static_cast<std::size_t>(head.content_length())) : std::string_view();
}

std::string_view to_string(Cut during) noexcept {
  constexpr std::string_view names[cut_count] = {"head", "body", "handler"};
  return names[static_cast<int>(during)];
}

// What had begun on a connection that ends now, and will not be answered.
void Connection::record_cut() noexcept {
  if (phase_ == Phase::Head && partial_ != nullptr) record_cut(Cut::Head);
  if (phase_ == Phase::Body) record_cut(Cut::Body);
  if (phase_ == Phase::Handling) record_cut(exchange_->is_due ? Cut::Body : Cut::Handler);
}

void Connection::record_cut(Cut during) noexcept {
  acceptor_.tally.cut.add();
  acceptor_.count_cut(during);
  const log::Logger& log = acceptor_.log_;
  if (exchange_ == nullptr) {
    return log.info("request cut", log::field("during", to_string(during)), log::field("bytes", in_.size()));
  }
  const ScopedSpan span(exchange_->request.span_);
  log.info("request cut", log::field("during", to_string(during)), log::field("method", exchange_->head.method_text()),
           log::field("path", exchange_->head.path()));
}

}  // namespace keel::http
