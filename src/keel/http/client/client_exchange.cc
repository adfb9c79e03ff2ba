#include "keel/http/client/client_exchange.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "keel/base/host.h"
#include "keel/http/message/chunk.h"
#include "keel/http/message/fields.h"
#include "keel/http/message/response_reader.h"
#include "keel/http/message/trace_context.h"
#include "keel/task/scope.h"
#include "keel/task/timing.h"

namespace keel::http {
namespace {

void append_number(Buffer& out, std::uint64_t value) {
  char* at = out.reserve(20);
  out.commit(static_cast<std::size_t>(std::to_chars(at, at + 20, value).ptr - at));
}

Error misunderstood(const ResponseStep& step) {
  return Error::text(Code::Upstream, "the response is malformed: " + std::string(step.reason));
}

// Removes the header lines that no longer apply once the body is decoded.
void drop_fields_about_coding(Buffer& head) {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < head.size();) {
    const std::string_view rest = head.view().substr(at);
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
    const std::string_view name = line.substr(0, line.find(':'));
    at += line.size();
    if (equals_ignore_case(name, "content-encoding") || equals_ignore_case(name, "content-length")) continue;
    std::memmove(head.data() + kept, line.data(), line.size());
    kept += line.size();
  }
  head.resize(kept);
}

}  // namespace

struct ClientExchange::Sending {
  Result<> result;
  bool is_done = false;
  bool is_writers_error = false;  // The error came from the function that writes the body, not from the connection.
};

Buffer ClientExchange::format_head(const ClientRequest& request, const Url& url, bool sends_deadline,
                                   Instant deadline) const {
  Buffer out;
  out.append(to_string(request.method_));
  out.push_back(' ');
  out.append(is_forwarded_ ? url.text() : url.target());  // RFC 9112 §3.2.2.
  out.append(" HTTP/1.1\r\nHost: ");
  out.append(url.authority());
  out.append("\r\n");
  if (is_forwarded_) out.append(proxy_->authorization());
  if (decoders_ != nullptr && !request.decodes_itself_) {
    out.append("Accept-Encoding: ");
    out.append(ContentDecoder::accepted());
    out.append("\r\n");
  }
  out.append(request.fields_.view());
  out.append(request.secret_fields_.view());
  const Span* const span = current_span();
  const log::TraceId trace = request.trace_ || span == nullptr ? request.trace_ : span->trace;
  // In the trace, this call is the parent of the server's work.
  if (trace) append_traceparent(out, trace, std::max<std::uint64_t>(Host::current().random(), 1));
  if (sends_deadline && !deadline.is_never()) {
    out.append("X-Request-Deadline-Ms: ");
    append_number(out,
                  static_cast<std::uint64_t>(std::max<std::int64_t>((deadline - Host::current().now()).count_ms(), 0)));
    out.append("\r\n");
  }
  if (request.has_body_ && !request.content_type_.empty()) {
    out.append("Content-Type: ");
    out.append(request.content_type_);
    out.append("\r\n");
  }
  const Method method = request.method_;
  const bool usually_has_a_body = method == Method::Post || method == Method::Put || method == Method::Patch;
  if (request.writer_ && !request.length_) {
    out.append("Transfer-Encoding: chunked\r\n");
    // RFC 9110 §8.6: Content-Length is sent even when the body is empty.
  } else if (request.has_body_ || usually_has_a_body) {
    out.append("Content-Length: ");
    append_number(out, request.writer_ ? *request.length_ : request.body_.size());
    out.append("\r\n");
  }
  out.append("\r\n");
  return out;
}

Task<> ClientExchange::ask(const ClientRequest& request, const Url& url, Asking asking) {
  if (proxy_ != nullptr && request.has_proxy_authorization_) {
    co_await fail(Code::InvalidArgument,
                  "a request through a proxy cannot set Proxy-Authorization: put the credentials into the URL of "
                  "ClientOptions::proxy");
  }
  was_used_ = lease_->responses != 0;
  lease_->reader.begin(request.method() == Method::Head);
  const Instant deadline = (co_await this_task()).deadline;
  const Buffer head = format_head(request, url, asking.sends_deadline, deadline);
  const Instant limit = Host::current().now() + asking.first_byte_timeout;
  Sending sending;
  Result<> received;
  if (request.has_body_) {
    Scope beside;
    beside.spawn(send(request, head.view(), sending), OnError::Ignore);
    received = co_await attempt(with_timeout(asking.first_byte_timeout, read_head()));
    beside.stop();
    const Result<> joined = co_await attempt(beside.join());
  } else {
    sending.result = co_await attempt(lease_->stream.write(head.view()));
    sending.is_done = true;
    // When the write fails because the server closed the connection, the server may have sent a response before it
    // closed the connection. Therefore the response is read even after a failed write.
    received = co_await attempt(with_timeout(asking.first_byte_timeout, read_head()));
  }
  is_sent_ = sending.is_done && sending.result.has_value();
  if (received) {
    co_await begin_decoding(request);
    co_return;
  }
  is_writers_error_ = sending.is_writers_error;
  if (is_writers_error_) co_await std::move(sending.result);
  if (received.error().code() == Code::DeadlineExceeded && Host::current().now() >= limit) {
    co_await fail(Code::DeadlineExceeded, "no response arrived within first_byte_timeout");
  }
  co_await std::move(received);
}

Task<> ClientExchange::send(const ClientRequest& request, std::string_view head, Sending& sending) {
  if (request.writer_) {
    sending.result = co_await attempt(send_streamed(request, head, sending));
    // The request is incomplete, so the server will send no response; shutdown() ends the wait for the response.
    if (sending.is_writers_error) lease_->stream.shutdown();
  } else {
    const std::string_view parts[] = {head, request.body_.view()};
    sending.result = co_await attempt(lease_->stream.write(parts));
  }
  sending.is_done = true;
}

Task<> ClientExchange::send_streamed(const ClientRequest& request, std::string_view head, Sending& sending) {
  co_await lease_->stream.write(head);
  ClientBodyWriter body(lease_->stream, request.length_);
  Result<> wrote = co_await attempt(request.writer_(body));
  if (wrote && body.is_cut_) {
    wrote = fail(Code::Unavailable, "a part of the body was not sent");
  } else if (wrote && request.length_ && body.written() != *request.length_) {
    wrote = Error(Code::InvalidArgument, "the body that was written is shorter than its announced length")
                .from_environment();
  }
  if (!wrote) {
    const bool is_stopped = (co_await this_task()).stop.stop_requested();
    sending.is_writers_error = !body.has_failed_ && !is_stopped;
    co_await std::move(wrote);
  }
  if (!request.length_) co_await lease_->stream.write(last_chunk);
}

Task<> ClientExchange::read_head() {
  ClientPool::Connection& connection = *lease_;
  while (true) {
    if (connection.rest.empty()) connection.rest = co_await connection.stream.receive();
    if (connection.rest.empty()) {
      co_await fail(Code::Unavailable, "the server closed the connection before it sent a response");
    }
    const ResponseStep step = connection.reader.feed(connection.rest);
    connection.rest.remove_prefix(step.consumed);
    if (step.state == ResponseState::Refused) co_await misunderstood(step);
    if (step.head.empty()) continue;
    head_.append(step.head);
    status_ = static_cast<Status>(connection.reader.head().status);
    pending_ = step.data;
    trailers_.append(step.trailers);
    is_complete_ = step.state == ResponseState::Done;
    co_return;
  }
}

Result<> ClientExchange::begin_decoding(const ClientRequest& request) {
  if (decoders_ == nullptr || request.decodes_itself_) return {};
  if (lease_->reader.head().body == ResponseHead::Body::None || status_ == Status::PartialContent) return {};
  std::string_view name;
  int codings = 0;
  Field field;
  for (std::string_view rest = head_.view(); next_field(rest, field);) {
    if (!equals_ignore_case(field.name, "content-encoding")) continue;
    for (std::string_view list = field.value, element; next_element(list, element);) {
      if (element.empty() || equals_ignore_case(element, "identity")) continue;
      name = element;
      ++codings;
    }
  }
  if (codings > 1)
    return fail(Code::Upstream, "the body of the response has more than one content coding (Content-Encoding)");
  const std::string_view coding = ContentDecoder::coding_of(name);
  if (coding.empty()) return {};
  decoder_ = decoders_->lend();
  KEEL_TRY_VOID(decoder_->begin(coding));
  drop_fields_about_coding(head_);
  return {};
}

Task<Chunk> ClientExchange::read_decoded(Duration limit) {
  room_.clear();
  char* const room = room_.reserve(room_bytes);
  while (true) {
    if (has_more_decoded_) {
      Result<std::size_t> bytes = decoder_->decode(coded_, {room, room_bytes});
      if (!bytes) co_return undecodable(std::move(bytes).error());
      if (*bytes != 0) co_return Chunk(room, *bytes);
    }
    coded_ = co_await read_coded(limit);
    has_more_decoded_ = !coded_.empty();
    if (!has_more_decoded_) break;
  }
  Result<> whole = decoder_->end();
  if (!whole) co_return undecodable(std::move(whole).error());
  decoder_.reset();
  co_return Chunk();
}

// Ends the exchange after a failure to decode: the rest of the body cannot be read.
Error ClientExchange::undecodable(Error error) {
  lease_.close();
  is_complete_ = false;
  has_more_decoded_ = false;
  coded_ = pending_ = {};
  decoder_.reset();
  error = std::move(error).because("the body of the response cannot be decoded");
  return error.code() == Code::ResourceExhausted ? std::move(error) : std::move(error).as(Code::Upstream);
}

Task<Chunk> ClientExchange::read_coded(Duration limit) {
  if (!pending_.empty()) co_return std::exchange(pending_, {});
  const Instant late = Host::current().now() + limit;
  Result<Chunk> piece = co_await attempt(next_piece(limit));
  if (!piece) lease_.close();
  if (!piece && piece.error().code() == Code::DeadlineExceeded && Host::current().now() >= late) {
    co_return fail(Code::DeadlineExceeded, "no further part of the body arrived within read_timeout");
  }
  co_return std::move(piece);
}

Task<> ClientExchange::discard(std::size_t bytes_max, Duration limit) {
  for (std::size_t bytes = 0; bytes <= bytes_max;) {
    const Result<Chunk> piece = co_await attempt(read_coded(limit));
    if (!piece || piece->empty()) co_return;
    bytes += piece->size();
  }
  lease_.close();
}

Task<Chunk> ClientExchange::next_piece(Duration limit) {
  while (!is_complete_) {
    if (!lease_) co_return fail(Code::Unavailable, "the connection of this response is already closed");
    ClientPool::Connection& connection = *lease_;
    if (connection.rest.empty()) connection.rest = co_await with_timeout(limit, connection.stream.receive());
    if (connection.rest.empty()) {
      is_complete_ = connection.reader.finish().state == ResponseState::Done;
      if (!is_complete_)
        co_return fail(Code::Unavailable, "the connection was closed before the body of the response was complete");
      break;
    }
    const ResponseStep step = connection.reader.feed(connection.rest);
    connection.rest.remove_prefix(step.consumed);
    if (step.state == ResponseState::Refused) co_return misunderstood(step);
    trailers_.append(step.trailers);
    is_complete_ = step.state == ResponseState::Done;
    if (!step.data.empty()) co_return step.data;
  }
  trailers_.end();
  end();
  co_return Chunk();
}

void ClientExchange::end() noexcept {
  if (!lease_) return;
  if (is_sent_ && lease_->rest.empty() && lease_->reader.head().keep_alive) {
    lease_.give_back();
  } else {
    lease_.close();
  }
}

}  // namespace keel::http
