"""Facts about the machine and the build, and what the machine does not permit."""

import os
import pathlib
import platform
import re
import subprocess

from keel_lab.side_file import ROOT

CPUS = pathlib.Path("/sys/devices/system/cpu")
PARANOID = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")
TRACEPOINT = pathlib.Path("/sys/kernel/tracing/events/raw_syscalls/sys_enter/id")


def read(path, otherwise="unknown"):
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return otherwise


def output(*command):
    """What a program says, on either stream; empty where it is not to be had, or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr).strip() if done.returncode == 0 else ""


def system_call_tracepoint():
    """Id of the tracepoint that counts system calls; 0 where this user may not see it."""
    if not TRACEPOINT.exists() and os.geteuid() == 0:
        subprocess.run(["mount", "-t", "tracefs", "none", "/sys/kernel/tracing"], capture_output=True)
    text = read(TRACEPOINT, "0")
    return int(text) if text.isdigit() else 0


def build_setting(build, name):
    for folder in (build, *build.parents):
        cache = folder / "CMakeCache.txt"
        if cache.exists():
            for line in cache.read_text().splitlines():
                if line.startswith(name + ":"):
                    return line.split("=", 1)[1]
    return ""


def chosen(path):
    """What of a list is chosen, which stands in brackets: "always [madvise] never"."""
    return read(path, "[not readable]").partition("[")[2].partition("]")[0]


def topology():
    """Sockets, cores and threads, as the kernel sees them."""
    cpus = [path for path in CPUS.glob("cpu[0-9]*/topology")]
    cores = {(read(path / "physical_package_id"), read(path / "core_id")) for path in cpus}
    return f"{len({package for package, _ in cores})} sockets, {len(cores)} cores, {len(cpus)} threads"


def mitigations():
    """Of the processor's vulnerabilities: which the kernel does something about, and what."""
    found = {path.name: read(path) for path in sorted((CPUS / "vulnerabilities").glob("*"))}
    return "; ".join(f"{name}: {text.replace(';', ',')}" for name, text in found.items() if text != "Not affected") or \
        "none needed"


def memory():
    sizes = dict(line.split(":", 1) for line in read("/proc/meminfo", "").splitlines())
    total, swap = (int(sizes.get(name, "0").split()[0]) >> 10 for name in ("MemTotal", "SwapTotal"))
    return f"{total} MiB, swap {swap} MiB"


def facts(build):
    cpu = re.search(r"^model name\s*: (.*)", read("/proc/cpuinfo"), re.MULTILINE)
    compiler = build_setting(build, "CMAKE_CXX_COMPILER") or "c++"
    kind = build_setting(build, "CMAKE_BUILD_TYPE")
    flags = " ".join(filter(None, (build_setting(build, name) for name in
                                   ("CMAKE_CXX_FLAGS", f"CMAKE_CXX_FLAGS_{kind.upper()}"))))
    git = lambda *command: output("git", "-C", str(ROOT), *command)
    commit = git("rev-parse", "--short=12", "HEAD") or "unknown"
    counters = output("perf", "stat", "-x,", "-e", "instructions", "--log-fd", "1", "true")
    refused = [] if system_call_tracepoint() else ["system call tracepoint"]
    refused += [] if counters and "not supported" not in counters else ["hardware counters"]
    return {
        "cpu": f"{cpu[1] if cpu else platform.processor()}, {os.cpu_count()} cores", "kernel": platform.release(),
        "topology": topology(), "smt": read(CPUS / "smt/control", "not readable"), "mitigations": mitigations(),
        "memory": memory(), "transparent huge pages": chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
        "governor": read(CPUS / "cpu0/cpufreq/scaling_governor", "not readable"),
        "compiler": (output(compiler, "--version").splitlines() or ["unknown"])[0],
        "flags": f"{kind}: {flags}" if kind else flags or "unknown",
        "commit": commit + ("+changes" if git("status", "--porcelain", "--untracked-files=no") else ""),
        "load before": " ".join(read("/proc/loadavg").split()[:3]), "not permitted": ", ".join(refused) or "nothing",
    }
