#include "faults.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/db/sqlite/connection.h"

namespace faults {

using namespace keel;
using namespace e2e;

namespace {

std::string write_text(const char* path, const std::string& text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  const bool written = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const std::string why = written ? "" : std::string(path) + ": " + std::strerror(errno);
  if (file >= 0) ::close(file);
  return why;
}

// Namespaces of our own.
std::string go_apart() {
  const auto refused = [](const char* what) { return std::string(what) + ": " + std::strerror(errno); };
  if (::unshare(CLONE_NEWNS) != 0) {
    const auto user = std::to_string(::getuid());
    const auto group = std::to_string(::getgid());
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return refused("unshare(user, mount)");
    if (auto why = write_text("/proc/self/setgroups", "deny"); !why.empty()) return why;
    if (auto why = write_text("/proc/self/uid_map", "0 " + user + " 1"); !why.empty()) return why;
    if (auto why = write_text("/proc/self/gid_map", "0 " + group + " 1"); !why.empty()) return why;
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return refused("mount(private)");
  Folder folder;
  if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) return refused("mount(tmpfs)");
  ::umount2(folder.path().c_str(), MNT_DETACH);
  return {};
}

}  // namespace

const std::string& Disk::refusal() {
  static const std::string why = go_apart();
  return why;
}

Disk::Disk(std::size_t bytes) {
  KEEL_CHECK(refusal().empty(), "a test without a disk is skipped");
  const std::string options = "size=" + std::to_string(bytes);
  KEEL_CHECK(::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, options.c_str()) == 0, "a test can mount a tmpfs");
}

Disk::~Disk() { ::umount2(folder_.path().c_str(), MNT_DETACH); }

void Disk::fill() {
  const int file = ::open((folder_ / "ballast").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  KEEL_CHECK(file >= 0, "there is room for a file's name");
  const std::string bytes(4096, 'b');
  while (::write(file, bytes.data(), bytes.size()) > 0) {
  }
  KEEL_CHECK(errno == ENOSPC, "the disk is full");
  ::close(file);
}

void Disk::empty() {
  KEEL_CHECK(::truncate((folder_ / "ballast").c_str(), 0) == 0, "a file that fills the disk can be made empty");
}

void Disk::set_read_only() {
  KEEL_CHECK(::mount("none", folder_.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0,
             "nobody has a file open there");
}

Injector::Injector(const Folder& folder) : path_(folder / "faults") {
  const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  KEEL_CHECK(file >= 0 && ::ftruncate(file, sizeof(::fault_plan)) == 0, "a test can make a file");
  void* memory = ::mmap(nullptr, sizeof(::fault_plan), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  KEEL_CHECK(memory != MAP_FAILED, "a test can map a file");
  ::close(file);
  shared_ = static_cast<::fault_plan*>(memory);
}
Injector::~Injector() { ::munmap(shared_, sizeof(::fault_plan)); }

std::vector<std::string> Injector::environment() const {
  return {"LD_PRELOAD=" KEEL_FAULTS_LIBRARY, "FAULTS=" + path_};
}

void Injector::arm(fault_call call, Fault fault) {
  disarm(call);
  ::fault& at = shared_->calls[call];
  at.let_pass = fault.let_pass;
  at.strikes = fault.strikes;
  at.error = fault.error;
  at.seen = 0;
  at.struck = 0;
  __atomic_store_n(&at.armed, 1, __ATOMIC_RELEASE);
}
void Injector::disarm(fault_call call) { __atomic_store_n(&shared_->calls[call].armed, 0, __ATOMIC_RELEASE); }
int Injector::struck(fault_call call) const {
  return static_cast<int>(__atomic_load_n(&shared_->calls[call].struck, __ATOMIC_ACQUIRE));
}
int Injector::seen(fault_call call) const {
  return static_cast<int>(__atomic_load_n(&shared_->calls[call].seen, __ATOMIC_ACQUIRE));
}
void Injector::set_wall_offset(Duration offset) {
  __atomic_store_n(&shared_->wall_offset_ns, offset.count_ns(), __ATOMIC_RELAXED);
}
std::int64_t Injector::wall_reads() const { return __atomic_load_n(&shared_->wall_reads, __ATOMIC_RELAXED); }

double metric(const Address& admin, std::string_view name) {
  double sum = -1;
  for (const std::string& line : lines(call(admin, "GET", "/metrics").body)) {
    if (!line.starts_with(name) || (line[name.size()] != ' ' && line[name.size()] != '{')) continue;
    sum = std::max(sum, 0.0) + std::strtod(line.c_str() + line.rfind(' '), nullptr);
  }
  return sum;
}

bool eventually(FunctionRef<bool()> is_so, Duration patience) {
  const Instant end = Host::system().now() + patience;
  while (!is_so()) {
    if (Host::system().now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

std::size_t descriptors(pid_t process) {
  const std::filesystem::directory_iterator open("/proc/" + std::to_string(process) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(open), end(open)));
}

Posted post(const Address& to, std::size_t bytes) {
  const Reply reply = call(to, "POST", "/api/data", R"({"text":")" + std::string(bytes, 't') + "\"}");
  const auto row = members(reply.body);
  return {reply.status, reply.status == 201 && row && row->contains("id") ? row->at("id") : ""};
}

std::string why_not_a_503(const Reply& reply) {
  if (reply.status != 503) return "the status is " + std::to_string(reply.status);
  if (reply.field("Content-Type") != "application/problem+json") return "it is not a problem: " + reply.head;
  if (reply.field("Retry-After").empty()) return "there is no Retry-After: " + reply.head;
  const auto problem = members(reply.body);
  if (!problem || problem->at("status") != "503") return "the problem is not one: " + reply.body;
  return {};
}

std::vector<std::string> problems_of(const std::string& path, const std::vector<std::string>& ids) {
  std::vector<std::string> problems;
  auto opened = db::sqlite::Connection::open({.path = path});
  if (!opened) return {opened.error().describe()};
  std::set<std::string> found;
  auto sound = [&](const db::Row& row) {
    if (row.text(0) != "ok") problems.emplace_back(row.text(0));
  };
  auto datum = [&](const db::Row& row) { found.insert(std::to_string(row.integer(0))); };
  const auto check = [&](const auto& result) {
    if (!result) problems.push_back(result.error().describe());
  };
  check((*opened)->query("select * from pragma_integrity_check", sound));
  check((*opened)->query("select id from data", datum));
  for (const std::string& id : ids) {
    if (!found.contains(id)) problems.push_back("an acknowledged row is lost: " + id);
  }
  return problems;
}

}  // namespace faults
