// keel/db/postgres/internal/listening.h — the connection of Notifications. It is served by whoever awaits it.

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

  // For the pool, whose loop ends: somebody who waits is told, and the connection ends.
  void close() noexcept;
  bool is_used() const noexcept { return users_ != 0; }

 private:
  struct Use;
  Task<> connect();
  Task<> connect_again();
  // Sends `sql`, a Query, and takes what comes up to its end.
  Task<> run(std::string sql);
  // Takes messages from the chunk; true: a ReadyForQuery was among them, and what follows it stays.
  Result<bool> take();
  void disconnect(const Error& reason) noexcept;

  Pool& pool_;
  std::vector<std::string> channels_;
  std::optional<Stream> stream_;
  Reader reader_;
  Chunk chunk_;  // What was received and not yet read.
  std::deque<Notification> received_;
  std::optional<Error> failed_;  // What the server said of the last Query.
  Event is_closing_;
  int users_ = 0;
};

}  // namespace keel::db::postgres::internal
