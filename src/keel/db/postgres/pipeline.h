// keel/db/postgres/pipeline.h — which message of the server answers what was sent, and that no other may come now.
//
//   KEEL_TRY_VOID(encoder.bind(…));      KEEL_TRY_VOID(pipeline.add(Step::Bind));
//   KEEL_TRY_VOID(encoder.execute(""));  KEEL_TRY_VOID(pipeline.add(Step::Execute));
//   encoder.sync();                      KEEL_TRY_VOID(pipeline.add(Step::Sync));
//   …
//   KEEL_TRY(const Answer answer, pipeline.receive(message.type));
//   if (answer.is_asynchronous()) …                    // a notice, a notification, a setting that has changed
//   operations[answer.number]. …                       // of the Step that was added as this one, counted from 0
//
// Steps are answered in their order. After an ErrorResponse the server skips everything up to the next Sync: so does
// the pipeline, and the next answer is that of the Sync. A Query has its own Sync: its error and its ReadyForQuery are
// answers to it, and ReadyForQuery is the last of them. An error at a Sync, of a constraint that was deferred to the
// commit, is an answer to the Sync, and its ReadyForQuery follows.
//
// COPY: CopyInResponse is an answer to an Execute or a Query; then the caller sends the data, which is no Step, and the
// CommandComplete follows. The server ignores a Sync while it waits for data: after an Execute that copies, add and
// send the Sync only with copy_done() or copy_fail().
//
// Errors:    Protocol, from_environment(): "DataRow is no answer to Parse". It stays: the connection cannot be used any
//            more. ResourceExhausted: steps_max wait for answers.
// Threads:   one.  Memory: a byte a step.  Cost: some ten instructions a message; no allocation after the first.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keel/base/circular_buffer.h"
#include "keel/base/result.h"
#include "keel/db/postgres/reader.h"

namespace keel::db::postgres {

// What was sent and is answered. Flush, and what COPY sends, are not.
enum class Step : std::uint8_t { Parse, Bind, DescribeStatement, DescribePortal, Execute, Close, Sync, Query };
// The name of a step, for messages.
std::string_view to_string(Step step) noexcept;

// The step that a message of the server belongs to.
struct Answer {
  static constexpr std::uint64_t no_step = ~std::uint64_t{0};

  std::uint64_t number = no_step;  // Of the step, counted from 0 since the pipeline was made.
  Step step = Step::Sync;
  bool is_last = false;  // Nothing more comes for the step.

  // A notice, a notification, a ParameterStatus; or an error where nothing was asked, as before a server stops.
  bool is_asynchronous() const noexcept { return number == no_step; }
};

class Pipeline {
 public:
  static constexpr std::size_t steps_max = 4096;

  Pipeline() : steps_(steps_max) {}

  // Before or after the bytes are sent, but before their answer is received.
  Result<> add(Step step);
  // For each message since the ReadyForQuery that ended the login.
  Result<Answer> receive(MessageType type);

  // The short way of receive() for the usual messages: true when this one is an answer to the Bind, or the Execute,
  // that is in front. False: receive() says what it is.
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
      answer(true);
    }
    return true;
  }

  // Steps that are not answered. 0: the server has nothing to do.
  std::size_t waiting() const noexcept { return steps_.size(); }
  std::size_t room() const noexcept { return steps_.capacity() - steps_.size(); }
  // The number that the next step will have.
  std::uint64_t next_number() const noexcept { return first_ + steps_.size(); }
  // A CopyInResponse has come and nothing after it: copy_data() is expected.
  bool is_copying_in() const noexcept { return phase_ == Phase::CopyIn; }

 private:
  enum class Phase : std::uint8_t { Begin, Parameters, Rows, CopyIn, CopyOut, CopyOutDone, Between, Failed };
  Answer answer(bool is_last) noexcept {
    const Answer answer{first_, steps_.front(), is_last};
    if (is_last) {
      steps_.pop_front();
      ++first_;
      phase_ = Phase::Begin;
    }
    return answer;
  }
  Result<Answer> no_answer(MessageType type);
  Result<Answer> receive_rows(MessageType type);
  Result<Answer> receive_query(MessageType type);
  Answer go_on(Phase phase) noexcept;
  void skip_to_sync() noexcept;

  CircularBuffer<Step> steps_;
  std::uint64_t first_ = 0;  // The number of steps_.front().
  Phase phase_ = Phase::Begin;
  bool is_skipping_ = false;  // After an error, and no Sync was added yet.
  bool is_broken_ = false;
};

}  // namespace keel::db::postgres
