#include "keel/config/secret.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <span>

#include "keel/base/host.h"
#include "keel/config/internal/value.h"

namespace keel::config {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      // Opened without blocking, so that open() does not wait for a writer if the file is a FIFO; the FIFO is rejected
      // afterwards.
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

Error wrong(const std::string& path, std::string_view text) {
  return Error::text(Code::InvalidArgument, fmt::format("{} {}", path, text));
}

}  // namespace

std::size_t Secret::mapped_bytes(std::size_t size) noexcept {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

void Secret::map(std::size_t size) {
  if (size == 0) return;
  void* const memory = mmap(nullptr, mapped_bytes(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // On a kernel without MADV_DONTDUMP this call fails, and core dumps contain the text.
  madvise(memory, mapped_bytes(size), MADV_DONTDUMP);
  text_ = static_cast<char*>(memory);
  size_ = size;
}

Secret::Secret(std::string_view text) {
  map(text.size());
  if (size_ != 0) std::copy(text.begin(), text.end(), text_);
}

Secret::Secret(const Secret& other) : Secret(other.reveal()) { file_ = other.file_; }

Secret::~Secret() {
  if (text_ == nullptr) return;
  explicit_bzero(text_, size_);
  munmap(text_, mapped_bytes(size_));
}

Secret Secret::unread(std::string_view file) {
  Secret secret;
  secret.file_ = file;
  return secret;
}

Result<> Secret::read(const std::string& path) {
  KEEL_TRY(Secret found, from_file(path));
  std::swap(text_, found.text_);
  std::swap(size_, found.size_);
  return {};
}

Result<Secret> Secret::from_file(const std::string& path) {
  const Descriptor file(path);
  struct stat facts = {};
  if (file.get() < 0 || fstat(file.get(), &facts) != 0) {
    const char* const remedy = errno == EACCES || errno == ENOENT ? "; name a file that this process may read" : "";
    return wrong(path, fmt::format("cannot be opened: {}{}", strerror(errno), remedy));
  }
  if (!S_ISREG(facts.st_mode)) return wrong(path, "is not a regular file; only a regular file can be read again");
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return wrong(path, fmt::format("can be written by users other than its owner: chmod go-w {}", path));
  }
  // The text is read directly into its final memory, so that no other buffer needs wiping.
  Secret whole;
  whole.map(file_bytes_max + 1);
  std::size_t size = 0;
  while (size < whole.size_) {
    const ssize_t got = ::read(file.get(), whole.text_ + size, whole.size_ - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return wrong(path, fmt::format("cannot be read: {}", strerror(errno)));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > file_bytes_max) {
    return wrong(path,
                 fmt::format("has more than {} KiB: name a file that contains only the secret", file_bytes_max / 1024));
  }
  if (size != 0 && whole.text_[size - 1] == '\n') {
    --size;
    if (size != 0 && whole.text_[size - 1] == '\r') --size;
  }
  if (size == 0) return wrong(path, "is empty: write the secret into it");
  Secret secret(whole.reveal().substr(0, size));
  secret.file_ = path;
  return secret;
}

Secret Secret::take() {
  Secret other;
  other.map(size_);
  other.spoil();
  // The size does not change, because another thread may be reading it.
  other.text_ = __atomic_exchange_n(&text_, other.text_, __ATOMIC_ACQ_REL);
  return other;
}

void Secret::spoil() noexcept {
  if (size_ != 0) Host::current().secret(std::as_writable_bytes(std::span(text_, size_)));
}

Result<std::string> expand_credentials(const std::string& file, const char* const* environment) {
  constexpr std::string_view variable = "CREDENTIALS_DIRECTORY";
  if (!file.starts_with('$') || file.substr(1, variable.size() + 1) != fmt::format("{}/", variable)) return file;
  for (const char* const* at = environment; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    if (!entry.starts_with(variable) || entry.substr(variable.size(), 1) != "=") continue;
    return std::string(entry.substr(variable.size() + 1)) + file.substr(1 + variable.size());
  }
  return Error::text(Code::InvalidArgument,
                     fmt::format("{}: there is no variable {}, which systemd sets for a unit with LoadCredential=",
                                 shown(file), variable));
}

}  // namespace keel::config
