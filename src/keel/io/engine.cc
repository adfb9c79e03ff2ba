#include "keel/io/engine.h"

#include <sys/utsname.h>

#include "keel/io/internal/sockets.h"

namespace keel::io {
namespace {

std::string kernel_release() {
  utsname name{};
  return uname(&name) == 0 ? std::string(name.release) : std::string("unknown");
}

}  // namespace

Result<EngineChoice> choose_engine(EngineKind wanted) {
  if (wanted == EngineKind::Epoll) return EngineChoice{EngineKind::Epoll, "epoll was requested"};
  auto probed = probe_uring();
  const std::string kernel = " (kernel " + kernel_release() + ")";
  if (probed) return EngineChoice{EngineKind::Uring, "io_uring passed its probe" + kernel};
  const std::string reason = "io_uring cannot be used: " + probed.error().describe() + kernel;
  if (wanted == EngineKind::Uring) return Error::text(Code::Unsupported, reason);
  return EngineChoice{EngineKind::Epoll, reason};
}

Result<> check(const EngineOptions& options) {
  const std::uint32_t bytes = options.receive_bytes;
  if (bytes == 0 || (bytes >= EngineOptions::receive_bytes_min && bytes <= EngineOptions::receive_bytes_max)) return {};
  return fail(Code::InvalidArgument, "receive_bytes must be between 1 KiB and 1 MiB, or 0 for the engine's default");
}

Result<std::unique_ptr<Engine>> make_engine(EngineKind kind, const EngineOptions& options) {
  KEEL_TRY_VOID(check(options));
  if (kind == EngineKind::Auto) {
    KEEL_TRY(EngineChoice choice, choose_engine(kind));
    kind = choice.kind;
  }
  return kind == EngineKind::Uring ? make_uring_engine({.receive_bytes = options.receive_bytes})
                                   : make_epoll_engine(options.receive_bytes);
}

#if !KEEL_WITH_URING
Result<std::unique_ptr<Engine>> make_uring_engine(const UringOptions&) {
  return fail(Code::Unsupported, "this build has no io_uring engine (KEEL_URING=OFF)");
}
Result<> probe_uring() { return fail(Code::Unsupported, "this build has no io_uring engine (KEEL_URING=OFF)"); }
#endif

}  // namespace keel::io
