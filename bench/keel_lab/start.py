"""How long a start takes, and what it is made of: many fresh processes of bench_start, each proven to serve."""

import os
import re
import select
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from keel_lab import measure, report, sides

# What the rows are made of, by the phases of the service (GET /admin/start has the same).
ROWS = (
    ("configuration loading", ("configuration",)),
    ("bootstrap", ("bootstrap",)),
    ("threads: loops and pools", ("workers", "pool background")),
    ("logs", ("logs",)),
    ("database: file and connections", ("database", "connections")),
    ("HTTP listener", ("http",)),
    ("monitoring and admin listener", ("monitoring", "admin")),
    ("wiring: main's own constructors", ("wiring",)),
    ("signal handlers", ("signals",)),
    ("health checks", ("health",)),
    ("total", ("total",)),
)
SYSTEMS = (
    (1, "loops and a thread pool"), (2, "and logs"), (3, "and the database"), (4, "and the HTTP server"),
    (5, "and metrics and the admin listener"), (6, "and health checks"), (7, "and a module of its own"),
)
FIRST_ANSWER_MS_MAX = 40


def read_until_ready(process, seconds):
    """What it has said when it is ready."""
    text, end = b"", time.monotonic() + seconds
    while not re.search(rb"\n  engine   [^\n]*\n", text):
        readable, _, _ = select.select([process.stdout], [], [], max(0, end - time.monotonic()))
        more = os.read(process.stdout.fileno(), 65536) if readable else b""
        if not more:
            raise measure.Invalid(f"no start within {seconds} s; it said: {text.decode(errors='replace')[-300:]}")
        text += more
    return text.decode()


def phases(text):
    """{phase: (at ms, took ms)} of the table that common.start_report prints."""
    found = {}
    for line in text.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        numbers = [float(cell) for cell in cells[1:3] if re.fullmatch(r"[0-9.]+", cell)]
        if cells[0] == "total" and len(numbers) == 1:
            found["total"] = (0.0, numbers[0])
        elif len(numbers) == 2:
            found[cells[0]] = tuple(numbers)
    return found


def one(program, folder, systems):
    """(phases, ms from spawn to the first answer or None). Invalid when it does not serve or does not end with 0."""
    flags = {
        "systems": systems, "network.http.port": 0, "monitoring.metrics.export_port": 0, "common.start_report": "true",
        "logging.enabled": "true" if systems >= 2 else "false", "monitoring.enabled": "true" if systems >= 5 else "false",
        "logging.sinks": f"[{{type: file, path: '{folder}/start.log'}}]", "database.path": f"{folder}/start.db",
    }
    begin = time.monotonic()
    process = subprocess.Popen([program, *(f"--{key}={value}" for key, value in flags.items())], cwd=folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        text = read_until_ready(process, 20)
        answered = None
        if systems >= 4:
            port = int(re.search(r"\n  service  http://[^\n]*:(\d+)\n", text).group(1))
            status, _, body = sides.fetch(port, "/hello")
            answered = (time.monotonic() - begin) * 1000
            if (status, body) != (200, b"hello"):
                raise measure.Invalid(f"/hello: status {status}, {body!r}")
            status, _, body = sides.fetch(port, "/api/users/1")
            if status != 200 or b'"id":1' not in body:
                raise measure.Invalid(f"/api/users/1: status {status}, {body!r}")
        table = phases(text)
        if "total" not in table or "workers" not in table:
            raise measure.Invalid(f"no table in what it said: {text}")
        process.send_signal(signal.SIGTERM)
        if process.wait(20) != 0:
            raise measure.Invalid(f"it ended with {process.returncode}")
        return table, answered
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()


def spread(values):
    return [f"{statistics.median(values):.2f}", f"{min(values):.2f}", f"{max(values):.2f}"] if values else ["–"] * 3


def run(build, starts, progress):
    """The report as Markdown, and everything that was measured. The first start makes the database and is apart."""
    program = next((str(path) for path in (build / "start/bench_start", build / "bench_start") if path.exists()), None)
    if program is None:
        raise measure.Invalid(f"no bench_start in {build}: configure with -DKEEL_BENCH=ON and build")
    measured = {}
    for systems, _ in SYSTEMS:
        progress(f"{starts} starts of {systems}")
        # Beside the build, not in /tmp: a database there could lie in memory.
        folder = tempfile.mkdtemp(prefix="start-", dir=build)
        try:
            first = one(program, folder, systems)
            measured[systems] = {"new database": first, "starts": [one(program, folder, systems) for _ in range(starts)]}
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    whole = [table for table, _ in measured[7]["starts"]]
    rows = []
    for name, parts in ROWS:
        # Side by side parts: from the first's beginning to the last's end would hide the waiting between them.
        values = [sum(table[part][1] for part in parts if part in table) for table in whole]
        at = [min(table[part][0] for part in parts) for table in whole]
        rows.append([name, " + ".join(parts), f"{statistics.median(at):.2f}", *spread(values)])
    answers = [answered for _, answered in measured[7]["starts"]]
    verdict = "met" if max(answers) <= FIRST_ANSWER_MS_MAX else (
        "missed" if min(answers) > FIRST_ANSWER_MS_MAX else f"missed in {sum(a > FIRST_ANSWER_MS_MAX for a in answers)}")
    counts = []
    for systems, name in SYSTEMS:
        totals = [table["total"][1] for table, _ in measured[systems]["starts"]]
        first = measured[systems]["new database"][0]["total"][1]
        seen = [answered for _, answered in measured[systems]["starts"] if answered is not None]
        counts.append([systems, name, *spread(totals), f"{statistics.median(totals) / systems:.2f}", f"{first:.2f}",
                       spread(seen)[0]])
    parts = [
        report.table(["part of the start", "phases", "begins at ms", "median ms", "min", "max"], rows),
        f"{starts} starts with an existing database. Parts run side by side: they add up to more than the total.\n"
        f"From spawn to the first answer over HTTP: {' / '.join(spread(answers))} ms (median / min / max); "
        f"at most {FIRST_ANSWER_MS_MAX} in each: {verdict}.",
        report.table(["systems", "", "total median ms", "min", "max", "per system", "with a new database",
                      "spawn to first answer"], counts),
    ]
    return "\n\n".join(parts) + "\n", measured
