// keel/db/postgres/notifications.h — receives notifications (LISTEN, NOTIFY) on a separate connection.
//
//   Task<> follow(db::postgres::Database& database) {
//     db::postgres::Notifications jobs = co_await database.listen("jobs");
//     while (true) {
//       const db::postgres::Notification job = co_await jobs.next();
//       if (job.is_gap) co_await look_for_jobs();        // some may have been missed
//       else co_await run_job(job.payload);
//     }
//   }
//   co_await transaction.execute("select pg_notify('jobs', $1)", id);     // sent when the transaction commits
//
// Result:    listen() completes when the server has begun to listen on the channel. Each notification that is committed
//            after listen() has completed arrives once, in the order of the commits, even if this program sent it.
//            next() returns the next notification. If the connection has ended, next() reconnects, however long that
//            takes, and then returns a Notification whose is_gap is set: the notifications sent in the meantime are
//            lost (PostgreSQL keeps no notifications for a disconnected client), so read the tables again.
// Errors:    listen() and add() fail with InvalidArgument (the name of a channel is empty, has more than 63 bytes, or
//            contains a zero byte), Unavailable (the server cannot be reached) or Unsupported (a pooler). next() fails
//            with Cancelled or DeadlineExceeded (no notification is lost: call next() again), or with Unavailable (the
//            database is closed).
// Ownership: a Notifications owns its connection, which does not belong to the pool.
// Threads:   the thread of the loop where listen() was awaited. Only one call of a Notifications may be in progress at
//            a time.
// Lifetime:  a Notifications must be destroyed before its database and before its loop.
// Cost:      a session on the server. Notifications that next() does not take wait in the socket, and then at the
//            server, which cannot clean up its queue until these notifications are taken; therefore keep calling
//            next().

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "keel/task/task.h"

namespace keel::db::postgres {

namespace internal {
class Listening;
}

// A notification that a NOTIFY sent, or the mark of a gap.
struct Notification {
  // True if this is not a notification, but marks a gap in which notifications may have been missed.
  bool is_gap = false;
  std::string channel = {};
  std::string payload = {};
  std::uint32_t process = 0;  // The server process of the session that sent the notification.
};

class Notifications {
 public:
  Notifications(Notifications&& other) noexcept;
  Notifications& operator=(Notifications&& other) noexcept;
  ~Notifications();

  Task<Notification> next();

  // Listens to one more channel. Also succeeds if the connection ends; in that case, next() reconnects and returns a
  // gap.
  Task<> add(std::string channel);
  // Stops listening to a channel. Notifications of this channel that have already been received are still delivered.
  Task<> remove(std::string channel);

 private:
  friend class Database;
  explicit Notifications(std::unique_ptr<internal::Listening> listening) noexcept;
  std::unique_ptr<internal::Listening> listening_;
};

}  // namespace keel::db::postgres
