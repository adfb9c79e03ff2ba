// keel/db/postgres/pipeline.h — assigns each message of the server to the step to which it responds, and rejects every
// other message.
//
//   KEEL_TRY_VOID(encoder.bind(…));      KEEL_TRY_VOID(pipeline.add(Step::Bind));
//   KEEL_TRY_VOID(encoder.execute(""));  KEEL_TRY_VOID(pipeline.add(Step::Execute));
//   encoder.sync();                      KEEL_TRY_VOID(pipeline.add(Step::Sync));
//   …
//   KEEL_TRY(const StepMessage received, pipeline.receive(message.type));
//   if (received.is_asynchronous()) …                    // a notice, a notification, a changed setting
//   operations[received.number]. …                       // the number of the Step, in the order of add(), from 0
//
// The server responds to steps in their order. After an ErrorResponse, the server skips all steps up to the next Sync.
// The pipeline also skips the steps up to the next Sync, so that the next response belongs to that Sync. A Query
// includes a Sync: both its error and its ReadyForQuery belong to the Query, and the ReadyForQuery is the last message
// of the Query. An error that occurs at a Sync, such as a violation of a constraint that was deferred to the commit,
// belongs to the Sync; the Sync's ReadyForQuery follows.
//
// COPY: a CopyInResponse belongs to an Execute or a Query; then the caller sends the data, which is not a Step, and
// finally the CommandComplete arrives. The server ignores a Sync while it waits for data: if an Execute runs a COPY
// from the client, add and send the Sync only together with copy_done() or copy_fail().
//
// Errors:    Protocol, from_environment(): "DataRow is not a response to Parse". After this error, every later call
//            fails, too, because the connection is unusable. ResourceExhausted: steps_max steps are waiting for
//            responses.
// Threads:   one.
// Memory:    one byte for each step.
// Cost:      about ten instructions for each message; no allocation after construction.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/circular_buffer.h"
#include "keel/base/result.h"
#include "keel/db/postgres/reader.h"

namespace keel::db::postgres {

// The messages to which the server responds. Flush and the data of COPY are not among these messages.
enum class Step : std::uint8_t { Parse, Bind, DescribeStatement, DescribePortal, Execute, Close, Sync, Query };
// The name of a step, as messages show it.
std::string_view to_string(Step step) noexcept;

// The step to which a message of the server belongs.
struct StepMessage {
  static constexpr std::uint64_t no_step = ~std::uint64_t{0};

  std::uint64_t number = no_step;  // The number of the step; the first step of a pipeline has the number 0.
  Step step = Step::Sync;
  bool is_last = false;  // Whether the step is complete: no more messages belong to it.

  // True for a message that belongs to no step: a notice, a notification, a ParameterStatus, or an error that arrives
  // while no step is waiting, for example because the server shuts down.
  bool is_asynchronous() const noexcept { return number == no_step; }
};

class Pipeline {
 public:
  static constexpr std::size_t steps_max = 4096;

  Pipeline() : steps_(steps_max) {}

  // Call it before the response to the step is received; the bytes may be sent before or after this call.
  Result<> add(Step step);
  // Call it for each message after the ReadyForQuery that ended the login.
  Result<StepMessage> receive(MessageType type);

  // A fast path of receive() for the most frequent messages. Returns true if the message responds to the first step of
  // the queue, and this step is a Bind or an Execute. False: call receive().
  bool receive_usual(MessageType type) noexcept {
    if (is_broken_ || steps_.empty()) return false;
    const Step step = steps_.front();
    const bool is_row = type == MessageType::DataRow;
    if (step == Step::Execute) {
      if ((!is_row && type != MessageType::CommandComplete) || phase_ > Phase::Rows || phase_ == Phase::Parameters) {
        return false;
      }
    } else if (step != Step::Bind || type != MessageType::BindComplete) {
      return false;
    }
    if (is_row) {
      phase_ = Phase::Rows;
    } else {
      for_first_step(true);
    }
    return true;
  }

  // How many steps are waiting for responses; 0 when the server has nothing to do.
  std::size_t waiting() const noexcept { return steps_.size(); }
  std::size_t room() const noexcept { return steps_.capacity() - steps_.size(); }
  // The number that the next step will get.
  std::uint64_t next_number() const noexcept { return first_ + steps_.size(); }
  // Whether the last message was a CopyInResponse, so that the server expects copy_data().
  bool is_copying_in() const noexcept { return phase_ == Phase::CopyIn; }

 private:
  enum class Phase : std::uint8_t { Begin, Parameters, Rows, CopyIn, CopyOut, CopyOutDone, Between, Failed };
  StepMessage for_first_step(bool is_last) noexcept {
    const StepMessage message{first_, steps_.front(), is_last};
    if (is_last) {
      steps_.pop_front();
      ++first_;
      phase_ = Phase::Begin;
    }
    return message;
  }
  Result<StepMessage> unexpected(MessageType type);
  Result<StepMessage> receive_rows(MessageType type);
  Result<StepMessage> receive_query(MessageType type);
  StepMessage go_on(Phase phase) noexcept;
  void skip_to_sync() noexcept;

  CircularBuffer<Step> steps_;
  std::uint64_t first_ = 0;  // The number of the first step in steps_.
  Phase phase_ = Phase::Begin;
  bool is_skipping_ = false;  // Set after an error, until a Sync is added.
  bool is_broken_ = false;
};

}  // namespace keel::db::postgres
