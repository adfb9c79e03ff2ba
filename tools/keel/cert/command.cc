#include "cert/command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "keel/base/result.h"
#include "keel/io/address.h"
#include "keel/net/tls/testing/certificates.h"

namespace keel::cert {
namespace {

namespace fs = std::filesystem;

constexpr int was_written = 0;
constexpr int was_not_written = 1;
constexpr int was_wrong = 2;
constexpr Duration validity = Duration::seconds(365 * 24 * 3600);
constexpr std::size_t name_bytes_max = 253;
// The longest common name of a certificate (RFC 5280, appendix A.1: ub-common-name).
constexpr std::size_t common_name_bytes_max = 64;

constexpr std::string_view help =
    R"(keel cert [NAME...] [--dir FOLDER]

Makes a certificate for development, and the authority that issues it. The authority can issue no other certificate:
its key is not kept.

  NAME           a host that the certificate is for, a name or IP address (default: localhost, 127.0.0.1 and ::1)
  --dir FOLDER   where to write the files (default: certs)

  FOLDER/service.pem   the certificate and its key, for the service: network.https.certificate
  FOLDER/root.pem      the authority, for clients to trust: curl --cacert, keel load --roots

The certificate is valid for a year. Existing files are replaced.

Ends with 0 on success, with 1 when a file cannot be written, and with 2 for a name or an option that cannot be used.
)";

int refuse(const Error& error, int code) {
  std::fprintf(stderr, "keel cert: %s\n", error.describe().c_str());
  return code;
}

struct Options {
  std::vector<std::string> names;
  std::vector<std::string> addresses;
  std::string folder = "certs";
};

bool is_host_name(std::string_view text) {
  if (text.starts_with("*.")) text.remove_prefix(2);
  const auto may_be = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  const bool has_ends = !text.empty() && text.front() != '.' && text.front() != '-' && text.back() != '.';
  return has_ends && text.size() <= name_bytes_max && std::ranges::all_of(text, may_be) &&
         text.find("..") == std::string_view::npos;
}

Result<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--dir") {
      if (i + 1 == arguments.size()) return fail(Code::InvalidArgument, "--dir: needs a folder");
      options.folder = arguments[++i];
    } else if (argument.starts_with('-')) {
      return Error::text(Code::InvalidArgument, argument + ": there is no such option; keel cert --help lists them");
    } else if (Address::ip(argument, 0) && !argument.contains('%')) {
      // An address with a zone ("fe80::1%eth0") is excluded, because a zone has a meaning on one machine only.
      options.addresses.push_back(argument);
    } else if (is_host_name(argument)) {
      options.names.push_back(argument);
    } else {
      return Error::text(Code::InvalidArgument, "'" + argument + "': neither the name of a host nor an IP address");
    }
  }
  if (options.names.empty() && options.addresses.empty()) {
    options.names = {"localhost"};
    options.addresses = {"127.0.0.1", "::1"};
  }
  return options;
}

// A file that is written under another name, and renamed to its path after all files are written: a service that reads
// the path never sees an incomplete file.
class File {
 public:
  explicit File(fs::path path) : path_(std::move(path)), beside_(path_.string() + ".new") {}
  ~File() { ::unlink(beside_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  Result<> write(const std::string& text, mode_t mode) const {
    std::error_code ignored;
    if (fs::is_directory(path_, ignored)) return Error::from_errno("open", EISDIR).because(path_.string());
    ::unlink(beside_.c_str());
    const int file = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0) return Error::from_errno("open", errno).because(beside_);
    const ssize_t put = ::write(file, text.data(), text.size());
    const int problem = put < 0 ? errno : put != static_cast<ssize_t>(text.size()) ? ENOSPC : 0;
    ::close(file);
    if (problem != 0) return Error::from_errno("write", problem).because(beside_);
    return {};
  }
  Result<> take_name() const {
    if (::rename(beside_.c_str(), path_.c_str()) == 0) return {};
    return Error::from_errno("rename", errno).because(path_.string());
  }

 private:
  const fs::path path_;
  const std::string beside_;
};

Result<> make(const Options& options) {
  std::error_code problem;
  fs::create_directories(options.folder, problem);
  if (problem) return Error::from_errno("mkdir", problem.value()).because(options.folder);
  tls::testing::Authority authority("Keel, for development");
  const std::string& first = options.names.empty() ? options.addresses.front() : options.names.front();
  // Clients compare the host of the URL with `names` and `addresses`, not with the subject.
  const tls::KeyPair pair = authority.issue({.common_name = first.size() <= common_name_bytes_max ? first : "keel cert",
                                             .names = options.names,
                                             .addresses = options.addresses,
                                             .valid_until = validity});
  const File service(fs::path(options.folder) / "service.pem");
  const File root(fs::path(options.folder) / "root.pem");
  KEEL_TRY_VOID(service.write(pair.certificate_pem + pair.key_pem, S_IRUSR | S_IWUSR));
  KEEL_TRY_VOID(root.write(authority.pem(), S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH));
  KEEL_TRY_VOID(root.take_name());
  return service.take_name();
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument != "--help" && argument != "-h") continue;
    std::fputs(std::string(help).c_str(), stdout);
    return was_written;
  }
  const auto options = parse(arguments);
  if (!options) return refuse(options.error(), was_wrong);
  if (auto made = make(*options); !made) return refuse(made.error(), was_not_written);

  std::string all;
  for (const auto* const list : {&options->names, &options->addresses}) {
    for (const std::string& name : *list) all += (all.empty() ? "" : ", ") + name;
  }
  const char* const folder = options->folder.c_str();
  std::printf("keel cert: a certificate for %s, valid for a year\n\n", all.c_str());
  std::printf("  %s/service.pem   serve with it: network.https.certificate: %s/service.pem\n", folder, folder);
  std::printf("  %s/root.pem      trust it in clients: curl --cacert %s/root.pem\n", folder, folder);
  return was_written;
}

}  // namespace keel::cert
