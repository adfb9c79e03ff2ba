// What a connection does with an answer's body that is written while it leaves (body_writer.h).

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "keel/http/message/content_coder.h"
#include "keel/http/server/internal/acceptor.h"
#include "keel/http/server/internal/connection.h"
#include "keel/http/server/internal/exchange.h"
#include "keel/observe/flight_recorder.h"
#include "keel/task/frame.h"

namespace keel::http {
namespace {

// What is queued before its writer has to wait.
constexpr std::size_t queue_bytes_max = 32 * 1024;
// No chunk is cut smaller than this for want of room.
constexpr std::size_t piece_bytes_min = 1024;

}  // namespace

// The head is in out_; the task begins with settle().
void Connection::begin_streaming(Response& response, BodyEnd body_end) {
  Exchange& exchange = *exchange_;
  exchange.streamed = std::move(response.streamed_);
  exchange.writer.emplace(exchange.streamed.length());
  exchange.writer->connection_ = this;
  exchange.writer->request_ = &exchange.request;
  exchange.writer->coder_ = exchange.streamed.coder();
  exchange.status = response.status();
  exchange.body_end = body_end;
  exchange.is_due = true;
  phase_ = Phase::Streaming;
  began_ = acceptor_.loop_.now();
}

void Connection::run_streaming() {
  Exchange& exchange = *exchange_;
  const ScopedSpan span(exchange.request.span_);
  exchange.writing.owner = this;
  const auto done = [](StartCore& writing) noexcept {
    static_cast<Exchange::Writing&>(writing).owner->guarded<&Connection::streaming_done>();
  };
  try {
    const flight::Doing doing(&Exchange::tell, &exchange.request);
    Task<> task = [&] {
      const Trampoline::Deferring deferring;  // For what is no coroutine itself.
      return exchange.streamed.write(*exchange.writer);
    }();
    if (!exchange.writing.begin(std::move(task), done, {.span = &exchange.request.span_})) return;
  } catch (...) {
    return end_streaming(Error::from_exception());
  }
  if (phase_ == Phase::Ending) return free_exchange();
  end_streaming(exchange.writing.take());
}

void Connection::streaming_done() {
  if (phase_ == Phase::Ending) {
    free_exchange();
    free_if_quiet();
    return;
  }
  end_streaming(exchange_->writing.take());
  settle();
}

void Connection::end_streaming(Result<> result) {
  Exchange& exchange = *exchange_;
  const ScopedSpan span(exchange.request.span_);
  BodyWriter& writer = *exchange.writer;
  if (result && writer.length_ && writer.written() != *writer.length_) {
    result = fail(Code::Internal, "the body is shorter than the length that was announced for it");
  }
  if (result && writer.coder_ != nullptr) {
    if (!writer.coder_failed_ && writer.coder_->end(writer.coded_)) {
      queue_body(writer.coded_.view().substr(writer.coded_queued_));
    } else {
      result = fail(Code::ResourceExhausted, BodyWriter::no_memory_to_compress);
    }
  }
  record(exchange.request, exchange.match, exchange.status, writer.queued_);
  if (!result) {
    acceptor_.log_.error("an answer's body failed, its connection is cut", log::field("path", exchange.request.path()),
                         log::field("bytes", writer.queued_), result.error());
    // Where the end of the connection is the end of the body, only a reset shows that it is not whole.
    if (exchange.body_end == BodyEnd::Close) {
      static_cast<void>(acceptor_.engine_.set_options(receive_.fd, {.reset_on_close = true}));
    }
    acceptor_.tally.aborted.add();
    phase_ = Phase::Ending;
    return;
  }
  if (exchange.body_end == BodyEnd::Chunks) {
    out_.append(last_chunk_size);
    out_.append(writer.trailers_.lines());
    out_.append(chunk_end);
  }
  finish_exchange();
}

bool Connection::push_body(std::string_view& rest) noexcept {
  try {
    while (phase_ == Phase::Streaming && !rest.empty()) {
      const std::size_t room = queue_bytes_max - std::min(queue_bytes_max, out_.size());
      if (room >= std::min(rest.size(), piece_bytes_min)) {
        queue_body(rest.substr(0, room));
        rest.remove_prefix(std::min(rest.size(), room));
      }
      if (exchange_->gathers) break;
      flush();
      if (phase_ == Phase::Ending) break;
      watch();
      if (send_.pending && out_.size() + piece_bytes_min > queue_bytes_max) break;
    }
  } catch (const std::bad_alloc&) {
    out_of_memory();
  }
  if (phase_ != Phase::Streaming) {
    if (phase_ == Phase::Ending) end();
    return true;
  }
  return rest.empty();
}

void Connection::queue_body(std::string_view piece) {
  const bool in_chunks = exchange_->body_end == BodyEnd::Chunks;
  char* const begin = out_.reserve(piece.size() + chunk_head_bytes_max + chunk_end.size());
  char* at = in_chunks ? format_chunk_head(piece.size(), begin) : begin;
  std::memcpy(at, piece.data(), piece.size());
  at += piece.size();
  if (in_chunks) {
    std::memcpy(at, chunk_end.data(), chunk_end.size());
    at += chunk_end.size();
  }
  out_.commit(static_cast<std::size_t>(at - begin));
  exchange_->writer->queued_ += piece.size();
}

// There may be room for who waits to write. The last thing its caller does.
void Connection::go_on_writing() {
  BodyWriter& writer = *exchange_->writer;
  BodyWriter::Write* const write = std::exchange(writer.waiting_, nullptr);
  if (write == nullptr) return;
  if (!write->go_on()) {
    writer.waiting_ = write;
  } else if (!write->cancelled_) {
    write->wake();
  }
}

}  // namespace keel::http
