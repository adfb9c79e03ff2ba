// keel/db/postgres/internal/listening.h — the connection of Notifications. The task that awaits it reads its messages.

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

  // Called by the pool when its loop ends: closes the connection, so that a waiting task fails.
  void close() noexcept;
  bool is_used() const noexcept { return users_ != 0; }

 private:
  struct Use;
  Task<> connect();
  Task<> connect_again();
  // Sends `sql` as a Query, and reads messages up to its ReadyForQuery.
  Task<> run(std::string sql);
  // Consumes messages of the chunk up to a ReadyForQuery; true if there was one.
  Result<bool> take();
  void disconnect(const Error& reason) noexcept;

  Pool& pool_;
  std::vector<std::string> channels_;
  std::optional<Stream> stream_;
  Reader reader_;
  Chunk chunk_;  // Received bytes that have not been read yet.
  std::deque<Notification> received_;
  std::optional<Error> failed_;  // The server's error for the last Query.
  Event is_closing_;
  int users_ = 0;
};

}  // namespace keel::db::postgres::internal
