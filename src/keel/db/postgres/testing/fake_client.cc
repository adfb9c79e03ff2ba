#include "keel/db/postgres/testing/fake_client.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "keel/db/postgres/message.h"

namespace keel::db::postgres::testing {

Result<> FakeClient::exchange() {
  const std::string request(out_.view());
  out_.clear();
  const std::size_t size = piece_ == 0 ? std::max<std::size_t>(request.size(), 1) : piece_;
  for (std::size_t at = 0; at < request.size(); at += size) server_.receive(std::string_view(request).substr(at, size));
  const std::string response(server_.output().view());
  server_.output().clear();
  const std::size_t piece = piece_ == 0 ? std::max<std::size_t>(response.size(), 1) : piece_;
  for (std::size_t at = 0; at < response.size(); at += piece) {
    // A separate allocation, so that sanitizers detect reads beyond it.
    const std::string part = response.substr(at, piece);
    std::string_view bytes = part;
    while (true) {
      KEEL_TRY(const std::optional<Message> message, reader_.next(bytes));
      if (!message) break;
      received_.push_back({message->type, std::string(message->body)});
    }
  }
  return {};
}

Result<> FakeClient::log_in(LoginOptions options) {
  static constexpr std::array<std::byte, 18> nonce{};
  if (options.nonce.empty()) options.nonce = nonce;
  login_.emplace(options);
  KEEL_TRY_VOID(login_->begin(out_));
  while (true) {
    const bool has_request = !out_.empty();
    KEEL_TRY_VOID(exchange());
    if (received_.empty() && !has_request) return fail(Code::Unavailable, "the server has sent nothing more");
    for (const Received& message : std::exchange(received_, {})) {
      KEEL_TRY(const bool is_ready, login_->receive({message.type, message.body}, out_));
      if (is_ready) return {};
    }
  }
}

Result<std::vector<FakeClient::Received>> FakeClient::received() {
  KEEL_TRY_VOID(exchange());
  return std::exchange(received_, {});
}

std::string FakeClient::responses() {
  const Result<> result = exchange();
  std::string text;
  for (const Received& message : std::exchange(received_, {})) {
    if (!text.empty()) text.push_back(' ');
    text.push_back(static_cast<char>(message.type));
    if (message.type == MessageType::ErrorResponse) {
      const Result<ErrorResponse> error = ErrorResponse::read(message.body);
      text.append(error ? error->sqlstate : "?");
    }
  }
  if (!result) text.append(text.empty() ? "" : " ").append(result.error().message());
  return text;
}

}  // namespace keel::db::postgres::testing
