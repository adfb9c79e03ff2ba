// keel/db/postgres/internal/listening.h — the connection of a Notifications object. The task that awaits next() reads
// the connection's messages.

#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/base/list.h"
#include "keel/db/postgres/message.h"
#include "keel/db/postgres/notifications.h"
#include "keel/db/postgres/reader.h"
#include "keel/net/stream.h"
#include "keel/task/event.h"
#include "keel/task/task.h"

namespace keel::db::postgres::internal {

class Pool;

class Listening : public Link {
 public:
  explicit Listening(Pool& pool);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  Task<Notification> next();
  Task<> add(std::string channel);
  Task<> remove(std::string channel);

  // Called by the pool when its loop ends: closes the connection, so that a task that waits for a notification fails.
  void close() noexcept;
  bool is_used() const noexcept { return users_ != 0; }

 private:
  struct Use;
  Task<> connect();
  Task<> connect_again();
  // Sends `sql` as a Query, and reads messages up to the ReadyForQuery that ends the response.
  Task<> run(std::string sql);
  // Consumes the messages in `chunk_` up to a ReadyForQuery; returns true if `chunk_` contained a ReadyForQuery.
  Result<bool> take();
  void disconnect(const Error& reason) noexcept;

  Pool& pool_;
  std::vector<std::string> channels_;
  std::optional<Stream> stream_;
  Reader reader_;
  Chunk chunk_;  // Received bytes that have not been read yet.
  std::deque<Notification> received_;
  std::optional<Error> failed_;  // The error with which the server responded to the last Query.
  Event is_closing_;
  int users_ = 0;
};

}  // namespace keel::db::postgres::internal
