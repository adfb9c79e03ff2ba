#include "keel/http/client/client_request.h"

#include <algorithm>
#include <span>

#include "keel/http/message/chunk.h"
#include "keel/http/message/fields.h"

namespace keel::http {
namespace {

// The client itself sets these fields. If a request repeated or contradicted a field that the client itself sends, two
// servers that read the request could disagree about its end or its recipient.
constexpr std::string_view reserved_fields[] = {"connection",  "content-length",    "content-type", "expect",
                                                "host",        "keep-alive",        "te",           "trailer",
                                                "traceparent", "transfer-encoding", "upgrade",      "proxy-connection"};

constexpr std::string_view credentials[] = {"authorization", "cookie", "proxy-authorization"};

bool is_one_of(std::string_view name, std::span<const std::string_view> fields) noexcept {
  return std::ranges::any_of(fields, [&](std::string_view field) { return equals_ignore_case(name, field); });
}

}  // namespace

Task<> ClientBodyWriter::write(std::string_view bytes) {
  if (bytes.empty()) co_return;
  if (is_cut_) co_await fail(Code::Unavailable, "an earlier part of the body was not sent");
  written_ += bytes.size();
  if (length_ && written_ > *length_) {
    co_await Error(Code::InvalidArgument, "the body that is written is longer than its announced length")
        // The error reveals a mistake in this program. The error is marked as one from the environment, because clients
        // of the program must not read the error's message.
        .from_environment();
  }
  is_cut_ = true;
  Result<> wrote;
  if (length_) {
    wrote = co_await attempt(stream_.write(bytes));
  } else {
    char head[chunk_head_bytes_max];
    const std::size_t size = static_cast<std::size_t>(format_chunk_head(bytes.size(), head) - head);
    const std::string_view parts[] = {{head, size}, bytes, chunk_end};
    wrote = co_await attempt(stream_.write(parts));
  }
  is_cut_ = !wrote;
  // If a write was stopped, or exceeded a time limit, the connection has not failed: the caller's function has set that
  // time limit.
  has_failed_ = !wrote && wrote.error().code() != Code::Cancelled && wrote.error().code() != Code::DeadlineExceeded;
  co_await std::move(wrote);
}

ClientRequest& ClientRequest::header(std::string_view name, std::string_view value) & {
  add(is_one_of(name, credentials) ? secret_fields_ : fields_, name, value);
  return *this;
}

ClientRequest& ClientRequest::secret_header(std::string_view name, std::string_view value) & {
  add(secret_fields_, name, value);
  return *this;
}

void ClientRequest::add(Buffer& fields, std::string_view name, std::string_view value) {
  if (!is_token(name)) {
    problem_ = "the name of a field of the request is not a token";
  } else if (!is_field_value(value)) {
    problem_ = "the value of a field of the request has a control character";
  } else if (is_one_of(name, reserved_fields)) {
    problem_ = "the client itself sends this field, so the request cannot set it (http/client/client_request.h)";
  } else {
    if (equals_ignore_case(name, "proxy-authorization")) has_proxy_authorization_ = true;
    if (equals_ignore_case(name, "accept-encoding") || equals_ignore_case(name, "range")) decodes_itself_ = true;
    for (const std::string_view part : {name, std::string_view(": "), value, std::string_view("\r\n")}) {
      fields.append(part);
    }
  }
}

ClientRequest& ClientRequest::body(std::string_view bytes, std::string_view content_type) & {
  if (!is_field_value(content_type)) problem_ = "the content type of the request has a control character";
  body_.clear();
  body_.append(bytes);
  content_type_ = content_type;
  writer_.reset();
  has_body_ = true;
  return *this;
}

ClientRequest& ClientRequest::stream(std::string_view content_type, Writer writer,
                                     std::optional<std::uint64_t> length) & {
  body({}, content_type);
  writer_ = std::move(writer);
  length_ = length;
  return *this;
}

ClientRequest& ClientRequest::idempotency_key(std::string_view key) & {
  has_idempotency_key_ = true;
  return header("Idempotency-Key", key);
}

}  // namespace keel::http
