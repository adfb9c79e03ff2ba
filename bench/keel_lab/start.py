"""How long a start takes, and what it is made of: many fresh processes of bench_start, each proven to serve."""

import contextlib
import http.client
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from keel_lab import judge, results, sides
from keel_lab.kind import Kind
from keel_lab.sides import Invalid

# What the rows are made of, by the phases of the service (GET /admin/start has the same).
ROWS = (("configuration loading", ("configuration",)), ("bootstrap", ("bootstrap",)),
        ("threads: loops and pools", ("workers", "pool background")), ("logs", ("logs",)),
        ("database: file and connections", ("database", "connections")), ("HTTP listener", ("http",)),
        ("monitoring and admin listener", ("monitoring", "admin")), ("wiring: main's own constructors", ("wiring",)),
        ("signal handlers", ("signals",)), ("health checks", ("health",)), ("total", ("total",)),
        )
SYSTEMS = ((1, "loops and a thread pool"), (2, "and logs"), (3, "and the database"), (4, "and the HTTP server"),
           (5, "and metrics and the admin listener"), (6, "and health checks"), (7, "and a module of its own"),
           )
SECONDS_EACH = 0.12
START_SECONDS_MAX = 20
STAYS_SECONDS = 0.01  # What says that it is ready, and ends, has ended by then.
END_SECONDS_MAX = 20


def read_until_ready(process, seconds):
    """What it has said when it is ready."""
    text, impatience = "", threading.Timer(seconds, process.kill)
    impatience.start()
    try:
        for line in process.stdout:
            text += line
            if line.startswith("  engine   "):
                return text
    finally:
        impatience.cancel()
    raise Invalid(f"no start within {seconds} s; it said: {text[-300:]}")


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
        "logging.enabled": "true" if systems >= 2 else "false",
        "monitoring.enabled": "true" if systems >= 5 else "false",
        "logging.sinks": f"[{{type: file, path: '{folder}/start.log'}}]", "database.path": f"{folder}/start.db",
    }
    begin = time.monotonic()
    process = subprocess.Popen([program, *(f"--{key}={value}" for key, value in flags.items())], cwd=folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        text = read_until_ready(process, START_SECONDS_MAX)
        answered = None
        if systems >= 4:
            port = port_of(text)
            proven(port, "/hello", lambda body: body == b"hello")
            answered = (time.monotonic() - begin) * 1000
            proven(port, "/api/users/1", lambda body: b'"id":1' in body)
        table = phases(text)
        if "total" not in table or "workers" not in table:
            raise Invalid(f"no table in what it said: {text}")
        end(process)
        return table, answered
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()


def port_of(text):
    found = re.search(r"\n  service  http://[^\n]*:(\d+)\n", text)
    if found is None:
        raise Invalid(f"it does not say where it listens: {text[-300:]}")
    return int(found.group(1))


def proven(port, path, is_right):
    try:
        status, _, body = sides.fetch(port, path)
    except (OSError, http.client.HTTPException) as problem:
        raise Invalid(f"{path}: {problem or type(problem).__name__}") from None
    if status != 200 or not is_right(body):
        raise Invalid(f"{path}: status {status}, {body!r}")


def end(process):
    """Asks it to end, which is part of a start that worked."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        raise Invalid(f"it ended by itself, with {sides.ending(process.wait(STAYS_SECONDS))}")
    process.send_signal(signal.SIGTERM)
    try:
        code = process.wait(END_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise Invalid(f"it had not ended {END_SECONDS_MAX} s after SIGTERM") from None
    if code != 0:
        raise Invalid(f"it ended with {sides.ending(code)}")


def publish(measured, result):
    """`measured`: {systems: [(phases, ms from spawn to the first answer or None)]}."""
    def add(name, title, values):
        if values:
            result["values"].append(judge.value(name, title, "ms", values))

    for systems, name in SYSTEMS:
        starts = measured.get(systems, [])
        add(f"total-{systems}", f"{systems} systems: {name}", [table["total"][1] for table, _ in starts])
        add(f"first-answer-{systems}", f"{systems} systems: spawn to the first answer",
            [answered for _, answered in starts if answered is not None])
    whole = [table for table, _ in measured.get(7, [])]
    for name, phases_of in ROWS:
        # Side by side parts: from the first's beginning to the last's end would hide the waiting between them.
        add(f"phase-{phases_of[0].replace(' ', '-')}", name,
            [sum(table[part][1] for part in phases_of if part in table) for table in whole])


def starts(program, systems, settings, found, step):
    """Appends to `found`; the first start makes the database, and does not count."""
    # Beside the build, not in /tmp: a database there could lie in memory.
    folder = tempfile.mkdtemp(prefix="start-", dir=settings.build)
    try:
        one(program, folder, systems)
        step()
        for _ in range(settings.starts):
            found.append(one(program, folder, systems))
            step()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Start(Kind):
    name = "start"

    def seconds(self, _, settings):
        return len(SYSTEMS) * (settings.starts + 1) * SECONDS_EACH

    def measure(self, experiment, settings, result, progress):
        program, measured = settings.build / "bench/start/bench_start", {}
        if not program.exists():
            return results.skip(result, experiment.id, f"no bench_start under {settings.build}")
        try:
            for systems, name in SYSTEMS:
                count = settings.starts + 1
                step = progress.steps(f"starts of {systems}: {name}", count, count * SECONDS_EACH)
                with results.refusing(result, f"start of {systems}"):
                    starts(str(program), systems, settings, measured.setdefault(systems, []), step)
        finally:
            publish(measured, result)
