"""bench/lab prepare: makes a machine quiet enough to measure on, and gives everything back.

  bench/lab prepare                what would be changed, and from which value; changes nothing
  bench/lab prepare --apply        the same, asks, and changes it; --yes does not ask
  bench/lab prepare --restore      writes back exactly what was there before

What was there is written to the record before anything is changed. It lasts until a restart or --restore.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys

SUMMARY = "quiet the machine for measuring: shows, asks, restores"
RECORD = pathlib.Path("/var/lib/keel-lab/prepared.json")
# Timers of systemd that wake up and work at a time of their own.
TIMERS = ("apt-daily.timer", "apt-daily-upgrade.timer", "fstrim.timer", "logrotate.timer", "man-db.timer",
          "e2scrub_all.timer", "unattended-upgrades.service")


class Refused(Exception):
    """A setting cannot be read or written; the text says which and why."""


@dataclasses.dataclass(frozen=True)
class File:
    """A setting that is a file of the kernel's."""
    path: str
    wanted: str
    why: str

    def read(self, root):
        """None where this machine has no such setting."""
        path = root / self.path.lstrip("/")
        try:
            text = path.read_text().strip()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise Refused(f"{path}: {problem.strerror}") from None
        # "always [madvise] never": what is chosen of a list stands in brackets.
        return text.partition("[")[2].partition("]")[0] if "[" in text else text

    def write(self, root, value):
        path = root / self.path.lstrip("/")
        try:
            path.write_text(value + "\n")
        except OSError as problem:
            raise Refused(f"{path}: {problem.strerror}") from None

    @property
    def name(self):
        return self.path


@dataclasses.dataclass(frozen=True)
class Unit:
    """A timer or service of systemd, which is active or inactive."""
    name: str
    why: str
    wanted: str = "inactive"

    def read(self, root):
        state = systemctl(root, "is-active", self.name)
        return state if state in ("active", "inactive") and systemctl(root, "cat", self.name) else None

    def write(self, root, value):
        systemctl(root, "start" if value == "active" else "stop", self.name)
        if systemctl(root, "is-active", self.name) != value:
            raise Refused(f"{self.name}: systemctl did not make it {value}")


@dataclasses.dataclass(frozen=True)
class Swap:
    """All swap areas together: "off", or their paths."""
    name: str = "swap"
    why: str = "a server that is swapped measures the disk"
    wanted: str = "off"

    def read(self, root):
        try:
            lines = (root / "proc/swaps").read_text().splitlines()[1:]
        except OSError:
            return None
        return " ".join(line.split()[0] for line in lines) or "off"

    def write(self, root, value):
        areas = value.split() if value != "off" else self.read(root).split()
        for area in areas:
            command(root, "swapon" if value != "off" else "swapoff", area)


def command(root, program, *arguments):
    """What the program says. Below another root than / it is that root's, so that tests can plant one."""
    path = program if root == pathlib.Path("/") else str(root / "bin" / program)
    try:
        return subprocess.run([path, *arguments], capture_output=True, text=True, timeout=60).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def systemctl(root, *arguments):
    return command(root, "systemctl", *arguments)


def settings(root):
    """Everything that is looked at, in the order it is changed; restored in the reverse."""
    cpus = sorted((root / "sys/devices/system/cpu").glob("cpu[0-9]*"), key=lambda path: int(path.name[3:]))
    last = len(cpus) - 1
    found = [File(f"/sys/devices/system/cpu/{cpu.name}/cpufreq/scaling_governor", "performance",
                  "a clock that rises and falls with the load") for cpu in cpus]
    found += [
        File("/sys/devices/system/cpu/intel_pstate/no_turbo", "1", "a clock that depends on how warm the processor is"),
        File("/sys/devices/system/cpu/cpufreq/boost", "0", "a clock that depends on how warm the processor is"),
        File("/sys/kernel/mm/transparent_hugepage/enabled", "madvise",
             "huge pages come and go by a thread of the kernel"),
        File("/proc/sys/kernel/perf_event_paranoid", "-1", "counts system calls and takes profiles without being root"),
        File("/proc/sys/kernel/nmi_watchdog", "0", "takes a hardware counter and interrupts"),
        File("/proc/sys/net/core/somaxconn", "4096", "connections that come at once are refused"),
        File("/proc/sys/net/ipv4/tcp_max_syn_backlog", "4096", "connections that come at once are refused"),
        File("/proc/sys/vm/swappiness", "0", "memory of a server that was idle is written out"),
        Swap(),
    ]
    # Interrupts to the client's core, away from the last, where the server runs.
    if last > 0:
        irqs = sorted((root / "proc/irq").glob("[0-9]*"), key=lambda path: int(path.name))
        found += [
            File(f"/proc/irq/{irq.name}/smp_affinity_list", "0", "interrupts on the server's core") for irq in irqs
        ]
    return found + [Unit(name, "works at a time of its own") for name in TIMERS]


def is_at_least(setting):
    return setting.name.endswith(("somaxconn", "tcp_max_syn_backlog"))


def plan(root):
    """[(setting, what it is)] of those that are not as wanted."""
    found = []
    for setting in settings(root):
        value = setting.read(root)
        if value is None or value == setting.wanted:
            continue
        if is_at_least(setting) and value.isdigit() and int(value) >= int(setting.wanted):
            continue
        found.append((setting, value))
    return found


def shown(changes):
    width = max(len(setting.name) for setting, _ in changes)
    return "\n".join(f"  {setting.name:{width}}  {value} -> {setting.wanted}   ({setting.why})"
                     for setting, value in changes)


def read_record(record):
    try:
        return json.loads(record.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        raise Refused(f"{record}: {problem}") from None


def write_record(record, values):
    """Whole or not at all, and on the disk before anything is changed."""
    record.parent.mkdir(parents=True, exist_ok=True)
    beside = record.with_name(record.name + ".new")
    with open(beside, "w") as file:
        file.write(json.dumps(values, indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    beside.replace(record)


def apply(root, record, changes, say):
    """The exit code. What cannot be changed is said, and the rest is changed all the same."""
    # A second --apply keeps the values of the first: those are what was there before.
    write_record(record, {setting.name: value for setting, value in changes} | read_record(record))
    refused = 0
    for setting, value in changes:
        try:
            setting.write(root, setting.wanted)
        except Refused as why:
            refused += 1
            say(f"not changed: {why}")
    say(f"{len(changes) - refused} changed, {refused} refused; --restore gives back what {record} has")
    return 1 if refused else 0


def restore(root, record, say):
    values = read_record(record)
    if not values:
        say(f"Nothing to restore: {record} is not there.")
        return 0
    by_name = {setting.name: setting for setting in settings(root)}
    left = {}
    for name, value in reversed(values.items()):
        setting = by_name.get(name)
        try:
            if setting is None:
                raise Refused(f"{name}: no such setting now")
            if setting.read(root) != value:
                setting.write(root, value)
            if setting.read(root) != value:
                raise Refused(f"{name}: still {setting.read(root)} and not {value}")
        except Refused as why:
            left[name] = value
            say(f"not restored: {why}")
    if left:
        write_record(record, dict(reversed(left.items())))
        return 1
    record.unlink()
    say(f"{len(values)} restored.")
    return 0


def agreed():
    try:
        return input("Change all of this? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def main(arguments, root=pathlib.Path("/"), record=RECORD, say=print):
    parser = argparse.ArgumentParser(prog="bench/lab prepare", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--apply", action="store_true", help="change it, after a question")
    choice.add_argument("--restore", action="store_true", help="give back what was there before --apply")
    parser.add_argument("--yes", action="store_true", help="with --apply: do not ask")
    options = parser.parse_args(arguments)
    if options.yes and not options.apply:
        parser.error("--yes goes with --apply")
    try:
        if options.restore:
            return restore(root, record, say)
        changes = plan(root)
        if not changes:
            say("Nothing to change: the machine is as it should be, as far as it can be set.")
            return 0
        say(shown(changes))
        if not options.apply:
            say(f"{len(changes)} would be changed by --apply.")
            return 0
        if not options.yes and not agreed():
            say("Nothing was changed.")
            return 1
        return apply(root, record, changes, say)
    except (Refused, OSError) as why:
        print(f"bench/lab prepare: {why}", file=sys.stderr)
        return 2
