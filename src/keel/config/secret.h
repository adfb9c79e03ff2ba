// keel/config/secret.h — text that must not be printed: a password, a key, a token.
//
//   config::field(v, "password", password, "of the store");    // password: …, or password_file: /run/secrets/store
//   connect(config->store.password.reveal());
//
// Functions that print a configuration print *** instead of the text. The text is in separate pages, which core dumps
// leave out (MADV_DONTDUMP). The text is overwritten before its pages are returned to the system: when the Secret is
// destroyed, moved from, or assigned another value.
//
// Ownership: the text is copied; the caller has to wipe the original text and copies of reveal().
// Lifetime:  reveal() and file() are valid until the Secret changes or is destroyed. For a Secret inside a
//            configuration that a reload replaces, see reloadable.h.
// Threads:   a value; reveal() may run while another thread calls take().
// Cost:      a mapping of at least a page for each Secret that is not empty.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "keel/base/result.h"

namespace keel::config {

class Secret {
 public:
  static constexpr std::size_t file_bytes_max = 64 * 1024;

  Secret() noexcept = default;
  explicit Secret(std::string_view text);
  Secret(const Secret& other);
  Secret(Secret&& other) noexcept
      : text_(std::exchange(other.text_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        file_(std::exchange(other.file_, {})) {}
  Secret& operator=(Secret other) noexcept {
    std::swap(text_, other.text_);
    std::swap(size_, other.size_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~Secret();

  // The content of the file at `path`, without one line end (LF, or CR and LF) at its end. InvalidArgument, with the
  // path and advice, if the file cannot be read, is not a regular file, is empty, has more than file_bytes_max bytes,
  // or is writable by its group or by everybody. Symbolic links are followed.
  static Result<Secret> from_file(const std::string& path);

  bool empty() const noexcept { return size_ == 0; }
  // The text itself, for the call that needs it.
  std::string_view reveal() const noexcept { return {__atomic_load_n(&text_, __ATOMIC_ACQUIRE), size_}; }
  // The file from which the text was read, as the configuration names it; empty if the text itself was given.
  const std::string& file() const noexcept { return file_; }

  // Used by the loader: makes a Secret whose text still has to be read from `file`, the path as the configuration names
  // it.
  static Secret unread(std::string_view file);
  Result<> read(const std::string& path);

  // Removes the text and replaces it by random bytes of the same size. Another thread may call reveal() at the same
  // time: that call returns the text or the random bytes. Text that reveal() returned before is now owned by the
  // returned Secret, and stays valid while that Secret lives.
  Secret take();
  // Overwrites the text in place with random bytes. No other thread may be reading the text.
  void spoil() noexcept;

 private:
  static std::size_t mapped_bytes(std::size_t size) noexcept;
  void map(std::size_t size);

  // take() changes text_ concurrently with reveal(). Both functions use atomic builtins, because <atomic> would make up
  // a fifth of this header's compile time.
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::string file_;
};

// Returns `file`, the path of a secret. If the path begins with $CREDENTIALS_DIRECTORY/, the value of that variable
// replaces its name; systemd sets the variable to the folder of the unit's credentials. InvalidArgument: the variable
// is not in `environment`.
Result<std::string> expand_credentials(const std::string& file, const char* const* environment);

}  // namespace keel::config
