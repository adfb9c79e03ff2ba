#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keel/io/internal/parts.h"
#include "keel/io/testing/internal/files.h"

namespace keel::sim {

void Files::submit(io::FileOp& op) {
  if (op.kind == io::Kind::WriteAt) static_cast<io::WriteAt&>(op).written = 0;
  op.pending = true;
  const std::uint64_t id = world_.sequence;
  pending_.emplace(id, &op);
  world_.at(world_.now + world_.latency(), [this, id] {
    const auto it = pending_.find(id);
    if (it == pending_.end()) return;
    io::FileOp& begun = *it->second;
    pending_.erase(it);
    const int result = carry_out(begun);
    world_.trace("file w{} {} {}", worker_, static_cast<int>(begun.kind), result);
    complete(begun, result);
  });
}

void Files::cancel(io::FileOp& op) {
  op.cancelling = true;
  if (world_.random.chance(0.5)) return;
  world_.trace("cancel file w{} {}", worker_, static_cast<int>(op.kind));
  std::erase_if(pending_, [&](const auto& each) { return each.second == &op; });
  complete(op, -ECANCELED);
}

void Files::complete(io::FileOp& op, int result) {
  op.result = result;
  op.cancelling = true;
  by_.make_ready(op);
}

Socket* Files::file_of(int fd) {
  Socket& at = network_.socket(fd);
  return at.is_file ? &at : nullptr;
}

int Files::carry_out(io::FileOp& op) {
  switch (op.kind) {
    case io::Kind::Open:
      return open(static_cast<io::Open&>(op));
    case io::Kind::Rename:
      return disk_.rename(static_cast<io::Rename&>(op).from, static_cast<io::Rename&>(op).to);
    case io::Kind::Remove:
      return disk_.remove(static_cast<io::Remove&>(op).path);
    case io::Kind::Status: {
      auto& status = static_cast<io::Status&>(op);
      Socket* at = status.path == nullptr ? file_of(op.fd) : nullptr;
      if (status.path == nullptr && (at == nullptr || at->file < 0)) return -EINVAL;
      const std::int64_t size = at != nullptr ? disk_.size(at->file) : disk_.find(status.path);
      if (size < 0) return static_cast<int>(size);
      status.size = static_cast<std::uint64_t>(size);
      status.modified_ns = 0;
      status.mode = S_IFREG | 0644;
      return 0;
    }
    default:
      break;
  }
  Socket* at = file_of(op.fd);
  if (at == nullptr) return -EINVAL;
  if (op.kind == io::Kind::Sync) return at->file < 0 ? disk_.sync_folder(at->folder) : disk_.sync(at->file);
  if (at->file < 0) return -EISDIR;
  if (op.kind == io::Kind::ReadAt) {
    auto& read = static_cast<io::ReadAt&>(op);
    return static_cast<int>(disk_.read(at->file, {read.data, std::min<std::size_t>(read.size, 1 << 30)}, read.offset));
  }
  if (!at->writable) return -EBADF;
  if (op.kind == io::Kind::Truncate) return disk_.truncate(at->file, static_cast<io::Truncate&>(op).size);
  auto& write = static_cast<io::WriteAt&>(op);
  for (;;) {
    const std::string_view part(static_cast<const char*>(write.parts->iov_base), write.parts->iov_len);
    const std::int64_t written = disk_.write(at->file, part, write.offset);
    if (written < 0) return static_cast<int>(written);
    if (io::advance(write, static_cast<std::size_t>(written))) return io::total_of(write);
  }
}

namespace {

// The path in the form that the disk uses, without links; nullopt if the path leads out of `folder`.
std::optional<std::string> path_beneath(const std::string& folder, std::string_view path) {
  if (path.starts_with('/')) return std::nullopt;
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), segment.size() + 1));
    if (segment.empty() || segment == ".") continue;
    if (segment != "..") {
      segments.push_back(segment);
    } else if (segments.empty()) {
      return std::nullopt;
    } else {
      segments.pop_back();
    }
  }
  std::string all = folder;
  for (const std::string_view segment : segments) all.append(segment).append("/");
  all.pop_back();
  return all;
}

}  // namespace

int Files::open(io::Open& op) {
  int file = -1;
  const bool is_folder = (op.flags & O_DIRECTORY) != 0;
  std::string path = op.path;
  if (op.beneath) {
    Socket* const from = file_of(op.fd);
    if (from == nullptr || from->file >= 0) return -ENOTDIR;
    auto found = path_beneath(from->folder, path);
    if (!found) return -EXDEV;
    path = *std::move(found);
  }
  if (!is_folder) {
    if ((op.flags & O_EXCL) != 0 && disk_.find(path) >= 0) return -EEXIST;
    file = disk_.open(path, (op.flags & O_CREAT) != 0);
    if (file < 0) return file;
    if ((op.flags & O_TRUNC) != 0) {
      if (const int error = disk_.truncate(file, 0)) {
        disk_.close(file);
        return error;
      }
    }
  }
  Socket& made = *network_.new_socket(AF_UNSPEC);
  made.is_file = true;
  made.writable = (op.flags & O_ACCMODE) != O_RDONLY;
  made.file = file;
  made.disk = &disk_;
  if (is_folder) made.folder = path + "/";
  return made.fd;
}

}  // namespace keel::sim
