#include "keel/app/crash.h"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "keel/app/internal/bystanders.h"
#include "keel/base/ascii.h"
#include "keel/base/bug.h"
#include "keel/base/check.h"
#include "keel/base/host.h"
#include "keel/base/printable.h"
#include "keel/base/stack.h"
#include "keel/config/command_line.h"
#include "keel/http/message/date.h"
#include "keel/observe/flight_recorder.h"
#include "keel/observe/log.h"
#include "keel/telemetry/append_file.h"
#include "keel/telemetry/log_writer.h"

namespace keel::app {
namespace {

// Everything needed for a crash is prepared beforehand: the code below neither allocates memory nor takes locks, except
// in forked copies of the process.

constexpr int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT};
constexpr int signal_count = sizeof crash_signals / sizeof crash_signals[0];
constexpr Duration log_patience = 1_s;
constexpr Duration stop_patience = 200_ms;
constexpr int requests_shown = 16;  // The report shows at most this many requests of each worker.
constexpr Duration name_patience = 3_s;
// How long a second crashing thread waits until the first crashing thread ends the process.
constexpr Duration other_patience = 20_s;
// A fault this close to the stack pointer counts as a stack overflow: the address is in a function's frame or in the
// page after the frame.
constexpr std::uintptr_t near_bytes = 64 * 1024;

struct Installed {
  char name[64] = {};
  char build[2 * 20 + 1] = {};
  int file = -1;
  std::atomic<telemetry::LogWriter*> logs = nullptr;
  bool is_ours[signal_count] = {};
  struct sigaction before[signal_count] = {};
  std::terminate_handler terminate_before = nullptr;
  char core_filter_before[16] = {};  // Empty: this object did not change the filter.
  std::atomic<bool> is_installed = false;
};
constinit Installed installed;

// The crash that is being reported, which is the first crash in the process.
struct Crash {
  std::atomic<pid_t> thread = 0;
  int step = 0;
  int signal = 0;
  siginfo_t info = {};
  ucontext_t* context = nullptr;
  char thread_name[16] = {};
  Stack stack;
  // Data for the log entry. Another thread writes the entry.
  char place[256] = {};    // "shop+0x1234"
  char request[256] = {};  // "POST /orders/{id}"
  log::TraceId trace = {};
  int worker = -1;
};
constinit Crash crash;

// Writes text to standard error and to the report's file, with one call for each piece.
class Out {
 public:
  ~Out() { flush(); }
  Out& text(std::string_view piece) noexcept {
    for (const char c : piece) {
      if (size_ == sizeof bytes_) flush();
      bytes_[size_++] = c;
    }
    return *this;
  }
  // Appends a text that comes from outside the process, up to a maximum length.
  Out& foreign(std::string_view piece) noexcept {
    for_each_printable(piece, [this](std::string_view fit) { text(fit); });
    return *this;
  }
  Out& number(std::uint64_t value, unsigned base = 10, int digits_min = 1) noexcept {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = ascii::hex_lower[value % base];
      value /= base;
    } while (value != 0 || count < digits_min);
    while (count > 0) text({&digits[--count], 1});
    return *this;
  }
  Out& hex(std::uintptr_t value, int digits_min = 1) noexcept { return text("0x").number(value, 16, digits_min); }
  void flush() noexcept {
    for (const int to : {STDERR_FILENO, installed.file}) {
      for (std::size_t done = 0; to >= 0 && done < size_;) {
        const ssize_t n = ::write(to, bytes_ + done, size_ - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += static_cast<std::size_t>(n);
      }
    }
    size_ = 0;
  }

 private:
  char bytes_[4096];
  std::size_t size_ = 0;
};

std::string_view signal_name(int signal) noexcept {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    case SIGSYS:
      return "SIGSYS";
    default:
      return "SIGABRT";
  }
}

bool has_address(int signal) noexcept { return signal == SIGSEGV || signal == SIGBUS; }

std::uintptr_t stack_pointer(const ucontext_t& context) noexcept {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
#else
  return context.uc_mcontext.sp;
#endif
}

std::string_view meaning() noexcept {
  if (crash.info.si_code <= 0) return crash.signal == SIGABRT ? "aborted" : "sent by a process";
  const auto address = reinterpret_cast<std::uintptr_t>(crash.info.si_addr);
  switch (crash.signal) {
    case SIGSEGV:
      if (crash.info.si_code == SI_KERNEL) return "a non-canonical address or a privileged instruction";
      if (address >= stack_pointer(*crash.context) - near_bytes &&
          address < stack_pointer(*crash.context) + near_bytes) {
        return "stack overflow";
      }
      return crash.info.si_code == SEGV_ACCERR ? "the protection of the memory does not permit this access"
                                               : "no memory is mapped at this address";
    case SIGBUS:
      return "beyond the end of a mapped file, or misaligned";
    case SIGFPE:
      return crash.info.si_code == FPE_INTDIV ? "division by zero" : "arithmetic";
    case SIGSYS:
      return "a system call that is forbidden in this process";
    default:
      return "an instruction that does not exist";
  }
}

// --- in a copy of the process ---------------------------------------------------------------------------------------

// Runs `f` in a copy of this process that has only this thread, so `f` may allocate memory, take locks and crash.
// Returns true if the copy completed in time.
bool run_in_copy(Duration patience, FunctionRef<void()> f) noexcept {
  // fork(3) is not used, because it takes the locks of the heap. No signal is sent when the copy of the process ends,
  // so that no other process is woken.
  const auto child = static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, 0));
  if (child < 0) return false;
  if (child == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    for (const int signal : crash_signals) ::signal(signal, SIG_DFL);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, nullptr);
    f();
    _exit(0);
  }
  const Instant until = Host::system().now() + patience;
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, __WALL | WNOHANG);
    if (ended == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ended < 0 && errno != EINTR) return false;
    if (Host::system().now() >= until) {
      kill(child, SIGKILL);
      waitpid(child, &status, __WALL);
      return false;
    }
    Host::system().sleep(1_ms);
  }
}

// Copies as many characters as fit, and appends a zero byte.
template <std::size_t n>
class Text {
 public:
  explicit Text(char (&to)[n]) noexcept : to_(to) { to_[0] = '\0'; }
  Text& operator<<(std::string_view piece) noexcept {
    const std::size_t bytes = std::min(piece.size(), n - 1 - size_);
    std::memcpy(to_ + size_, piece.data(), bytes);
    size_ += bytes;
    to_[size_] = '\0';
    return *this;
  }

 private:
  char (&to_)[n];
  std::size_t size_ = 0;
};

// --- the steps ------------------------------------------------------------------------------------------------------

void stop_others() noexcept {
  if (const FlightRecorder* const recorder = FlightRecorder::current()) crash.worker = recorder->worker();
  telemetry::LogWriter* const logs = installed.logs.load();
  const int running = internal::stop_bystanders(logs != nullptr ? logs->writing_thread() : 0, stop_patience);
  if (running == 0) return;
  Out().number(static_cast<unsigned>(running)).text(" other threads had not stopped in time\n");
}

void say_what_happened() noexcept {
  Out out;
  out.text(installed.name).text(" crashed: ").text(signal_name(crash.signal)).text(" (").text(meaning());
  if (has_address(crash.signal) && crash.info.si_code > 0) {
    out.text(", at ").hex(reinterpret_cast<std::uintptr_t>(crash.info.si_addr));
  } else if (crash.info.si_code <= 0 && crash.info.si_pid != getpid()) {
    out.text(", by ").number(static_cast<std::uint64_t>(crash.info.si_pid));
  }
  char date[http::date_bytes];
  http::format_date(Host::system().wall_ns() / 1'000'000'000, date);
  out.text(")\n  thread ").text(crash.thread_name).text(" (").number(static_cast<std::uint64_t>(crash.thread.load()));
  out.text(") of process ").number(static_cast<std::uint64_t>(getpid())).text(", ").text({date, sizeof date});
  out.text("\n  build ").text(installed.build[0] != '\0' ? installed.build : "without an id").text("\n");
  if (*last_words() != '\0') out.text("  because ").foreign(last_words()).text("\n");
}

void say_addresses() noexcept {
  capture_interrupted_stack(crash.stack, crash.context);
  Out out;
  out.text("stack, innermost first:\n");
  for (int i = 0; i < crash.stack.count; ++i) {
    const ModulePlace place = module_place(crash.stack.frames[i]);
    out.text("  #").number(static_cast<unsigned>(i)).text(" ").hex(crash.stack.frames[i], 12).text(" ");
    out.text(*place.path != '\0' ? std::string_view(place.path) : "(program)").text("+").hex(place.offset).text("\n");
  }
  if (crash.stack.is_cut) out.text("  … and more\n");
  // The innermost function that belongs to the program and not to a library.
  const auto* const frames = crash.stack.frames;
  const auto* const own = std::find_if(frames, frames + crash.stack.count,
                                       [](std::uintptr_t frame) { return *module_place(frame).path == '\0'; });
  if (crash.stack.count == 0) return;
  const ModulePlace place = module_place(own != frames + crash.stack.count ? *own : *frames);
  char offset[2 + 16 + 1] = "0x";
  *std::to_chars(offset + 2, offset + sizeof offset - 1, place.offset, 16).ptr = '\0';
  Text(crash.place) << (*place.path != '\0' ? place.path : "(program)") << "+" << offset;
}

void record_crash() noexcept {
  static const log::Logger log("crash");
  const Span span{.trace = crash.trace};
  const ScopedSpan of_request(span);
  log.fatal("crashed", log::field("signal", signal_name(crash.signal)), log::field("meaning", meaning()),
            log::field("place", std::string_view(crash.place)), log::field("build", std::string_view(installed.build)),
            log::field("thread", std::string_view(crash.thread_name)), log::field("worker", crash.worker),
            log::field("request", std::string_view(crash.request)),
            log::field("because", std::string_view(last_words())));
}

void flush_logs() noexcept {
  telemetry::LogWriter* const logs = installed.logs.load();
  if (logs == nullptr) return;
  const bool is_done = logs->is_writing_thread() ? run_in_copy(log_patience, [logs] { logs->flush_in_copy(); })
                                                 : logs->flush_from_signal(log_patience, record_crash);
  if (!is_done) Out().text("the log may lack its last lines: they were not written in time\n");
}

void say_names() noexcept {
  for (const bool demangle : {true, false}) {
    const bool is_done = run_in_copy(name_patience, [demangle] {
      // Writes either the whole text or nothing.
      static char text[64 * 1024];
      std::size_t size = 0;
      const auto put = [&size](std::string_view piece) {
        const std::size_t bytes = std::min(piece.size(), sizeof text - size);
        std::memcpy(text + size, piece.data(), bytes);
        size += bytes;
      };
      const auto put_number = [&put](std::uint64_t value, unsigned base) {
        char digits[20];
        char* at = digits + sizeof digits;
        do *--at = ascii::hex_lower[value % base];
        while ((value /= base) != 0);
        put({at, static_cast<std::size_t>(digits + sizeof digits - at)});
      };
      name_stack(crash.stack, demangle, [&](int index, const FrameName& name) {
        put("  #");
        put_number(static_cast<unsigned>(index), 10);
        put(" ");
        put(name.function.substr(0, 2000));
        if (!name.file.empty()) {
          put(" at ");
          put(name.file);
          put(":");
          put_number(static_cast<unsigned>(name.line), 10);
        } else if (name.offset != 0) {
          put("+0x");
          put_number(name.offset, 16);
        }
        put("\n");
      });
      Out().text("stack with names:\n").text({text, size});
    });
    if (is_done) return;
  }
  Out().text("names were not found in time: addr2line -Cfe PROGRAM OFFSET… finds them\n");
}

void say_request() noexcept {
  const flight::Doing* const doing = flight::Doing::current();
  if (doing == nullptr) return;
  const flight::Activity request = doing->tell();
  Text(crash.request) << request.verb << " " << request.object;
  crash.trace = request.trace;
  Out out;
  out.text("handling ").foreign(request.verb).text(" ").foreign(request.object).text(", trace ");
  out.number(request.trace.high, 16, 16).number(request.trace.low, 16, 16).text("\n");
}

void say_requests() noexcept {
  const Instant now = Host::system().now();
  FlightRecorder::each([now](const FlightRecorder& recorder) {
    Out out;
    out.text("requests of worker ").number(static_cast<unsigned>(recorder.worker())).text(", newest first:\n");
    recorder.last(requests_shown, [&out, now](const flight::Entry& request) {
      out.text("  ").foreign(request.verb.empty() ? "-" : request.verb).text(" ");
      out.foreign(request.object.empty() ? "-" : request.object).text(" ").number(request.outcome).text(", took ");
      out.number(static_cast<std::uint64_t>(request.took.count_ns() / 1000)).text(" us, began ");
      out.number(static_cast<std::uint64_t>((now - request.started).count_ns() / 1'000'000)).text(" ms ago, trace ");
      out.number(request.trace.high, 16, 16).number(request.trace.low, 16, 16).text("\n");
    });
  });
}

constexpr void (*steps[])() noexcept = {stop_others, say_what_happened, say_request, say_addresses,
                                        flush_logs,  say_requests,      say_names};

// Restores the signal's default effect; this effect takes place when the handler returns to the faulting instruction.
void let_it_happen(int signal) noexcept {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
  const auto self = static_cast<pid_t>(syscall(SYS_gettid));
  // The signal is raised again with the kernel's information about it, for a debugger that opens the core.
  siginfo_t info = crash.info;
  if (signal != crash.signal || syscall(SYS_rt_tgsigqueueinfo, getpid(), self, signal, &info) != 0) {
    syscall(SYS_tgkill, getpid(), self, signal);
  }
}

void on_crash(int signal, siginfo_t* info, void* context) {
  const auto self = static_cast<pid_t>(syscall(SYS_gettid));
  pid_t first = 0;
  if (crash.thread.compare_exchange_strong(first, self)) {
    crash.signal = signal;
    crash.info = *info;
    crash.context = static_cast<ucontext_t*>(context);
    prctl(PR_GET_NAME, crash.thread_name);
  } else if (first != self) {
    Host::system().sleep(other_patience);
    return let_it_happen(signal);
  }
  // The function continues here after a crash inside a step, and then runs the next step.
  while (crash.step < static_cast<int>(sizeof steps / sizeof steps[0])) steps[crash.step++]();
  let_it_happen(signal);
}

[[noreturn]] void on_terminate() noexcept {
  // Reading an exception's text may touch damaged data, so the text is read before the handler runs.
  if (const std::type_info* const type = abi::__cxa_current_exception_type()) {
    int status = 0;
    char* const name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    std::string text = "uncaught exception of type " + std::string(name != nullptr ? name : type->name());
    std::free(name);
    try {
      throw;
    } catch (const Misconfigured& mistake) {
      if (telemetry::LogWriter* const logs = installed.logs) logs->flush();
      config::exit_refused(installed.name, Error::text(Code::InvalidArgument, mistake.what()));
    } catch (const std::exception& exception) {
      text += std::string(": ") + exception.what();
    } catch (...) {
    }
    set_last_words(text.c_str());
  } else {
    set_last_words("std::terminate was called without an exception");
  }
  std::abort();
}

int find_build_id(dl_phdr_info* program, std::size_t, void* argument) {
  auto& hex = *static_cast<std::string*>(argument);
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = program->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(program->dlpi_addr + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    const auto rounded = [](std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; };
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* const name = at + sizeof note;
      const char* const id = name + rounded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        for (unsigned j = 0; j < note.n_descsz; ++j) {
          const auto byte = static_cast<unsigned char>(id[j]);
          hex += ascii::hex_lower[byte >> 4];
          hex += ascii::hex_lower[byte & 15];
        }
        return 1;
      }
      at = id + rounded(note.n_descsz);
    }
  }
  return 1;  // The first entry is the program itself; the libraries after it are skipped.
}

// The file that selects which mappings a core dump contains; see proc(5). The filter also applies to core dumps that
// are caused by signals without a handler.
constexpr char core_filter[] = "/proc/self/coredump_filter";
constexpr std::string_view headers_alone = "0x10";  // Dumps only ELF headers, in which a debugger finds the build ids.

bool write_core_filter(std::string_view text) noexcept {
  const int file = ::open(core_filter, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  return is_written;
}

void leave_memory_out_of_cores() noexcept {
  const int file = ::open(core_filter, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char* const before = installed.core_filter_before;
  // Reading the file gives hexadecimal digits without a prefix, but a value that is written to the file needs the
  // prefix 0x.
  before[0] = '0';
  before[1] = 'x';
  const ssize_t n = ::read(file, before + 2, sizeof installed.core_filter_before - 3);
  ::close(file);
  before[n > 0 && write_core_filter(headers_alone) ? n + 2 : 0] = '\0';
}

}  // namespace

std::string CrashHandler::build_id() {
  std::string hex;
  dl_iterate_phdr(find_build_id, &hex);
  return hex;
}

Result<std::unique_ptr<CrashHandler>> CrashHandler::install(const CrashOptions& options) {
  KEEL_CHECK(!installed.is_installed.exchange(true), "a process can have only one crash handler");
  if (!options.file.empty()) {
    Result<int> opened = telemetry::open_append_file(options.file);
    if (!opened) {
      installed.is_installed.store(false);
      return std::move(opened).because("crash file " + options.file).error();
    }
    installed.file = *opened;
  }
  Text(installed.name) << options.name;
  Text(installed.build) << build_id();
  if (!options.core_memory) leave_memory_out_of_cores();
  // Captures a stack now, so that the unwinder is already initialized when a crash occurs.
  capture_stack(crash.stack);
  installed.terminate_before = std::set_terminate(on_terminate);
  for (int i = 0; i < signal_count; ++i) {
    sigaction(crash_signals[i], nullptr, &installed.before[i]);
    installed.is_ours[i] = installed.before[i].sa_handler == SIG_DFL;
    if (!installed.is_ours[i]) continue;
    struct sigaction action = {};
    action.sa_sigaction = on_crash;
    // A crash inside the handler must be able to call the handler again, so the signal is not blocked while the handler
    // runs.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(crash_signals[i], &action, nullptr);
  }
  return std::unique_ptr<CrashHandler>(new CrashHandler);
}

CrashHandler::~CrashHandler() {
  for (int i = 0; i < signal_count; ++i) {
    if (installed.is_ours[i]) sigaction(crash_signals[i], &installed.before[i], nullptr);
  }
  std::set_terminate(installed.terminate_before);
  if (installed.core_filter_before[0] != '\0') write_core_filter(installed.core_filter_before);
  installed.core_filter_before[0] = '\0';
  if (installed.file >= 0) ::close(std::exchange(installed.file, -1));
  installed.logs.store(nullptr);
  installed.is_installed.store(false);
}

void CrashHandler::set_logs(telemetry::LogWriter* logs) noexcept { installed.logs.store(logs); }

}  // namespace keel::app
