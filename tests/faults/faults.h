// What the fault tests bring upon a service: a small disk of its own, calls that fail, too few descriptors; and what
// they ask about it.
//
//   Disk disk(2 * 1024 * 1024);
//   disk.fill();                               // ENOSPC from here on
//   Injector injector(folder);
//   Service service(injector.flags(…), injector.environment());
//   injector.arm(FAULT_SYNC, {.error = EIO});
//   EXPECT_EQ(injector.struck(FAULT_SYNC), 1);

#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "client.h"
#include "inject.h"
#include "keel/base/function.h"
#include "service.h"

namespace faults {

// A tmpfs, mounted where only this process and its children see it, in a mount namespace (and where it must, a user
// namespace) of their own: it is gone with them, however they end.
class Disk {
 public:
  // Why none can be mounted here; "" when one can. Call it before the process has a second thread.
  static const std::string& refusal();

  explicit Disk(std::size_t bytes);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  std::string operator/(std::string_view name) const { return folder_ / name; }
  void fill();   // Until nothing more fits. May be called again, when something was freed.
  void empty();  // Takes away what fill() has put there.
  // Files that are open for writing prevent it (EBUSY).
  void set_read_only();

 private:
  e2e::Folder folder_;
};

struct Fault {
  int error = 0;
  int let_pass = 0;  // Calls before the first that fails.
  int strikes = 1;   // Calls that fail.
};
inline constexpr int forever = 1'000'000'000;

// Calls of the service's process that fail (inject.h). Not in sanitized builds: their run-time wants to be the first
// library, and its allocator is not glibc's.
class Injector {
 public:
  explicit Injector(const e2e::Folder& folder);
  ~Injector();
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  // For the service's start.
  std::vector<std::string> environment() const;

  // Begins to count from 0.
  void arm(fault_call call, Fault fault);
  void disarm(fault_call call);
  int struck(fault_call call) const;
  int seen(fault_call call) const;
  // Puts the service's clock forward or back; its monotonic one continues.
  void set_wall_offset(keel::Duration offset);
  std::int64_t wall_reads() const;

 private:
  std::string path_;
  ::fault_plan* shared_;
};

// The sum over all labels of what the admin listener says about the metric; -1 when it does not know it.
double metric(const keel::Address& admin, std::string_view name);

// Asks again and again until it is so, for at most `patience`.
bool eventually(keel::FunctionRef<bool()> is_so, keel::Duration patience = keel::Duration::seconds(20));

// How many descriptors the process has open.
std::size_t descriptors(pid_t process);

// POST /api/data with a body of its own; the status, and the id when it was 201.
struct Posted {
  int status = 0;
  std::string id;
};
Posted post(const keel::Address& to, std::size_t bytes = 100);

// What a 503 must be: a problem that says when to try again. "" when it is.
std::string why_not_a_503(const e2e::Reply& reply);

// What is wrong with the database at `path`: not sound, or without one of the rows of `data` in `ids`.
std::vector<std::string> problems_of(const std::string& path, const std::vector<std::string>& ids);

}  // namespace faults
