#include "dev/builder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace keel::dev {
namespace {

Result<int> open_log(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | flags, 0666);
  if (fd < 0) return Error::from_errno("open", errno).because(path);
  return fd;
}

}  // namespace

Result<> Builder::start(std::vector<BuildStep> steps, Instant now) {
  cancel();
  const std::string path = folder_ + "/" + log_;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  KEEL_TRY(const int fd, open_log(path, O_TRUNC));
  ::close(fd);
  steps_ = std::move(steps);
  step_ = 0;
  began_ = now;
  return start_step();
}

Result<> Builder::start_step() {
  KEEL_TRY(const int fd, open_log(folder_ + "/" + log_, 0));
  auto child = Child::start({.words = steps_[step_].words,
                             .folder = folder_,
                             .environment = steps_[step_].environment,
                             .output = fd,
                             .has_descendants = true});
  ::close(fd);
  if (!child) return std::move(child).error();
  child_.emplace(*std::move(child));
  return {};
}

Result<std::optional<Built>> Builder::ended(Instant now) {
  const std::optional<int> code = child_ ? child_->ended() : std::nullopt;
  if (!code) return std::optional<Built>();
  child_.reset();
  if (*code == 0 && step_ + 1 < steps_.size()) {
    ++step_;
    KEEL_TRY_VOID(start_step());
    return std::optional<Built>();
  }
  return std::optional<Built>(built(*code, now));
}

Built Builder::built(int code, Instant now) {
  Built made{.is_good = code == 0, .step = steps_[step_].name, .code = code, .took = now - began_};
  if (made.is_good) return made;
  std::ifstream file(folder_ + "/" + log_, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  made.error = first_error(text, folder_);
  return made;
}

void Builder::cancel() { child_.reset(); }

}  // namespace keel::dev
