#include "dev/watcher.h"

#include <fnmatch.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace keel::dev {
namespace {

constexpr std::uint32_t events = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR;

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string joined(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : folder + "/" + std::string(name);
}

bool is_in(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

}  // namespace

bool Ignored::matches(std::string_view path) const {
  const std::string name(name_of(path));
  if (name.starts_with('.')) return true;
  const std::string whole(path);
  return std::ranges::any_of(patterns_, [&](const std::string& pattern) {
    if (pattern.starts_with('/')) return ::fnmatch(pattern.c_str() + 1, whole.c_str(), FNM_PATHNAME) == 0;
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

Result<std::unique_ptr<Watcher>> Watcher::make(std::string folder, Ignored ignored) {
  std::unique_ptr<Watcher> watcher(new Watcher(std::move(folder), std::move(ignored)));
  watcher->fd_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (watcher->fd_ < 0) return Error::from_errno("inotify_init1", errno);
  std::vector<std::string> there;
  KEEL_TRY_VOID(watcher->watch("", there));
  return watcher;
}

Watcher::~Watcher() {
  if (fd_ >= 0) ::close(fd_);
}

Result<> Watcher::watch(const std::string& path, std::vector<std::string>& found) {
  const std::string at = absolute(path);
  const int id = ::inotify_add_watch(fd_, at.c_str(), path.empty() ? events : events | IN_DONT_FOLLOW);
  if (id < 0 && errno == ENOSPC) {
    return Error::text(Code::ResourceExhausted, at + ": this user watches too many folders: raise the sysctl "
                                                     "fs.inotify.max_user_watches, or ignore more of them");
  }
  if (id < 0 && path.empty()) return Error::from_errno("inotify_add_watch", errno).because(at);
  if (id < 0) return {};  // The folder no longer exists, or cannot be watched.
  folders_[id] = path;

  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(at, error); !error && entry != std::filesystem::end(entry);
       entry.increment(error)) {
    const std::string inner = joined(path, entry->path().filename().string());
    if (ignored_.matches(inner)) continue;
    std::error_code gone;
    const bool is_folder = entry->is_directory(gone) && !entry->is_symlink(gone);
    if (!is_folder) found.push_back(inner);
    if (is_folder) KEEL_TRY_VOID(watch(inner, found));
  }
  return {};
}

void Watcher::forget(const std::string& path) {
  std::erase_if(folders_, [&](const auto& entry) {
    if (!is_in(entry.second, path)) return false;
    ::inotify_rm_watch(fd_, entry.first);
    return true;
  });
}

Result<std::vector<std::string>> Watcher::changes() {
  std::vector<std::string> found;
  alignas(inotify_event) char bytes[16 * 1024];
  while (true) {
    const ssize_t size = ::read(fd_, bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) break;
    if (size < 0) return Error::from_errno("inotify", errno);
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      std::memcpy(&event, bytes + at, sizeof event);
      const char* const name = bytes + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event + event.len);
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        std::vector<std::string> all;
        KEEL_TRY_VOID(watch("", all));
        found.emplace_back(".");
        continue;
      }
      const auto folder = folders_.find(event.wd);
      if (folder == folders_.end()) continue;
      if ((event.mask & IN_IGNORED) != 0) {
        if (folder->second.empty()) return Error::text(Code::NotFound, folder_ + " is no longer there");
        folders_.erase(folder);
        continue;
      }
      const std::string path = joined(folder->second, event.len == 0 ? "" : name);
      if (event.len == 0 || ignored_.matches(path)) continue;
      if ((event.mask & IN_ISDIR) == 0) {
        found.push_back(path);
      } else if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
        KEEL_TRY_VOID(watch(path, found));
      } else {
        forget(path);
        found.push_back(path);
      }
    }
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

}  // namespace keel::dev
