#include "keel/app/listeners.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace keel::app {
namespace {

constexpr int first_descriptor = 3;  // SD_LISTEN_FDS_START
constexpr int descriptors_max = 1024;

// Returns the value of the environment variable, and removes the variable from the environment.
std::string take_variable(const char* name) {
  const char* const value = ::getenv(name);
  std::string text = value != nullptr ? value : "";
  ::unsetenv(name);
  return text;
}

// Converts all of `text` to a number; -1 if `text` is not a number.
int to_number(const std::string& text) noexcept {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0 ? number : -1;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(':', begin);
    words.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return words;
    begin = end + 1;
  }
}

int option_of(int fd, int option) noexcept {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

Address address_of(int fd) noexcept {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  return Address::from_system(reinterpret_cast<sockaddr*>(&storage), size);
}

// The reason why this process cannot accept connections from `fd`; "" if it can.
std::string_view objection_to(int fd) noexcept {
  struct stat status;
  if (::fstat(fd, &status) != 0) return "is not open";
  if (!S_ISSOCK(status.st_mode)) return "is not a socket";
  if (option_of(fd, SO_TYPE) != SOCK_STREAM) return "is not a stream socket";
  const int family = address_of(fd).family();
  if (family != AF_INET && family != AF_INET6 && family != AF_UNIX) return "is neither a TCP nor a Unix socket";
  if (option_of(fd, SO_ACCEPTCONN) != 1) return "does not listen (systemd: Accept=no)";
  return "";
}

}  // namespace

Listeners& Listeners::operator=(Listeners&& other) noexcept {
  std::swap(entries_, other.entries_);
  return *this;
}

void Listeners::clear() noexcept {
  for (const Entry& entry : entries_) ::close(entry.fd);
  entries_.clear();
}

Result<Listeners> Listeners::from_environment() {
  const std::string pid = take_variable("LISTEN_PID");
  const std::string count_text = take_variable("LISTEN_FDS");
  const std::string names_text = take_variable("LISTEN_FDNAMES");
  ::unsetenv("LISTEN_PIDFDID");
  Listeners listeners;
  if (pid.empty() || count_text.empty() || to_number(pid) != ::getpid()) return listeners;

  const int count = to_number(count_text);
  if (count < 0 || count > descriptors_max) {
    return Error::text(Code::InvalidArgument, "LISTEN_FDS: '" + count_text + "' is not a number from 0 to 1024");
  }
  std::vector<std::string> names;
  if (!names_text.empty()) {
    names = split(names_text);
    if (names.size() != static_cast<std::size_t>(count)) {
      return Error::text(Code::InvalidArgument, "LISTEN_FDNAMES: " + std::to_string(names.size()) + " names for " +
                                                    std::to_string(count) + " descriptors (LISTEN_FDS)");
    }
  }
  const auto is_known = [](const std::string& name) {
    return name == "http" || name == "https" || name == "admin" || name == "probes" || name == "messages";
  };
  if (std::none_of(names.begin(), names.end(), is_known)) names.assign(static_cast<std::size_t>(count), "http");
  for (int i = 0; i < count; ++i) {
    const std::string& name = names[static_cast<std::size_t>(i)];
    if (!is_known(name)) {
      return Error::text(Code::InvalidArgument,
                         "LISTEN_FDNAMES: '" + name + "' is not the name of a server of this service: expected " +
                             "http, https, admin, probes or messages (systemd: FileDescriptorName=)");
    }
    if (auto added = listeners.add(name, first_descriptor + i, true); !added) {
      return std::move(added).because("LISTEN_FDS").error();
    }
  }
  return listeners;
}

Result<> Listeners::add(std::string name, int fd, bool kept) {
  const std::string_view objection = objection_to(fd);
  if (!objection.empty()) {
    const std::string what = "descriptor " + std::to_string(fd) + " (" + name + ") " + std::string(objection);
    ::close(fd);
    return Error::text(Code::InvalidArgument, what + ": expected a TCP or Unix stream socket that listens");
  }
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  entries_.push_back({std::move(name), fd, kept});
  return {};
}

std::vector<int> Listeners::find(std::string_view name) const {
  std::vector<int> found;
  for (const Entry& entry : entries_) {
    if (entry.name == name) found.push_back(entry.fd);
  }
  return found;
}

std::vector<int> Listeners::find(std::string_view name, const Address& at) const {
  std::vector<int> found;
  for (const Entry& entry : entries_) {
    Address address = address_of(entry.fd);
    if (at.port() == 0) address.set_port(0);
    if (entry.name == name && (entry.kept || address == at)) found.push_back(entry.fd);
  }
  return found;
}

bool Listeners::is_kept(std::string_view name) const noexcept {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.name == name && entry.kept; });
}

}  // namespace keel::app
