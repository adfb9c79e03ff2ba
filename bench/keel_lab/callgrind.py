"""User instructions per operation, by callgrind: the difference of two numbers of operations against one process.

Valgrind has no AVX-512, so what it runs is compiled for x86-64-v3 at most (the build preset `callgrind`). It runs
io_uring too, but sees no signal and lets no other thread run while one waits there: counts are taken by its own
commands, its process is killed, and a server of several threads is counted on epoll.
"""

import pathlib
import re
import shutil
import tempfile

from keel_lab import preset, sides
from keel_lab.sides import Invalid

BUILD = preset.folder("callgrind")
START_SECONDS = 60      # A start is fifty times slower than outside.
SECONDS = 120


def refusal():
    """Why callgrind cannot count here; "" where it can."""
    missing = [program for program in ("valgrind", "vgdb") if shutil.which(program) is None]
    return f"{' and '.join(missing)} not installed (scripts/setup bench)" if missing else ""


def prefix(folder):
    """What a command has to begin with to be counted; `folder` gets what callgrind writes."""
    return ["valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={folder}/callgrind",
            "--compress-strings=no",  # A dump is read without those before it, which would name its functions.
            f"--vgdb-prefix={folder}/vgdb"]


def total(path):
    """The instructions in a file of callgrind's."""
    found = re.search(r"^(?:totals|summary): (\d+)", pathlib.Path(path).read_text(), re.MULTILINE)
    if found is None:
        raise Invalid(f"{path}: no totals in what callgrind wrote")
    return int(found.group(1))


def dump(folder, pid):
    """The file with everything since the dump before."""
    folder = pathlib.Path(folder)
    before = set(folder.glob("callgrind.*"))
    said = sides.output(["vgdb", f"--vgdb-prefix={folder}/vgdb", f"--pid={pid}", "dump"], SECONDS)
    made = set(folder.glob("callgrind.*")) - before
    if len(made) != 1:
        raise Invalid(f"callgrind wrote no counts: {said.strip()[-300:]}")
    return made.pop()


def per_operation(start, drive, counts=(200, 1000)):
    """Instructions of one operation. `start(prefix)` runs the server (a context manager: it, with its `pid`, and
    its port), `drive(server, port, count)` sends about that many operations and says how many; it raises
    when an answer is wrong."""
    why = refusal()
    if why:
        raise Invalid(why)
    with tempfile.TemporaryDirectory(prefix="callgrind-") as folder, start(prefix(folder)) as (server, port):
        drive(server, port, counts[0])      # Warms up what the first operations pay for.
        dump(folder, server.pid)
        seen = []
        for count in counts:
            done = drive(server, port, count)
            seen.append((done, total(dump(folder, server.pid))))
    (few, less), (many, more) = seen
    return (more - less) / (many - few)


def build(targets, say=print):
    """Builds `targets` for x86-64-v3 and gives the folder of their programs."""
    return preset.build("callgrind", targets, say) / "bench"
