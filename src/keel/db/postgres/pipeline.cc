#include "keel/db/postgres/pipeline.h"

#include <string>
#include <utility>

#include "keel/db/postgres/internal/wire.h"

namespace keel::db::postgres {

std::string_view to_string(Step step) noexcept {
  constexpr std::string_view names[] = {
      "Parse", "Bind", "Describe of a statement", "Describe of a portal", "Execute", "Close", "Sync", "Query"};
  return names[static_cast<int>(step)];
}

Result<> Pipeline::add(Step step) {
  if (!steps_.try_push(std::move(step))) {
    return Error(Code::ResourceExhausted,
                 "too many messages to the database are waiting for their responses (limit: "
                 "4096)");
  }
  if (is_skipping_) [[unlikely]]
    skip_to_sync();
  return {};
}

void Pipeline::skip_to_sync() noexcept {
  while (!steps_.empty() && steps_.front() != Step::Sync) {
    steps_.pop_front();
    ++first_;
  }
  is_skipping_ = steps_.empty();
}

StepMessage Pipeline::go_on(Phase phase) noexcept {
  phase_ = phase;
  return for_first_step(false);
}

Result<StepMessage> Pipeline::unexpected(MessageType type) {
  is_broken_ = true;
  std::string text("the server sent ");
  text.append(to_string(type));
  if (steps_.empty()) {
    text.append(", although no step is waiting for a response");
  } else {
    text.append(", which is not a response to ").append(to_string(steps_.front()));
    if (phase_ != Phase::Begin) text.append(" at this point");
  }
  return wire::broken(text);
}

Result<StepMessage> Pipeline::receive(MessageType type) {
  if (is_broken_) [[unlikely]]
    return wire::broken("the server violated the protocol earlier");
  switch (type) {
    case MessageType::NoticeResponse:
    case MessageType::NotificationResponse:
    case MessageType::ParameterStatus:
      return StepMessage();
    case MessageType::ErrorResponse: {
      if (steps_.empty()) return StepMessage();
      const Step step = steps_.front();
      if (step == Step::Sync || step == Step::Query) return go_on(Phase::Failed);
      const StepMessage failed = for_first_step(true);
      skip_to_sync();
      return failed;
    }
    default:
      break;
  }
  if (steps_.empty()) return unexpected(type);
  const auto only = [&](MessageType expected) -> Result<StepMessage> {
    if (type == expected) [[likely]]
      return for_first_step(true);
    return unexpected(type);
  };
  switch (steps_.front()) {
    case Step::Parse:
      return only(MessageType::ParseComplete);
    case Step::Bind:
      return only(MessageType::BindComplete);
    case Step::Close:
      return only(MessageType::CloseComplete);
    case Step::Sync:
      return only(MessageType::ReadyForQuery);
    case Step::DescribeStatement:
      if (phase_ == Phase::Begin) {
        if (type != MessageType::ParameterDescription) return unexpected(type);
        return go_on(Phase::Parameters);
      }
      [[fallthrough]];
    case Step::DescribePortal:
      if (type == MessageType::RowDescription || type == MessageType::NoData) return for_first_step(true);
      return unexpected(type);
    case Step::Execute:
      return receive_rows(type);
    case Step::Query:
      return receive_query(type);
  }
  return unexpected(type);
}

Result<StepMessage> Pipeline::receive_rows(MessageType type) {
  switch (phase_) {
    case Phase::Begin:
      if (type == MessageType::CopyInResponse) return go_on(Phase::CopyIn);
      if (type == MessageType::CopyOutResponse) return go_on(Phase::CopyOut);
      if (type == MessageType::EmptyQueryResponse) return for_first_step(true);
      [[fallthrough]];
    case Phase::Rows:
      if (type == MessageType::DataRow) return go_on(Phase::Rows);
      if (type == MessageType::CommandComplete || type == MessageType::PortalSuspended) return for_first_step(true);
      break;
    case Phase::CopyOut:
      if (type == MessageType::CopyData) return go_on(Phase::CopyOut);
      if (type == MessageType::CopyDone) return go_on(Phase::CopyOutDone);
      break;
    case Phase::CopyIn:
    case Phase::CopyOutDone:
      if (type == MessageType::CommandComplete) return for_first_step(true);
      break;
    default:
      break;
  }
  return unexpected(type);
}

Result<StepMessage> Pipeline::receive_query(MessageType type) {
  switch (phase_) {
    case Phase::Begin:
    case Phase::Between:
      if (type == MessageType::RowDescription) return go_on(Phase::Rows);
      if (type == MessageType::CommandComplete || type == MessageType::EmptyQueryResponse) return go_on(Phase::Between);
      if (type == MessageType::CopyInResponse) return go_on(Phase::CopyIn);
      if (type == MessageType::CopyOutResponse) return go_on(Phase::CopyOut);
      if (type == MessageType::ReadyForQuery && phase_ == Phase::Between) return for_first_step(true);
      break;
    case Phase::Rows:
      if (type == MessageType::DataRow) return go_on(Phase::Rows);
      if (type == MessageType::CommandComplete) return go_on(Phase::Between);
      break;
    case Phase::CopyOut:
      if (type == MessageType::CopyData) return go_on(Phase::CopyOut);
      if (type == MessageType::CopyDone) return go_on(Phase::CopyOutDone);
      break;
    case Phase::CopyIn:
    case Phase::CopyOutDone:
      if (type == MessageType::CommandComplete) return go_on(Phase::Between);
      break;
    case Phase::Failed:
      if (type == MessageType::ReadyForQuery) return for_first_step(true);
      break;
    default:
      break;
  }
  return unexpected(type);
}

}  // namespace keel::db::postgres
