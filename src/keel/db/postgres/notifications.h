// keel/db/postgres/notifications.h — what others NOTIFY, on a connection of its own.
//
//   Task<> follow(db::postgres::Database& database) {
//     db::postgres::Notifications jobs = co_await database.listen("jobs");
//     while (true) {
//       const db::postgres::Notification job = co_await jobs.next();
//       if (job.is_gap) co_await look_for_jobs();        // some may have been missed
//       else co_await run_job(job.payload);
//     }
//   }
//   co_await transaction.execute("select pg_notify('jobs', $1)", id);     // comes when the transaction has committed
//
// Result:    listen() completes when the server listens: what is committed later comes, in the order of the commits,
//            once, also to the session that has notified. next(): the next one. When the connection has ended, next()
//            makes it again, for as long as it takes, and then gives one whose is_gap is set: what was notified
//            meanwhile is lost (PostgreSQL keeps nothing for who is away), so read what it was about.
// Errors:    of listen() and add(): InvalidArgument (the name of a channel is empty, has more than 63 bytes, or a zero
//            byte), Unavailable (the server cannot be reached), Unsupported (a pooler). Of next(): Cancelled and
//            DeadlineExceeded, and nothing is lost then: call it again; Unavailable (the database is closed).
// Ownership: owns its connection, which is none of the pool's.
// Threads:   the loop where listen() was awaited. One call at a time.
// Lifetime:  ends before its database, and before its loop.
// Cost:      a session of the server. What is not asked for by next() waits in the socket and then at the server, which
//            cannot clean its queue up meanwhile: ask on.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "keel/task/task.h"

namespace keel::db::postgres {

namespace internal {
class Listening;
}

// What a NOTIFY sent.
struct Notification {
  bool is_gap = false;  // Nothing was notified, and something may have been missed.
  std::string channel = {};
  std::string payload = {};
  std::uint32_t process = 0;  // Of the session that has notified.
};

class Notifications {
 public:
  Notifications(Notifications&& other) noexcept;
  Notifications& operator=(Notifications&& other) noexcept;
  ~Notifications();

  Task<Notification> next();

  // Listens to one more channel. Where the connection ends meanwhile, success: next() makes it again and gives a gap.
  Task<> add(std::string channel);
  // What has come for it already still comes.
  Task<> remove(std::string channel);

 private:
  friend class Database;
  explicit Notifications(std::unique_ptr<internal::Listening> listening) noexcept;
  std::unique_ptr<internal::Listening> listening_;
};

}  // namespace keel::db::postgres
