"""What a process uses, read from outside each second while it is measured: CPU, resident memory, context switches,
what it writes and its descriptors."""

import contextlib
import dataclasses
import os
import pathlib
import resource
import threading
import time

TICK = 1 / os.sysconf("SC_CLK_TCK")


def cores_idle():
    """Seconds that all cores have idled."""
    ticks = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (int(ticks[4]) + int(ticks[5])) * TICK


def others_used(wall, idle, *used):
    """Of one core, what was neither idling nor one of us; a hypervisor's steal counts too."""
    return max(0.0, ((os.cpu_count() or 1) * wall - idle - sum(used)) / wall)


@dataclasses.dataclass(frozen=True)
class Sample:
    at: float  # time.monotonic
    user: float  # Seconds of CPU, of all threads, in steps of a clock tick.
    system: float
    rss_kb: int
    switches: int  # Voluntary or not, of the threads that live.
    written: int = 0  # Bytes that it caused to be written to disk.
    descriptors: int = 0


def sample(pid):
    """None when the process has ended."""
    folder = pathlib.Path(f"/proc/{pid}")
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        rss_kb = int(fields[21]) * os.sysconf("SC_PAGE_SIZE") // 1024
        switches = 0
        for task in (folder / "task").iterdir():
            with contextlib.suppress(OSError):  # A thread that has just ended.
                for line in (task / "status").read_text().splitlines():
                    if "ctxt_switches:" in line:
                        switches += int(line.split()[1])
        written = int((folder / "io").read_text().partition("\nwrite_bytes:")[2].split()[0])
        descriptors = len(os.listdir(folder / "fd"))
    except (OSError, IndexError):
        return None
    return Sample(time.monotonic(), int(fields[11]) * TICK, int(fields[12]) * TICK, rss_kb, switches, written,
                  descriptors)


def cpu_of(pid):
    """Seconds of CPU of a process, by its own clock (clock_getcpuclockid)."""
    return time.clock_gettime(~pid << 3 | 2)


class Spent:
    """What its block took, in seconds: `wall`; of CPU the process `pid` (this one), `children` that it has waited for,
    and `others`, of one core; all cores together were idle for `idle`."""
    def __init__(self, pid=None):
        self._pid = pid or os.getpid()

    def _now(self):
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.monotonic(), cores_idle(), cpu_of(self._pid), children.ru_utime + children.ru_stime

    def __enter__(self):
        self._before = self._now()
        return self

    def __exit__(self, *_):
        self.wall, self.idle, self.cpu, self.children = (now - was for now, was in zip(self._now(), self._before))

    @property
    def others(self):
        return others_used(self.wall, self.idle, self.cpu, self.children)


class Watch:
    """Samples at its beginning and end, and each second between, appended to `samples`."""
    def __init__(self, pid, every=1.0, samples=None):
        self.samples = [] if samples is None else samples
        self._pid = pid
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._take()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._take()

    def _run(self):
        while not self._stop.wait(self._every):
            self._take()

    def _take(self):
        taken = sample(self._pid)
        if taken:
            self.samples.append(taken)
